"""Adjacency: an action directly before another one, with no call in between."""

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
from synth.policies.kinds.candidates import Started, besides, owned, ran, unseen_besides, without_arguments
from synth.policies.kinds.duty import Judged, despite_gaps
from synth.policies.kinds.edits import Edit, Move, beside, blamed, call_of, equal_arguments
from synth.policies.kinds.formulas import DirectlyBefore
from synth.policies.kinds.kind import HAPPEN, MUST, Form, Paths, Reads, Sentence, Traits
from synth.policies.kinds.plans import Slot, directly, needs_one, slots_besides, slots_of
from synth.policies.kinds.sweeps import directly_before
from synth.policies.names import Names, Tools


def _read(m: re.Match[str], names: Names, same: Paths) -> Adjacency:
    first, then = (m["a"], m["b"]) if m["side"].lower() == "before" else (m["b"], m["a"])
    return Adjacency(names.pairs(first, then), same)


@dataclass(frozen=True, slots=True)
class Adjacency:
    """Directly before every attempt at `then`, `first` must have succeeded: no call in between.

    With equal arguments if asked: then the call directly before it must have them.
    """

    kind: ClassVar[str] = "adjacency"
    forms: ClassVar[tuple[Form, ...]] = (
        Sentence(
            rf"(?P<a>.+?) {MUST} {HAPPEN} immediately (?P<side>before|after) (?P<b>.+)", _read, same=True
        ),
    )
    pairs: tuple[tuple[Tools, Tools], ...]
    same: Paths = ()

    @property
    def tools(self) -> tuple[Tools, ...]:
        return tuple(tools for pair in self.pairs for tools in pair)

    @property
    def traits(self) -> Traits:
        return Traits(
            subjects=tuple(then for _, then in self.pairs),
            needs=self.pairs,
            apart=True,
            reads=Reads(self.tools if self.same else (), others=True),
        )

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        if self.same and without_arguments(seen, self.tools):
            return Judged("unsupported", (), "The arguments of the calls were not recorded.")
        duties = [d for first, then in self.pairs for d in self._duties(first, then, seen)]
        return judge_compared(duties, self.same, seen, rules)

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        return despite_gaps(judged, opens=partial(self._opens, seen), mends=partial(self._mends, seen))

    def _opens(self, seen: Evidence) -> bool:
        started = Started.of(seen)
        for first, then in self.pairs:
            if unseen_besides(then, first, seen):
                return True
            for j in besides(seen.attempts(then), then, first, seen):
                if seen.gaps.directly_before(j, started.nearest(j)):
                    return True
        return False

    def _mends(self, seen: Evidence, call: int) -> bool:
        near = Started.of(seen).nearest(call)
        return any(
            seen.gaps.of(first).directly_before(call, near)
            for first, then in self.pairs
            if seen.is_of(call, then)
        )

    def edits(self, judged: Judged, seen: Evidence) -> Iterator[Edit]:
        """The nearest success before and after it is brought near, or it to them; or there is one more."""
        for call, first in blamed(judged, seen, self.pairs, 1):
            key = values_of(call, 1, self.same, seen).key
            good = [i for i in seen.successes(first) if values_of(i, 0, self.same, seen).key == key]
            before, after = beside(call, good, seen)
            for i in (*before, *after):
                yield Move(i, call)
                yield Move(call, i + 1)
            yield from call_of(first, call, seen, equal_arguments(call, self.same, 1, seen))

    def plan_rules(self, slots: Sequence[Slot]) -> Iterator[PlanRule]:
        for first, then in self.pairs:
            for j in slots_besides(then, first, slots):
                yield needs_one(j, slots_of(first, slots), lambda w, i, j=j: directly(i, j, slots, w))  # type: ignore[misc]

    def flaws(self) -> tuple[str, ...]:
        return ()

    def _duties(self, first: Tools, then: Tools, seen: Evidence) -> Iterator[Compared]:
        started, every = Started.of(seen), ran(seen)

        def pool(calls: Sequence[int]) -> Pool:
            among = frozenset(calls)
            return Pool(
                lambda call: tuple(i for i in started.last_before(call) if i in among),
                directly_before(calls, every, seen),
                bool(calls),
            )

        pools = Pools(Alike(seen.successes(first), 0, self.same, seen), pool)
        for j in owned(besides(seen.attempts(then), then, first, seen), seen):
            needed = f"a success of {first.phrase}{with_the_same(self.same)}"
            said = f"{then.phrase} (call {j}) was not directly preceded by {needed}."
            yield pools.compared(j, 1, values_of(j, 1, self.same, seen), _one_of, (seen,), said)


def _one_of(call: int, options: tuple[int, ...], seen: Evidence) -> DirectlyBefore:
    """The formula for a call, given those that it may need directly before it."""
    near = Started.of(seen).last_before(call)
    seen.budget.spend(len(options) * len(near))
    return DirectlyBefore(call, options, near)
