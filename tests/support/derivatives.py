"""A second meaning of behaviour formulas: Brzozowski's derivatives, without any automaton.

A formula is a set of words, its derivative by a letter the rest of those that begin with it. Conjunction and
complement are kept as such, so an `implies` needs nothing deterministic.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from synth.formal.automata import Expression

NOTHING, EMPTY, ANY = ("nothing",), ("empty",), ("any",)
"""No word; the empty word; every word."""
Language = tuple[Any, ...]


def language(expression: Expression) -> Language:
    """The words of a formula; those of an `implies` have whatever letters they like."""
    if isinstance(expression, str):
        return ("letter", expression)
    head, parts = expression[0], [language(part) for part in expression[1:]]
    if head == "or":
        return _either(*parts)
    if head == "next":
        found = parts[-1]
        for part in reversed(parts[:-1]):
            found = _then(part, found)
        return found
    if head == "until":
        return _then(("star", parts[0]), parts[1])
    if head == "always":
        return _then(parts[0], ("star", parts[0]))
    return _either(_both(_not(parts[0]), _not(EMPTY)), parts[1])


def _either(*parts: Language) -> Language:
    flat = {one for part in parts for one in (part[1] if part[0] == "or" else (part,))} - {NOTHING}
    if ANY in flat:
        return ANY
    return flat.pop() if len(flat) == 1 else ("or", frozenset(flat)) if flat else NOTHING


def _both(*parts: Language) -> Language:
    flat = {one for part in parts for one in (part[1] if part[0] == "and" else (part,))} - {ANY}
    if NOTHING in flat:
        return NOTHING
    return flat.pop() if len(flat) == 1 else ("and", frozenset(flat)) if flat else ANY


def _not(part: Language) -> Language:
    if part in (NOTHING, ANY):
        return ANY if part == NOTHING else NOTHING
    return part[1] if part[0] == "not" else ("not", part)


def _then(first: Language, rest: Language) -> Language:
    if NOTHING in (first, rest):
        return NOTHING
    if first == EMPTY:
        return rest
    if first[0] == "then":
        return _then(first[1], _then(first[2], rest))
    return ("then", first, rest)


@lru_cache(maxsize=100_000)
def has_empty(words: Language) -> bool:
    """Is the empty word one of them?"""
    match words[0]:
        case "or":
            return any(map(has_empty, words[1]))
        case "and":
            return all(map(has_empty, words[1]))
        case "not":
            return not has_empty(words[1])
        case "then":
            return has_empty(words[1]) and has_empty(words[2])
        case kind:
            return kind in ("empty", "any", "star")


@lru_cache(maxsize=100_000)
def after(words: Language, letter: str) -> Language:
    """What may follow the letter."""
    match words[0]:
        case "any":
            return ANY
        case "letter":
            return EMPTY if words[1] == letter else NOTHING
        case "or":
            return _either(*(after(part, letter) for part in words[1]))
        case "and":
            return _both(*(after(part, letter) for part in words[1]))
        case "not":
            return _not(after(words[1], letter))
        case "star":
            return _then(after(words[1], letter), words)
        case "then":
            rest = _then(after(words[1], letter), words[2])
            return _either(rest, after(words[2], letter)) if has_empty(words[1]) else rest
        case _:
            return NOTHING


@lru_cache(maxsize=100_000)
def is_empty(words: Language, letters: str) -> bool:
    """Is there no word at all, of these letters?"""
    found, queue = {words}, [words]
    while queue:
        one = queue.pop()
        if has_empty(one):
            return False
        for letter in letters:
            rest = after(one, letter)
            if rest not in found:
                found.add(rest)
                queue.append(rest)
    return True
