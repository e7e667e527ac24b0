"""Two limits in one sentence (`2 escalations and 1 ban at most per run`): each, as a rule of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from synth.policies.composed import quoted
from synth.policies.kinds.absence import AbsenceAfter
from synth.policies.kinds.count import Count
from synth.policies.kinds.kind import PolicyKind
from synth.policies.kinds.rate import Rate
from synth.policies.kinds.total import Total
from synth.policies.kinds.variety import Variety
from synth.policies.patterns import compiled

Reads = Callable[[str], Iterator[tuple[str, PolicyKind]]]
"""(what the language says, its rule) of each way to read a sentence."""

_JOINT = compiled(r",? (?:and|but)(?: also)? |[;,] ")
_LEAD = compiled(
    r"(?:per|for each|for every|in (?:a|any|each|every|one)) [a-z_]+,? |[^,:]+: ?|.*?(?= (?:at most|no more"
    r"|not more|max|may|must|can|has to) )"
)
_TRAIL = compiled(
    r"(?:,? (?:and )?(?:not|no) more(?: often)?| at (?:the )?most|,? (?:per|in (?:a|one|any|each|the same)) "
    r"(?:run|conversation|session)| max(?:imum)?)+$"
)


def two_limits(body: str, reads: Reads) -> str | None:
    """What to write instead of a sentence of two limits; None where it is no such one."""
    leads = list(dict.fromkeys(("", *(m[0] for m in [_LEAD.match(body)] if m))))
    trail = m[0] if (m := _TRAIL.search(body)) else ""
    for joint in _JOINT.finditer(body):
        first, then = body[: joint.start()], body[joint.end() :]
        for begin in leads:
            one = _one_limit((first, f"{first}{trail}"), reads)
            other = one and _one_limit((then, f"{begin}{then}", f"{_subject(first)}{then}"), reads)
            if one and other and one != other:
                return f"{quoted(one)} and {quoted(other)}"
    return None


def _subject(first: str) -> str:
    """What comes before the number, with what leads: `per order_id reassign courier`."""
    found = compiled(r"^(?P<all>.+?) (?:at most|no more than|not more than|max)\b").match(first)
    return f"{found['all']} " if found else ""


def _one_limit(ways: tuple[str, ...], reads: Reads) -> str | None:
    """The one limit that the first of these sentences states that states one."""
    for said in dict.fromkeys(ways):
        found = list(reads(re.sub(" +", " ", said).strip()))
        if len(found) == 1 and _is_limit(found[0][1]):
            return found[0][0]
    return None


def _is_limit(rule: PolicyKind) -> bool:
    if isinstance(rule, AbsenceAfter):
        return rule.within is not None and all(a.key == b.key for a, b in rule.pairs)
    return isinstance(rule, Rate | Total | Variety) or (isinstance(rule, Count) and bool(rule.most))
