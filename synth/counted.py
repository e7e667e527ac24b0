"""Numbers with what they count, in English."""

from __future__ import annotations


def counted(number: int, what: str) -> str:
    """`1 run`, `2 runs`, `2 policies`: `what` is the noun in the singular."""
    if number == 1:
        return f"{number} {what}"
    many = f"{what[:-1]}ies" if what.endswith("y") and what[-2:-1] not in tuple("aeiou") else f"{what}s"
    return f"{number} {many}"
