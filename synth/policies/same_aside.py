"""What must be the same, said beside a rule: `..., same order_id`, `For each order_id, ...`, `(per user)`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from synth.errors import BadInput
from synth.policies.clausal.words import NOT_A_THING
from synth.policies.compared import can_compare
from synth.policies.kinds.each import is_in_passing
from synth.policies.kinds.kind import Paths, PolicyKind
from synth.policies.names import TwoReadings
from synth.policies.patterns import compiled
from synth.policies.sentences import same_fields

_FIELD = (
    r"(?!(?:same|the|an?|each|every|any|one|it|they|both|all|everything|that|this|these|those|of|which|who|what)\b)"
    r"[a-z][\w.]*(?: (?:id|number|code|reference|ref|key|name|no|nr)\b)?"
)
_FIELDS = rf"{_FIELD}(?:(?:,| and|, and) (?:the |for the |with the |in the )?(?:same )?{_FIELD})*"
_ID = r"[a-z][a-z0-9]*_[\w.]+"
_ALL = (
    r"(?:all|both|each|each time|every time|everything|always|and|counted|measured|taken|reckoned|judged"
    r"|calculated"
    r"|summed up|separately|individually)"
)
_OF = r"(?:for|on|with|of|in|about|to|at|by|from|within|under|inside)"
_SAME = rf"(?:{_OF} )?(?:the |one and the |the very |that |that very )?same"
_EACH = rf"(?:per|{_OF} (?:each|every|any)(?: single| one| given)?)"
_ANY = (
    rf"(?:{_EACH}|{_OF} (?:one|a single|a given|one single|one and the same)"
    r"|with (?:an? |the )?(?:identical|equal|matching|shared|common))"
)
_PLAINLY = (
    r"(?:(?:for|on|within|under|inside|of|in|at|about) (?:any one|any given|any single|one|a single|a given"
    r"|one single|every single|each single|(?:the |one and the |the very )same)"
    r"|with (?:(?:the |one and the |the very )same|(?:an? |the )?(?:identical|equal|matching|shared|common)))"
)
"""Without a comma, where `by the same` would say who did it, and `in each` that it is done in all of them."""
_ALIKE = (
    r"(?:is|are|be|stays?|remains?) (?:always )?(?:the same|identical|equal)|matches|match|agrees?|coincides?"
    r"|is the same in both|is equal in both"
)
_BY = (
    r"(?:going|judged|judging|matched|matching|keyed|identified|grouped|grouping|counted|compared|comparing"
    r"|paired|tracked|told apart|linked|tied together|correlated) (?:by|on|via|through|over)"
)
_MUST_BE_ALIKE = (
    r"(?:must|has to|have to|should|needs? to|shall) (?:always |also )?(?:be (?:the same|identical"
    r"|equal|alike)|match"
    r"|agree|coincide|stay the same)"
)
_BOTH = r"(?: (?:in both|both times|each time|everywhere|in each|for both|on both|of both))?"
_BY_ITSELF = (
    r"(?:by itself|on its own|separately|individually|for itself|taken by itself|counted by itself"
    r"|counted separately|apart)"
)
_ONLY = r"(?:but )?(?:only )?(?:where|when|whenever|if|provided(?: that)?|as long as)"
_BEHIND = tuple(
    rf"{pattern}$"
    for pattern in (
        rf"(?:[,;:]| [-\u2013\u2014]) ?(?:{_ALL} )*(?:{_SAME}|{_ANY}) (?P<f>{_FIELDS})",
        rf",? ?[(\[](?:{_ALL} )*(?:{_SAME}|{_ANY}|by|same) (?P<f>{_FIELDS})[)\]]",
        rf" (?:{_ALL} )+(?:{_SAME}|{_ANY}) (?P<f>{_FIELDS})",
        rf" {_PLAINLY} (?P<f>{_FIELDS})",
        rf",? {_ONLY} (?:the |their )?(?P<f>{_FIELDS}) (?:{_ALIKE})",
        rf",? {_ONLY} (?:both|they|all(?: of them)?) (?:have|share|carry|use) (?:the|an?) (?:same"
        rf"|identical|equal) "
        rf"(?P<f>{_FIELDS})",
        rf",? (?P<f>{_FIELD}) by (?P=f)",
        rf",? by (?P<f>{_ID})",
        rf"(?:[,;]| [-\u2013\u2014]) ?{_BY} (?:the )?(?:same )?(?P<f>{_FIELDS})",
        rf" {_BY} (?:the )?(?:same )?(?P<f>{_ID})",
        rf",? ?[(\[](?:{_BY} )?(?:the )?(?P<f>{_ID}(?:(?:,| and) (?:the )?{_FIELD})*)[)\]]",
        rf"(?:[,;:]| [-\u2013\u2014])(?: and)? ?(?:the |their |its )?(?P<f>{_FIELDS}) "
        rf"{_MUST_BE_ALIKE}{_BOTH}",
        rf"(?:[,;:]| [-\u2013\u2014])(?: and)? ?(?:the |their |its )?(?P<f>{_FIELDS}) (?:being )?(?:the same"
        rf"|identical|equal){_BOTH}",
        rf"(?:[,;]| [-\u2013\u2014]) ?(?:each|every)(?: single)? (?P<f>{_FIELD}) {_BY_ITSELF}",
    )
)
_LEADING = tuple(
    rf"^{pattern}"
    for pattern in (
        rf"(?:{_SAME}|{_ANY}) (?P<f>{_FIELDS}) ?(?:[,:]| [-\u2013\u2014]) ?(?=\S)",
        rf"(?:each|every|same) (?P<f>{_FIELD}) ?: ?(?=\S)",
        rf"(?:where|when|whenever|if|provided) the (?P<f>{_FIELDS}) (?:{_ALIKE}) ?[,:] ?(?=\S)",
        rf"(?P<f>{_FIELD}) by (?P=f) ?[,:] ?(?=\S)",
        rf"{_PLAINLY} (?P<f>{_ID}|{_FIELD} (?:id|number|code)) (?=\S)",
    )
)
"""In front, mostly before a comma or a colon."""


_ENDS_IN_MANY = r"\b\d{2,}$"
"""`Cancel no more than 20` may be an amount."""


def compared_aside(sentence: str, read: Callable[[str], PolicyKind]) -> PolicyKind | None:
    """The rule beside what must be the same, compared by that; None where nothing of it stands there."""
    body = " ".join(sentence.split()).removesuffix(".").strip()
    first: BadInput | None = None
    for rest, fields in _ways(body):
        try:
            rule = _compared(rest, fields, read)
        except BadInput as bad:
            first = first or bad
            continue
        same: Paths = getattr(rule, "same", ())
        if same and ((rule is not None and rule.kind == "total") or not compiled(_ENDS_IN_MANY).search(rest)):
            return rule
    if first is not None:
        raise first
    return None


def _compared(rest: str, fields: list[str], read: Callable[[str], PolicyKind]) -> PolicyKind | None:
    try:
        return read(f"{rest} with the same {' and '.join(fields)}")
    except TwoReadings:
        raise
    except BadInput:
        return _comparing(read(rest), fields)


def _ways(body: str) -> Iterator[tuple[str, list[str]]]:
    """(the rest, the fields) by whatever stands behind, then in front; each rest once."""
    seen = set[str]()
    for pattern in (*_BEHIND, *_LEADING):
        if (found := compiled(pattern).search(body)) is None:
            continue
        fields = [_one(field) for field in re.split(r"(?:,| and)+ ", found["f"])]
        rest = f"{body[: found.start()]}{body[found.end() :]}".strip(" ,;:")
        if (
            rest
            and rest not in seen
            and not _says_when(fields, found[0])
            and not (compiled(r"\bany\b").search(found[0]) and compiled(r"\bsame\b").search(rest))
        ):
            seen.add(rest)
            yield f"{rest[:1].upper()}{rest[1:]}", fields


_OF_THINGS = frozenset(["day", "week", "month", "year", "date", "period", "type", "kind"])
"""What things may have, too: `the payslip of the same employee_id and month`."""


def _says_when(fields: list[str], said: str) -> bool:
    """Is one of them no thing that calls have: `in the same month`, `per day`?"""
    doubtful = {field for field in fields if field in NOT_A_THING}
    if not doubtful <= _OF_THINGS:
        return True
    alone = len(doubtful) == len({*fields})
    pattern = r"\bfor (?:the |that )?(?:very )?same\b" if alone else r"\bsame\b|[(\[]"
    return bool(doubtful) and not compiled(pattern).search(said)


def _one(words: str) -> str:
    """`order_id` of `the same order id`."""
    return re.sub(r"^(?:(?:for |with |in )?the )?(?:same )?", "", words.strip()).lower().replace(" ", "_")


def _comparing(rule: PolicyKind, fields: list[str]) -> PolicyKind | None:
    had: Paths = getattr(rule, "same", ())
    if not can_compare(rule) or (had and not is_in_passing(had)):
        return None
    return replace(rule, same=same_fields(" and ".join(fields)))  # type: ignore[type-var]
