"""The nearest plan that would have worked.

Order mode: as few actions as possible are taken out and put elsewhere. What stays is a largest set
of actions no two of which were observed against the closure of the order: a largest antichain
(Dilworth's theorem). Timed mode: as few declared starts as possible change (Z3 within its limit).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from synth.formal.constraints import outline_of
from synth.formal.dead_end import DayPlan
from synth.formal.model import Repair, Spec
from synth.formal.order import Closure, bits, largest_antichain, topological_order
from synth.formal.schedules import nearest_schedule
from synth.formal.solver import TIMEOUT_MS


def repair_order(spec: Spec, sequence: Sequence[str]) -> Repair | None:
    """A valid order of all actions that moves as few of `sequence` (distinct, as done) as possible.

    Actions that were never done are inserted, not moved. None where no order is valid.
    """
    outline = outline_of(spec.actions, spec.constraints)
    if outline.circular:
        return None
    index, order = outline.position, outline.order
    seen = [index[action] for action in sequence]
    kept = _stay(order, seen)
    chain = [i for i in seen if i in kept]
    order.add_all(pairwise(chain))
    rank = _ranks(len(spec.actions), seen)
    plan = topological_order(order, rank)
    moved = tuple(action for action in sequence if index[action] not in kept)
    return Repair(tuple(spec.actions[i] for i in plan), moved)


def _stay(order: Closure, seen: Sequence[int]) -> set[int]:
    """A largest set of the observed actions that were already in a valid order among themselves."""
    place = {node: i for i, node in enumerate(seen)}
    wrong = [0] * len(seen)
    for i, node in enumerate(seen):
        for other in bits(order.after[node]):
            if place.get(other, len(seen)) < i:
                wrong[i] |= 1 << place[other]
    return {seen[i] for i in largest_antichain(wrong)}


def _ranks(size: int, seen: Sequence[int]) -> list[int]:
    """Observed actions in their order, the missing ones after them."""
    rank = [len(seen) + i for i in range(size)]
    for i, node in enumerate(seen):
        rank[node] = i
    return rank


def repair_schedule(
    spec: Spec, declared: Mapping[str, int], durations: Mapping[str, int], *, timeout_ms: int = TIMEOUT_MS
) -> Repair | None:
    """A valid schedule that keeps as many declared starts as possible.

    `declared` is in call order. Moved are the actions whose start changes, and of the others as few as
    possible that must be called at another place: tasks are called in the order in which they run.
    `durations` are minutes, reported ones first. None where there is no schedule, where none was
    found within the limit, or where a duration is unknown. Where a constraint is more than order and limits,
    Z3 finds a schedule that keeps it too.
    """
    if any(action not in durations for action in spec.actions):
        return None
    plan = DayPlan(spec, durations, timeout_ms)
    tasks = plan.tasks(set(), plan.horizon[0])
    if tasks is None or plan.alive(set(), plan.horizon[0]) is not True:
        return None
    starts = nearest_schedule(tasks, declared, plan.outline.more, timeout_ms=timeout_ms)
    if starts is None:
        return None
    order = tuple(sorted(starts, key=lambda action: (starts[action], durations[action])))
    stay = _in_order([a for a in declared if declared[a] == starts.get(a)], order)
    moved = tuple(a for a in order if a in declared and a not in stay)
    return Repair(order, moved, {action: starts[action] for action in order})


def _in_order(called: Sequence[str], order: Sequence[str]) -> set[str]:
    """A largest set of the called actions that were called in the given order (longest increasing run)."""
    place = {action: i for i, action in enumerate(order)}
    best: list[list[str]] = []
    for action in called:
        length = next((n for n, run in enumerate(best) if place[run[-1]] >= place[action]), len(best))
        found = [*(best[length - 1] if length else ()), action]
        best[length : length + 1] = [found]
    return set(best[-1]) if best else set()
