"""The calls of a run that a rule about order and time must look at.

Every list of candidates is cut to those that can matter, so that a run of 10,000 calls stays linear:
at exact instants "some earlier success" is decided by the success that ended first.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate

from synth.formal.constraints import Fixed, edges_of
from synth.policies.evidence import Evidence
from synth.policies.names import Tools


class Ended:
    """Calls by the instant they ended, to find those that can have ended before another call."""

    __slots__ = ("_calls", "_first", "_his", "_los", "_seen")

    def __init__(self, calls: Sequence[int], seen: Evidence) -> None:
        self._seen = seen
        self._calls = sorted(calls, key=lambda i: edges_of(seen.times.end(i)))
        self._los = [edges_of(seen.times.end(i))[0] for i in self._calls]
        self._first = min(self._calls, key=lambda i: edges_of(seen.times.end(i))[1], default=None)

    def before(self, call: int) -> tuple[int, ...]:
        """Enough of them to decide whether one ended before `call` started."""
        lo, hi = edges_of(self._seen.times.start(call))
        first = self._first
        if first is not None and first != call and edges_of(self._seen.times.end(first))[1] <= lo:
            return (first,)
        return tuple(i for i in self._calls[: bisect_right(self._los, hi)] if i != call)

    def last_before(self, call: int) -> tuple[int, ...]:
        """Those that can have been the last to end before `call` started (at exact instants, one)."""
        times = self._seen.times
        lo, hi = edges_of(times.start(call))
        found: list[int] = []
        best: int | None = None
        for i in reversed(self._calls[: bisect_right(self._los, hi)]):
            earliest, latest = edges_of(times.end(i))
            if best is not None and earliest < best and isinstance(times, Fixed):
                break
            if i != call and (best is None or latest >= best):
                found.append(i)
                if latest <= lo:
                    best = max(best or earliest, earliest)
        return tuple(found)


class Around:
    """Calls by the instant they started, to find those that began soon after another call, or before it."""

    __slots__ = ("_calls", "_latest", "_los", "_seen")

    def __init__(self, calls: Sequence[int], seen: Evidence) -> None:
        self._seen = seen
        self._calls = sorted(calls, key=lambda i: edges_of(seen.times.start(i))[0])
        self._los = [edges_of(seen.times.start(i))[0] for i in self._calls]
        ends = [(edges_of(seen.times.end(i))[1], i) for i in self._calls]
        self._latest = [call for _, call in accumulate(ends, max)]
        """Of the calls up to each place, the one that ended last."""

    def near(self, call: int) -> tuple[int, ...]:
        """Enough of them to decide how near one is (at exact instants, one before `call` and one after)."""
        if not isinstance(self._seen.times, Fixed):
            return tuple(i for i in self._calls if i != call)
        place = bisect_left(self._los, self._seen.times.start(call))
        later = next((i for i in self._calls[place:] if i != call), None)
        found = [*self._latest[place - 1 : place], *([] if later is None else [later])]
        return tuple(i for i in found if i != call)


class Started:
    """Calls that ran by the instant they started, to find the last to start before another call."""

    __slots__ = ("_calls", "_los", "_reach", "_seen")

    def __init__(self, seen: Evidence) -> None:
        self._seen = seen
        ran = [i for i in seen.order if seen.calls[i].executed]
        self._calls = sorted(ran, key=lambda i: edges_of(seen.times.start(i))[0])
        edges = [edges_of(seen.times.start(i)) for i in self._calls]
        self._los = [lo for lo, _ in edges]
        self._reach = list(accumulate((hi for _, hi in edges), max))
        """The latest start that is possible up to each place."""

    def last_before(self, call: int) -> tuple[int, ...]:
        """Those that can have been the last to start before `call` did (at exact instants, one)."""
        times = self._seen.times
        lo, hi = edges_of(times.start(call))
        found: list[int] = []
        latest: int | None = None
        for place in range(bisect_left(self._los, hi) - 1, -1, -1):
            if latest is not None and self._reach[place] < latest:
                break
            k = self._calls[place]
            earliest, last = edges_of(times.start(k))
            if k != call and (latest is None or last >= latest):
                found.append(k)
                if last <= lo:
                    latest = max(latest or earliest, earliest)
        return tuple(found)


def followers(calls: Sequence[int], seen: Evidence, after: int) -> tuple[int, ...]:
    """Those of `calls` (by earliest start) that can be the first to start after the call `after` ended."""
    lo, hi = edges_of(seen.times.end(after))
    if isinstance(seen.times, Fixed):
        surely = bisect_left(calls, hi, key=seen.times.start)
        return tuple(calls[surely : surely + 1])
    found: list[int] = []
    latest: int | None = None
    for j in calls:
        earliest, last = edges_of(seen.times.start(j))
        if latest is not None and earliest > latest:
            break  # one that surely came after started before this one
        if last >= lo and j != after:
            found.append(j)
            if earliest >= hi:
                latest = last if latest is None else min(latest, last)
    return tuple(found)


def is_besides(tools: Tools, other: Tools) -> bool:
    """Does `tools` say `any tool` beside a named action? It means any other: none can need itself."""
    return "*" in tools.names and "*" not in other.names


def besides(calls: list[int], tools: Tools, other: Tools, seen: Evidence) -> list[int]:
    if not is_besides(tools, other):
        return calls
    own = set(seen.attempts(other))
    return [i for i in calls if i not in own]


def unseen_besides(tools: Tools, other: Tools, seen: Evidence) -> bool:
    """May a call that was not seen be one of `tools`, as `besides` means them?"""
    return seen.gaps.can_be(tools, other if is_besides(tools, other) else None)


def any_calls(seen: Evidence, pairs: Sequence[tuple[Tools, Tools]]) -> bool:
    return any(seen.successes(trigger) for trigger, _ in pairs)


def without_arguments(seen: Evidence, tools: Sequence[Tools]) -> bool:
    return any(seen.calls[i].arguments is None for group in tools for i in seen.attempts(group))
