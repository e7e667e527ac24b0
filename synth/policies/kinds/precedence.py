"""Order: an action needs an earlier success of another one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from typing import ClassVar

from synth.formal.constraints import Before, Constraint
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
from synth.policies.kinds.edits import Edit, Move, begin_of, blamed, call_of, equal_arguments
from synth.policies.kinds.formulas import SomeEndedBefore
from synth.policies.kinds.kind import Form, Paths, Reads, Relation, Traits, clauses_of
from synth.policies.kinds.plans import Slot, needs_one, slots_besides, slots_of
from synth.policies.kinds.sweeps import some_ended_before
from synth.policies.names import Names, Span, Tools


def _read(said: Sequence[Constraint], names: Names, same: Paths) -> Precedence:
    orders = [c for c in said if isinstance(c, Before)]
    pairs = tuple((names.actions[c.first], names.actions[c.then]) for c in orders)
    return Precedence(pairs, same, clauses_of(orders))


@dataclass(frozen=True, slots=True)
class Precedence:
    """Every attempt at `then` needs an earlier success of `first`, with equal arguments if asked."""

    kind: ClassVar[str] = "precedence"
    forms: ClassVar[tuple[Form, ...]] = (Relation((Before,), _read, same=True),)
    pairs: tuple[tuple[Tools, Tools], ...]
    """(first, then) each: a sentence may speak of several."""
    same: Paths = ()
    clauses: tuple[Span | None, ...] = field(default=(), compare=False)
    """The words of each pair, where they are not the whole sentence."""

    @property
    def tools(self) -> tuple[Tools, ...]:
        return tuple(tools for pair in self.pairs for tools in pair)

    @property
    def traits(self) -> Traits:
        return Traits(
            subjects=tuple(then for _, then in self.pairs),
            needs=self.pairs,
            order_alone=True,
            reads=Reads(self.tools if self.same else ()),
        )

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        if self.same and without_arguments(seen, [tools for pair in self.pairs for tools in pair]):
            return Judged("unsupported", (), "The arguments of the calls were not recorded.")
        clauses = self.clauses or repeat(None)
        duties = [
            d
            for (first, then), clause in zip(self.pairs, clauses, strict=False)
            for d in self._duties(first, then, clause, seen)
        ]
        return judge_compared(duties, self.same, seen, rules)

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        always = judged.verdict == "not_applicable" or bool(self.same)
        return despite_gaps(
            judged,
            opens=partial(lacks_first, self.pairs, seen.successes, always, seen),
            mends=partial(can_come_first, self.pairs, seen),
        )

    def edits(self, judged: Judged, seen: Evidence) -> Iterator[Edit]:
        """It waits for what runs, or comes after what is late, or that before it; or there is one more."""
        for call, first in blamed(judged, seen, self.pairs, 1):
            key = values_of(call, 1, self.same, seen).key
            good = [i for i in seen.successes(first) if values_of(i, 0, self.same, seen).key == key]
            late = [i for i in good if seen.rank[i] > seen.rank[call]]
            if len(late) < len(good):
                yield Move(call, call + 1)
            for i in late[:1]:
                yield Move(i, call)
                yield Move(call, i + 1)
            arguments = equal_arguments(call, self.same, 1, seen)
            for place in dict.fromkeys((call, begin_of(seen))):
                yield from call_of(first, place, seen, arguments)

    def plan_rules(self, slots: Sequence[Slot]) -> Iterator[PlanRule]:
        for first, then in self.pairs:
            for j in slots_besides(then, first, slots):
                yield needs_one(j, slots_of(first, slots), lambda w, i, j=j: w.before(i, j))  # type: ignore[misc]

    def flaws(self) -> tuple[str, ...]:
        return ()

    def _duties(self, first: Tools, then: Tools, clause: Span | None, seen: Evidence) -> Iterator[Compared]:
        attempts = owned(besides(seen.attempts(then), then, first, seen), seen)
        if not attempts:
            return

        def pool(calls: Sequence[int]) -> Pool:
            return Pool(Ended(calls, seen).before, some_ended_before(calls, seen), bool(calls))

        pools = Pools(Alike(seen.successes(first), 0, self.same, seen), pool)
        for j in attempts:
            values = values_of(j, 1, self.same, seen)
            needed = f"{first.phrase}{with_the_same(self.same)}"
            said = f"{then.phrase} (call {j}) needs an earlier success of {needed}."
            yield pools.compared(j, 1, values, SomeEndedBefore, (), said, clause)
