"""The calls of a run that a rule about order and time must look at.

Every list of candidates is cut to those that can matter, so that a run of 10,000 calls stays linear:
at exact instants "some earlier success" is decided by the success that ended first. Where instants are
bounds, they may be many: `sweeps` then answers without them, and only Z3 is given the formula itself.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from operator import itemgetter

from synth.formal.constraints import Fixed, Times, edges_of
from synth.judge.wording import MANY, calls_in_words
from synth.policies.evidence import Evidence
from synth.policies.gaps import Gaps
from synth.policies.kinds.sweeps import Earliest
from synth.policies.names import Tools

Finder = Callable[[int], tuple[int, ...]]
"""Call -> the calls that can matter to it."""


class Ended:
    """Calls by the instant they ended, to find those that can have ended before another call."""

    __slots__ = ("_calls", "_first", "_los", "_own", "_reach", "_seen")

    def __init__(self, calls: Sequence[int], seen: Evidence) -> None:
        self._seen, self._own = seen, frozenset(calls)
        ends = sorted([(edges_of(seen.times.end(i)), i) for i in calls], key=itemgetter(0))
        self._calls = [i for _, i in ends]
        self._los = [lo for (lo, _), _ in ends]
        self._reach = list(accumulate([hi for (_, hi), _ in ends], max))
        """The latest end that is possible up to each place."""
        self._first = min(ends, key=lambda end: end[0][1])[1] if ends else None

    def before(self, call: int) -> tuple[int, ...]:
        """Enough of them to decide whether one ended before `call` started."""
        lo, hi = edges_of(self._seen.times.start(call))
        first = self._first
        if first is not None and first != call and edges_of(self._seen.times.end(first))[1] <= lo:
            return (first,)
        return _charged(tuple(i for i in self._calls[: bisect_right(self._los, hi)] if i != call), self._seen)

    def named(self, call: int) -> str:
        """Those of `before` in words; empty if there are none."""
        lo, hi = edges_of(self._seen.times.start(call))
        first = self._first
        if first is not None and first != call and edges_of(self._seen.times.end(first))[1] <= lo:
            return calls_in_words((first,))
        count = bisect_right(self._los, hi)
        own = call in self._own and edges_of(self._seen.times.end(call))[0] <= hi
        some = [i for i in self._calls[: min(count, MANY + 1)] if i != call]
        return calls_in_words(some, count - own) if some else ""

    def last_before(self, call: int) -> tuple[int, ...]:
        """Those that can have been the last to end before `call` started (at exact instants, one)."""
        times = self._seen.times
        lo, hi = edges_of(times.start(call))
        found: list[int] = []
        best: int | None = None
        for place in range(bisect_right(self._los, hi) - 1, -1, -1):
            if best is not None and self._reach[place] < best:
                break
            i = self._calls[place]
            earliest, latest = edges_of(times.end(i))
            if i != call and (best is None or latest >= best):
                found.append(i)
                if latest <= lo:
                    best = max(best or earliest, earliest)
        return _charged(tuple(found), self._seen)


class Around:
    """Calls by the instant they started, to find those that began soon after another call, or before it."""

    __slots__ = ("_after", "_calls", "_latest", "_los", "_reach", "_seen", "_within")

    def __init__(self, calls: Sequence[int], within: int, after: bool, seen: Evidence) -> None:
        """`within` ns before the start of one, or `after` its end as well."""
        self._seen, self._within, self._after = seen, within, after
        self._calls = sorted(calls, key=lambda i: edges_of(seen.times.start(i))[0])
        self._los = [edges_of(seen.times.start(i))[0] for i in self._calls]
        ends = [(edges_of(seen.times.end(i))[1], i) for i in self._calls]
        self._latest = [call for _, call in accumulate(ends, max)]
        """Of the calls up to each place, the one that ended last."""
        self._reach = list(accumulate(map(self._until, self._calls), max))
        """Up to each place: the latest start of another call that can be near enough."""

    def near(self, call: int) -> tuple[int, ...]:
        """Enough of them to decide how near one is (at exact instants, one before `call` and one after)."""
        times = self._seen.times
        lo, _ = edges_of(times.start(call))
        if isinstance(times, Fixed):
            place = bisect_left(self._los, lo)
            found = [*self._latest[max(0, place - 1) : place], *self._calls[place : place + 2]]
            return tuple(i for i in found if i != call)
        latest = edges_of(times.later(times.start(call), self._within))[1]
        near: list[int] = []
        for place in range(bisect_right(self._los, latest) - 1, -1, -1):
            if self._reach[place] < lo:
                break
            i = self._calls[place]
            if i != call and self._until(i) >= lo:
                near.append(i)
        return _charged(tuple(near), self._seen)

    def _until(self, i: int) -> int:
        times: Times = self._seen.times
        return edges_of(times.later(times.end(i), self._within) if self._after else times.start(i))[1]


class Started:
    """Calls that ran by the instant they started, to find the last to start before another call."""

    __slots__ = ("_calls", "_los", "_reach", "_seen")

    def __init__(self, seen: Evidence) -> None:
        self._seen = seen
        self._calls = sorted(ran(seen), key=lambda i: edges_of(seen.times.start(i))[0])
        edges = [edges_of(seen.times.start(i)) for i in self._calls]
        self._los = [lo for lo, _ in edges]
        self._reach = list(accumulate((hi for _, hi in edges), max))
        """The latest start that is possible up to each place."""

    @classmethod
    def of(cls, seen: Evidence) -> Started:
        """Those of a run, sorted once."""
        if "started" not in seen.cache:
            seen.cache["started"] = cls(seen)
        started: Started = seen.cache["started"]
        return started

    def nearest(self, call: int) -> tuple[int, ...]:
        """The one of `last_before` that can have started last."""
        _, hi = edges_of(self._seen.times.start(call))
        place = bisect_left(self._los, hi)
        return tuple(k for k in self._calls[max(0, place - 2) : place] if k != call)[-1:]

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
        return _charged(tuple(found), self._seen)


class Following:
    """Calls by the instant they started, to find the first to start after another call."""

    __slots__ = ("_calls", "_los", "_reach", "_seen")

    def __init__(self, calls: Sequence[int], seen: Evidence) -> None:
        self._seen = seen
        self._calls = sorted(calls, key=lambda j: edges_of(seen.times.start(j))[0])
        edges = [edges_of(seen.times.start(j)) for j in self._calls]
        self._los = [lo for lo, _ in edges]
        self._reach = list(accumulate((hi for _, hi in edges), max))
        """The latest start that is possible up to each place."""

    def after(self, call: int) -> tuple[int, ...]:
        """Those that can have been the first to start after `call` ended (at exact instants, one)."""
        lo, hi = edges_of(self._seen.times.end(call))
        if isinstance(self._seen.times, Fixed):
            surely = bisect_left(self._los, hi)
            return tuple(self._calls[surely : surely + 1])
        found: list[int] = []
        latest: int | None = None
        for place in range(bisect_left(self._reach, lo), len(self._calls)):
            if latest is not None and self._los[place] > latest:
                break  # one that surely came after started before this one
            j = self._calls[place]
            earliest, last = edges_of(self._seen.times.start(j))
            if last >= lo and j != call:
                found.append(j)
                if earliest >= hi:
                    latest = last if latest is None else min(latest, last)
        return _charged(tuple(found), self._seen)


class Onwards:
    """Calls that ran by the instant they started, to find those that come after another call.

    Until one of another action than the answer that is asked for has surely begun.
    """

    __slots__ = ("_calls", "_los", "_others", "_reach", "_seen")

    def __init__(self, answer: Tools, seen: Evidence) -> None:
        self._seen = seen
        self._calls = sorted(ran(seen), key=lambda k: edges_of(seen.times.start(k))[0])
        edges = [edges_of(seen.times.start(k)) for k in self._calls]
        self._los = [lo for lo, _ in edges]
        self._reach = list(accumulate((hi for _, hi in edges), max))
        """The latest start that is possible up to each place."""
        answers = frozenset(seen.attempts(answer))
        self._others = Earliest((k for k in self._calls if k not in answers), seen)

    @classmethod
    def of(cls, answer: Tools, seen: Evidence) -> Onwards:
        """Those of a run, sorted once for each answer."""
        key = f"onwards {answer.key}"
        if key not in seen.cache:
            seen.cache[key] = cls(answer, seen)
        onwards: Onwards = seen.cache[key]
        return onwards

    def near(self, call: int) -> tuple[int, ...]:
        """Enough of them to decide which action the first after the end of `call` is of."""
        lo, hi = edges_of(self._seen.times.end(call))
        first, last = bisect_left(self._reach, lo), bisect_right(self._los, self._others.surely_by(call, hi))
        starts = self._seen.times.start
        found = (k for k in self._calls[first:last] if k != call and edges_of(starts(k))[1] >= lo)
        return _charged(tuple(found), self._seen)


def together(*finders: Finder) -> Finder:
    """What all of them find."""
    return lambda call: tuple(i for find in finders for i in find(call))


def _charged(found: tuple[int, ...], seen: Evidence) -> tuple[int, ...]:
    """The candidates, once the budget has paid for going through them."""
    seen.budget.spend(len(found))
    return found


def ran(seen: Evidence) -> list[int]:
    """All calls that ran, in observed order."""
    return [i for i in seen.order if seen.calls[i].executed]


def is_besides(tools: Tools, other: Tools) -> bool:
    """Does `tools` say `any tool` beside a named action? It means any other: none can need itself."""
    return "*" in tools.names and "*" not in other.names


def besides(calls: list[int], tools: Tools, other: Tools, seen: Evidence) -> list[int]:
    if not is_besides(tools, other):
        return calls
    own = set(seen.attempts(other))
    return [i for i in calls if i not in own]


def owned(calls: list[int], seen: Evidence) -> list[int]:
    """Those that are asked about; where none is, one of others, so that the rule is seen to apply."""
    return calls if seen.part is None else [i for i in calls if seen.owns(i)] or calls[:1]


def unseen_besides(tools: Tools, other: Tools, seen: Evidence) -> Gaps:
    """The calls that were not seen and may be of `tools`, as `besides` means them."""
    return seen.gaps.of(tools, other if is_besides(tools, other) else None)


def lacks_first(
    pairs: Sequence[tuple[Tools, Tools]],
    ended: Callable[[Tools], Sequence[int]],
    always: bool,
    seen: Evidence,
) -> bool:
    """Can a call that was not seen be a second action before which the first has not `ended`?

    `always`: such a call would ask for it, whatever is there.
    """
    gaps = [(unseen_besides(then, first, seen), first) for first, then in pairs]
    return any(always or not possible.all_follow(ended(first)) for possible, first in gaps if possible)


def can_come_first(pairs: Sequence[tuple[Tools, Tools]], seen: Evidence, call: int) -> bool:
    """Can a call that was not seen be the first action that a call of the second needs before it?"""
    return any(
        seen.gaps.of(first).can_precede(call) for first, then in pairs if seen.calls[call].tool in then
    )


def without_arguments(seen: Evidence, tools: Sequence[Tools]) -> bool:
    return any(seen.arguments(i) is None for group in tools for i in seen.attempts(group))
