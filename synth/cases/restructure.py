"""New sentences for an old meaning, by construction (paper, Alg. 2, QuerySynthesize).

An order is covered edge by edge from its transitive reduction; lists are widened and relative
clauses added only with pairs that the order implies anyway. Limits on the clock are said again, one
by one or together where the time is the same. So the new set is equivalent, whatever is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random

from synth.errors import BadInput
from synth.formal.constraints import Constraint, outline_of
from synth.formal.order import Edge, transitive_reduction
from synth.language.expansion import pick, sample
from synth.language.grammar import (
    PHRASE_FORMS,
    RELATIVE_FORMS,
    Form,
    Moment,
    Names,
    Relative,
    Sentence,
    SubSentence,
)
from synth.language.words import Relation

_WIDEN = 0.3
_RELATIVE = 0.4
_JOIN = 0.35
_MOST_NAMES = 3


def equivalent_sentences(
    rng: Random, ids: Sequence[str], constraints: Iterable[Constraint]
) -> tuple[Sentence, ...]:
    """Sentences over `ids` that mean the same as the constraints.

    Raises BadInput if the constraints contradict each other, say more than sentences can, or there are none.
    """
    return _Composer(rng, ids, constraints).sentences()


class _Composer:
    def __init__(self, rng: Random, ids: Sequence[str], constraints: Iterable[Constraint]) -> None:
        self.rng, self.ids = rng, ids
        outline = outline_of(ids, constraints)
        outline.must_be_exact()
        if outline.circular:
            raise BadInput("the constraints contradict each other", field="constraints")
        self.order = outline.order
        self.limits = {
            Relation.PRECEDES: {at: outline.latest[at] for at in outline.until},
            Relation.SUCCEEDS: {at: outline.earliest[at] for at in outline.since},
        }
        """Tightest limit per action, for both directions."""

    def sentences(self) -> tuple[Sentence, ...]:
        parts = [*self._order_parts(), *self._limit_parts()]
        if not parts:
            raise BadInput("there is nothing to say: the set of constraints is empty", field="constraints")
        mixed = [parts[at] for at in sample(self.rng, len(parts), len(parts))]
        sentences: list[Sentence] = []
        while mixed:
            taken = 2 if len(mixed) > 1 and self.rng.random() < _JOIN else 1
            sentences.append(Sentence(tuple(mixed[:taken])))
            mixed = mixed[taken:]
        return tuple(sentences)

    def _order_parts(self) -> list[SubSentence]:
        edges = transitive_reduction(self.order)
        todo = [edges[at] for at in sample(self.rng, len(edges), len(edges))]
        said: set[Edge] = set()
        parts: list[SubSentence] = []
        for edge in todo:
            if edge not in said:
                parts.append(self._order_part(*edge, said))
        return parts

    def _order_part(self, a: int, b: int, said: set[Edge]) -> SubSentence:
        first, then = self._widened([a], [b])
        said.update((x, y) for x in first for y in then)
        relation = pick(self.rng, tuple(Relation))
        subjects, others = (first, then) if relation is Relation.PRECEDES else (then, first)
        used = {*first, *then}
        subject = self._names(subjects, used, said)
        forms = tuple(form for form in Form if form is not Form.FRONTED or len(subjects) == 1)
        return SubSentence(pick(self.rng, forms), relation, subject, self._names(others, used, said))

    def _widened(self, first: list[int], then: list[int]) -> tuple[list[int], list[int]]:
        """Both lists with further actions for which every pair is in the order."""
        for x in sample(self.rng, len(self.ids), len(self.ids)):
            if x in first or x in then or self.rng.random() >= _WIDEN:
                continue
            if len(first) < _MOST_NAMES and all((x, y) in self.order for y in then):
                first.append(x)
            elif len(then) < _MOST_NAMES and all((y, x) in self.order for y in first):
                then.append(x)
        return first, then

    def _names(self, actions: list[int], used: set[int], said: set[Edge]) -> Names:
        """The list, perhaps with a relative clause that says something true of all of it."""
        names = tuple(self.ids[x] for x in actions)
        if self.rng.random() >= _RELATIVE:
            return Names(names)
        options: list[tuple[Relation, int]] = []
        for x in range(len(self.ids)):
            if x not in used and all((y, x) in self.order for y in actions):
                options.append((Relation.PRECEDES, x))
            if x not in used and all((x, y) in self.order for y in actions):
                options.append((Relation.SUCCEEDS, x))
        if not options:
            return Names(names)
        relation, x = pick(self.rng, options)
        used.add(x)
        said.update((y, x) if relation is Relation.PRECEDES else (x, y) for y in actions)
        return Names(names, Relative(pick(self.rng, RELATIVE_FORMS), relation, Names((self.ids[x],))))

    def _limit_parts(self) -> list[SubSentence]:
        parts: list[SubSentence] = []
        for relation, limits in self.limits.items():
            together: dict[int, list[int]] = {}
            for action, time in limits.items():
                key = time if self.rng.random() < 0.5 else -1 - action
                together.setdefault(key, []).append(action)
            for group in together.values():
                names = Names(tuple(self.ids[x] for x in group[:_MOST_NAMES]))
                form = pick(self.rng, PHRASE_FORMS)
                parts.append(SubSentence(form, relation, names, Moment(limits[group[0]])))
                rest = [Names((self.ids[x],)) for x in group[_MOST_NAMES:]]
                parts += [SubSentence(form, relation, more, Moment(limits[group[0]])) for more in rest]
        return parts
