"""From syntax trees to constraints (paper, Fig. 4 and 6): what a paragraph means."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from synth.formal.constraints import Before, Constraint, EndsBy, StartsFrom
from synth.language.grammar import Moment, Names, Sentence, Span, SubSentence, Target
from synth.language.words import Relation

Statement = tuple[tuple[str, ...], Relation, Target, Span | None]
"""`subjects R target`, and the clause that says so."""


def constraints_of(sentences: Iterable[Sentence]) -> tuple[Constraint, ...]:
    """Every constraint that the sentences state, in reading order, with its sentence and clause."""
    return tuple(
        constraint
        for position, sentence in enumerate(sentences)
        for part in sentence.parts
        for constraint in constraints_of_part(part, position)
    )


def constraints_of_part(part: SubSentence, sentence: int | None = None) -> Iterator[Constraint]:
    """The constraints of one sub-sentence: its own first, then those of its relative clauses."""
    for subjects, relation, target, span in statements(part):
        precedes = relation is Relation.PRECEDES
        if isinstance(target, Moment):
            yield from limits_of(subjects, relation, target, sentence, span)
            continue
        for subject in subjects:
            for other in target.actions:
                first, then = (subject, other) if precedes else (other, subject)
                yield Before(first, then, sentence, span)


def limits_of(
    subjects: Iterable[str],
    relation: Relation,
    moment: Moment,
    sentence: int | None = None,
    span: Span | None = None,
) -> list[EndsBy | StartsFrom]:
    """`subjects R a clock time`: before it, each has ended; after it, each may start."""
    limit = EndsBy if relation is Relation.PRECEDES else StartsFrom
    return [limit(action, moment.minutes, sentence, span) for action in subjects]


def statements(part: SubSentence) -> list[Statement]:
    """What a sub-sentence relates: its subject to its target, then every list to its relative clause."""
    said: list[Statement] = [(part.subject.actions, part.relation, part.target, part.span)]
    for names in (part.subject, part.target):
        inner: Target = names
        while isinstance(inner, Names) and inner.relative is not None:
            clause = inner.relative
            said.append((inner.actions, clause.relation, clause.target, clause.span))
            inner = clause.target
    return said
