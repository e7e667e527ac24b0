"""Stretches of time that pages show, and how they are cut into bars."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from collector.api.runs import instant
from collector.api.search import lasting

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
        if not 0 <= at < 253_402_300_800:
            return ""
        said = datetime.fromtimestamp(at, UTC)
        return (
            f"{said:%H:%M}"
            if long <= 86_400
            else f"{said:%d %b %H:%M}"
            if long <= 8 * 86_400
            else f"{said:%d %b}"
        )


def stamp(at: float) -> str:
    """An instant as addresses have it: UTC, to the second."""
    return f"{datetime.fromtimestamp(min(max(at, 0), 253_402_300_799), UTC):%Y-%m-%dT%H:%M:%SZ}"
