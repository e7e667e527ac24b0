"""What bounds on instants say about a call and n others, at the cost of log n.

The formulas of order and time ask whether *some* call has one instant early enough and another one late
enough. With bounds of one clock that has three answers, and two sorted lists give them: the others need not
be gone through. Each function here says what one of the `formulas` says. Where instants are exact a formula
has few candidates, and where there are several clocks only it is right: then there is no sweep.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate

from synth.formal.constraints import Bounded, edges_of
from synth.policies.evidence import Evidence

Span = tuple[float, float]
"""The earliest and the latest that an instant can be."""
Sweep = Callable[[int], bool | None]
"""Call -> what bounds say about its formula."""
ANY_EARLY: Span = (-math.inf, -math.inf)
ANY_LATE: Span = (math.inf, math.inf)
"""For the instant that a formula does not ask for."""


def is_swept(seen: Evidence) -> bool:
    """Are the instants of this run bounds of one clock, and nothing else known of their order?"""
    if "swept" not in seen.cache:
        times = seen.times
        starts = times.starts.values() if isinstance(times, Bounded) else ()
        seen.cache["swept"] = bool(starts) and not any(at.clock or at.row for at in starts)
    swept: bool = seen.cache["swept"]
    return swept


def start_of(call: int, seen: Evidence) -> Span:
    return edges_of(seen.times.start(call))


def end_of(call: int, seen: Evidence) -> Span:
    return edges_of(seen.times.end(call))


def later(at: Span, by: int, seen: Evidence) -> Span:
    """The last instants that are at most `by` ns after these."""
    scale = seen.times.scale
    lo, hi = ((int(edge) // scale + by + 1) * scale - 1 for edge in at)
    return lo, hi


def no(answer: bool | None) -> bool | None:
    return None if answer is None else not answer


# ---------------------------------------------------------------- one for each formula


def some_ended_before(options: Iterable[int], seen: Evidence) -> Sweep | None:
    """One of `options` ended before the call started."""
    if not is_swept(seen):
        return None
    some = Some((i, end_of(i, seen), ANY_LATE) for i in options)
    return lambda call: some.holds(call, start_of(call, seen))


def none_ended_before(options: Iterable[int], seen: Evidence) -> Sweep | None:
    """None of `options` had ended when the call started."""
    some = some_ended_before(options, seen)
    return None if some is None else lambda call: no(some(call))


def none_ended_within(options: Iterable[int], within: int, seen: Evidence) -> Sweep | None:
    """None of `options` had ended at most `within` ns before the call started."""
    some = starts_within(options, within, seen)
    return None if some is None else lambda call: no(some(call))


def some_starts_after(options: Iterable[int], within: int | None, seen: Evidence) -> Sweep | None:
    """One of `options` started after the call ended, at most `within` ns later."""
    if not is_swept(seen):
        return None
    some = Some((j, start_of(j, seen), start_of(j, seen)) for j in options)
    if within is None:
        return lambda call: some.holds(call, from_=end_of(call, seen))
    return lambda call: some.holds(call, later(end_of(call, seen), within, seen), end_of(call, seen))


def starts_within(options: Iterable[int], within: int, seen: Evidence) -> Sweep | None:
    """The call started after one of `options` had ended, at most `within` ns later."""
    if not is_swept(seen):
        return None
    some = starting_soon(options, within, seen)
    return lambda call: some.holds(call, start_of(call, seen), start_of(call, seen))


def starts_at_least(options: Sequence[int], least: int, seen: Evidence) -> Sweep | None:
    """The call started `least` ns or more after each of `options` that had ended, and one had."""
    one, near = some_ended_before(options, seen), starts_within(options, least - 1, seen)
    if one is None or near is None:
        return None
    return lambda call: both(one(call), no(near(call)))


def starts_near(options: Iterable[int], within: int, after: bool, seen: Evidence) -> Sweep | None:
    """The call started at most `within` ns before one of `options` did, and not after that.

    With `after`, or at most `within` ns after its end.
    """
    if not is_swept(seen):
        return None
    some = Some(
        (i, start_of(i, seen), later(end_of(i, seen), within, seen) if after else start_of(i, seen))
        for i in options
    )
    return lambda call: some.holds(call, later(start_of(call, seen), within, seen), start_of(call, seen))


def directly_before(good: Sequence[int], ran: Sequence[int], seen: Evidence) -> Sweep | None:
    """One of `good` ended before the call started, and no call of `ran` started between the two."""
    return Began(ran, good, seen).directly_before if is_swept(seen) else None


def directly_after(answers: Sequence[int], seen: Evidence) -> Sweep | None:
    """A good one of `answers` started after the call ended, and no other call between the two."""
    if not is_swept(seen):
        return None
    own = frozenset(answers)
    good = [j for j in answers if seen.calls[j].succeeded]
    others = [k for k in seen.order if seen.calls[k].executed and k not in own]
    first, bar = Earliest(good, seen), Earliest(others, seen)
    between = Some((k, start_of(k, seen), start_of(k, seen)) for k in others)
    possible = Some((j, start_of(j, seen), start_of(j, seen)) for j in good)

    def sweep(call: int) -> bool | None:
        end = end_of(call, seen)
        by = first.surely_by(call, end[1])
        if by < math.inf and between.holds(call, (by - 1, by - 1), end) is False:
            return True
        least = bar.surely_by(call, end[1])
        return False if possible.holds(call, (least, least), end) is False else None

    return sweep


def any_of(sweeps: Sequence[Sweep | None]) -> Sweep | None:
    """What some of them say."""
    every = [sweep for sweep in sweeps if sweep is not None]
    if len(every) < len(sweeps):
        return None
    return lambda call: no(all_of(no(sweep(call)) for sweep in every))


def every_of(sweeps: Sequence[Sweep | None]) -> Sweep | None:
    """What all of them say."""
    every = [sweep for sweep in sweeps if sweep is not None]
    if len(every) < len(sweeps):
        return None
    return lambda call: all_of(sweep(call) for sweep in every)


def both(one: bool | None, other: bool | None) -> bool | None:
    return all_of((one, other))


def all_of(answers: Iterable[bool | None]) -> bool | None:
    """Three-valued `and`."""
    every = set(answers)
    return False if False in every else (None if None in every else True)


def starting_soon(options: Iterable[int], within: int, seen: Evidence) -> Some:
    """When each of `options` ended, and until when a call starts at most `within` ns later."""
    return Some((i, end_of(i, seen), later(end_of(i, seen), within, seen)) for i in options)


# ---------------------------------------------------------------- how they are answered


class Some:
    """Calls with two instants each: has one of them its first by then, and its second no sooner than then?"""

    __slots__ = ("_possibly", "_surely")

    def __init__(self, options: Iterable[tuple[int, Span, Span]]) -> None:
        """(call, first instant, second instant) of each."""
        every = list(options)
        self._surely = _Corner((first[1], second[0], call) for call, first, second in every)
        self._possibly = _Corner((first[0], second[1], call) for call, first, second in every)

    def holds(self, call: int, by: Span = ANY_LATE, from_: Span = ANY_EARLY) -> bool | None:
        """Is there one besides `call` whose first instant is at most `by`, its second at least `from_`?"""
        if self._surely.has(by[0], from_[1], call):
            return True
        return None if self._possibly.has(by[1], from_[0], call) else False


class _Corner:
    """Points (x, y) of calls: is there one with x at most this and y at least that?"""

    __slots__ = ("_best", "_xs")

    def __init__(self, points: Iterable[tuple[float, float, int]]) -> None:
        ordered = sorted(points)
        self._xs = [x for x, _, _ in ordered]
        highest = ((y, call, -math.inf) for _, y, call in ordered)
        self._best = list(accumulate(highest, best_two))
        """Up to each place: the greatest y, whose it is, and the greatest of the others."""

    def has(self, x: float, y: float, besides: int) -> bool:
        place = bisect_right(self._xs, x)
        if not place:
            return False
        best, call, second = self._best[place - 1]
        highest = second if call == besides else best
        return highest >= y and highest > -math.inf


def best_two(best: tuple[float, int, float], one: tuple[float, int, float]) -> tuple[float, int, float]:
    """The greatest, whose it is, and the greatest of the others, once there is one more."""
    if one[0] > best[0]:
        return one[0], one[1], best[0]
    return best[0], best[1], max(best[2], one[0])


class Growing:
    """Points (x, y) that are added one after the other: is there one with x at most this, y at least that?"""

    __slots__ = ("_highest", "_xs")

    def __init__(self, xs: Iterable[float]) -> None:
        """Every x that a point will have."""
        self._xs = sorted(xs)
        self._highest = [-math.inf] * (len(self._xs) + 1)
        """A Fenwick tree: at k the greatest y of the points at the last `k & -k` places up to k."""

    def add(self, x: float, y: float) -> None:
        place = bisect_left(self._xs, x) + 1
        while place < len(self._highest):
            self._highest[place] = max(self._highest[place], y)
            place += place & -place

    def has(self, x: float, y: float) -> bool:
        place = bisect_right(self._xs, x)
        while place:
            if self._highest[place] >= y:
                return True
            place -= place & -place
        return False


class Earliest:
    """Calls by the instant they started, to find when the first after an instant has begun at the latest."""

    __slots__ = ("_best", "_los")

    def __init__(self, calls: Iterable[int], seen: Evidence) -> None:
        ordered = sorted((*start_of(k, seen), k) for k in calls)
        self._los = [lo for lo, _, _ in ordered]
        latest = ((-hi, k, -math.inf) for _, hi, k in reversed(ordered))
        self._best = list(accumulate(latest, best_two))[::-1]
        """From each place on: minus the first of the latest starts, whose it is, that of the others."""

    def surely_by(self, besides: int, instant: float) -> float:
        """By then one besides this call has begun that surely did not begin before the instant."""
        place = bisect_left(self._los, instant)
        if place == len(self._los):
            return math.inf
        best, own, second = self._best[place]
        return -(second if own == besides else best)


class Began:
    """Calls in the order in which they began: did one of some lie directly before another?"""

    __slots__ = ("_calls", "_ended", "_good", "_latest", "_los", "_reach", "_seen", "_surely")

    def __init__(self, calls: Sequence[int], good: Sequence[int], seen: Evidence) -> None:
        self._seen, self._good = seen, frozenset(good)
        self._calls = sorted(calls, key=lambda i: start_of(i, seen))
        starts = [start_of(i, seen) for i in self._calls]
        self._los = [lo for lo, _ in starts]
        self._reach = list(accumulate((hi for _, hi in starts), max))
        """Up to each place: the latest start that is possible."""
        by_latest = sorted((hi, lo) for lo, hi in starts)
        self._latest = [hi for hi, _ in by_latest]
        self._surely = list(accumulate((lo for _, lo in by_latest), max))
        """Of those that began by each of `_latest`: the greatest of their earliest starts."""
        self._ended = Some((i, end_of(i, seen), start_of(i, seen)) for i in good)

    def directly_before(self, call: int) -> bool | None:
        """Did one of the good ones end before `call` began, and no other call start between the two?"""
        start = start_of(call, self._seen)
        if self._is_last_and_over(call, start):
            return True
        others = bisect_left(self._latest, start[0])
        least = self._surely[others - 1] if others else -math.inf
        return False if self._ended.holds(call, start, (least, least)) is False else None

    def _is_last_and_over(self, call: int, start: Span) -> bool:
        """Is the last to begin before `call` surely the last, a good one, and surely over?"""
        place = bisect_left(self._los, start[1]) - 1
        if place >= 0 and self._calls[place] == call:
            place -= 1
        if place < 0 or self._calls[place] not in self._good:
            return False
        others = self._reach[place - 1] if place else -math.inf
        return others <= self._los[place] and end_of(self._calls[place], self._seen)[1] <= start[0]
