"""The calls of one action that can still run when one of another action begins."""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import accumulate, islice

from synth.formal.constraints import Fixed
from synth.judge.wording import MANY, calls_in_words
from synth.policies.evidence import Evidence
from synth.policies.kinds.sweeps import Growing, Sweep, end_of, is_swept, start_of


class Running:
    """Calls in observed order, gone through together with those that may overlap them."""

    def __init__(self, calls: Sequence[int], seen: Evidence) -> None:
        """In observed order; `go_to` is asked for later calls in that order too."""
        self._seen, self._calls = seen, calls
        self._taken = 0
        self._running: OrderedDict[int, None] = OrderedDict()
        self._ends: list[tuple[float, int]] = []
        """A heap: (latest end, call) of those in `_running`."""
        self._last = [i for _, i in accumulate(((end_of(i, seen)[1], i) for i in calls), max)]
        """Of the calls up to each place, the one that ended last."""
        self._overlaps = _Overlaps(calls, seen) if is_swept(seen) else None

    def go_to(self, later: int) -> str:
        """Those that can still run when this call starts, in words; empty if there are none."""
        seen, rank = self._seen, self._seen.rank
        while self._taken < len(self._calls) and rank[self._calls[self._taken]] < rank[later]:
            call = self._calls[self._taken]
            self._running[call] = None
            heappush(self._ends, (end_of(call, seen)[1], call))
            if self._overlaps is not None:
                self._overlaps.add(call)
            self._taken += 1
        start = start_of(later, seen)[0]
        while self._ends and self._ends[0][0] <= start:
            del self._running[heappop(self._ends)[1]]
        some = list(islice(self._running, MANY + 1))
        return calls_in_words(some, len(self._running)) if some else ""

    def sweep(self, later: int) -> Sweep | None:
        """What bounds say about the call that `go_to` was asked for last."""
        if self._overlaps is None:
            return None
        answer = self._overlaps.none(later)
        return lambda call: answer

    def candidates(self, later: int) -> tuple[int, ...]:
        """Enough of them to decide whether one overlaps (at exact instants, the one that ended last)."""
        seen = self._seen
        taken = bisect_left(self._calls, seen.rank[later], key=seen.rank.__getitem__)
        lo, _ = start_of(later, seen)
        if isinstance(seen.times, Fixed):
            return tuple(i for i in self._last[max(0, taken - 1) : taken] if end_of(i, seen)[1] > lo)
        seen.budget.spend(taken)
        return tuple(i for i in self._calls[:taken] if end_of(i, seen)[1] > lo)


class _Overlaps:
    """What bounds of one clock say about a call and all that began before it."""

    def __init__(self, calls: Sequence[int], seen: Evidence) -> None:
        self._seen = seen
        self._surely = Growing(start_of(i, seen)[1] for i in calls)
        self._possibly = Growing(start_of(i, seen)[0] for i in calls)

    def add(self, call: int) -> None:
        start, end = start_of(call, self._seen), end_of(call, self._seen)
        self._surely.add(start[1], end[0])
        self._possibly.add(start[0], end[1])

    def none(self, later: int) -> bool | None:
        """Does the call overlap none of them?"""
        start, end = start_of(later, self._seen), end_of(later, self._seen)
        if self._surely.has(end[0] - 1, start[1] + 1):
            return False
        return None if self._possibly.has(end[1] - 1, start[0] + 1) else True
