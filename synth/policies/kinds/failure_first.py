"""What is only for when something has failed: an action needs an earlier failure of another one."""

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
from synth.policies.kinds.candidates import (
    Ended,
    besides,
    can_come_first,
    lacks_first,
    owned,
    without_arguments,
)
from synth.policies.kinds.duty import Judged, despite_gaps
from synth.policies.kinds.edits import Drop, Edit, blamed
from synth.policies.kinds.formulas import SomeEndedBefore
from synth.policies.kinds.kind import MUST, Form, Paths, Reads, Sentence, Traits
from synth.policies.kinds.plans import Slot
from synth.policies.kinds.sweeps import some_ended_before
from synth.policies.names import Names, Tools


def _read(m: re.Match[str], names: Names, same: Paths) -> FailureFirst:
    return FailureFirst(names.pairs(m["a"], m["b"]), same)


@dataclass(frozen=True, slots=True)
class FailureFirst:
    """Every attempt at `then` needs an earlier failure of `first`, with equal arguments if asked."""

    kind: ClassVar[str] = "failure_first"
    forms: ClassVar[tuple[Form, ...]] = (
        Sentence(rf"(?P<a>.+?) {MUST} fail before (?P<b>.+)", _read, same=True),
    )
    pairs: tuple[tuple[Tools, Tools], ...]
    """(first, then) each."""
    same: Paths = ()

    @property
    def failed(self) -> bool:
        """It is failures that count."""
        return True

    @property
    def tools(self) -> tuple[Tools, ...]:
        return tuple(tools for pair in self.pairs for tools in pair)

    @property
    def traits(self) -> Traits:
        return Traits(
            subjects=tuple(then for _, then in self.pairs),
            order_alone=True,
            reads=Reads(self.tools if self.same else ()),
        )

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        if self.same and without_arguments(seen, [tools for pair in self.pairs for tools in pair]):
            return Judged("unsupported", (), "The arguments of the calls were not recorded.")
        duties = [d for first, then in self.pairs for d in self._duties(first, then, seen)]
        return judge_compared(duties, self.same, seen, rules)

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        always = judged.verdict == "not_applicable" or bool(self.same)
        return despite_gaps(
            judged,
            opens=partial(lacks_first, self.pairs, seen.failures, always, seen),
            mends=partial(can_come_first, self.pairs, seen),
        )

    def edits(self, judged: Judged, seen: Evidence) -> Iterator[Edit]:
        """What was done without a failure is left out."""
        for call, _ in blamed(judged, seen, self.pairs, 1):
            yield Drop(call)

    def plan_rules(self, slots: Sequence[Slot]) -> tuple[PlanRule, ...]:
        return ()  # in a plan every call succeeds

    def flaws(self) -> tuple[str, ...]:
        return ()

    def _duties(self, first: Tools, then: Tools, seen: Evidence) -> Iterator[Compared]:
        attempts = owned(besides(seen.attempts(then), then, first, seen), seen)
        if not attempts:
            return

        def pool(calls: Sequence[int]) -> Pool:
            return Pool(Ended(calls, seen).before, some_ended_before(calls, seen), bool(calls))

        pools = Pools(Alike(seen.failures(first), 0, self.same, seen), pool)
        for j in attempts:
            values = values_of(j, 1, self.same, seen)
            needed = f"{first.phrase}{with_the_same(self.same)}"
            said = f"{then.phrase} (call {j}) needs an earlier failure of {needed}."
            yield pools.compared(j, 1, values, SomeEndedBefore, (), said)
