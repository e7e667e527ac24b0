"""Patterns of words and of other patterns, matched over a text in every way.

A pattern is a text: `never {a:deed}`, `{thing} may|can [ever] be {done}`. Words stand for themselves, `a|b`
for either, `_` inside of one for a space, `[...]` may be left out, and `{name:rule}` is what a rule of the
grammar matches. A rule is a list of patterns, each with what is made of its parts, or a function of a place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

Parts = Mapping[str, Any]
Made = Callable[[Parts], Any]
Found = tuple[Any, int]
"""(what was made, the place behind it)"""
Own = Callable[["Grammar", int], Iterator[Found]]
Rule = Sequence[tuple[str, Made]] | Own

MAX_STEPS = 60_000
"""Parts that are tried for one sentence; one of 40 words with 20 actions takes a tenth of it."""


class TooLong(Exception):
    """A sentence has too many ways to be taken apart."""


@dataclass(frozen=True, slots=True)
class _Word:
    patterns: tuple[re.Pattern[str], ...]
    """The first has all ways, the longest before others; the rest are ways that others begin with."""


@dataclass(frozen=True, slots=True)
class _Part:
    slot: str
    rule: str


@dataclass(frozen=True, slots=True)
class _Maybe:
    inside: tuple[Any, ...]


@dataclass(slots=True)
class Grammar:
    """The rules over one text."""

    text: str
    rules: Mapping[str, Rule]
    _found: dict[tuple[str, int], list[Found]] = field(default_factory=dict)
    _words: dict[tuple[int, int], tuple[int, ...]] = field(default_factory=dict)
    _steps: int = 0

    def matches(self, rule: str, at: int) -> list[Found]:
        """What a rule makes of the text from a place on, each once; no rule begins with itself."""
        key = (rule, at)
        if key not in self._found:
            self._found[key] = []
            self._found[key] = list(self._each(self.rules[rule], at))
        return self._found[key]

    def whole(self, rule: str) -> Iterator[Any]:
        """What a rule makes of the whole text."""
        for made, end in self.matches(rule, 0):
            if not self.text[end:].strip(" ,"):
                yield made

    def _each(self, rule: Rule, at: int) -> Iterator[Found]:
        seen: set[tuple[Any, int]] = set()
        ways = rule(self, at) if callable(rule) else self._by_patterns(rule, at)
        for found in ways:
            if found not in seen:
                seen.add(found)
                yield found

    def _by_patterns(self, rule: Sequence[tuple[str, Made]], at: int) -> Iterator[Found]:
        for pattern, make in rule:
            read = _read(pattern)
            if isinstance(read[0], _Word) and not self._ends(read[0], at):
                continue
            for parts, end in self.along(read, at, {}):
                made = make(parts)
                if made:
                    yield made, end

    def _ends(self, word: _Word, at: int) -> tuple[int, ...]:
        """The places behind a word that stands at a place; many patterns ask for the same one."""
        key = (id(word.patterns), at)
        if key not in self._words:
            found = word.patterns[0].match(self.text, at)
            ends = {found.end()} if found else set()
            if found:
                ends |= {m.end() for one in word.patterns[1:] if (m := one.match(self.text, at))}
            self._words[key] = tuple(sorted(ends))
        return self._words[key]

    def along(self, pattern: tuple[Any, ...], at: int, parts: Parts) -> Iterator[tuple[Parts, int]]:
        """The ways in which a pattern matches from a place on."""
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise TooLong
        if not pattern:
            yield parts, at
            return
        first, rest = pattern[0], pattern[1:]
        if isinstance(first, _Word):
            for end in self._ends(first, at):
                yield from self.along(rest, end, parts)
        elif isinstance(first, _Maybe):
            yield from self.along((*first.inside, *rest), at, parts)
            yield from self.along(rest, at, parts)
        else:
            for made, end in self.matches(first.rule, at):
                yield from self.along(rest, end, {**parts, first.slot: made})


@cache
def _read(pattern: str) -> tuple[Any, ...]:
    stack: list[list[Any]] = [[]]
    for piece in re.findall(r"\{[^}]+\}|\[|\]|[^\s\[\]{}]+", pattern):
        if piece == "[":
            stack.append([])
        elif piece == "]":
            inside = tuple(stack.pop())
            stack[-1].append(_Maybe(inside))
        elif piece.startswith("{"):
            slot, _, rule = piece[1:-1].partition(":")
            stack[-1].append(_Part(slot, rule or slot))
        else:
            stack[-1].append(_Word(words(piece)))
    return tuple(stack[0])


@cache
def words(piece: str) -> tuple[re.Pattern[str], ...]:
    """`may|can`, `has_to` or `,` as what matches it after spaces."""
    if piece == ",":
        return (re.compile(" *[,:]"),)
    ways = [way.replace("_", " ") for way in piece.split("|")]
    begins = [way for way in ways if any(other.startswith(f"{way} ") for other in ways)]
    every = "|".join(re.escape(way) for way in sorted(ways, key=len, reverse=True))
    return tuple(
        re.compile(rf" *(?:{one})(?![\w'-])", re.IGNORECASE) for one in (every, *map(re.escape, begins))
    )
