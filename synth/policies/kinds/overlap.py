"""Overlap: actions that must not run at the same time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from synth.formal.solver import PlanRule
from synth.judge.rules import Rules
from synth.policies.evidence import Evidence
from synth.policies.kinds.arguments import (
    Alike,
    Compared,
    Pool,
    Pools,
    judge_compared,
    values_of,
    with_the_same,
)
from synth.policies.kinds.candidates import owned, without_arguments
from synth.policies.kinds.duty import NO_TIMES, NOT_APPLICABLE, Duty, Judged, despite_gaps, judge_duties
from synth.policies.kinds.formulas import Apart, Late, NoneRunsAtStart
from synth.policies.kinds.kind import MUST, Form, Paths, Reads, Sentence, Traits
from synth.policies.kinds.plans import Slot, never_both, slots_of
from synth.policies.kinds.running import Running
from synth.policies.kinds.sweeps import end_of, start_of
from synth.policies.names import Names, Tools, TwoReadings


def _read(m: re.Match[str], names: Names, same: Paths) -> NoOverlap:
    return NoOverlap(names.pairs(m["a"], m["b"]), same)


def _starts(m: re.Match[str], names: Names, same: Paths) -> NoOverlap:
    return NoOverlap(names.pairs(m["a"], m["b"]), same, starts=True)


def _each_other(m: re.Match[str], names: Names, same: Paths) -> NoOverlap:
    actions = names.list(m["a"])
    if any(tools.either for tools in actions):
        raise TwoReadings("join with `and` what must not overlap each other; `or` leaves open what is meant")
    if len(actions) == 1:
        return NoOverlap(((actions[0], actions[0]),), same)
    return NoOverlap(tuple((a, b) for i, a in enumerate(actions) for b in actions[i + 1 :]), same)


@dataclass(frozen=True, slots=True)
class NoOverlap:
    """No call of one action runs while a call of the other does; the one that starts later is named.

    With `same`, of calls with equal arguments alone. With `starts`, only the first action must not begin
    while the second one runs; what began before, or at the same instant, may go on.
    """

    kind: ClassVar[str] = "overlap"
    forms: ClassVar[tuple[Form, ...]] = (
        Sentence(rf"(?P<a>.+?) {MUST} (?:not|never) overlap(?: each other)?", _each_other, same=True),
        Sentence(rf"(?P<a>.+?) {MUST} (?:not|never) overlap (?:with )?(?P<b>.+)", _read, same=True),
        Sentence(
            rf"(?P<a>.+?) {MUST} (?:not|never) (?:start|begin) while (?P<b>.+?) (?:runs?|(?:is|are) running)",
            _starts,
            same=True,
        ),
    )
    pairs: tuple[tuple[Tools, Tools], ...]
    same: Paths = ()
    starts: bool = False

    @property
    def tools(self) -> tuple[Tools, ...]:
        return tuple(tools for pair in self.pairs for tools in pair)

    @property
    def traits(self) -> Traits:
        return Traits(subjects=(), reads=Reads(self.tools if self.same else ()))

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        both = [(a, b) for a, b in self.pairs if self._relevant(a, b, seen)]
        if not both:
            return NOT_APPLICABLE
        if not seen.has_times:
            return NO_TIMES
        if not self.same:
            return judge_duties([d for a, b in both for d in self._duties(a, b, seen)], seen, rules)
        if without_arguments(seen, [tools for pair in both for tools in pair]):
            return Judged("unsupported", (), "The arguments of the calls were not recorded.")
        alike = [d for a, b in both for d in self._alike(a, b, seen)]
        return judge_compared(alike, self.same, seen, rules)

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        return despite_gaps(judged, opens=partial(self._opens, seen), mends=lambda call: False)

    def _opens(self, seen: Evidence) -> bool:
        return any(self._may_overlap(a, b, seen) or self._may_overlap(b, a, seen) for a, b in self.pairs)

    @staticmethod
    def _may_overlap(unseen: Tools, other: Tools, seen: Evidence) -> bool:
        """May an unseen call of one action have run beside a call of the other, or bring the rule to bear?"""
        possible = seen.gaps.of(unseen)
        if not possible:
            return False
        if seen.gaps.most > 1 and seen.gaps.can_be(other):
            return True
        made = seen.attempts(other)
        alone = bool(made) and not NoOverlap._relevant(unseen, other, seen)
        return alone or any(map(possible.can_overlap, made))

    def plan_rules(self, slots: Sequence[Slot]) -> Iterator[PlanRule]:
        if self.same:
            return  # nothing is known of arguments
        for a, b in self.pairs:
            for i in slots_of(a, slots):
                for j in slots_of(b, slots):
                    if self.starts and i != j:
                        yield never_both(
                            i, j, lambda w, i=i, j=j: w.any((w.before(j, i), w.no_later(i, j)))  # type: ignore[misc]
                        )  # fmt: skip
                    elif i < j:
                        yield never_both(
                            i, j, lambda w, i=i, j=j: w.any((w.before(i, j), w.before(j, i)))  # type: ignore[misc]
                        )  # fmt: skip

    def flaws(self) -> tuple[str, ...]:
        return ()

    @staticmethod
    def _relevant(a: Tools, b: Tools, seen: Evidence) -> bool:
        return len({*seen.attempts(a), *seen.attempts(b)}) > 1 and bool(seen.attempts(a) and seen.attempts(b))

    def _duties(self, a: Tools, b: Tools, seen: Evidence) -> Iterator[Duty]:
        for later, earlier in self._sides(a, b):
            yield from self._one_side(later, earlier, seen)

    def _sides(self, a: Tools, b: Tools) -> tuple[tuple[Tools, Tools], ...]:
        return ((a, b),) if self.starts or a.key == b.key else ((a, b), (b, a))

    def _alike(self, a: Tools, b: Tools, seen: Evidence) -> Iterator[Compared]:
        """Each call against those with equal arguments."""

        def pool(calls: Sequence[int]) -> Pool:
            candidates = partial(_may_run, calls, seen) if self.starts else Running(calls, seen).candidates
            return Pool(candidates, None, bool(calls))

        for later, earlier in self._sides(a, b):
            pools = Pools(Alike(seen.attempts(earlier), 0, self.same, seen), pool)
            for j in owned(seen.attempts(later), seen):
                what = f"{earlier.phrase}{with_the_same(self.same)}"
                said = f"{later.phrase} (call {j}) overlaps {what}."
                if self.starts:
                    said = f"{later.phrase} (call {j}) started while {what} was running."
                formula = NoneRunsAtStart if self.starts else Apart
                yield pools.barred(j, 1, values_of(j, 1, self.same, seen), formula, (), said)

    def _one_side(self, later: Tools, earlier: Tools, seen: Evidence) -> Iterator[Duty]:
        """Each call of `later` against the calls of `earlier` that started before it and can still run."""
        if self.starts:
            yield from self._starting(later, earlier, seen)
            return
        before = Running(seen.attempts(earlier), seen)
        for j in seen.attempts(later):
            running = before.go_to(j)
            said = f"{later.phrase} (call {j}) overlaps {earlier.phrase}"
            said += f" ({running})." if running else "."
            yield Duty(j, Late(Apart, j, before.candidates), said, sweep=before.sweep(j))

    @staticmethod
    def _starting(later: Tools, earlier: Tools, seen: Evidence) -> Iterator[Duty]:
        running = partial(_may_run, seen.attempts(earlier), seen)
        for j in seen.attempts(later):
            said = f"{later.phrase} (call {j}) started while {earlier.phrase} was running."
            yield Duty(j, Late(NoneRunsAtStart, j, running), said)


def _may_run(calls: Sequence[int], seen: Evidence, later: int) -> tuple[int, ...]:
    """Those that can run when another one starts."""
    seen.budget.spend(len(calls))
    first, last = start_of(later, seen)
    return tuple(
        i for i in calls if i != later and start_of(i, seen)[0] < last and end_of(i, seen)[1] > first
    )
