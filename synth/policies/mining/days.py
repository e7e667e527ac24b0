"""When: hours of the day, and days of the week.

Calls of one day depend on one another: a day counts once, however many calls it has.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial
from random import Random

from synth.formal.constraints import clock
from synth.observed.run import Run
from synth.policies.kinds.weekdays import NAMES, WEEK, WORKING, Weekdays
from synth.policies.kinds.window import Window
from synth.policies.mining.mined import FEWEST_BOUNDED, Mined, bits
from synth.policies.mining.seen import Seen

FEWEST_DAYS = 10
"""Days on which a tool must have been called before something is said of its hours or days."""
HOUR = 3600 * 10**9
ARCS = 24 * 23
"""Windows of whole hours of which the tightest is taken; that the best of many fits is less of a surprise."""


def hours(seen: Sequence[Seen], tools: Sequence[str]) -> Iterator[Mined | None]:
    """A tool is called in some hours of the day, in which other calls of the same days need not lie."""
    cells: dict[date, set[tuple[int, int]]] = defaultdict(set)
    for number, one in enumerate(seen):
        for at in one.all_starts:
            when = _when(at)
            cells[when.date()].add((number, when.hour))
    for tool in tools:
        runs = [one for one in seen if tool in one.attempts]
        own = [_stretch(one, i) for one in runs for i in one.attempts[tool]]
        stretches = [stretch for stretch in own if stretch is not None]
        days = {_when(start).date() for start, _ in stretches}
        if len(stretches) < len(own) or len(runs) < FEWEST_BOUNDED or len(days) < FEWEST_DAYS:
            yield None
            continue
        arc = _arc({hour for stretch in stretches for hour in _hours(*stretch)})
        yield None if arc is None else _window(tool, arc, stretches, len(runs), [cells[day] for day in days])


def _when(at: int) -> datetime:
    return datetime.fromtimestamp(at // 10**9, UTC)


def _stretch(one: Seen, call: int) -> tuple[int, int] | None:
    """Start and end of a call; None where they are not known."""
    made = one.run.calls[call]
    return (
        None if made.start is None or made.end is None else (made.start[0], max(made.end[1], made.start[1]))
    )


def _hours(start: int, end: int) -> range | list[int]:
    first, last = start // HOUR, max(end - 1, start) // HOUR
    return range(24) if last - first > 23 else [hour % 24 for hour in range(first, last + 1)]


def _arc(occupied: set[int]) -> tuple[int, int] | None:
    """(first hour, hour after the last) of the shortest stretch of the clock that has all of these."""
    free, hour = max(((_free(occupied, hour), hour) for hour in occupied), default=(0, 0))
    return ((hour + free + 1) % 24, hour + 1) if free else None


def _free(occupied: set[int], hour: int) -> int:
    """How many hours after this one have no call."""
    return next((k for k in range(23) if (hour + k + 1) % 24 in occupied), 23)


def _window(
    tool: str, arc: tuple[int, int], stretches: Sequence[tuple[int, int]], runs: int,
    days: Sequence[set[tuple[int, int]]],
) -> Mined:  # fmt: skip
    first, last = arc
    inside = {hour % 24 for hour in range(first, last if first < last else last + 24)}
    surprise = -math.log2(ARCS)
    for cells in days:
        kept = sum(hour in inside for _, hour in cells)
        surprise += bits((kept + 1) / (len(cells) + 1))
    since, until = first * 60 or None, last * 60 if last < 24 else None
    starts = [((start // HOUR - first) % 24 * HOUR + start % HOUR) for start, _ in stretches]
    ends = [at + end - start for at, (start, end) in zip(starts, stretches, strict=True)]
    room = ((last - first) % 24 or 24) * HOUR
    early, late = min(starts) // (60 * 10**9), (room - max(ends)) // (60 * 10**9)
    bound = (
        f"Seen on {len(days)} days, from {_clock(first, min(starts))} to {_clock(first, max(ends))} (UTC): "
        f"the limits leave {early} and {late} minutes."
    )
    when = {
        (True, True): f"between {clock(first * 60)} and {clock(last * 60)}",
        (True, False): f"after {clock(first * 60)}", (False, True): f"before {clock(last * 60)}",
    }[since is not None, until is not None]  # fmt: skip
    return Mined(
        "window", (tool,), runs, surprise, lambda named: Window(((named(tool), since, until),)),
        f"{{0}} must happen {when}.", f"{{0}} {when}", partial(_later, tool, HOUR, (room // HOUR, 23)),
        "at another hour", bound, alone=True,
    )  # fmt: skip


def _clock(first: int, ns: int) -> str:
    return clock((first * 60 + ns // (60 * 10**9)) % (24 * 60))


def _later(tool: str, unit: int, between: tuple[int, int], run: Run, chance: Random) -> Run:
    """The calls of a tool so many units later."""
    ns = unit * chance.randint(min(between), between[1])
    calls = tuple(
        replace(
            call,
            start=call.start and (call.start[0] + ns, call.start[1] + ns),
            end=call.end and (call.end[0] + ns, call.end[1] + ns),
        )
        if call.tool == tool
        else call
        for call in run.calls
    )
    return replace(run, calls=calls)


# ---------------------------------------------------------------- days of the week


def weekdays(seen: Sequence[Seen], tools: Sequence[str]) -> Iterator[Mined | None]:
    """A tool is called on no weekend, or never on one day, while other calls are made on such days."""
    active = {_when(at).date() for one in seen for at in one.all_starts}
    for tool in tools:
        runs = [one for one in seen if tool in one.attempts]
        starts = [one.starts(tool) for one in runs]
        known = [one for one in starts if one is not None]
        days = {_when(at).date() for one in known for at in one}
        if len(known) < len(starts) or len(runs) < FEWEST_BOUNDED or len(days) < FEWEST_DAYS:
            yield None
            continue
        used = {day.weekday() for day in days}
        for never in (WEEK - WORKING, WORKING, *(frozenset([day]) for day in WEEK)):
            yield None if used & never else _days(tool, WEEK - never, len(runs), days, active)


def _days(tool: str, allowed: frozenset[int], runs: int, days: set[date], active: set[date]) -> Mined:
    inside = sum(day.weekday() in allowed for day in active)
    surprise = sum(bits((inside - k) / (len(active) - k)) for k in range(len(days)))
    when = {WORKING: "on weekdays", WEEK - WORKING: "on weekends"}.get(allowed)
    said = f"happen {when}" if when else f"never happen on {NAMES[min(WEEK - allowed)]}s"
    left = len(active) - inside
    bound = (
        f"Called on {len(days)} of {len(active)} days with calls, on none of the {left} that the rule "
        "forbids (UTC)."
    )
    return Mined(
        "weekdays", (tool,), runs, surprise, lambda named: Weekdays((named(tool),), allowed),
        f"{{0}} must {said}.", f"{{0}} {said}", partial(_later, tool, 24 * HOUR, (1, 6)), "on another day",
        bound, alone=True,
    )  # fmt: skip
