"""The worlds in which a constraint's formula is read: integers, bounds, and (in `solver`) Z3 terms.

A formula is written once, against `Times`. With integers it is a bool; with bounds it is True,
False, or None where the evidence allows both (Kleene's logic); with Z3 terms it is a Z3 formula.
Trap: `bool(x == y)` on Z3 terms is silently False, so a formula uses `times.all`, `times.any` and
`times.no`, never Python's `and`, `or`, `not` or `if`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from synth.counted import counted

Truth = Any
"""A bool in the world of integers, bool or None in that of bounds, a formula in the symbolic one."""


def clock(minutes: int) -> str:
    """Minutes after midnight as `HH:MM`."""
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def minutes(count: int) -> str:
    return counted(count, "minute")


class Times(Protocol):
    """Where a formula finds the instants of an action (or, in policies, of a call).

    Instants include the sequence number, so that it orders equal clock readings; a clock time of a
    sentence is therefore compared through `until` and `since`.
    """

    def start(self, who: Any) -> Any: ...
    def end(self, who: Any) -> Any: ...
    def until(self, time: int) -> Any:
        """The last instant that is not later than `time`."""

    def since(self, time: int) -> Any:
        """The first instant that is not earlier than `time`."""

    def later(self, instant: Any, by: int) -> Any:
        """The last instant that is at most `by` units after `instant`."""

    def all(self, parts: Iterable[Truth]) -> Truth: ...
    def any(self, parts: Iterable[Truth]) -> Truth: ...
    def no(self, part: Truth) -> Truth: ...


class Fixed:
    """The world of integers: every instant is known.

    An instant is `time * scale + 2 * seq` for a start and one more for an end; with `scale` at least
    twice the number of steps, `end(a) <= start(b)` holds at equal clock readings exactly where `a`
    has the lower sequence number.
    """

    __slots__ = ("end", "ends", "scale", "start", "starts")

    def __init__(self, starts: Mapping[Any, int], ends: Mapping[Any, int], scale: int = 1) -> None:
        self.starts, self.ends, self.scale = starts, ends, scale
        # The look-ups themselves, without a Python frame each: this is the hot path of every verdict.
        self.start, self.end = starts.__getitem__, ends.__getitem__

    def until(self, time: int) -> int:
        return (time + 1) * self.scale - 1

    def since(self, time: int) -> int:
        return time * self.scale

    def later(self, instant: int, by: int) -> int:
        return (instant // self.scale + by + 1) * self.scale - 1

    def all(self, parts: Iterable[bool]) -> bool:
        return all(parts)

    def any(self, parts: Iterable[bool]) -> bool:
        return any(parts)

    def no(self, part: bool) -> bool:
        return not part


def of_the_day(starts: Mapping[Any, int], ends: Mapping[Any, int]) -> Fixed:
    """Minutes of tasks that run one at a time, where what ends at a minute ends before what starts then."""
    return Fixed(
        {who: 2 * minute + 1 for who, minute in starts.items()}, {w: 2 * m for w, m in ends.items()}, 2
    )


@dataclass(frozen=True, slots=True)
class Bounds:
    """An instant known only to lie in [lo, hi]; comparisons say None where both answers are possible."""

    lo: int
    hi: int
    clock: int = 0
    """Instants of one clock other than 0 are off by one and the same amount, and compare without it."""
    off: tuple[int, int] = (0, 0)
    """The least and the most by which that clock is off, which `lo` and `hi` contain."""
    turn: int | None = None
    """Between two clocks, what belongs to an earlier turn comes first, whatever they show."""
    row: tuple[int, int] | None = None
    """(which row, place in it): instants of one row follow each other in the order of their places."""

    @property
    def by_its_clock(self) -> Bounds:
        return Bounds(self.lo - self.off[0], self.hi - self.off[1])

    def __le__(self, other: Bounds | int) -> bool | None:
        other = other if isinstance(other, Bounds) else Bounds(other, other)
        if self.row is not None and other.row is not None and self.row[0] == other.row[0]:
            return self.row <= other.row
        if self.clock and self.clock == other.clock:
            return self.by_its_clock <= other.by_its_clock
        if self.clock != other.clock and self.turn is not None and other.turn not in (None, self.turn):
            return self.turn < other.turn
        return True if self.hi <= other.lo else (False if self.lo > other.hi else None)

    def __ge__(self, other: Bounds | int) -> bool | None:
        other = other if isinstance(other, Bounds) else Bounds(other, other)
        return other <= self


def edges_of(instant: Any) -> tuple[int, int]:
    """The earliest and the latest that an instant can be."""
    return (instant.lo, instant.hi) if isinstance(instant, Bounds) else (instant, instant)


class Bounded:
    """The world of bounds. Sound, not complete: None may still be decided by Z3, which sees the whole."""

    __slots__ = ("ends", "scale", "starts")

    def __init__(self, starts: Mapping[Any, Bounds], ends: Mapping[Any, Bounds], scale: int = 1) -> None:
        self.starts, self.ends, self.scale = starts, ends, scale

    def start(self, who: Hashable) -> Bounds:
        return self.starts[who]

    def end(self, who: Hashable) -> Bounds:
        return self.ends[who]

    def until(self, time: int) -> int:
        return (time + 1) * self.scale - 1

    def since(self, time: int) -> int:
        return time * self.scale

    def later(self, instant: Bounds, by: int) -> Bounds:
        lo, hi = ((edge // self.scale + by + 1) * self.scale - 1 for edge in (instant.lo, instant.hi))
        return Bounds(lo, hi, instant.clock, instant.off)

    def all(self, parts: Iterable[bool | None]) -> bool | None:
        answer: bool | None = True
        for part in parts:
            if part is False:
                return False
            answer = None if part is None else answer
        return answer

    def any(self, parts: Iterable[bool | None]) -> bool | None:
        answer: bool | None = False
        for part in parts:
            if part is True:
                return True
            answer = None if part is None else answer
        return answer

    def no(self, part: bool | None) -> bool | None:
        return None if part is None else not part
