"""The point of no return: the first call after which no completion of the plan keeps the constraints.

Order mode: an action that runs while one of its predecessors is still to come. Timed mode, in
layers, cheapest first: the call's own window and order; earliest deadline first with deadlines
carried back along the order (exact where nothing must wait for a release time, otherwise a sound
"dead"); a search over sets of finished actions; Z3 within its limit. What none of them decides is
not called dead. Unknown durations count as zero, so "dead" is certain whatever the tools report.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter

from synth.formal.constraints import Outline, outline_of
from synth.formal.model import Spec
from synth.formal.schedules import Task, schedulable
from synth.formal.solver import TIMEOUT_MS

MAX_STATES = 200_000
"""Cap of the search over sets of finished actions."""

Placed = tuple[str, int, int]
"""An action with its start and end, minutes after midnight."""


def dead_in_order(spec: Spec, sequence: Sequence[str]) -> int | None:
    """Position in `sequence` (actions in the order in which they were first done) where hope ends."""
    outline = outline_of(spec.actions, spec.constraints)
    if sequence and outline.circular:
        return 0
    done = 0
    for position, action in enumerate(sequence):
        at = outline.position[action]
        if outline.order.before[at] & ~done:
            return position
        done |= 1 << at
    return None


@dataclass
class DayPlan:
    """What is left of a timed spec after some of its actions; answers whether it can still be kept."""

    spec: Spec
    durations: Mapping[str, int]
    """Minutes per action, as far as known."""
    timeout_ms: int = TIMEOUT_MS
    """Of Z3, for all questions to this plan together."""
    _spent_ms: float = 0.0

    def dead_at(self, placed: Sequence[Placed]) -> int | None:
        """Position of the first placed action after which no completion keeps the constraints."""
        done: set[str] = set()
        now = self.horizon[0]
        for position, (action, start, end) in enumerate(placed):
            if not self._fits(action, start, end, done, now):
                return position
            done.add(action)
            now = max(now, end)
            if self.alive(done, now, placed[: position + 1]) is False:
                return position
        return None

    def alive(self, done: set[str], now: int, placed: Sequence[Placed] = ()) -> bool | None:
        """Can the actions not in `done` all be run from `now` on? None if no layer decides.

        `placed` says when those in `done` ran: constraints that are more than order and limits need it.
        """
        tasks = self.tasks(done, now)
        if tasks is None:
            return False
        for layer in (earliest_deadline_first, search):
            answer = layer(tasks, now)
            if answer is False or (answer and self.outline.exact):
                return answer
        if not self.outline.exact and not (self.durations_known and len(placed) == len(done)):
            return None
        return self._ask_z3(tasks, placed)

    def _ask_z3(self, tasks: Sequence[Task], placed: Sequence[Placed]) -> bool | None:
        left = self.timeout_ms - self._spent_ms
        if left < 1:
            return None
        began = perf_counter()
        answer = schedulable(tasks, self.outline.more, placed, timeout_ms=round(left))
        self._spent_ms += (perf_counter() - began) * 1e3
        return answer

    def tasks(self, done: set[str], now: int) -> list[Task] | None:
        """The remaining actions with windows, deadlines carried back; None if one has no room at all."""
        order = self._topological
        if order is None:
            return None
        left = [a for a in self.spec.actions if a not in done]
        earliest, durations, leaders = self._earliest, self.durations, self._leaders
        latest = {a: self._latest_end[a] for a in left}
        for action in reversed(order):
            if action in latest:
                for then in self._followers.get(action, ()):
                    if then in latest:
                        latest[action] = min(latest[action], latest[then] - self.duration(then))
        tasks = [
            Task(
                a,
                durations.get(a, 0),
                max(now, earliest[a]),
                latest[a],
                tuple([b for b in leaders[a] if b in latest]) if a in leaders else (),
            )
            for a in left
        ]
        return None if any(t.earliest + t.duration > t.latest_end for t in tasks) else tasks

    def duration(self, action: str) -> int:
        return self.durations.get(action, 0)

    def _fits(self, action: str, start: int, end: int, done: set[str], now: int) -> bool:
        return (
            start >= max(now, self._earliest[action])
            and end <= self._latest_end[action]
            and all(leader in done for leader in self._leaders.get(action, ()))
        )

    @property
    def horizon(self) -> tuple[int, int]:
        return self.spec.horizon or (0, 24 * 60)

    @cached_property
    def durations_known(self) -> bool:
        """Is every duration known, and a minute at least? Only then Z3 is asked about further constraints."""
        return all(self.durations.get(action, 0) >= 1 for action in self.spec.actions)

    @cached_property
    def outline(self) -> Outline:
        return outline_of(self.spec.actions, self.spec.constraints, self.horizon)

    @cached_property
    def _leaders(self) -> dict[str, tuple[str, ...]]:
        names = self.spec.actions
        return _adjacent((names[then], names[first]) for first, then in self.outline.edges)

    @cached_property
    def _followers(self) -> dict[str, tuple[str, ...]]:
        names = self.spec.actions
        return _adjacent((names[first], names[then]) for first, then in self.outline.edges)

    @cached_property
    def _earliest(self) -> dict[str, int]:
        return dict(zip(self.spec.actions, self.outline.earliest, strict=True))

    @cached_property
    def _latest_end(self) -> dict[str, int]:
        return dict(zip(self.spec.actions, self.outline.latest, strict=True))

    @cached_property
    def _topological(self) -> list[str] | None:
        """Every action, leaders first; None where the order is contradictory."""
        waiting = {a: len(self._leaders.get(a, ())) for a in self.spec.actions}
        free = [a for a, count in waiting.items() if count == 0]
        order: list[str] = []
        while free:
            order.append(free.pop())
            for then in self._followers.get(order[-1], ()):
                waiting[then] -= 1
                if waiting[then] == 0:
                    free.append(then)
        return order if len(order) == len(waiting) else None


def _adjacent(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for key, other in pairs:
        found.setdefault(key, []).append(other)
    return {key: tuple(others) for key, others in found.items()}


def earliest_deadline_first(tasks: Sequence[Task], now: int) -> bool | None:
    """One task after another, always the free one with the earliest deadline.

    Deadlines must have been carried back along the order (`DayPlan.tasks` does). False: not even
    without release times is there room. True: this very order works. None: release times after `now`
    make the difference.
    """
    if not _run_by_deadline(tasks, now, wait=False):
        return False
    if all(task.earliest <= now for task in tasks) or _run_by_deadline(tasks, now, wait=True):
        return True
    return None


def _run_by_deadline(tasks: Sequence[Task], now: int, *, wait: bool) -> bool:
    waiting = {task.name: len(task.after) for task in tasks}
    followers: dict[str, list[Task]] = {}
    for task in tasks:
        for leader in task.after:
            followers.setdefault(leader, []).append(task)
    free = [task for task in tasks if not task.after]
    while free:
        released = [task for task in free if task.earliest <= now] if wait else free
        if released:
            task = min(released, key=lambda t: t.latest_end)
        else:
            task = min(free, key=lambda t: (t.earliest, t.latest_end))
            now = task.earliest
        free.remove(task)
        now += task.duration
        if now > task.latest_end:
            return False
        for then in followers.get(task.name, ()):
            waiting[then.name] -= 1
            if waiting[then.name] == 0:
                free.append(then)
    return True


def search(tasks: Sequence[Task], now: int, max_states: int = MAX_STATES) -> bool | None:
    """Depth-first over sets of finished tasks, with the earliest finish of each; None past the cap.

    Deadlines must have been carried back along the order. Two rules keep it small: a task is started
    only if no other could be finished before it starts, and what remains is asked of the deadline
    rule, which is exact once every release time has passed.
    """
    position = {task.name: i for i, task in enumerate(tasks)}
    needs = [sum(1 << position[leader] for leader in task.after) for task in tasks]
    full = (1 << len(tasks)) - 1
    failed: dict[int, int] = {}
    stack = [(0, now)]
    states = 0
    while stack:
        done, at = stack.pop()
        if done == full:
            return True
        if failed.get(done, at + 1) <= at:
            continue
        failed[done] = at
        states += 1
        if states > max_states:
            return None
        left = [_without(task, done, position) for i, task in enumerate(tasks) if not done >> i & 1]
        answer = earliest_deadline_first(left, at)
        if answer:
            return True
        if answer is None:
            stack.extend(_next_states(tasks, needs, done, at))
    return False


def _without(task: Task, done: int, position: Mapping[str, int]) -> Task:
    if not task.after:
        return task
    after = tuple(leader for leader in task.after if not done >> position[leader] & 1)
    return task if len(after) == len(task.after) else Task(
        task.name, task.duration, task.earliest, task.latest_end, after
    )  # fmt: skip


def _next_states(tasks: Sequence[Task], needs: Sequence[int], done: int, at: int) -> list[tuple[int, int]]:
    """Every sensible next task, the most urgent last (it is tried first)."""
    free = [
        (max(at, task.earliest), task, 1 << i)
        for i, task in enumerate(tasks)
        if not done >> i & 1 and not needs[i] & ~done
    ]
    # Not `<`: a task of no length may have to go first although it ends when it starts.
    soonest = min((start + task.duration for start, task, _ in free), default=at)
    sensible = [
        (task.latest_end, start + task.duration, bit) for start, task, bit in free if start <= soonest
    ]
    return [(done | bit, end) for due, end, bit in sorted(sensible, reverse=True) if end <= due]
