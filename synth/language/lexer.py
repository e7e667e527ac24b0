"""Text to tokens: names first and longest match, then the phrases of `words`, then punctuation.

Names and phrases are compared word by word, ignoring case and white space, so a line break inside a
name does not matter. What cannot be read becomes a token of type UNKNOWN: the parser knows best what
was expected there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher, get_close_matches
from typing import Any, Protocol

from lark import Token

from synth.errors import BadInput
from synth.language.words import (
    ARTICLE,
    CONJUNCTIONS,
    HAPPENINGS,
    JOINTS,
    LIST_WORD,
    MODALS,
    PREPOSITIONS,
    RELATIVE_WORD,
    VERBS,
    Relation,
    needs_quotes,
)

UNKNOWN, BARE_WHICH, BARE_JOINT, BAD_TIME, OPEN_QUOTE = (
    "UNKNOWN", "BARE_WHICH", "BARE_JOINT", "BAD_TIME", "OPEN_QUOTE"
)  # fmt: skip
"""Token types that no rule accepts; the error message tells why."""

_WORD = re.compile(r"""["“][^"“”]*["”] | \d+:\d+ | \w+(?:['\u2019-]\w+)* | [^\w\s]""", re.VERBOSE)
_WEIGHTY = frozenset(
    re.findall(
        r"\S+",
        """
        not no never nor neither or only if unless until without except when whenever must should shall may
        might can cannot don't dont mustn't every each all any other first last between within
        most least more than once failed fails will would always then two is implies
        """,
    )
)
_QUOTES = '"“”'
_LAST_MINUTE = 24 * 60


class Named(Protocol):
    """What the vocabulary needs of an action."""

    @property
    def id(self) -> str: ...
    @property
    def phrase(self) -> str: ...


class Vocabulary:
    """The names that sentences may use."""

    __slots__ = ("phrases", "quoted", "trie")

    def __init__(self, names: Iterable[Named | Mapping[str, Any]]) -> None:
        """Raises BadInput when two names read the same or a name cannot be written in a sentence."""
        self.phrases: dict[str, str] = {}
        """Action id -> name."""
        self.quoted: dict[tuple[str, ...], str] = {}
        """Words of a name -> action id."""
        # A name with a grammar word in it is only read in quotes: `review and release` may be two names.
        self.trie: dict[str | None, Any] = {}
        for position, entry in enumerate(names):
            self._add(*_id_and_phrase(entry, position), position)

    def _add(self, action: str, phrase: str, position: int) -> None:
        words = name_words(phrase)
        where = f"names[{position}].phrase"
        if not words:
            raise BadInput(
                f"the name {phrase!r} of {action} has no words; give the action a name", field=where
            )
        if any(mark in phrase for mark in _QUOTES):
            raise BadInput(f"the name {phrase!r} contains a quotation mark; choose one without", field=where)
        if words in self.quoted:
            other = self.phrases[self.quoted[words]]
            raise BadInput(
                f"the names {phrase!r} and {other!r} read the same; rename one of them", field=where
            )
        if action in self.phrases:
            raise BadInput(
                f"two names have the id {action!r}; ids must differ", field=f"names[{position}].id"
            )
        self.phrases[action] = phrase
        self.quoted[words] = action
        if not needs_quotes(phrase):
            node = self.trie
            for word in words:
                node = node.setdefault(word, {})
            node[None] = action

    def closest(self, text: str) -> str | None:
        """The known name nearest to a misspelled one."""
        by_words = {" ".join(words): action for words, action in self.quoted.items()}
        found = get_close_matches(" ".join(name_words(text)), by_words, n=1, cutoff=0.6)
        return self.phrases[by_words[found[0]]] if found and not says_more(text, found[0]) else None


def _id_and_phrase(entry: Named | Mapping[str, Any], position: int) -> tuple[str, str]:
    if not isinstance(entry, Mapping):
        return entry.id, entry.phrase
    for key in ("id", "phrase"):
        if not isinstance(entry.get(key), str):
            raise BadInput(
                f"expected text, got {entry.get(key)!r}; a name is an object with id, phrase and tool",
                field=f"names[{position}].{key}",
            )
    return entry["id"], entry["phrase"]


def name_words(phrase: str) -> tuple[str, ...]:
    """The words by which a name is recognised: without case, white space and leading article."""
    words = tuple([word.casefold() for word in _WORD.findall(phrase)])
    return words[1:] if words[:1] == (ARTICLE,) else words


