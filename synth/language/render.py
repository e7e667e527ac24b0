"""From syntax trees to English: draws one of the alternative words for each terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import NamedTuple, TypeVar

from synth.formal.constraints import clock
from synth.language.grammar import Form, Moment, Names, Relative, Sentence, SubSentence, Target
from synth.language.words import (
    CONJUNCTIONS,
    HAPPENINGS,
    JOINTS,
    LIST_WORD,
    MODALS,
    NOT_DRAWN_JOINTS,
    PREPOSITIONS,
    RELATIVE_WORD,
    VERBS,
    Link,
    Modal,
    Relation,
    Verb,
    spelled,
)

T = TypeVar("T")

_DRAWN_JOINTS = tuple(joint for joint in JOINTS if joint not in NOT_DRAWN_JOINTS)
_NUMBERED = tuple(modal for modal in MODALS if modal.shows_number)
_DRAWN = tuple(happening for happening in HAPPENINGS if happening.drawn)
_BETWEEN_NAMES = f" {LIST_WORD} "

_VERBS_BY_USE: dict[tuple[Relation, bool], tuple[Verb, ...]] = {
    (relation, at_clock): tuple(v for v in VERBS[relation] if v.drawn and (v.clock or not at_clock))
    for relation in Relation
    for at_clock in (False, True)
}
_LINKS_BY_USE: dict[tuple[bool, Relation, bool, bool], tuple[Link, ...]] = {
    (clausal, relation, in_front, at_clock): tuple(
        link
        for link in (CONJUNCTIONS if clausal else PREPOSITIONS)[relation]
        if link.drawn and (link.front or not in_front) and (link.clock or not at_clock)
    )
    for clausal in (False, True)
    for relation in Relation
    for in_front in (False, True)
    for at_clock in (False, True)
}


class Rendered(NamedTuple):
    """A paragraph and its trees, now with the spans at which each clause stands."""

    text: str
    sentences: tuple[Sentence, ...]


def render(sentences: Sequence[Sentence], phrases: Mapping[str, str], rng: Random) -> Rendered:
    """English for the trees; `phrases` maps action ids to names, `rng` is the wording."""
    writer = _Writer({action: spelled(phrase) for action, phrase in phrases.items()}, rng)
    placed = tuple(writer.sentence(sentence) for sentence in sentences)
    return Rendered("".join(writer.pieces), placed)


class _Writer:
    """Appends pieces of text and knows how many code points it has written."""

    __slots__ = ("names", "pieces", "random", "written")

    def __init__(self, names: Mapping[str, str], rng: Random) -> None:
        self.names = names
        self.random = rng.random
        self.pieces: list[str] = []
        self.written = 0

    def put(self, text: str) -> None:
        self.pieces.append(text)
        self.written += len(text)

    def pick(self, options: Sequence[T]) -> T:
        return options[int(self.random() * len(options))]

    def sentence(self, sentence: Sentence) -> Sentence:
        if self.written:
            self.put(" ")
        begin, first_piece = self.written, len(self.pieces)
        parts = [self.part(sentence.parts[0])]
        for part in sentence.parts[1:]:
            self.put(f"{self.pick(_DRAWN_JOINTS)} ")
            parts.append(self.part(part))
        self.pieces[first_piece] = capitalized(self.pieces[first_piece])
        self.put(".")
        return Sentence(tuple(parts), (begin, self.written))

    def part(self, part: SubSentence) -> SubSentence:
        begin = self.written
        subject, target = _PART_WRITERS[part.form](self, part)
        return SubSentence(part.form, part.relation, subject, target, (begin, self.written))

    def verb(self, part: SubSentence) -> tuple[Names, Target]:
        subject = self.listing(part.subject, closed=True)
        self.put(f" {self.obliged(part.subject, self.verb_for(part.relation, part.target))} ")
        return subject, self.target(part.target)

    def adverb(self, part: SubSentence) -> tuple[Names, Target]:
        subject = self.listing(part.subject, closed=True)
        self.put(f" {self.must_happen(part.subject)} {self.link(False, part.relation, part.target)} ")
        return subject, self.target(part.target)

    def fronted(self, part: SubSentence) -> tuple[Names, Target]:
        self.put(f"{self.link(False, part.relation, part.target, in_front=True)} ")
        target = self.target(part.target)
        self.put(", ")
        subject = self.listing(part.subject, closed=True)
        self.put(f" {self.must_happen(part.subject)}")
        return subject, target

    def clause(self, part: SubSentence) -> tuple[Names, Target]:
        subject = self.listing(part.subject, closed=True)
        self.put(f" {self.must_happen(part.subject)} {self.link(True, part.relation, part.target)} ")
        return subject, self.happening_list(part.target)

    def led(self, part: SubSentence) -> tuple[Names, Target]:
        self.put(f"{self.link(True, part.relation, part.target, in_front=True)} ")
        target = self.happening_list(part.target)
        self.put(", ")
        subject = self.listing(part.subject, closed=True)
        self.put(f" {self.must_happen(part.subject)}")
        return subject, target

    def happening_list(self, target: Target) -> Names:
        assert isinstance(target, Names), "a clock time does not happen"
        placed = self.listing(target, closed=True)
        happening = self.pick(_DRAWN)
        self.put(f" {happening.singular if len(target.actions) == 1 else happening.plural}")
        return placed

    def target(self, target: Target) -> Target:
        if isinstance(target, Moment):
            self.put(clock(target.minutes))
            return target
        return self.listing(target, closed=False)

    def listing(self, names: Names, *, closed: bool) -> Names:
        """Write a list; `closed` puts the comma after its relative clause."""
        spelled_names = self.names
        self.put(_BETWEEN_NAMES.join([spelled_names[action] for action in names.actions]))
        if names.relative is None:
            return names
        self.put(", ")
        relative = self.relative(names.relative, names)
        if closed:
            self.put(",")
        return Names(names.actions, relative)

    def relative(self, clause: Relative, head: Names) -> Relative:
        begin = self.written
        if clause.form is Form.VERB:
            middle = self.obliged(head, self.verb_for(clause.relation, clause.target), clause=True)
        else:
            link = self.link(False, clause.relation, clause.target)
            middle = f"{self.must_happen(head, clause=True)} {link}"
        self.put(f"{RELATIVE_WORD} {middle} ")
        target = self.target(clause.target)
        return replace(clause, target=target, span=(begin, self.written))

    def obliged(self, subject: Names, infinitive: str, *, clause: bool = False) -> str:
        """The verb of obligation; in a `clause` after a list one that shows its number."""
        is_list = len(subject.actions) > 1
        modal: Modal = self.pick(_NUMBERED if clause and is_list else MODALS)
        return f"{modal.plural if is_list else modal.singular} {infinitive}"

    def must_happen(self, subject: Names, *, clause: bool = False) -> str:
        return self.obliged(subject, self.pick(_DRAWN).infinitive, clause=clause)

    def verb_for(self, relation: Relation, target: Target) -> str:
        return self.pick(_VERBS_BY_USE[relation, isinstance(target, Moment)]).text

    def link(self, clausal: bool, relation: Relation, target: Target, *, in_front: bool = False) -> str:
        return self.pick(_LINKS_BY_USE[clausal, relation, in_front, isinstance(target, Moment)]).text


_PART_WRITERS = {
    Form.VERB: _Writer.verb,
    Form.ADVERB: _Writer.adverb,
    Form.FRONTED: _Writer.fronted,
    Form.CLAUSE: _Writer.clause,
    Form.LED: _Writer.led,
}


def capitalized(text: str) -> str:
    """With a capital first letter, where that is one letter and can be undone."""
    upper = text[:1].upper()
    return upper + text[1:] if len(upper) == 1 and upper.lower() == text[:1] else text
