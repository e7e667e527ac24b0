"""Durations and time zones of policies."""

from __future__ import annotations

import re
from bisect import bisect_left
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Literal
from zoneinfo import ZoneInfo

NANOSECONDS = 10**9
MINUTE = 60 * NANOSECONDS
UNITS = {
    "ms": 10**6,
    "mil": 10**6,
    "s": NANOSECONDS,
    "m": MINUTE,
    "h": 60 * MINUTE,
    "d": 24 * 60 * MINUTE,
    "w": 7 * 24 * 60 * MINUTE,
}

TIME = r"(?P<amount>\d+(?:\.\d+)?) ?(?P<unit>milliseconds?|ms|seconds?|s|minutes?|min|hours?|h|days?|weeks?)"
"""A duration in a sentence, as a regular expression; `nanoseconds` reads the match."""
DAY = (
    r"(?:(?:(?:on|in|within|during|for|over) )?"
    r"(?:an?|any|each|every|(?:any )?one|(?:any|a) given|(?:an?y?|each|every|one) single|each and every"
    r"|(?:one and )?the (?:very )?same)|per(?: single)?) calendar[ -](?:day|date)"
)
"""A day of the calendar in a sentence, as a regular expression."""
CALENDAR_DAY: Literal["calendar day"] = "calendar day"
Stretch = int | Literal["calendar day"] | None
"""What calls that count together lie in: so many nanoseconds, one local date, or any time."""


def zone_of(name: str) -> tzinfo:
    """A time zone by name; UTC needs no time zone database."""
    return UTC if name == "UTC" else ZoneInfo(name)


def local_time(ns: int, zone: tzinfo) -> datetime:
    """A wall-clock instant in nanoseconds, to the second."""
    return datetime.fromtimestamp(ns // NANOSECONDS, zone)


def local_days(lo: int, hi: int, zone: tzinfo) -> tuple[int, int]:
    """The first and the last local date, as ordinals, on which an instant between these two can lie.

    Clocks that are put back between the two may have shown a later date before that, and an earlier after.
    """
    first, last = local_time(lo, zone), local_time(hi, zone)
    days = [first.toordinal(), last.toordinal()]
    if _offset(first) > _offset(last):
        seconds = range(lo // NANOSECONDS, hi // NANOSECONDS + 1)
        change = bisect_left(
            seconds, True, key=lambda s: _offset(datetime.fromtimestamp(s, zone)) != _offset(first)
        )
        days += (datetime.fromtimestamp(seconds[k], zone).toordinal() for k in (change - 1, change))
    return min(days), max(days)


def _offset(at: datetime) -> timedelta:
    return at.utcoffset() or timedelta()


def stretch_in_words(stretch: Stretch, timezone: str) -> str:
    """` within 1 hour`, ` per calendar day (UTC)`; empty for any time."""
    if stretch == CALENDAR_DAY:
        return f" per calendar day ({timezone})"
    return "" if stretch is None else f" within {duration_in_words(stretch)}"


def duration_in_words(ns: int) -> str:
    for size, name in ((3600 * NANOSECONDS, "hour"), (MINUTE, "minute"), (NANOSECONDS, "second")):
        if ns % size == 0 and ns >= size:
            return f"{ns // size} {name}" + ("s" if ns != size else "")
    return f"{ns / 1e6:g} ms"


def nanoseconds(match: re.Match[str]) -> int:
    unit = match["unit"].lower()
    size = UNITS.get(unit) or UNITS.get(unit[:3]) or UNITS[unit[0]]
    return round(float(match["amount"]) * size)
