"""The nearest run that the broken rules of a file would have allowed: calls reordered, added, left out.

Each broken rule proposes changes (`kinds.edits`); what they lead to is judged again, fewest changes first.
A repair is given only where the repaired run was judged to keep the rule, and it names every policy of the
file that it was judged to keep. First all rules about calls and their order are repaired together; where
that is not found within the limits, each alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from heapq import heappop, heappush
from itertools import count, islice
from operator import is_
from typing import cast

from synth.frozen import quick
from synth.policies.evidence import Evidence, Part
from synth.policies.kinds.duty import Judged
from synth.policies.kinds.each import as_compared
from synth.policies.kinds.edits import Edit, Mendable, begin_of
from synth.policies.kinds.kind import PolicyKind
from synth.policies.model import Policy, Repair
from synth.policies.rewritten import Plan

MOST_CALLS = 200
"""A longer run is not repaired."""
MOST_WORK = 20_000
"""Calls looked at while the repairs of a run are looked for, 50 more for each time that a rule is asked.

Half of it is for all rules together."""
MOST_EDITS = 12
"""Changes of one plan that are tried."""
KEPT = ("ok", "not_applicable")
INFINITE = float("inf")

Judge = Callable[[Policy, Evidence], Judged]


@dataclass
class _Asked:
    """A judge, and whether an answer of it waited for calls to come: of an ended run it is another."""

    judge: Judge
    waited: bool = False

    def __call__(self, policy: Policy, seen: Evidence) -> Judged:
        found = self.judge(policy, seen)
        self.waited |= found.awaits
        return found


@quick
@dataclass(frozen=True, slots=True)
class Look:
    """A plan, judged."""

    plan: Plan
    seen: Evidence
    found: tuple[Judged, ...]
    """Of each rule that is to be kept."""

    @property
    def broken(self) -> float:
        """How many violations are left; infinite where a rule cannot be decided any more."""
        if any(judged.verdict not in (*KEPT, "violated") for judged in self.found):
            return INFINITE
        return sum(max(1, len(j.violations)) for j in self.found if j.verdict == "violated")

    @property
    def rank(self) -> tuple[float, ...]:
        """The smaller the nearer: few changes and violations, no new calls, the first violation late."""
        steps = self.plan.steps
        places = [self.seen.rank[i] for judged in self.found for i in judged.violations]
        added = sum(step.call is None for step in steps)
        return self.plan.edits + self.broken, self.broken, added, -min(places, default=len(steps))


def repairs(
    policies: Sequence[Policy],
    found: Sequence[Judged],
    seen: Evidence,
    judge: Judge,
    prove: Judge | None = None,
) -> Mapping[str, Repair]:
    """Policy -> the repair of its violation, where one was found.

    `found` is what was found about each. Plans are looked for with `judge`, and what one keeps is told by
    `prove`, or by `judge` alone. None of a run with gaps: what was not seen may be what the repair would add.
    """
    pairs = list(zip(policies, found, strict=True))
    broken = [p for p, one in pairs if one.verdict == "violated" and _is_mendable(type(p.rule))]
    if not broken or not _can_be_changed(seen):
        return {}
    asked, proved = _Asked(judge), _Asked(prove) if prove else None
    mended = _found(pairs, broken, seen, asked, proved)
    lasting = not (asked.waited or (proved is not None and proved.waited))
    return {policy: replace(one, lasting=True) for policy, one in mended.items()} if lasting else mended


def _found(
    pairs: Sequence[tuple[Policy, Judged]],
    broken: Sequence[Policy],
    seen: Evidence,
    judge: Judge,
    prove: Judge | None,
) -> dict[str, Repair]:
    """One repair of all that is `broken`, else those of each."""
    decided = [p for p, one in pairs if one.verdict in (*KEPT, "violated")]
    ordered = [p for p in decided if _is_mendable(type(p.rule))]
    search = _Search(seen, judge, {policy.id: one for policy, one in pairs})
    if (look := search.plan_for(ordered, MOST_WORK // 2)) is not None:
        return _mended(broken, look, seen, _kept(decided, look, ordered, judge, prove))
    mended: dict[str, Repair] = {}
    for policy in broken if len(ordered) > 1 else ():
        if (look := search.plan_for([policy], MOST_WORK)) is not None:
            mended |= _mended([policy], look, seen, _kept(decided, look, [policy], judge, prove))
    return mended


@cache
def _is_mendable(kind: type[PolicyKind]) -> bool:
    """Are its rules `Mendable`? Asked once for each kind: asking a protocol about an object takes long."""
    return callable(getattr(kind, "edits", None))


def _mended(
    policies: Sequence[Policy], look: Look, seen: Evidence, kept: tuple[str, ...]
) -> dict[str, Repair]:
    """The repair of policies by one plan, of those that it was judged to keep."""
    repair = _said([policy.rule for policy in policies], look.plan, seen, kept)
    return {policy.id: repair for policy in policies if policy.id in kept}


def _can_be_changed(seen: Evidence) -> bool:
    """Is everything seen, and is the run, or its part of a conversation, the last and not too long?"""
    if seen.gaps or len(seen.calls) > MOST_CALLS:
        return False
    if seen.part is None:
        return True
    own, calls = seen.part.calls, len(seen.calls)
    return seen.part.last and own.stop == calls and all(i < own.start for i in seen.order[: own.start])


def _kept(
    policies: Sequence[Policy], look: Look, rules: Sequence[Policy], judge: Judge, prove: Judge | None
) -> tuple[str, ...]:
    """Those of the policies that a plan is told to keep; `rules` are those that it was looked at by."""
    known = {policy.id: found for policy, found in zip(rules, look.found, strict=True)} if not prove else {}
    ask = prove or judge
    return tuple(
        policy.id for policy in policies if (known.get(policy.id) or ask(policy, look.seen)).verdict in KEPT
    )


def _said(rules: Sequence[PolicyKind], plan: Plan, seen: Evidence, kept: tuple[str, ...]) -> Repair:
    """The calls of the plan that the rules speak of, and those that were changed."""
    tools = dict.fromkeys(step.tool for step in plan.steps)
    spoken = {tool for rule in rules for tool in _spoken_of(rule, tools)}
    shown = [step for step in plan.steps if step.call is None or step.moved or step.tool in spoken]
    left = {step.call for step in plan.steps}
    return Repair(
        order=tuple(step.tool for step in shown),
        calls=tuple(step.call for step in shown),
        moved=tuple(step.call for step in shown if step.moved and step.call is not None),
        added=tuple((step.tool, step.arguments) for step in shown if step.call is None),
        dropped=tuple(i for i in seen.order if i not in left),
        proved=kept,
    )


def _spoken_of(rule: PolicyKind, tools: Iterable[str]) -> Iterable[str]:
    """Those of the tools that a rule speaks of."""
    traits, actions = rule.traits, rule.tools
    if traits.apart:
        return tools
    return [tool for tool in tools if tool in traits.named or any(tool in action for action in actions)]


@dataclass
class _Search:
    """For the plans with the fewest changes that keep some rules."""

    seen: Evidence
    judge: Judge
    found: Mapping[str, Judged]
    """Policy -> what was found about the run as it is."""
    work: int = 0
    """Done so far."""

    def plan_for(self, rules: Sequence[Policy], most: int) -> Look | None:
        """Fewest changes and violations first, until so much work is done in all."""
        start = self._look(Plan.of(self.seen.run, self.seen.order), rules)
        number = count()
        waiting = [(start.rank, next(number), start)] if start.broken else []
        known: set[object] = {start.plan.key}
        best: Look | None = None
        while waiting and self.work < most:
            *_, look = heappop(waiting)
            for plan in self._next(look, rules):
                if plan.key in known or (best is not None and plan.edits >= best.plan.edits):
                    continue
                known.add(plan.key)
                further = self._look(plan, rules)
                if not further.broken:
                    best = further
                elif further.broken < INFINITE:
                    heappush(waiting, (further.rank, next(number), further))
        return best

    def _look(self, plan: Plan, rules: Sequence[Policy]) -> Look:
        self.work += (len(plan.steps) + 50) * len(rules)
        old = self.seen
        part = None if old.part is None else Part(range(old.part.calls.start, len(plan.steps)))
        run = plan.changed(old.run) if plan.edits else old.run
        if all(map(is_, run.calls, old.calls)) and len(run.calls) == len(old.calls):
            return Look(plan, old, tuple(self.found[policy.id] for policy in rules))
        seen = Evidence(run, old.timezone, old.aliases, old.skew_ns, part, old.until, budget=old.budget)
        return Look(plan, seen, tuple(self.judge(policy, seen) for policy in rules))

    def _next(self, look: Look, rules: Sequence[Policy]) -> Iterator[Plan]:
        """The plans after one more change, the changes of the first rules first."""
        edits = (
            edit
            for policy, judged in zip(rules, look.found, strict=True)
            if judged.verdict == "violated"
            for edit in cast(Mendable, as_compared(policy.rule, look.seen)).edits(judged, look.seen)
        )
        return (look.plan.edited(edit) for edit in islice(filter(self._is_own, edits), MOST_EDITS))

    def _is_own(self, edit: Edit) -> bool:
        """Does it leave the earlier runs of a conversation as they are?"""
        first = begin_of(self.seen)
        places = {getattr(edit, name, first) for name in ("at", "to")}
        return min(places) >= first
