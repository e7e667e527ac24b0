"""One instant, or bounds of one, as records spell it: seconds, and nanoseconds where these say more."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from synth.errors import BadInput
from synth.observed.fields import kind_of, path_of

Interval = tuple[int, int]
"""Bounds of one instant, wall-clock nanoseconds, both inclusive; equal when the instant is exact."""
MAX_SECONDS = 10**11
"""About the year 5000: a larger time is a mistake in the unit."""


def instant_in(said: Mapping[str, Any], name: str, where: str = "") -> Interval | None:
    """Seconds, or [lo, hi] in seconds, as nanoseconds; the field `..._ns` keeps what a float cannot."""
    value, exact = said.get(name), said.get(f"{name}_ns")
    if value is None and exact is None:
        return None
    field_name = path_of(where, name if exact is None else f"{name}_ns")
    edges = exact if exact is not None else value
    lo, hi = edges if isinstance(edges, list) and len(edges) == 2 else (edges, edges)
    if exact is not None:
        if type(lo) is not int or type(hi) is not int:
            raise BadInput(f"expected nanoseconds as an integer, got {kind_of(exact)}", field=field_name)
    else:
        lo, hi = _nanoseconds(lo, field_name), _nanoseconds(hi, field_name)
    if lo > hi:
        raise BadInput(f"expected [earliest, latest], got {edges}", field=field_name)
    return lo, hi


def _nanoseconds(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadInput(f"expected seconds as a number, or [lo, hi], got {kind_of(value)}", field=where)
    if not abs(value) <= MAX_SECONDS:
        raise BadInput(
            f"{value:g} is no time in seconds (at most {MAX_SECONDS:g}, about the year 5000); "
            "are these milliseconds or nanoseconds?",
            field=where,
        )
    # Through the decimal text: 1700000000.1234567 s is meant as written, not as the nearest double.
    return value * 10**9 if isinstance(value, int) else round(Decimal(repr(value)) * 10**9)


def instant_to_json(name: str, instant: Interval | None) -> dict[str, Any]:
    """The fields of a record that spell it, exactly."""
    if instant is None:
        return {}
    seconds = [edge / 10**9 for edge in instant]
    said: dict[str, Any] = {name: seconds[0] if instant[0] == instant[1] else seconds}
    if any(round(Decimal(repr(s)) * 10**9) != edge for s, edge in zip(seconds, instant, strict=True)):
        said[f"{name}_ns"] = list(instant)
    return said
