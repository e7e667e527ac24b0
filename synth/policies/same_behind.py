"""What must be the same, said behind a rule: `..., same order_id`, `..., all for the same user`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from synth.errors import BadInput
from synth.policies.clausal.words import NOT_A_THING
from synth.policies.compared import can_compare
from synth.policies.kinds.each import is_in_passing
from synth.policies.kinds.kind import Paths, PolicyKind
from synth.policies.patterns import compiled
from synth.policies.sentences import same_fields

_FIELD = r"[a-z][\w.]*(?: (?:id|number|code|reference|key)\b)?"
_FIELDS = rf"{_FIELD}(?:(?:,| and|, and) (?:the )?(?:same )?{_FIELD})*"
_ALL = r"(?:all|both|each|each time|every time|everything|always|and)"
_OF = r"(?:for|on|with|of|in|about|to|at|by|from)"
_BEHIND = (
    rf"(?:(?:,|;| [-\u2013\u2014]) ?(?:{_ALL} )*(?:{_OF} )?| ?\((?:{_ALL} )*(?:{_OF} )?| {_ALL} {_OF} )"
    rf"(?:the |one and the )?same (?P<f>{_FIELDS})\)?$"
)


def compared_behind(sentence: str, read: Callable[[str], PolicyKind]) -> PolicyKind | None:
    """The rule before what must be the same, compared by that; None where nothing of it stands there."""
    body = " ".join(sentence.split()).removesuffix(".").strip()
    found = compiled(_BEHIND).search(body)
    if found is None:
        return None
    fields = [_one(field) for field in re.split(r"(?:,| and)+ ", found["f"])]
    if any(field in NOT_A_THING for field in fields):
        return None
    rest = body[: found.start()].rstrip(" ,;")
    try:
        return read(f"{rest} with the same {' and '.join(fields)}")
    except BadInput:
        return _comparing(read(rest), fields)


def _one(words: str) -> str:
    """`order_id` of `the same order id`."""
    return re.sub(r"^(?:the )?(?:same )?", "", words.strip()).lower().replace(" ", "_")


def _comparing(rule: PolicyKind, fields: list[str]) -> PolicyKind | None:
    had: Paths = getattr(rule, "same", ())
    if not can_compare(rule) or (had and not is_in_passing(had)):
        return None
    return replace(rule, same=same_fields(" and ".join(fields)))  # type: ignore[type-var]
