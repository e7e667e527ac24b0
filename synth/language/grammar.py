"""The syntax trees of the language (paper, Fig. 4) and their expansions.

A paragraph is one or more sentences, a sentence one or more sub-sentences. `X R Y` on lists means
every pair. The five forms of a sub-sentence:

    form       paper  example
    verb       ci1    A must precede B
    adverb     ci2    A must happen before B
    fronted    ci3    Before B, A must happen          (the relation is read from A to B)
    clause     m1     A must happen before B happens
    led        m2     Before B happens, A must happen
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from synth.language.words import Relation

Span = tuple[int, int]
"""Half-open range of code points in a paragraph."""


class Form(Enum):
    """The shape of a sub-sentence, or (the first two only) of a relative clause."""

    VERB = "verb"
    ADVERB = "adverb"
    FRONTED = "fronted"
    CLAUSE = "clause"
    LED = "led"


PHRASE_FORMS = (Form.VERB, Form.ADVERB, Form.FRONTED)
"""Forms whose object is a phrase, so that a clock time can stand there."""
CLAUSE_FORMS = (Form.CLAUSE, Form.LED)
RELATIVE_FORMS = (Form.VERB, Form.ADVERB)


@dataclass(frozen=True, slots=True)
class Moment:
    """A clock time as an object: minutes after midnight."""

    minutes: int


@dataclass(frozen=True, slots=True)
class Names:
    """A list of actions joined by "and", perhaps with a relative clause about the whole list."""

    actions: tuple[str, ...]
    """Action ids."""
    relative: Relative | None = None


Target = Names | Moment


@dataclass(frozen=True, slots=True)
class Relative:
    """`, which must follow C`: belongs to the nearest list to its left."""

    form: Form
    relation: Relation
    target: Target
    span: Span | None = field(default=None, compare=False)
    """Where it stands in the paragraph, once it has a text."""


@dataclass(frozen=True, slots=True)
class SubSentence:
    """`subject R target` in one of five forms."""

    form: Form
    relation: Relation
    subject: Names
    target: Target
    span: Span | None = field(default=None, compare=False)
    """Where it stands in the paragraph, once it has a text."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """Sub-sentences up to a full stop; what joins them has no temporal meaning."""

    parts: tuple[SubSentence, ...]
    span: Span | None = field(default=None, compare=False)


def names_in(names: Target) -> Iterator[str]:
    """Every action id that a list mentions, relative clauses included, from left to right."""
    if isinstance(names, Names):
        yield from names.actions
        if names.relative is not None:
            yield from names_in(names.relative.target)


def expansions(depth: int) -> Iterator[SubSentence]:
    """Every sub-sentence with relative clauses nested at most `depth` deep, lists counted once.

    10 / 250 / 4,410 / 72,250 for depth 0 / 1 / 2 / 3 (every list is the same stand-in `A`).
    """
    lists = list(_lists(depth))
    for form in Form:
        for relation in Relation:
            for subject in lists:
                for target in lists:
                    yield SubSentence(form, relation, subject, target)


def _lists(depth: int) -> Iterator[Names]:
    yield Names(("A",))
    if depth == 0:
        return
    for form in RELATIVE_FORMS:
        for relation in Relation:
            for target in _lists(depth - 1):
                yield Names(("A",), Relative(form, relation, target))
