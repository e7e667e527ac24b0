"""Durations and time zones of policies."""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo
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


def zone_of(name: str) -> tzinfo:
    """A time zone by name; UTC needs no time zone database."""
    return UTC if name == "UTC" else ZoneInfo(name)


def local_time(ns: int, zone: tzinfo) -> datetime:
    """A wall-clock instant in nanoseconds, to the second."""
    return datetime.fromtimestamp(ns // NANOSECONDS, zone)


def duration_in_words(ns: int) -> str:
    for size, name in ((3600 * NANOSECONDS, "hour"), (MINUTE, "minute"), (NANOSECONDS, "second")):
        if ns % size == 0 and ns >= size:
            return f"{ns // size} {name}" + ("s" if ns != size else "")
    return f"{ns / 1e6:g} ms"


def nanoseconds(match: re.Match[str]) -> int:
    unit = match["unit"].lower()
    size = UNITS.get(unit) or UNITS.get(unit[:3]) or UNITS[unit[0]]
    return round(float(match["amount"]) * size)
