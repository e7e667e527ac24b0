"""Values of which not everything is known: what was cut, hashed or left out on the way to us.

Inside a JSON value an `Unknown` stands where something is missing. What the known parts prove is true;
what would need the rest is neither true nor false.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import orjson

Why = Literal["cut", "hashed", "absent", "ambiguous"]
WHYS: tuple[Why, ...] = get_args(Why)
HIDDEN = "\x1a\x1a"
"""How the keys begin under which the values of an object stand whose own keys are not known."""
REST = f"{HIDDEN}rest"
"""Key of an object under which an `Unknown` stands for entries that are not known."""
_SAID = {
    "cut": "was cut",
    "hashed": "is known as a hash only",
    "absent": "was not kept",
    "ambiguous": "is not certain",
}


@dataclass(frozen=True, slots=True)
class Unknown:
    """Stands for a value, or for the rest of one."""

    why: Why
    rest: bool = False
    """Stands for any number of values, also none."""
    begins: str | None = None
    """The beginning of what is a text."""
    length: int | None = None
    """Characters of the text, where that is known."""
    type: str | None = None
    """Of a hashed value: `str`, `int`, `float` or `bool`."""
    digest: str = ""
    """Of a hashed value; equal ones under one key are of equal values."""
    key: str = ""
    """Which key the digest was made with; empty where that is not known."""
    where: str = ""
    """In words, which part of which call it is."""

    def __str__(self) -> str:
        return f"{self.where or 'a value'} {self.what}"

    @property
    def what(self) -> str:
        """In words, what became of it."""
        return _SAID[self.why]

    @property
    def is_text(self) -> bool:
        return self.begins is not None or self.type == "str"


def unknowns(value: Any) -> Iterator[Unknown]:
    """Everything that is missing from a value."""
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, Unknown):
            yield node
        elif isinstance(node, Mapping):
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)


def is_whole(value: Any) -> bool:
    """Is nothing missing from a value?"""
    return next(unknowns(value), None) is None


def key_of(value: Any) -> Any:
    """Something hashable that is equal exactly for equal whole values; 4 and 4.0 are the same number."""
    if isinstance(value, str | bool) or value is None:
        return (type(value).__name__, value)
    if isinstance(value, int | float):
        return ("number", value)
    return ("json", orjson.dumps(_plain_numbers(value), option=orjson.OPT_SORT_KEYS))


_LARGE = 1 << 63


def _plain_numbers(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain_numbers(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_plain_numbers(child) for child in value]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return float(value) if isinstance(value, int) and not -_LARGE < value < _LARGE else value


def equal(a: Any, b: Any) -> bool | None:
    """Are two values equal? None where what is missing decides."""
    if isinstance(a, Unknown) or isinstance(b, Unknown):
        return _equal_unknown(a, b) if isinstance(a, Unknown) else _equal_unknown(b, a)
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return _equal_objects(a, b)
    if isinstance(a, list) and isinstance(b, list):
        return _equal_lists(a, b)
    if isinstance(a, Mapping | list) or isinstance(b, Mapping | list):
        return False
    return bool(key_of(a) == key_of(b))


def _equal_unknown(a: Unknown, b: Any) -> bool | None:
    if isinstance(b, Unknown):
        if a.digest and b.digest and a.key and a.key == b.key and a.type == b.type:
            return a.digest == b.digest
        return False if _kinds(a) & _kinds(b) == set() or _texts_differ(a, b) else None
    if _kind(b) not in _kinds(a):
        return False
    whole = Unknown("cut", begins=b, length=len(b)) if isinstance(b, str) else None
    return False if whole is not None and _texts_differ(a, whole) else None


_EVERY = frozenset({"null", "bool", "number", "text", "object", "list"})
_KINDS = {"str": "text", "int": "number", "float": "number", "bool": "bool"}


def _kinds(value: Unknown) -> frozenset[str]:
    """What it may be."""
    if value.begins is not None:
        return frozenset({"text"})
    return _EVERY if value.type is None else frozenset({_KINDS[value.type]})


def _kind(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else "bool"
    if isinstance(value, int | float):
        return "number"
    return "text" if isinstance(value, str) else ("object" if isinstance(value, Mapping) else "list")


def _texts_differ(a: Unknown, b: Unknown) -> bool:
    """Do length or beginning tell that they are two texts?"""
    if a.length is not None and b.length is not None and a.length != b.length:
        return True
    if a.begins is not None and b.begins is not None:
        shared = min(len(a.begins), len(b.begins))
        if a.begins[:shared] != b.begins[:shared]:
            return True
    return _too_short(a, b) or _too_short(b, a)


def _too_short(a: Unknown, b: Unknown) -> bool:
    return a.length is not None and b.begins is not None and len(b.begins) > a.length


def _equal_objects(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool | None:
    answers: set[bool | None] = {None} if REST in a or REST in b else set()
    for key in {*a, *b}:
        if key.startswith(HIDDEN):
            continue
        if key in a and key in b:
            answers.add(equal(a[key], b[key]))
        elif REST not in (b if key in a else a):
            return False
    return _all(answers)


def _equal_lists(a: list[Any], b: list[Any]) -> bool | None:
    more = [bool(one) and isinstance(one[-1], Unknown) and one[-1].rest for one in (a, b)]
    x, y = a[:-1] if more[0] else a, b[:-1] if more[1] else b
    if (len(x) < len(y) and not more[0]) or (len(y) < len(x) and not more[1]):
        return False
    answers = {equal(one, other) for one, other in zip(x, y, strict=False)}
    return _all(answers | ({None} if any(more) else set()))


def _all(answers: set[bool | None]) -> bool | None:
    return False if False in answers else (None if None in answers else True)
