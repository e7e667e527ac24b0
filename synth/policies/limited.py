"""Sentences that bound a value: `a refund must not exceed 500` forbids a refund over 500."""

from __future__ import annotations

import re
from collections.abc import Iterator

from synth.policies.asked import AMOUNT, said_of, sizes
from synth.policies.bounded import actions_named
from synth.policies.everyday import MODAL
from synth.policies.marks import places_of
from synth.policies.names import Names, TwoReadings
from synth.policies.patterns import compiled
from synth.policies.where import Comparison

_OWNER = r"(?P<o>[a-z][a-z-]*(?: [a-z][a-z-]*)?)"
_EACH = r"(?:an?|each|every|any|a single|one)"
_MUST = rf"(?P<must>{MODAL})(?P<no> not| never)?(?: ever)?"
_IN_ONE = r"(?:,? (?:each|in one go|in a single (?:call|go|step)|in one call|at once|per call|at a time))?"
_FORMS = (
    rf"(?P<none>no) {_OWNER} (?P<must>{MODAL})(?P<no>)(?: ever)? (?=exceed|be )",
    rf"{_EACH} {_OWNER} {_MUST} (?=exceed|be )",
)


def limited(body: str, names: Names) -> str | None:
    """The ban that a sentence states of one action; None where it is no such sentence."""
    for pattern in _FORMS:
        m = compiled(pattern).match(body)
        if m is None:
            continue
        owners = _actions_of(m["o"], names)
        found = next(_bounds(m, body, (AMOUNT,)), None)
        if found is None or not owners:
            continue
        ways = [f"{owner[:1].upper()}{owner[1:]} {found.words} must never happen" for owner in owners]
        if len(ways) > 1:
            either = " or ".join(map(repr, ways[:3]))
            raise TwoReadings(f"cannot read {m['o']!r}, which several actions have; write {either}")
        return ways[0]
    return None


def _actions_of(owner: str, names: Names) -> list[str]:
    """The actions of which it is what they are done to, or what they do."""
    if len(named := actions_named(owner, names)) == 1:
        return named
    every = [{place.phrase for place in places_of(word, names)} for word in owner.split()]
    return sorted(set.intersection(*every)) if every else []


def _bounds(m: re.Match[str], body: str, path: tuple[str, ...]) -> Iterator[Comparison]:
    """What the bound forbids: what is over it."""
    forbids = bool(m["no"]) or bool(m.groupdict().get("none"))
    if more := compiled("exceed ").match(body, m.end()):
        found = sizes(f"over {body[more.end() :]}", 0, path)
        rest = body[more.end() + found[1] - len("over ") :] if found else ""
    else:
        at = m.end() + len("be ")
        at = worth.end() if (worth := compiled("worth |of ").match(body, at)) else at
        found = sizes(body, at, path) or said_of(body, at, path)
        rest = body[found[1] :] if found else ""
    may = compiled(r"(?:may|can|could|might)\b").match(m["must"]) if m.groupdict().get("must") else None
    if found and may and not forbids and found[0][0].op in (">", ">=", "<"):
        return
    if found is None or len(found[0]) != 1 or not re.fullmatch(_IN_ONE, rest, re.IGNORECASE):
        return
    yield found[0][0] if forbids else found[0][0].contrary
