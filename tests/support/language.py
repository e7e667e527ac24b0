"""Small builders for the tests of the language."""

from __future__ import annotations

from collections.abc import Sequence

from synth.cases.case import Action
from synth.formal.constraints import Before, Constraint, EndsBy, StartsFrom
from synth.language.parse import parse


def actions(*phrases: str) -> list[Action]:
    """Actions a1, a2, ... with these names."""
    return [Action(f"a{i}", phrase, phrase.replace(" ", "_")) for i, phrase in enumerate(phrases, 1)]


ABCD = actions("audit", "briefing", "cleanup", "delivery")


def said(text: str, names: Sequence[Action] = ABCD) -> list[str]:
    """What a paragraph says, in short: `a1<a2`, `a1<=900`, `a1>=540`."""
    return [short(constraint) for constraint in parse(text, names).constraints]


def short(constraint: Constraint) -> str:
    """One constraint in short."""
    match constraint:
        case Before(first, then):
            return f"{first}<{then}"
        case EndsBy(action, time):
            return f"{action}<={time}"
        case StartsFrom(action, time):
            return f"{action}>={time}"
