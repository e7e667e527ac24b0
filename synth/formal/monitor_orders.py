"""A monitor over every order of events that bounds on their instants allow.

What is followed is the set of (state, events done); done are always events that no undone one surely
precedes. Events of one name that differ in nothing else are taken in one order only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

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


def follow_orders(monitor: Monitor, events: Iterable[Event], between: Between | None = None) -> Orders:
    """Follow every order that the bounds allow."""
    listed = sorted(events, key=lambda event: (event.lo, event.hi))
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
        level, last = _next(monitor, level, listed, merge=between is None)
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
    monitor: Monitor, level: dict[Done, set[int]], events: Sequence[Event], *, merge: bool
) -> tuple[dict[Done, set[int]], set[int]]:
    """One event further: the pairs, and the places of the events at which some order strays."""
    after: dict[Done, set[int]] = {}
    strayed: set[int] = set()
    for done, states in level.items():
        for at in _possible(done, events, merge=merge):
            name = events[at].name
            found = states if name is None else {monitor.after(state, name) for state in states}
            if None in found:
                strayed.add(at)
            if kept := {state for state in found if state is not None}:
                after.setdefault(_with(done, at), set()).update(kept)
    return after, strayed


def _possible(done: Done, events: Sequence[Event], *, merge: bool) -> list[int]:
    """The places of the events that can come next (`merge`: of those of one name, the earlier first)."""
    count, others = done
    soonest = float("inf")
    undone: list[int] = []
    for at in range(count, len(events)):
        if events[at].lo > soonest:
            break
        if at not in others:
            undone.append(at)
            soonest = min(soonest, events[at].hi)
    found: list[int] = []
    for at in undone:
        event = events[at]
        if not (merge and any(events[k].name == event.name and events[k].hi <= event.hi for k in found)):
            found.append(at)
    return found


def _alike(places: set[int], events: Sequence[Event]) -> set[int]:
    """The keys of these events and of those of the same name that can have stood in their place."""
    found: set[int] = set()
    for name in {events[at].name for at in places}:
        group: list[int] = []
        until = -float("inf")
        for at, event in enumerate(events):
            if event.name != name:
                continue
            if event.lo >= until:
                found.update(events[k].key for k in group if not places.isdisjoint(group))
                group = []
            group.append(at)
            until = max(until, event.hi)
        found.update(events[k].key for k in group if not places.isdisjoint(group))
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
