"""Limits over calls that count together: those with equal arguments, those that start near one another.

Near is less than a time apart, or on one local date: dates are instants of their own, whole days, and two on
one date are less than one such day apart.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Literal

from synth.formal.constraints import edges_of
from synth.policies.evidence import Evidence
from synth.policies.kinds.arguments import Alike, values_of
from synth.policies.kinds.kind import Paths
from synth.policies.kinds.times import CALENDAR_DAY, Stretch, local_days, zone_of

Size = Callable[[int], int]
"""How much a call counts: 0 or more."""
Span = tuple[int, int, int]
"""Earliest and latest start of a call, in nanoseconds or as local dates, and the call."""


def alike(calls: Sequence[int], same: Paths, seen: Evidence) -> Iterator[tuple[list[int], list[int]]]:
    """Calls whose arguments are surely equal, and those whose perhaps are, in observed order."""
    by_values = Alike(calls, 0, same, seen)
    for values in {v.key: v for v in (values_of(i, 0, same, seen) for i in calls)}.values():
        known = values.said is not None
        surely, perhaps = (
            (by_values.surely(values), by_values.perhaps(values)) if known else ([], by_values.everyone)
        )
        seen.budget.spend(len(surely) + len(perhaps))
        yield surely, perhaps


def beyond(calls: Sequence[int], size: Size, most: int, time: Stretch, seen: Evidence) -> set[int]:
    """Those that surely went beyond `most` in all, within less than `time` ns of one another, or on one date.

    Of each crowd, what came after the first so many; `calls` are in observed order.
    """
    if time is None:
        return set(_surplus(calls, size, most))
    if not seen.has_times or sum(map(size, calls)) <= most:
        return set()
    spans, width = _spans(calls, time, seen)
    if all(lo == hi for lo, hi, _ in spans):
        return set(_sliding(spans, size, most, width))
    late: set[int] = set()
    for crowd in _crowds(spans, width):
        seen.budget.spend(len(crowd))
        late.update(_surplus(sorted(crowd, key=seen.rank.__getitem__), size, most))
    return late


def most_together(calls: Sequence[int], size: Size, time: Stretch, seen: Evidence) -> int:
    """How much those count that may have started within less than `time` of one another, or on one date."""
    if time is None or not seen.has_times:
        return sum(map(size, calls))
    spans, width = _spans(calls, time, seen)
    edges = [(lo - width, 1, size(call)) for lo, _, call in spans]
    edges += [(hi, -1, -size(call)) for _, hi, call in spans]
    return max(accumulate(step for _, _, step in sorted(edges)), default=0)


def is_exact(calls: Sequence[int], time: Stretch, seen: Evidence) -> bool:
    """Is it known which of these calls count together in `time`?"""
    if time is None:
        return True
    return seen.has_times and all(lo == hi for lo, hi, _ in _spans(calls, time, seen)[0])


def _surplus(calls: Sequence[int], size: Size, most: int) -> Iterator[int]:
    total = 0
    for call in calls:
        total += size(call)
        if total > most and size(call):
            yield call


def _sliding(spans: Sequence[Span], size: Size, most: int, time: int) -> Iterator[int]:
    """Those with which the calls of the last `time` ns, at exact instants, go beyond."""
    ordered = sorted(spans, key=lambda span: span[0])
    total = 0
    first = 0
    for start, _, call in ordered:
        total += size(call)
        while start - ordered[first][0] >= time:
            total -= size(ordered[first][2])
            first += 1
        if total > most and size(call):
            yield call


def _spans(
    calls: Sequence[int], time: int | Literal["calendar day"], seen: Evidence
) -> tuple[list[Span], int]:
    """When these calls may have started, and less than how much is within the time."""
    if time == CALENDAR_DAY:
        zone = zone_of(seen.timezone)
        return [(*local_days(lo, hi, zone), i) for lo, hi, i in _starts(calls, _by_the_time_of_day(seen))], 1
    return _starts(calls, seen), time


def _starts(calls: Sequence[int], seen: Evidence) -> list[Span]:
    scale = seen.times.scale
    edges = [(*edges_of(seen.times.start(i)), i) for i in calls]
    return [(lo // scale, hi // scale, i) for lo, hi, i in edges]


def _by_the_time_of_day(seen: Evidence) -> Evidence:
    """Made once for all that asks."""
    if "time of day" not in seen.cache:
        seen.cache["time of day"] = seen.by_the_time_of_day()
    found: Evidence = seen.cache["time of day"]
    return found


def _crowds(spans: Sequence[Span], time: int) -> Iterator[list[int]]:
    """The calls that surely started within less than a time of one another, from each of them on."""
    ordered = sorted(spans)
    starts = [lo for lo, _, _ in ordered]
    for at, first in enumerate(starts):
        near = ordered[at : bisect_left(starts, first + time)]
        yield [call for _, hi, call in near if hi < first + time]
