"""One action in every form that its verb has: what the reader of inflected sentences looks for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from synth.policies.verbs import HOW, past_of

PARTICLES = ("up", "down", "out", "off", "back", "over", "in", "on", "away")
ARTICLES = ("a", "an", "the")
SMALL = ("to", "of", "for", "from", "in", "on", "at", "with", "by", "into", *ARTICLES, "and", "or")
LIGHT = ("run", "do", "perform", "execute", "make", "conduct")
"""Verbs that say nothing beside their object: the tests are what `run tests` runs."""
_WHOSE = r"(?:(?:customer|user|client|patient|caller|agent|account|order)['\u2019]s|customers['\u2019])"
THE = (
    r"(?:(?:the|a|an|any|every|each|all|its|their|his|her|this|that|these|those|another|your|our|such"
    rf"|some|further|more|{_WHOSE}) )*"
)


@dataclass(frozen=True, slots=True)
class Forms:
    """One action, its verb in every form and its objects."""

    phrase: str
    verb: str
    particle: str
    rest: str
    """Of what comes after the verb, as a regular expression; empty where there is nothing."""
    prepositional: bool
    """Does what comes after the verb begin with a preposition?"""
    stems: tuple[str, ...]
    """How the words of the objects begin: without all of them, no sentence names the action."""

    def spelled(self, form: str) -> str:
        """The verb in a form, with what comes after it."""
        particle = f" {self.particle}" if self.particle else ""
        if not self.rest:
            return f"{form}{particle}"
        if particle:
            return f"{form}(?:{particle} {THE}{self.rest}| {THE}{self.rest}{particle})"
        return f"{form} {'' if self.prepositional else THE}{self.rest}"

    def can_stand_in(self, text: str) -> bool:
        low = text.casefold()
        return all(stem in low for stem in self.stems)

    @property
    def done(self) -> str:
        if self.verb == "hold" and self.rest:
            return "(?:held|(?:put|placed) on hold)"
        return f"{past_of(self.verb)}{f' {self.particle}' if self.particle else ''}"


@lru_cache(maxsize=64)
def forms_of(phrases: tuple[str, ...]) -> tuple[Forms, ...]:
    """The longest first, so that none is found inside another one."""
    return tuple(filter(None, map(_form, sorted(phrases, key=len, reverse=True))))


_PUT = ("put", "place")
"""Verbs of an action that says where to: `put on hold`."""


def _form(phrase: str) -> Forms | None:
    verb, *objects = phrase.casefold().split()
    words = [verb, *(word for word in objects if word not in ARTICLES)]
    if phrase == "any tool" or not all(re.fullmatch(r"[a-z][\w-]*(?:'s)?", word) for word in words):
        return None
    if words[0] in HOW and len(words) > 2:
        words[:2] = [" ".join(words[:2])]
    where = words[0] in _PUT and len(words) > 2 and words[1] in ("on", "in")
    particle = words[1] if len(words) > 1 and words[1] in PARTICLES and not where else ""
    rest = words[2:] if particle else words[1:]
    return Forms(
        phrase, words[0], particle, " ".join(map(noun_of, rest)).replace(" ", f" {THE}"),
        bool(rest) and rest[0] in SMALL, tuple(_stem(word) for word in rest if word not in SMALL),
    )  # fmt: skip


def noun_of(word: str) -> str:
    """A word, or its plural, or what is one of several."""
    if word in SMALL:
        return word
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}(?:y|ies)"
    if word.endswith("ies"):
        return f"{word[:-3]}(?:y|ies)"
    if re.search("(?<=[b-df-hj-np-tv-z])us$", word):
        return f"{word}(?:es)?"
    return f"{word[:-1]}s?" if word.endswith("s") and not word.endswith("ss") else f"{word}(?:e?s)?"


def singular(noun: str) -> str:
    """One of what a noun says several of; a noun of one as it is."""
    if "_" in noun:
        return noun
    if noun.endswith("ies") and len(noun) > 4:
        return f"{noun[:-3]}y"
    if re.search(r"(?:ss|x|z|ch|sh|(?<![aeo])us)es$", noun):
        return noun[:-2]
    return noun[:-1] if noun.endswith("s") and not noun.endswith(("ss", "us", "is")) else noun


def _stem(word: str) -> str:
    """What a word, its plural and its singular begin with."""
    return word.removesuffix("ies") if word.endswith("ies") else re.sub("[ys]$", "", word)


def one_or_several(words: str) -> str:
    """`send reply` and `send replies`, as a pattern."""
    return rf"{words[:-1]}(?:y|ies)" if re.search(r"[^aeiou]y$", words) else rf"{words}(?:e?s)?"
