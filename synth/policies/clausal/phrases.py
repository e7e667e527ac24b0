"""The words of an action's name: its verb, its object, and what stands behind that."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from synth.policies.action_forms import ARTICLES, PARTICLES, SMALL
from synth.policies.clausal.kinds_of_verbs import MARKING, PARTICIPLES

BEFORE_NOUNS = (
    *(word for word in SMALL if word not in (*ARTICLES, "and", "or")), "against", "about", "under", "as",
    "through", "onto", "via", "per", "within", "around",
)  # fmt: skip
"""Words that begin the tail of an action's name: `check the claim against policy`."""


def stem_of(noun: str) -> str:
    return re.sub(r"(?:ies|y|e?s)$", "", noun)


@dataclass(frozen=True, slots=True)
class Phrase:
    """The words of an action's name."""

    verb: str
    particle: str
    nouns: tuple[str, ...]
    tail: tuple[str, ...]
    to_whom: tuple[str, ...]

    @property
    def stems(self) -> frozenset[str]:
        words = (*self.nouns, *self.tail, *self.to_whom)
        return frozenset(stem_of(word) for word in words if word not in (*BEFORE_NOUNS, *PARTICLES))


def phrase_of(words: Sequence[str]) -> Phrase:
    verb, rest = words[0], list(words[1:])
    particle = rest[0] if rest and rest[0] in PARTICLES and not _leads(verb, rest[0]) else ""
    rest = rest[bool(particle) :]
    behind = next((k for k, word in enumerate(rest) if word in BEFORE_NOUNS), len(rest))
    head, tail = rest[:behind], [word for word in rest[behind:] if word not in ARTICLES]
    second = next((k for k, word in enumerate(head) if k > 1 and word in ARTICLES), 0)
    whom = [word for word in head[:second] if word not in ARTICLES]
    nouns = [word for word in head[second:] if word not in ARTICLES]
    if verb in MARKING and nouns and not tail and (nouns[-1].endswith("ed") or nouns[-1] in PARTICIPLES):
        nouns, tail = nouns[:-1], nouns[-1:]
    return Phrase(verb, particle, tuple(nouns), tuple(tail), tuple(whom))


def _leads(verb: str, word: str) -> bool:
    """Does a word behind a verb lead to its object (`put on hold`), or is it part of it (`check in`)?"""
    return word in ("in", "on") and verb not in (
        "check", "log", "sign", "clock", "turn", "switch", "opt", "hand", "fill", "dial", "key", "phone",
        "book", "call", "trade", "lock", "plug",
    )  # fmt: skip
