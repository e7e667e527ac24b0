"""What Z3 says about tasks that are still to be scheduled: is there room, and what is the nearest plan?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from synth.formal.constraints import Constraint, Truth
from synth.formal.order import Closure
from synth.formal.solver import TIMEOUT_MS, answer_of, day_symbols, free_starts, new_solver, serial, z3


@dataclass(frozen=True, slots=True)
class Task:
    """One action still to be scheduled, minutes."""

    name: str
    duration: int
    earliest: int
    latest_end: int
    after: tuple[str, ...] = ()
    """Tasks of the same list that must have ended first."""


@serial
def schedulable(
    tasks: Sequence[Task],
    more: Sequence[Constraint] = (),
    placed: Sequence[tuple[str, int, int]] = (),
    *,
    timeout_ms: int = TIMEOUT_MS,
) -> bool | None:
    """Can the tasks run one at a time within their windows, and keep `more`? None if Z3 gave up.

    `placed` are (name, start, end) of what has run already, for the constraints that speak of it.
    """
    solver = new_solver(timeout_ms)
    starts = free_starts([task.name for task in tasks])
    solver.add(_task_rules(tasks, starts) + _further_rules(more, tasks, starts, placed))
    return answer_of(solver)


@serial
def nearest_schedule(
    tasks: Sequence[Task],
    wanted: Mapping[str, int],
    more: Sequence[Constraint] = (),
    *,
    timeout_ms: int = TIMEOUT_MS,
) -> Mapping[str, int] | None:
    """Starts that keep every rule and `more`, and change as few of the `wanted` starts as possible.

    None where there is no schedule, or Z3 found none within the limit. Within the limit the number
    of changes is minimal, otherwise the best that was found.
    """
    module = z3()
    starts = free_starts([task.name for task in tasks])
    optimizer = module.Optimize()
    optimizer.set("timeout", timeout_ms)
    optimizer.add(_task_rules(tasks, starts) + _further_rules(more, tasks, starts, ()))
    for name, minute in wanted.items():
        optimizer.add_soft(starts[name] == minute)
    if optimizer.check() != module.sat:
        return None
    model = optimizer.model()
    return {name: model.eval(term, model_completion=True).as_long() for name, term in starts.items()}


def _task_rules(tasks: Sequence[Task], starts: Mapping[str, Any]) -> list[Truth]:
    ends = {task.name: starts[task.name] + task.duration for task in tasks}
    rules = [starts[task.name] >= task.earliest for task in tasks]
    rules += [ends[task.name] <= task.latest_end for task in tasks]
    rules += [ends[before] <= starts[task.name] for task in tasks for before in task.after]
    rules += [
        z3().Or(ends[a.name] <= starts[b.name], ends[b.name] <= starts[a.name])
        for a, b in _unordered_pairs(tasks)
    ]
    if tasks:
        span = max(t.latest_end for t in tasks) - min(t.earliest for t in tasks)
        rules.append(z3().BoolVal(sum(t.duration for t in tasks) <= span))
    return rules


def _further_rules(
    more: Sequence[Constraint],
    tasks: Sequence[Task],
    starts: Mapping[str, Any],
    placed: Sequence[tuple[str, int, int]],
) -> list[Truth]:
    """What constraints demand beyond the windows and the order of the tasks."""
    if not more:
        return []
    value = z3().IntVal
    begins = {name: value(start) for name, start, _ in placed} | dict(starts)
    ends = {name: value(end) for name, _, end in placed}
    times = day_symbols(begins, ends | {t.name: starts[t.name] + t.duration for t in tasks}, more)
    return [constraint.formula(times) for constraint in more]


def _unordered_pairs(tasks: Sequence[Task]) -> Iterator[tuple[Task, Task]]:
    """Pairs that neither the order nor their windows keep apart: only they need a disjunction."""
    position = {task.name: i for i, task in enumerate(tasks)}
    order = Closure(len(tasks))
    for task in tasks:
        for leader in task.after:
            order.add(position[leader], position[task.name])
    for a, b in combinations(tasks, 2):
        i, j = position[a.name], position[b.name]
        apart = a.latest_end <= b.earliest or b.latest_end <= a.earliest
        if not apart and (i, j) not in order and (j, i) not in order:
            yield a, b
