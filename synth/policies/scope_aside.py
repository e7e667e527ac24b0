"""Over what a rule holds, said beside it: `In every run, ...`, `... within a single conversation`."""

from __future__ import annotations

from collections.abc import Callable

from synth.errors import BadInput
from synth.policies.fewer_words import ONE_SCOPE
from synth.policies.kinds.count import Count
from synth.policies.kinds.kind import PolicyKind
from synth.policies.patterns import compiled

_SCOPE = rf"{ONE_SCOPE} (?:run|conversation|session)"
_WAYS = (
    rf"^{_SCOPE} ?(?:[,:]| [-\u2013\u2014]) ?(?P<rest>.+)$",
    rf"^(?P<rest>.+?)(?:,| [-\u2013\u2014])? {_SCOPE}$",
    rf"^(?P<rest>.+?),? [(\[]{_SCOPE}[)\]]$",
    rf"^{_SCOPE} (?P<rest>.+)$",
    rf"^(?P<head>[^,:]+?) {_SCOPE} ?(?P<rest>: .+)$",
)
_ADDED = r"\b(?:(?:come|add|amount)s? (?:up )?to|totals?|sums?|altogether)\b"
"""What is added up says itself over what."""


def beside_its_scope(sentence: str, read: Callable[[str], PolicyKind]) -> PolicyKind | None:
    """The rule without the scope that its file has; None where nothing of it stands there."""
    body = " ".join(sentence.split()).removesuffix(".").strip()
    if compiled(_ADDED).search(body):
        return None
    for pattern in _WAYS:
        if m := compiled(pattern).match(body):
            try:
                said = f"{m.groupdict().get('head') or ''}{m['rest']}"
                rule = read(f"{said[:1].upper()}{said[1:]}")
            except BadInput:
                continue
            return None if _may_exclude(rule) else rule
    return None


def _may_exclude(rule: PolicyKind) -> bool:
    """`Refunds and cancellations must not happen in the same run` forbids neither by itself."""
    return isinstance(rule, Count) and not rule.most and len(rule.what) > 1
