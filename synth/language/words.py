"""The words of the language: every terminal of the grammar and its alternatives (paper, Fig. 4 and 6).

Generation draws from these tables and parsing reads the same ones. No word here adds immediacy or
simultaneity ("immediately after", "as soon as"), because the formulas state order alone. The flags
only guide generation to what reads well; the parser accepts every word in every place where the
grammar has one of its class.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum


class Relation(Enum):
    """How a subject stands to its object."""

    PRECEDES = "<"
    SUCCEEDS = ">"


@dataclass(frozen=True, slots=True)
class Verb:
    """VP_R: `A must precede B`; the infinitive that follows a modal verb."""

    text: str
    clock: bool = True
    """Reads well before a clock time."""
    drawn: bool = True
    """False: read, but never written, because readers differ on it."""


@dataclass(frozen=True, slots=True)
class Link:
    """P_R and SC_R: a preposition (`before B`) or a conjunction (`before B happens`)."""

    text: str
    front: bool = True
    """Reads well at the start of a sentence."""
    clock: bool = True
    """Reads well before a clock time."""
    drawn: bool = True
    """False: read, but never written, because readers differ on it."""


@dataclass(frozen=True, slots=True)
class Happening:
    """VP_0: `A must happen`, `once A happens`, `once A and B happen`."""

    infinitive: str
    singular: str
    plural: str
    drawn: bool = True
    """False: read, but never written, because it fits few activities."""


@dataclass(frozen=True, slots=True)
class Modal:
    """The verb of obligation, by number of its subject."""

    singular: str
    plural: str

    @property
    def shows_number(self) -> bool:
        """Whether it tells a list from its last name."""
        return self.singular != self.plural


MODALS = (
    Modal("must", "must"),
    Modal("should", "should"),
    Modal("has to", "have to"),
    Modal("needs to", "need to"),
)

VERBS = {
    Relation.PRECEDES: (
        Verb("precede"),
        Verb("come before"),
        Verb("go before", clock=False),
        Verb("be followed by", clock=False),
        Verb("come ahead of", clock=False),
        Verb("come earlier than", clock=False),
        Verb("come prior to"),
    ),
    Relation.SUCCEEDS: (
        Verb("follow", clock=False),
        Verb("come after"),
        Verb("go after", clock=False),
        Verb("be preceded by", clock=False),
        Verb("come later than"),
        Verb("succeed", clock=False, drawn=False),
        Verb("come at some point after"),
        Verb("wait for", clock=False),
    ),
}

HAPPENINGS = (
    Happening("happen", "happens", "happen"),
    Happening("occur", "occurs", "occur"),
    Happening("take place", "takes place", "take place"),
    Happening("be done", "is done", "are done"),
    Happening("be performed", "is performed", "are performed"),
    Happening("be carried out", "is carried out", "are carried out"),
    Happening("be conducted", "is conducted", "are conducted"),
    Happening("be executed", "is executed", "are executed", drawn=False),
)

PREPOSITIONS = {
    Relation.PRECEDES: (
        Link("before"),
        Link("prior to"),
        Link("ahead of"),
        Link("in advance of", clock=False),
        Link("earlier than", front=False),
        Link("sometime before"),
        Link("at some point before"),
    ),
    Relation.SUCCEEDS: (
        Link("after"),
        Link("following", clock=False),
        Link("subsequent to", clock=False),
        Link("later than", front=False),
        Link("sometime after"),
        Link("at some point after"),
        Link("only after", front=False),
    ),
}

CONJUNCTIONS = {
    Relation.PRECEDES: (
        Link("before"),
        Link("sometime before"),
        Link("at some point before"),
        Link("any time before"),
        Link("earlier than when", front=False, drawn=False),
    ),
    Relation.SUCCEEDS: (
        Link("after"),
        Link("once"),
        Link("sometime after"),
        Link("at some point after"),
        Link("only after", front=False),
        Link("only once", front=False, drawn=False),
    ),
}

JOINTS = (";", ", and", ", but", ", yet", ", while", ", whereas")
"""Between sub-sentences; without temporal meaning."""
NOT_DRAWN_JOINTS = (", while",)
"""Read, but never written: between orders it sounds like simultaneity."""

LIST_WORD = "and"
"""Joins the names of a list; comma lists are truly ambiguous and not in the language."""

RELATIVE_WORD = "which"
ARTICLE = "the"
"""May stand before any name; has no meaning."""


def _first_words() -> frozenset[str]:
    texts = [LIST_WORD, RELATIVE_WORD]
    texts += [form for modal in MODALS for form in (modal.singular, modal.plural)]
    texts += [form for happening in HAPPENINGS for form in (happening.singular, happening.plural)]
    texts += [
        link.text for table in (PREPOSITIONS, CONJUNCTIONS) for links in table.values() for link in links
    ]
    texts += [joint.lstrip(", ") for joint in JOINTS if joint != ";"]
    return frozenset(text.split()[0] for text in texts) - {"any"}


GRAMMAR_WORDS = _first_words()
"""Words with which a terminal can begin. A name that contains one is written in quotes; "any" begins too many
names (`any tool`) to be one, and is told by the word after it."""

_WORD = re.compile(r"\w+")
_PUNCTUATION_OR_CLOCK = re.compile(r"[,;.]|\d:\d|\bany time\b", re.IGNORECASE)


def needs_quotes(name: str) -> bool:
    """Whether a name could be misread in a sentence: a grammar word, punctuation or a clock time in it."""
    words = _WORD.findall(name.casefold())
    return not GRAMMAR_WORDS.isdisjoint(words) or _PUNCTUATION_OR_CLOCK.search(name) is not None


def spelled(name: str) -> str:
    """The name as it stands in a sentence."""
    return f'"{name}"' if needs_quotes(name) else name
