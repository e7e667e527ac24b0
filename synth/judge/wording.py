"""Verdicts in plain words: which words of the query, which calls, when."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from synth.formal.constraints import Before, Constraint, clock, stated
from synth.observed.run import Interval, ToolCall

MANY = 6
"""Longer lists of calls are cut in words; the finding itself names all."""


@dataclass(frozen=True, slots=True)
class Wording:
    """What things are called: phrases and tools of actions, and the paragraph that states the rules."""

    phrases: Mapping[str, str]
    tools: Mapping[str, str]
    paragraph: str = ""

    def phrase(self, action: str) -> str:
        return self.phrases.get(action, action)

    def task(self, action: str) -> str:
        """The phrase, and the tool where its name says something else."""
        phrase, tool = self.phrase(action), self.tools.get(action, "")
        return phrase if tool in ("", phrase) else f"{phrase} (tool {tool})"

    def rule(self, constraint: Constraint) -> str:
        """The words of the paragraph that state a constraint, quoted; else the constraint in words."""
        return stated(constraint, self.phrase, self.paragraph)


def order_broken(
    constraint: Before, calls: Sequence[ToolCall], first: int, then: int, say: Wording, *, overlap: bool
) -> str:
    """`first` and `then` are the positions of the two calls; `overlap`: do they break it by overlapping?"""
    a, b = calls[first], calls[then]
    if overlap:
        happened = (
            f"started{at(b.start)} while {say.phrase(constraint.first)} (call {first}) was still running"
        )
        return (
            f"{say.rule(constraint)}: {say.phrase(constraint.then)} (call {then}) {happened}{until(a.end)}."
        )
    return (
        f"{say.rule(constraint)}: {say.phrase(constraint.then)} (call {then}) was called before "
        f"{say.phrase(constraint.first)} (call {first})."
    )


def is_overlap(first: ToolCall, then: ToolCall) -> bool:
    """Did `then` start inside `first`, as far as the clock readings say?"""
    if first.start is None or then.start is None or first.start > then.start:
        return False
    return not first.finished or (first.end is not None and then.start[0] < first.end[1])


@dataclass(frozen=True, slots=True)
class TimedCall:
    """When an action ran, as declared and reported; minutes after midnight."""

    task: str
    """Its phrase, and the call."""
    start: int
    end: int


def at(instant: Interval | None) -> str:
    """`, at 10:00:02.500Z` for an exact time, `, between ...` for bounds, nothing if unknown."""
    if instant is None:
        return ""
    lo, hi = instant
    return f", at {moment(lo)}" if lo == hi else f", between {moment(lo)} and {moment(hi)}"


def until(instant: Interval | None) -> str:
    return "" if instant is None else f" (until {moment(instant[1])})"


def moment(ns: int) -> str:
    """A wall-clock instant: UTC time of day for real dates, else plain seconds."""
    if 10**17 < ns < 4 * 10**18:
        when = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=ns // 1000)
        return f"{when:%H:%M:%S.%f}"[:-3] + "Z"
    return f"{ns / 1e9:g} s"


def calls_in_words(positions: Iterable[int], count: int | None = None) -> str:
    """`call 3`, `calls 3 and 5`, `calls 1, 2, 3, 4, 5, 6 and 12 more`; `count` where not all are given."""
    every = list(positions)
    count = len(every) if count is None else count
    if count == 1:
        return f"call {every[0]}"
    if count > MANY:
        return f"calls {', '.join(map(str, every[:MANY]))} and {count - MANY} more"
    return f"calls {', '.join(map(str, every[:-1]))} and {every[-1]}"


def assignment_in_words(times: Mapping[Any, tuple[int, int]], unit: str, name: Mapping[Any, str]) -> str:
    """One possible set of instants: `pay 10:00 to 10:20, verify 10:30 to 11:00`."""
    show = clock if unit == "minutes" else (moment if unit == "ns" else str)
    parts = (
        f"{name.get(who, who)} {show(start)} to {show(end) if end < 1 << 80 else 'no end'}"
        for who, (start, end) in sorted(times.items(), key=lambda item: item[1])
    )
    return ", ".join(parts)
