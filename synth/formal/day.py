"""Schedules for timed cases: one task at a time, inside the day, with order and clock limits.

`find_schedule` is an exact depth-first search over sets of done tasks: of two ways to do the same
set, the one that ends earlier is never worse, so each set is entered again only at an earlier time.
It serves as witness finder when cases are made, and inside `ReferencePlanner`, which plays an agent
that learns durations only from what its tools answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from synth.formal.constraints import Constraint, outline_of
from synth.formal.order import Closure, bits

EXACT_UP_TO = 14
"""Tasks for which the search can enter every set of done tasks, so that it never gives up."""
MAX_SETS_BEYOND = 200
"""With more tasks: sets of done tasks that it enters before it gives up."""

LEAST_MINUTES = 0
"""What an unknown duration counts as before a plan is called dead; the judge counts the same."""


@dataclass(frozen=True, slots=True)
class Day:
    """What a schedule must keep, apart from the durations; tasks are numbered from 0."""

    order: Closure
    earliest: Sequence[int]
    """Earliest start per task, minutes after midnight."""
    latest: Sequence[int]
    """Latest end per task."""
    begin: int


Slot = tuple[int, int]
"""(task, start)"""


def day_of(actions: Sequence[str], constraints: Iterable[Constraint], horizon: tuple[int, int]) -> Day | None:
    """The constraints over positions in `actions`; None if the order has a cycle.

    Raises BadInput for a constraint that is more than order and clock limits: a day cannot hold it.
    """
    outline = outline_of(actions, constraints, horizon)
    outline.must_be_exact()
    return None if outline.circular else Day(outline.order, outline.earliest, outline.latest, horizon[0])


def find_schedule(
    day: Day, durations: Sequence[int], done: int = 0, now: int | None = None, max_sets: int | None = None
) -> list[Slot] | None:
    """Starts for every task that is not in the bitmask `done`, none before `now`; None if there are none.

    Also None when the search gave up; with up to `EXACT_UP_TO` tasks it never does.
    """
    size = len(durations)
    if max_sets is None:
        max_sets = 2**size if size <= EXACT_UP_TO else MAX_SETS_BEYOND + size
    latest = _latest_ends(day, durations)
    search = _Search(day, durations, latest, max_sets)
    return search.slots if search.complete(done, day.begin if now is None else now) else None


def _latest_ends(day: Day, durations: Sequence[int]) -> list[int]:
    """Latest end of each task so that everything after it can still be in time."""
    latest = list(day.latest)
    for task in sorted(range(len(latest)), key=lambda x: day.order.after[x].bit_count()):
        for then in bits(day.order.after[task]):
            latest[task] = min(latest[task], latest[then] - durations[then])
    return latest


class _Search:
    """One search; after success `slots` holds the schedule."""

    __slots__ = ("before", "day", "durations", "entered", "everything", "latest", "max_sets", "slots")

    def __init__(self, day: Day, durations: Sequence[int], latest: Sequence[int], max_sets: int) -> None:
        self.day, self.durations, self.latest, self.max_sets = day, durations, latest, max_sets
        self.before = day.order.before
        self.everything = (1 << day.order.size) - 1
        self.entered: dict[int, int] = {}
        """Set of done tasks -> earliest time at which it was reached."""
        self.slots: list[Slot] = []

    def complete(self, done: int, now: int) -> bool:
        """Extend `slots` to all tasks, or leave it as it is."""
        if done == self.everything:
            return True
        known = self.entered.get(done)
        if (known is not None and known <= now) or len(self.entered) >= self.max_sets:
            return False
        self.entered[done] = now
        if not self._fits(done, now):
            return False
        for start, _, task in self._free_tasks(done, now):
            self.slots.append((task, start))
            if self.complete(done | 1 << task, start + self.durations[task]):
                return True
            self.slots.pop()
        return False

    def _free_tasks(self, done: int, now: int) -> list[tuple[int, int, int]]:
        """(start, latest end, task) of what can come next, most urgent first."""
        earliest, latest = self.day.earliest, self.latest
        return sorted(
            (max(now, earliest[task]), latest[task], task)
            for task in bits(self.everything & ~done)
            if not self.before[task] & ~done
        )

    def _fits(self, done: int, now: int) -> bool:
        """A necessary condition: by each latest end, the work that is due then fits in."""
        due = sorted((self.latest[task], task) for task in bits(self.everything & ~done))
        finish = now
        for end, task in due:
            finish += self.durations[task]
            if finish > end or max(now, self.day.earliest[task]) + self.durations[task] > end:
                return False
        return True


def count_feasible_orders(day: Day, durations: Sequence[int], max_states: int = 200_000) -> int | None:
    """The number of task orders that some schedule realises; None if that takes too many states."""
    latest = _latest_ends(day, durations)
    size = day.order.size
    ways: dict[tuple[int, int], int] = {(0, day.begin): 1}
    states = 0
    for _ in range(size):
        longer: dict[tuple[int, int], int] = {}
        for (done, now), count in ways.items():
            for task in range(size):
                if done >> task & 1 or day.order.before[task] & ~done:
                    continue
                finish = max(now, day.earliest[task]) + durations[task]
                if finish <= latest[task]:
                    state = (done | 1 << task, finish)
                    longer[state] = longer.get(state, 0) + count
        ways = longer
        states += len(ways)
        if states > max_states:
            return None
    return sum(ways.values())


class ReferencePlanner:
    """An agent that plans perfectly but learns each duration only when its task is done.

    `next_call()` names a task and its start; `learn()` takes the duration that the tool reported.
    When a duration breaks the plan, it halts and starts over from the beginning of the day with
    what it has learned (`replans` counts that), first with a task that it has already done: that is
    what tells a new attempt from the old one. Deterministic, so replaying the same answers gives
    the same calls.
    """

    TYPICAL_MINUTES = 30
    """What it expects of a task it knows nothing about."""

    def __init__(
        self, actions: Sequence[str], constraints: Iterable[Constraint], horizon: tuple[int, int]
    ) -> None:
        self._set_up(actions, day_of(actions, constraints, horizon))

    @classmethod
    def for_day(cls, actions: Sequence[str], day: Day) -> ReferencePlanner:
        """The planner for a day that is known already."""
        planner = cls.__new__(cls)
        planner._set_up(actions, day)
        return planner

    def _set_up(self, actions: Sequence[str], day: Day | None) -> None:
        self.actions = tuple(actions)
        self.day = day
        self.known: dict[int, int] = {}
        self.replans = 0
        self.gave_up = day is None
        """No plan is left, whatever the unknown durations are."""
        self._done, self._now = 0, 0 if day is None else day.begin
        self._broken = False
        """The last task ended after its limit."""
        self._called: Slot | None = None

    @property
    def finished(self) -> bool:
        """Every task was done in this attempt, and in time."""
        return self._done == (1 << len(self.actions)) - 1 and not self._broken

    def next_call(self) -> tuple[str, int] | None:
        """(action, start in minutes after midnight), or None when finished or without hope."""
        if self.finished or self.gave_up:
            return None
        slot = self._next_slot()
        if slot is None and self._done:
            slot = self._start_over()
        if slot is None:
            self.gave_up = True
            return None
        self._called = slot
        return self.actions[slot[0]], slot[1]

    def learn(self, minutes: int) -> None:
        """The duration of the task that was called last."""
        if self._called is None:
            raise ValueError("learn() follows next_call()")
        task, start = self._called
        self.known[task] = minutes
        self._done |= 1 << task
        self._now = start + minutes
        self._broken = self._now > self._day.latest[task]
        self._called = None

    @property
    def _day(self) -> Day:
        assert self.day is not None
        return self.day

    def _next_slot(self) -> Slot | None:
        if self._broken:
            return None
        for durations in self._expected():
            slots = find_schedule(self._day, durations, self._done, self._now)
            if slots:
                return slots[0]
        return None

    def _start_over(self) -> Slot | None:
        """The first call of a new attempt: a task that is already done, or it would seem to go on."""
        day, called_before = self._day, list(bits(self._done))
        self.replans += 1
        self._done, self._now, self._broken = 0, day.begin, False
        for durations in self._expected():
            for task in called_before:
                end = day.earliest[task] + durations[task]
                if day.order.before[task] or end > day.latest[task]:
                    continue
                if find_schedule(day, durations, 1 << task, end) is not None:
                    return task, day.earliest[task]
        return None

    def _expected(self) -> Iterator[list[int]]:
        """Durations to plan with: known ones, and for the others what is typical, then the least."""
        for guess in (self.TYPICAL_MINUTES, LEAST_MINUTES):
            yield [self.known.get(task, guess) for task in range(len(self.actions))]


def play(planner: ReferencePlanner, durations: Mapping[str, int]) -> list[tuple[str, int]]:
    """Let the planner work against tools with these durations; every call it made, as (action, start)."""
    calls: list[tuple[str, int]] = []
    while (call := planner.next_call()) is not None:
        calls.append(call)
        planner.learn(durations[call[0]])
    return calls
