"""How far two JSON values are from each other: the edits that make one of the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

EDITS = 200_000
"""Comparisons of parts for one pair of values; values that take more are taken as wholly different."""


def distance(one: Any, other: Any) -> tuple[float, float]:
    """(edits, size of the bigger value), both in leaves: numbers, words of a text, names, empty things.

    A number or one word is another one or the same; texts are compared word by word and lists item by item,
    with insertions and deletions (Levenshtein's distance); an object's entries go by their names.
    """
    size = float(max(_size(one), _size(other)))
    if _size(one) * _size(other) > EDITS:
        return (0.0, size) if one == other else (size, size)
    return _edits(one, other), size


def _edits(one: Any, other: Any) -> float:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return sum(
            _edits(one[name], other[name])
            if name in one and name in other
            else _size(one[name] if name in one else other[name])
            for name in {**one, **other}
        )
    if isinstance(one, str) and isinstance(other, str):
        return _in_line(one.split(), other.split(), lambda a, b: float(a != b))
    if isinstance(one, list) and isinstance(other, list):
        return _in_line(one, other, _edits)
    same = one == other and isinstance(one, bool) == isinstance(other, bool)
    return 0.0 if same else float(max(_size(one), _size(other)))


def _in_line(one: Sequence[Any], other: Sequence[Any], change: Callable[[Any, Any], float]) -> float:
    """Levenshtein's distance, by rows."""
    row = [0.0]
    for b in other:
        row.append(row[-1] + _size(b))
    for a in one:
        before, row = row, [row[0] + _size(a)]
        for at, b in enumerate(other):
            row.append(min(before[at] + change(a, b), before[at + 1] + _size(a), row[at] + _size(b)))
    return row[-1]


def _size(value: Any) -> int:
    """Leaves of a value; whatever is empty counts as one."""
    if isinstance(value, Mapping):
        return max(1, sum(map(_size, value.values())))
    if isinstance(value, list):
        return max(1, sum(map(_size, value)))
    return max(1, len(value.split())) if isinstance(value, str) else 1
