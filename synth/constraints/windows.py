"""Clock-time limits of the time extension (paper, section 4.3): when an action must end or may start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from synth.constraints.times import Times, Truth


def clock(minutes: int) -> str:
    """Minutes after midnight as `HH:MM`."""
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


@dataclass(frozen=True, slots=True)
class EndsBy:
    """`action` must have ended by `time` (minutes after midnight)."""

    kind: ClassVar[str] = "ends_by"
    action: str
    time: int
    sentence: int | None = None
    span: tuple[int, int] | None = None

    @property
    def actions(self) -> tuple[str, ...]:
        return (self.action,)

    def formula(self, t: Times) -> Truth:
        return t.end(self.action) <= t.until(self.time)

    def words(self, name: Callable[[str], str]) -> str:
        return f"{name(self.action)} must end by {clock(self.time)}"


@dataclass(frozen=True, slots=True)
class StartsFrom:
    """`action` must not start before `time` (minutes after midnight)."""

    kind: ClassVar[str] = "starts_from"
    action: str
    time: int
    sentence: int | None = None
    span: tuple[int, int] | None = None

    @property
    def actions(self) -> tuple[str, ...]:
        return (self.action,)

    def formula(self, t: Times) -> Truth:
        return t.start(self.action) >= t.since(self.time)

    def words(self, name: Callable[[str], str]) -> str:
        return f"{name(self.action)} must not start before {clock(self.time)}"
