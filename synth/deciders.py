"""Who says whether a candidate sentence leaves the set satisfiable."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Protocol

from synth.constraints import Before, Constraint
from synth.derive import constraints_of_part, statements
from synth.grammar import Names, Sentence, SubSentence
from synth.model import Spec
from synth.order import Closure, Edge
from synth.words import Relation


class Decider(Protocol):
    """Keeps a satisfiable set of sentences."""

    stated: Closure
    """What the kept sentences say about the order, as positions of actions."""

    def keep(self, sentence: Sentence, *, novel: bool) -> bool:
        """Add the sentence if the set stays satisfiable (and, if `novel`, each part says something new)."""
        ...

    def statistics(self) -> dict[str, Any]: ...


def decider_for(name: str, ids: Sequence[str], natural: Sequence[Edge]) -> Decider:
    """The decider of that name; `natural` are pairs that common sense forbids to reverse."""
    return ByZ3(ids, natural) if name == "z3" else ByClosure(ids, natural)


class ByClosure:
    """Order alone: satisfiable iff acyclic."""

    __slots__ = ("position", "sane", "stated")

    def __init__(self, ids: Sequence[str], natural: Sequence[Edge]) -> None:
        self.position = {action: index for index, action in enumerate(ids)}
        self.stated = Closure(len(ids))
        self.sane = Closure(len(ids), natural) if natural else None
        """With the natural order added, where there is any."""

    def keep(self, sentence: Sentence, *, novel: bool) -> bool:
        stated, sane = self.stated.copy(), self.sane and self.sane.copy()
        for part in sentence.parts:
            known = stated.after[:]
            for edge in edges_of_part(part, self.position):
                if not stated.add(*edge) or (sane is not None and not sane.add(*edge)):
                    return False
            if novel and known == stated.after:
                return False
        self.stated, self.sane = stated, sane
        return True

    def statistics(self) -> dict[str, Any]:
        return {}


def edges_of_part(part: SubSentence, position: dict[str, int]) -> list[Edge]:
    """The order that a sub-sentence states, as positions of actions."""
    edges: list[Edge] = []
    for subjects, relation, target, _ in statements(part):
        if isinstance(target, Names):
            first, then = (
                (subjects, target.actions) if relation is Relation.PRECEDES else (target.actions, subjects)
            )
            edges += [(position[a], position[b]) for a in first for b in then]
    return edges


class ByZ3:
    """The paper's way: one Z3 question per candidate."""

    def __init__(self, ids: Sequence[str], natural: Sequence[Edge]) -> None:
        self.ids = tuple(ids)
        self.position = {action: index for index, action in enumerate(ids)}
        self.stated = Closure(len(ids))
        self.kept: list[Constraint] = [Before(ids[a], ids[b]) for a, b in natural]
        self.calls = 0
        self.seconds = 0.0

    def keep(self, sentence: Sentence, *, novel: bool) -> bool:
        from synth.solver import satisfiable

        new = [constraint for part in sentence.parts for constraint in constraints_of_part(part)]
        began = time.perf_counter()
        possible = satisfiable(Spec(self.ids, (*self.kept, *new)))
        self.seconds += time.perf_counter() - began
        self.calls += 1
        if not possible:
            return False
        stated = self.stated.copy()
        for part in sentence.parts:
            known = stated.after[:]
            for edge in edges_of_part(part, self.position):
                stated.add(*edge)
            if novel and known == stated.after:
                return False
        self.stated = stated
        self.kept += new
        return True

    def statistics(self) -> dict[str, Any]:
        return {"z3_calls": self.calls, "z3_ms": round(self.seconds * 1000, 3)}