def _phrases() -> Iterable[tuple[str, str, str]]:
    """(words, token type, token value) of every terminal."""
    modals = sorted({form for modal in MODALS for form in (modal.singular, modal.plural)})
    for relation in Relation:
        for verb in VERBS[relation]:
            yield from ((f"{modal} {verb.text}", "VERB", relation.value) for modal in modals)
        both = {link.text for link in PREPOSITIONS[relation]} & {link.text for link in CONJUNCTIONS[relation]}
        for link in PREPOSITIONS[relation]:
            yield link.text, "LINK", f"{relation.value}{'b' if link.text in both else 'p'}"
        for link in CONJUNCTIONS[relation]:
            yield link.text, "LINK", f"{relation.value}{'b' if link.text in both else 'c'}"
    for happening in HAPPENINGS:
        yield from ((f"{modal} {happening.infinitive}", "DO", "") for modal in modals)
        yield happening.singular, "DO", ""
        yield happening.plural, "DO", ""
    yield from ((joint, "_JOIN", "") for joint in JOINTS)
    yield from ((joint.removeprefix(", "), BARE_JOINT, "") for joint in JOINTS if joint.startswith(", "))
    yield LIST_WORD, "_AND", ""
    yield f", {RELATIVE_WORD}", "WHICH", ""
    yield RELATIVE_WORD, BARE_WHICH, ""
    yield ",", "_COMMA", ""
    yield ".", "STOP", ""


def says_more(text: str, name: str) -> bool:
    """Has a text words of weight that a name lacks, or many more? Then it is no misspelling of the name."""
    words, known = name_words(text), name_words(name)
    return len(words) > len(known) + 1 or not _WEIGHTY.isdisjoint({*words} - {*known})


def closest_phrase(text: str) -> str | None:
    """The phrase of the language nearest to a misspelled one, word by word."""
    known = {words for words, _, _ in _phrases() if words[0].isalpha()}
    found = get_close_matches(text.casefold(), sorted(known), n=1, cutoff=0.75)
    return found[0] if found and _alike(text.casefold().split(), found[0].split()) else None


def _alike(words: Sequence[str], others: Sequence[str]) -> bool:
    return len(words) == len(others) and all(
        SequenceMatcher(None, *pair).ratio() > 0.65 for pair in zip(words, others, strict=True)
    )


def _phrase_trie() -> dict[str | None, Any]:
    trie: dict[str | None, Any] = {}
    for text, kind, value in _phrases():
        node = trie
        for word in _WORD.findall(text):
            node = node.setdefault(word, {})
        node[None] = (kind, value)
    return trie


_PHRASES = _phrase_trie()


def tokenize(text: str, vocabulary: Vocabulary) -> list[Token]:
    """Tokens with code point spans; the value of a NAME is the action id, of a TIME its minutes."""
    spans = [match.span() for match in _WORD.finditer(text)]
    # In ASCII, lower case keeps every position, so one call does for all words.
    words = _WORD.findall(text.lower()) if text.isascii() else [text[a:b].casefold() for a, b in spans]
    names = vocabulary.trie
    tokens: list[Token] = []
    position, count = 0, len(words)
    while position < count:
        word = words[position]
        begin = position + 1 if word == ARTICLE else position
        action, end = _longest(names, words, begin)
        if action is not None:
            kind, value = "NAME", action
        else:
            phrase, end = _longest(_PHRASES, words, position)
            if phrase is not None:
                kind, value = phrase
            else:
                kind, value, end = _other(words, position, begin, vocabulary)
        tokens.append(Token(kind, value, spans[position][0], end_pos=spans[end - 1][1]))
        position = end
    return tokens


def _longest(trie: dict[str | None, Any], words: Sequence[str], position: int) -> tuple[Any, int]:
    """The value of the longest entry that begins at `position`, and the position after it."""
    best, end = None, position
    node = trie.get(words[position]) if position < len(words) else None
    while node is not None:
        position += 1
        if None in node:
            best, end = node[None], position
        if position == len(words):
            break
        node = node.get(words[position])
    return best, end


def _other(words: Sequence[str], position: int, begin: int, vocabulary: Vocabulary) -> tuple[str, str, int]:
    """A quoted name, a clock time, or something that cannot be read: (type, value, end)."""
    if begin < len(words):
        word = words[begin]
        if word[0] in _QUOTES and len(word) > 1:
            action = vocabulary.quoted.get(name_words(word[1:-1]))
            return ("NAME", action, begin + 1) if action is not None else (UNKNOWN, word, begin + 1)
        if word[0] in _QUOTES:
            return OPEN_QUOTE, word, begin + 1
    word = words[position]
    hours, colon, minutes = word.partition(":")
    if colon and hours:
        time = int(hours) * 60 + int(minutes)
        well_written = len(hours) <= 2 and len(minutes) == 2 and int(minutes) < 60 and time <= _LAST_MINUTE
        return ("TIME", str(time), position + 1) if well_written else (BAD_TIME, word, position + 1)
    return UNKNOWN, word, position + 1
