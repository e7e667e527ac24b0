"""Which name was meant: names that differ as slips of the pen do."""

from __future__ import annotations

import re
from collections.abc import Iterable

SHORT = 5
"""Names with fewer letters may differ by one only, longer ones by two."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W_A-Z]+")
_SEPARATORS = re.compile(r"[_\-.\s]+")


def near(name: str, others: Iterable[str]) -> str | None:
    """The one of `others` that `name` is most likely a slip of; None where none is near.

    Near is what is equal but for case and separators, has the same words in another order, or is one or
    two letters away. Digits are no letters: `search_v2` is not a slip of `search_v3`.
    """
    found = [(far, other) for other in set(others) - {name} if (far := _far(name, other)) is not None]
    return min(found)[1] if found else None


def _far(a: str, b: str) -> int | None:
    """How far two names are apart; None where they are different names."""
    if len(_words(a)) == len(_words(b)) and sorted(_words(a)) == sorted(_words(b)):
        return 0
    plain, other = ("".join(_SEPARATORS.split(name.casefold())) for name in (a, b))
    if plain == other:
        return 0
    if re.findall(r"\d+", plain) != re.findall(r"\d+", other):
        return None
    shorter = min(len(plain), len(other))
    most = min(1 if shorter < SHORT else 2, shorter - 1)
    edits = _edits(plain, other, most)
    return edits if edits <= most else None


def _words(name: str) -> list[str]:
    """`getUserInfo` and `get-user.info` have the same words."""
    return [word.casefold() for word in _WORD.findall(name)]


def _edits(a: str, b: str, most: int) -> int:
    """Letters to add, drop or change to make one of the other; more than `most` is not counted further."""
    if abs(len(a) - len(b)) > most:
        return most + 1
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        above, row = row, [i]
        for j, other in enumerate(b, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (letter != other)))
        if min(row) > most:
            return most + 1
    return row[-1]
