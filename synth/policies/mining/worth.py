"""Which rules are worth reading: kept beyond doubt, saying more than others, broken by changed runs."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from synth.judge.rules import Rules
from synth.policies.evidence import Evidence
from synth.policies.kinds.count import Count
from synth.policies.kinds.kind import PolicyKind, answer
from synth.policies.mining.equal import CHAINED
from synth.policies.mining.mined import ANY, Mined
from synth.policies.mining.seen import Seen, some

SHUFFLES = 5
"""Copies of each supporting run for the counter-check."""
MOST_COPIED = 200
"""Runs of which copies are made."""
COMPARED = 12
"""Runs, and twice as many small changes of each, among which one is looked for that only one rule forbids."""
MOST_TRIED = 60
"""Rules beyond order and counts that are compared with those that are shown, the strongest first."""
DIRECT = Rules(z3="off")


def kept_by_all(rule: PolicyKind, tools: Sequence[str], seen: Sequence[Seen], min_support: int) -> bool:
    """The checker's own word: kept or not applicable in every run, and kept in enough of them."""
    kept = 0
    for one in seen:
        if ANY not in tools and not isinstance(rule, Count) and one.attempts.keys().isdisjoint(tools):
            continue
        verdict = answer(rule, one.evidence, DIRECT).verdict
        if verdict not in ("ok", "not_applicable"):
            return False
        kept += verdict == "ok"
    return kept >= min_support


def saying_more(
    plain: Sequence[Mined], strong: Sequence[Mined], phrases: Mapping[str, str], seen: Sequence[Seen],
    min_support: int,
) -> list[Mined]:  # fmt: skip
    """The plain rules and, the strongest first, those that forbid what none that is shown forbids."""
    shown = list(plain)
    for one in strong[:MOST_TRIED]:
        rule = one.stated(phrases)
        rest = [other for other in shown if not _is_weaker(other, one)]
        rivals = [other.stated(phrases) for other in rest if _are_compared(one, other)]
        if _says_more(one, rule, rivals, seen) and kept_by_all(rule, one.tools, seen, min_support):
            shown = [*rest, one]
    return shown


def _are_compared(one: Mined, other: Mined) -> bool:
    """Of two orders for the same field what follows from the other was left out before."""
    if one.alone:
        return one.tools == other.tools
    return not (one.kind == other.kind and one.kind in CHAINED)


def _is_weaker(one: Mined, other: Mined) -> bool:
    """Does the one say the same as the other, without its equal fields?"""
    return f"{one.kind}_same" == other.kind and one.tools == other.tools


def _says_more(one: Mined, rule: PolicyKind, others: Sequence[PolicyKind], seen: Sequence[Seen]) -> bool:
    """Is there a small change of a run that breaks it, and none of the others?"""
    chance, change = random.Random(0), one.little or one.breaks
    able = [s for s in seen if all(tool in s.attempts for tool in one.tools)] or seen
    for s in some(able, COMPARED):
        for _ in range(2 * COMPARED):
            copy = Evidence(change(s.run, chance))
            if answer(rule, copy, DIRECT).verdict == "violated" and not any(
                answer(other, copy, DIRECT).verdict == "violated" for other in others
            ):
                return True
    return False


def counter_check(one: Mined, rule: PolicyKind, seen: Sequence[Seen]) -> tuple[int, int]:
    """Does the rule notice anything? Changed copies of some of the supporting runs."""
    broken = tried = 0
    telling = [(number, s) for number, s in enumerate(seen) if one.tells is None or one.tells(s)]
    own = [
        s
        for s in telling
        if ANY in one.tools or one.kind == "exactly" or not s[1].attempts.keys().isdisjoint(one.tools)
    ]
    for number, s in some(own, MOST_COPIED):
        if answer(rule, s.evidence, DIRECT).verdict != "ok":
            continue
        chance = random.Random(number)
        for _ in range(SHUFFLES):
            tried += 1
            broken += answer(rule, Evidence(one.breaks(s.run, chance)), DIRECT).verdict == "violated"
    return broken, tried
