"""A monitor over every order of events that bounds on their instants allow.

What is followed is the set of (state, events done); done are always events that no undone one surely
precedes. Events of one name that differ in nothing else are taken in one order only.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from synth.formal.budget import Budget
from synth.formal.monitor import Monitor

MAX_PAIRS = 10_000
"""Most (state, done) pairs beyond a single path."""

Done = tuple[int, frozenset[int]]
"""(how many of the events, the earliest first, are all done; the others that are)."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened once, at an instant within bounds."""

    key: int
    name: str | None
    """None where it is nothing that the specification speaks of: it leaves the state as it is."""
    lo: int
    hi: int
    """It surely precedes those whose `lo` is not less."""
    sure: bool = True
    """False: it may not have happened; then its name is of such events alone."""


Between = Callable[[set[int], Callable[[int], bool]], tuple[set[int], bool]]
"""(states, is an event of this key done) -> (states that what nobody saw may lead to, may it stray)."""


@dataclass(slots=True)
class Orders:
    """Where the orders end."""

    states: set[int] = field(default_factory=set)
    """States after the last event."""
    strayed: set[int] = field(default_factory=set)
    """Keys of the events at which some order left the specification for good."""
    last: set[int] = field(default_factory=set)
    """Those at which the last of the orders did, if none is left."""
    astray: bool = False
    """May what nobody saw have left it?"""
    too_many: bool = False
    """There were too many pairs; nothing else is known then."""


def follow_orders(
    monitor: Monitor,
    events: Iterable[Event],
    between: Between | None = None,
    budget: Budget | None = None,
) -> Orders:
    """Follow every order that the bounds allow; GaveUp where that is too much for the budget."""
    listed = sorted(events, key=lambda event: (event.lo, event.hi))
    next_ = _Next(listed, merge=between is None, budget=budget or Budget())
    place = {event.key: at for at, event in enumerate(listed)}
    found = Orders()
    strayed: set[int] = set()
    level: dict[Done, set[int]] = {(0, frozenset()): {0}}
    pairs = 0
    for _ in range(len(listed) + 1):
        if between is not None:
            level = _with_unseen(level, between, place, found)
        pairs += sum(map(len, level.values())) - 1
        if pairs > MAX_PAIRS:
            return Orders(too_many=True)
        if (len(listed), frozenset()) in level:
            found.states = level[len(listed), frozenset()]
            break
        level, last = _next(monitor, level, next_)
        strayed |= last
        if not level:
            found.last = _alike(last, listed)
            break
    found.strayed = _alike(strayed, listed)
    return found


def _with_unseen(
    level: dict[Done, set[int]], between: Between, place: dict[int, int], found: Orders
) -> dict[Done, set[int]]:
    grown: dict[Done, set[int]] = {}
    for (count, others), states in level.items():
        grown[count, others], astray = between(
            states, lambda key, count=count, others=others: place[key] < count or place[key] in others  # type: ignore[misc]
        )  # fmt: skip
        found.astray |= astray
    return grown


def _next(
    monitor: Monitor, level: dict[Done, set[int]], next_: _Next
) -> tuple[dict[Done, set[int]], set[int]]:
    """One event further: the pairs, and the places of the events at which some order strays."""
    after: dict[Done, set[int]] = {}
    strayed: set[int] = set()
    for done, states in level.items():
        for at in next_.possible(done):
            event = next_.events[at]
            found = states if event.name is None else {monitor.after(state, event.name) for state in states}
            if not event.sure:
                found = found | states
            if None in found:
                strayed.add(at)
            if kept := {state for state in found if state is not None}:
                after.setdefault(_with(done, at), set()).update(kept)
    return after, strayed


class _Next:
    """The events, and which of them can come next."""

    def __init__(self, events: Sequence[Event], *, merge: bool, budget: Budget) -> None:
        """`merge`: of those of one name, only the earlier first."""
        self.events, self._merge, self._budget = events, merge, budget
        self._places: dict[str | None, list[int]] = {}
        for at, event in enumerate(events):
            self._places.setdefault(event.name, []).append(at)
        self._soonest = {
            name: list(accumulate((events[at].hi for at in reversed(places)), min))[::-1]
            for name, places in self._places.items()
        }
        """By name and place among those of the name: the earliest `hi` from there on."""

    def possible(self, done: Done) -> list[int]:
        """The places of the events that can come next."""
        if not self._merge:
            return self._undone(done)
        found = [at for name in self._places for at in self._first(name, done)]
        self._budget.spend(len(found))
        soonest = min((self.events[at].hi for at in found), default=0)
        return sorted(at for at in found if self.events[at].lo <= soonest)

    def _first(self, name: str | None, done: Done) -> Iterator[int]:
        """Those of a name that are not done, each with an earlier `hi` than those before it."""
        count, others = done
        places, soonest = self._places[name], self._soonest[name]
        best = float("inf")
        for k in range(bisect_left(places, count), len(places)):
            if soonest[k] >= best:
                break
            at = places[k]
            self._budget.spend(0.2)
            if at not in others and self.events[at].hi < best:
                best = self.events[at].hi
                yield at

    def _undone(self, done: Done) -> list[int]:
        count, others = done
        soonest = float("inf")
        undone: list[int] = []
        for at in range(count, len(self.events)):
            if self.events[at].lo > soonest:
                break
            if at not in others:
                undone.append(at)
                soonest = min(soonest, self.events[at].hi)
        self._budget.spend(len(undone))
        return undone


def _alike(places: set[int], events: Sequence[Event]) -> set[int]:
    """The keys of these events and of those of the same name that can have stood in their place."""
    found: set[int] = set()
    for name in {events[at].name for at in places}:
        groups: list[list[int]] = []
        until = -float("inf")
        for at, event in enumerate(events):
            if event.name != name:
                continue
            if event.lo >= until:
                groups.append([])
            groups[-1].append(at)
            until = max(until, event.hi)
        found.update(events[k].key for group in groups if not places.isdisjoint(group) for k in group)
    return found


def _with(done: Done, at: int) -> Done:
    count, others = done
    if at > count:
        return count, others | {at}
    count += 1
    while count in others:
        others -= {count}
        count += 1
    return count, others
