"""Stretches of time that pages show, and how they are cut into bars."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from collector.api.runs import instant
from collector.api.search import lasting
from synth.pictures import Tick

OFFERED = {"15m": "15 min", "1h": "1 h", "24h": "24 h", "7d": "7 d", "30d": "30 d"}
USUAL = "24h"
BARS = 48


@dataclass(frozen=True, slots=True)
class Range:
    """From one instant to another (Unix seconds), and as what it was asked for."""

    since: float
    until: float
    last: str | None
    """One of `OFFERED`, or another length; None = two instants."""

    @classmethod
    def of(cls, asked: Mapping[str, str], now: float, usual: str = USUAL) -> Range:
        """By `last`, or `since` and `until`. Raises BadRequest."""
        since, until = instant(asked.get("since"), "since"), instant(asked.get("until"), "until")
        if since is None and until is None:
            last = asked.get("last") or usual
            return cls(now - lasting(last), now, last)
        until = now if until is None else until
        since = until - lasting(usual) if since is None else since
        return cls(min(since, until - 1), until, None)

    @property
    def width(self) -> float:
        """Seconds of one bar."""
        return (self.until - self.since) / BARS

    @property
    def search(self) -> str:
        """As a part of a search line."""
        if self.last is not None:
            return f"last:{self.last}"
        return f"since:{stamp(self.since)} until:{stamp(self.until)}"

    def label(self, at: float) -> str:
        """An instant within it, as short as it can be told apart."""
        long = self.until - self.since
        if not 0 <= at < LAST:
            return ""
        said = datetime.fromtimestamp(at, UTC)
        return (
            f"{said:%H:%M}"
            if long <= 86_400
            else f"{said:%d %b %H:%M}"
            if long <= 8 * 86_400
            else f"{said:%d %b}"
        )

    @property
    def ticks(self) -> list[Tick]:
        """Round instants within it, as places on an axis; a day is named where it begins (UTC)."""
        long = self.until - self.since
        size = next(
            (one for one in ROUND if long / one <= MOST_TICKS), 86_400 * math.ceil(long / 86_400 / MOST_TICKS)
        )
        first = math.ceil(self.since / size) * size
        places = (first + size * number for number in range(int((self.until - first) // size) + 1))
        return [Tick((at - self.since) / long, _named(at, size, long)) for at in places if 0 <= at < LAST]


def _named(at: float, size: float, long: float) -> str:
    """An instant among others that are `size` seconds apart, of `long` seconds in all."""
    said = datetime.fromtimestamp(at, UTC)
    if at % 86_400 == 0:
        return f"{said:%Y-%m-%d}" if long > 366 * 86_400 else f"{said:%d %b}"
    return f"{said:%H:%M}" if size >= 60 else f"{said:%H:%M:%S}"


ROUND = (1, 5, 15, 60, 300, 900, 3_600, 10_800, 21_600, 43_200, 86_400, 2 * 86_400, 5 * 86_400)
MOST_TICKS = 7
LAST = 253_402_300_800
"""The year 10,000 begins."""


def stamp(at: float) -> str:
    """An instant as addresses have it: UTC, to the second."""
    return f"{datetime.fromtimestamp(min(max(at, 0), 253_402_300_799), UTC):%Y-%m-%dT%H:%M:%SZ}"
