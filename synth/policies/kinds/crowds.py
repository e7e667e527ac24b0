"""Limits over calls that count together: those with equal arguments, those that start near one another."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

from synth.formal.constraints import edges_of
from synth.policies.evidence import Evidence
from synth.policies.kinds.arguments import Alike, values_of
from synth.policies.kinds.kind import Paths

Size = Callable[[int], int]
"""How much a call counts: 0 or more."""
Span = tuple[int, int, int]
"""Earliest and latest start of a call in nanoseconds, and the call."""


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


def beyond(calls: Sequence[int], size: Size, most: int, time: int | None, seen: Evidence) -> set[int]:
    """Those that surely went beyond `most` in all, or within less than `time` ns of one another.

    Of each crowd, what came after the first so many; `calls` are in observed order.
    """
    if time is None:
        return set(_surplus(calls, size, most))
    if not seen.has_times or sum(map(size, calls)) <= most:
        return set()
    spans = _spans(calls, seen)
    if all(lo == hi for lo, hi, _ in spans):
        return set(_sliding(spans, size, most, time))
    late: set[int] = set()
    for crowd in _crowds(spans, time):
        seen.budget.spend(len(crowd))
        late.update(_surplus(sorted(crowd, key=seen.rank.__getitem__), size, most))
    return late


def most_together(calls: Sequence[int], size: Size, time: int | None, seen: Evidence) -> int:
    """How much those count that may have started within less than `time` ns of one another."""
    if time is None or not seen.has_times:
        return sum(map(size, calls))
    spans = _spans(calls, seen)
    edges = [(lo - time, 1, size(call)) for lo, _, call in spans]
    edges += [(hi, -1, -size(call)) for _, hi, call in spans]
    return max(accumulate(step for _, _, step in sorted(edges)), default=0)


def is_exact(calls: Sequence[int], time: int | None, seen: Evidence) -> bool:
    """Is it known which of these calls count together in `time` ns?"""
    return time is None or (seen.has_times and all(lo == hi for lo, hi, _ in _spans(calls, seen)))


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


def _spans(calls: Sequence[int], seen: Evidence) -> list[Span]:
    """When these calls may have started."""
    scale = seen.times.scale
    edges = [(*edges_of(seen.times.start(i)), i) for i in calls]
    return [(lo // scale, hi // scale, i) for lo, hi, i in edges]


def _crowds(spans: Sequence[Span], time: int) -> Iterator[list[int]]:
    """The calls that surely started within less than a time of one another, from each of them on."""
    ordered = sorted(spans)
    starts = [lo for lo, _, _ in ordered]
    for at, first in enumerate(starts):
        near = ordered[at : bisect_left(starts, first + time)]
        yield [call for _, hi, call in near if hi < first + time]
