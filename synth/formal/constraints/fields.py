"""How the fields of a constraint are read from JSON: one reader for each sort of value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from synth.errors import BadInput

Reader = Callable[[Any], Any]
"""What JSON holds (None where the field is missing) to what the constraint holds.

BadInput says what was expected; which field it was is said by whoever reads the whole.
"""

DAY = 24 * 60
"""Minutes of a day: the largest clock time."""


def action_id(value: Any) -> str:
    """The id of an action."""
    if not isinstance(value, str) or not value:
        raise BadInput(f"expected the id of an action, got {brief(value)}")
    return value


def clock_time(value: Any) -> int:
    """Minutes after midnight."""
    return _number(value, DAY, "minutes after midnight (0 to 1440)")


def sentence(value: Any) -> int | None:
    """0-based position of a sentence in its paragraph."""
    return None if value is None else _number(value, None, "a sentence index from 0")


def span(value: Any) -> tuple[int, int] | None:
    """Half-open range of code points in a paragraph."""
    if value is None:
        return None
    if not (isinstance(value, list) and len(value) == 2 and all(type(edge) is int for edge in value)):
        raise BadInput(f"expected [start, end] in code points, got {brief(value)}")
    start, end = value
    if not 0 <= start <= end:
        raise BadInput(f"expected 0 <= start <= end, got {brief(value)}")
    return start, end


def _number(value: Any, limit: int | None, wanted: str) -> int:
    if type(value) is not int or value < 0 or (limit is not None and value > limit):
        raise BadInput(f"expected {wanted}, got {brief(value)}")
    return value


def brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
