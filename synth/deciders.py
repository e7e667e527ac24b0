"""Who says whether a candidate sentence leaves the set satisfiable."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from synth.constraints import Before, Constraint
from synth.derive import constraints_of_part, statements
from synth.grammar import Names, Sentence, SubSentence
from synth.model import Spec
from synth.order import Closure, Edge
from synth.planner import Day, find_schedule
from synth.words import Relation


@dataclass(frozen=True, slots=True)
class Ground:
    """What holds before the first sentence."""

    ids: tuple[str, ...]
    natural: tuple[Edge, ...] = ()
    """Positions of actions whose order common sense forbids to reverse."""
    durations: tuple[int, ...] | None = None
    """Timed mode: minutes per action."""
    horizon: tuple[int, int] | None = None


class Decider(Protocol):
    """Keeps a satisfiable set of sentences."""

    @property
    def facts(self) -> Facts:
        """What the kept sentences say."""
        ...

    def keep(self, sentence: Sentence, *, novel: bool) -> bool:
        """Add the sentence if the set stays satisfiable (and, if `novel`, each clause says something new)."""
        ...

    def statistics(self) -> dict[str, Any]:
        """What asking has cost."""
        ...


def decider_for(name: str, ground: Ground) -> Decider:
    """The decider of that name."""
    if name == "z3":
        return ByZ3(ground)
    return ByClosure(ground)


class Facts:
    """What sentences state: an order, and in timed mode limits on the clock."""

    __slots__ = ("earliest", "horizon", "latest", "order")

    def __init__(
        self, order: Closure, earliest: list[int], latest: list[int], horizon: tuple[int, int]
    ) -> None:
        self.order, self.earliest, self.latest, self.horizon = order, earliest, latest, horizon

    @classmethod
    def none(cls, size: int, horizon: tuple[int, int] | None) -> Facts:
        """Before anything is said."""
        begin, end = horizon or (0, 0)
        return cls(Closure(size), [begin] * size, [end] * size, (begin, end))

    def copy(self) -> Facts:
        return Facts(self.order.copy(), self.earliest[:], self.latest[:], self.horizon)

    @property
    def limited(self) -> bool:
        """Whether any sentence states a clock time."""
        return max(self.earliest) > self.horizon[0] or min(self.latest) < self.horizon[1]

    def day(self, order: Closure, begin: int) -> Day:
        """As a scheduling problem over `order`."""
        return Day(order, self.earliest, self.latest, begin)

    def add(self, part: SubSentence, position: Mapping[str, int], sane: Closure | None) -> bool | None:
        """Take in a sub-sentence: whether each of its statements says something new, None for a cycle.

        `sane` is the order together with the natural one, where there is any.
        """
        all_new = True
        order = self.order
        for subjects, relation, target, _ in statements(part):
            precedes = relation is Relation.PRECEDES
            if not isinstance(target, Names):
                all_new = self._limit([position[a] for a in subjects], precedes, target.minutes) and all_new
                continue
            new = False
            first, then = (subjects, target.actions) if precedes else (target.actions, subjects)
            for a in first:
                for b in then:
                    edge = position[a], position[b]
                    if edge in order:
                        continue
                    new = True
                    if (sane is not None and not sane.add(*edge)) or not order.add(*edge):
                        return None
            all_new = all_new and new
        return all_new

    def _limit(self, tasks: Sequence[int], ends_by: bool, minutes: int) -> bool:
        """Limit the tasks; whether none of them had such a limit already."""
        limits, tighter = (self.latest, min) if ends_by else (self.earliest, max)
        fresh = all(limits[task] == self.horizon[ends_by] for task in tasks)
        for task in tasks:
            limits[task] = tighter(limits[task], minutes)
        return fresh


class ByClosure:
    """Our own decision: acyclic, and in timed mode with a schedule that our search finds."""

    __slots__ = ("facts", "ground", "position", "sane", "slots")

    def __init__(self, ground: Ground) -> None:
        size = len(ground.ids)
        self.ground = ground
        self.position = {action: index for index, action in enumerate(ground.ids)}
        self.facts = Facts.none(size, ground.horizon)
        self.sane = Closure(size, ground.natural) if ground.natural else None
        """With the natural order added, where there is any."""

    def keep(self, sentence: Sentence, *, novel: bool) -> bool:
        if self._reverses(sentence):
            return False
        facts, sane = self.facts.copy(), self.sane and self.sane.copy()
        for part in sentence.parts:
            new = facts.add(part, self.position, sane)
            if new is None or (novel and not new):
                return False
        if not self._fits_in_the_day(facts, sane):
            return False
        self.facts, self.sane = facts, sane
        return True

    def _reverses(self, sentence: Sentence) -> bool:
        """Whether it says the reverse of something known: most refusals, without copying anything."""
        before, position = (self.sane or self.facts.order).before, self.position
        for part in sentence.parts:
            for subjects, relation, target, _ in statements(part):
                if not isinstance(target, Names):
                    continue
                precedes = relation is Relation.PRECEDES
                first, then = (subjects, target.actions) if precedes else (target.actions, subjects)
                for a in first:
                    known = before[position[a]]
                    if known and any(known >> position[b] & 1 for b in then):
                        return True
        return False

    def _fits_in_the_day(self, facts: Facts, sane: Closure | None) -> bool:
        ground = self.ground
        if ground.durations is None or ground.horizon is None:
            return True
        day = facts.day(sane or facts.order, ground.horizon[0])
        return find_schedule(day, ground.durations) is not None

    def statistics(self) -> dict[str, Any]:
        return {}


class ByZ3:
    """The paper's way: one Z3 question per candidate."""

    def __init__(self, ground: Ground) -> None:
        from synth.solver import z3

        z3()  # imported now, so that the time of the first question is its own
        self.ground = ground
        self.position = {action: index for index, action in enumerate(ground.ids)}
        self.facts = Facts.none(len(ground.ids), ground.horizon)
        self.kept: list[Constraint] = [Before(ground.ids[a], ground.ids[b]) for a, b in ground.natural]
        self.calls = 0
        self.seconds = 0.0

    def keep(self, sentence: Sentence, *, novel: bool) -> bool:
        new = [constraint for part in sentence.parts for constraint in constraints_of_part(part)]
        if not self._possible([*self.kept, *new]):
            return False
        facts = self.facts.copy()
        for part in sentence.parts:
            said_more = facts.add(part, self.position, None)
            if novel and not said_more:
                return False
        self.facts = facts
        self.kept += new
        return True

    def _possible(self, constraints: Sequence[Constraint]) -> bool:
        from synth.solver import satisfiable

        ground = self.ground
        durations = None if ground.durations is None else dict(zip(ground.ids, ground.durations, strict=True))
        began = time.perf_counter()
        possible = satisfiable(Spec(ground.ids, tuple(constraints), durations, ground.horizon))
        self.seconds += time.perf_counter() - began
        self.calls += 1
        return possible is True

    def statistics(self) -> dict[str, Any]:
        return {"z3_calls": self.calls, "z3_ms": round(self.seconds * 1000, 3)}
