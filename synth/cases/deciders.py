"""Who says whether a candidate sentence leaves the set satisfiable."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from synth.formal.constraints import ANY_TIME, Before, Constraint, Outline
from synth.formal.day import Day, find_schedule
from synth.formal.model import Spec
from synth.formal.order import Closure, Edge
from synth.language.derive import constraints_of_part, limits_of, statements
from synth.language.grammar import Names, Sentence, SubSentence
from synth.language.words import Relation


@dataclass(frozen=True, slots=True)
class Ground:
    """What holds before the first sentence."""

    ids: tuple[str, ...]
    natural: tuple[Edge, ...] = ()
    """Positions of actions whose order common sense forbids to reverse."""
    durations: tuple[int, ...] | None = None
    """Timed mode: minutes per action."""
    horizon: tuple[int, int] | None = None

    def nothing_said(self) -> Outline:
        """The facts before the first sentence."""
        return Outline(self.ids, self.horizon or ANY_TIME)


class Decider(Protocol):
    """Keeps a satisfiable set of sentences."""

    @property
    def facts(self) -> Outline:
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


def take_in(part: SubSentence, facts: Outline, sane: Closure | None) -> bool | None:
    """Add a sub-sentence to the facts: whether each of its statements says something new, None for a cycle.

    `sane` is the order together with the natural one, where there is any. Most of what synthesis does is
    asked here, so the pairs of an order go straight into the closure, without a constraint each.
    """
    all_new = True
    order, position = facts.order, facts.position
    for subjects, relation, target, _ in statements(part):
        precedes = relation is Relation.PRECEDES
        if not isinstance(target, Names):
            news = [limit.narrow(facts) for limit in limits_of(subjects, relation, target)]
            all_new = all_new and all(news)
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


class ByClosure:
    """Our own decision: acyclic, and in timed mode with a schedule that our search finds."""

    __slots__ = ("facts", "ground", "sane")

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.facts = ground.nothing_said()
        self.sane = Closure(len(ground.ids), ground.natural) if ground.natural else None
        """With the natural order added, where there is any."""

    def keep(self, sentence: Sentence, *, novel: bool) -> bool:
        if self._reverses(sentence):
            return False
        facts, sane = self.facts.copy(), self.sane and self.sane.copy()
        for part in sentence.parts:
            new = take_in(part, facts, sane)
            if new is None or (novel and not new):
                return False
        if not self._fits_in_the_day(facts, sane):
            return False
        self.facts, self.sane = facts, sane
        return True

    def _reverses(self, sentence: Sentence) -> bool:
        """Whether it says the reverse of something known: most refusals, without copying anything."""
        before, position = (self.sane or self.facts.order).before, self.facts.position
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

    def _fits_in_the_day(self, facts: Outline, sane: Closure | None) -> bool:
        ground = self.ground
        if ground.durations is None or ground.horizon is None:
            return True
        day = Day(sane or facts.order, facts.earliest, facts.latest, ground.horizon[0])
        return find_schedule(day, ground.durations) is not None

    def statistics(self) -> dict[str, Any]:
        return {}


class ByZ3:
    """The paper's way: one Z3 question per candidate."""

    def __init__(self, ground: Ground) -> None:
        from synth.formal.solver import z3

        z3()  # imported now, so that the time of the first question is its own
        self.ground = ground
        self.facts = ground.nothing_said()
        self.kept: list[Constraint] = [Before(ground.ids[a], ground.ids[b]) for a, b in ground.natural]
        self.calls = 0
        self.seconds = 0.0

    def keep(self, sentence: Sentence, *, novel: bool) -> bool:
        new = [constraint for part in sentence.parts for constraint in constraints_of_part(part)]
        if not self._possible([*self.kept, *new]):
            return False
        facts = self.facts.copy()
        for part in sentence.parts:
            said_more = take_in(part, facts, None)
            if novel and not said_more:
                return False
        self.facts = facts
        self.kept += new
        return True

    def _possible(self, constraints: Sequence[Constraint]) -> bool:
        from synth.formal.solver import satisfiable

        ground = self.ground
        durations = None if ground.durations is None else dict(zip(ground.ids, ground.durations, strict=True))
        began = time.perf_counter()
        possible = satisfiable(Spec(ground.ids, tuple(constraints), durations, ground.horizon))
        self.seconds += time.perf_counter() - began
        self.calls += 1
        return possible is True

    def statistics(self) -> dict[str, Any]:
        return {"z3_calls": self.calls, "z3_ms": round(self.seconds * 1000, 3)}
