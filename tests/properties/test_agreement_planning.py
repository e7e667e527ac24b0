"""Point of no return and repair against Z3 and brute force."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence

import pytest

from synth.formal import solver
from synth.formal.constraints import Before, Constraint, EndsBy, StartsFrom
from synth.formal.dead_end import DayPlan, Placed, dead_in_order, earliest_deadline_first, search
from synth.formal.model import Spec
from synth.formal.repair import repair_order, repair_schedule
from synth.formal.schedules import Task, schedulable
from tests.support.soak import tries

# ---------------------------------------------------------------- order mode


def order_spec(r: random.Random, size: int, edges: int, *, acyclic: bool = True) -> Spec:
    names = [f"x{i}" for i in range(size)]
    pairs = {tuple(r.sample(names, 2)) for _ in range(edges)}
    if acyclic:
        pairs = {tuple(sorted(pair)) for pair in pairs}
    shuffled = dict(zip(names, r.sample(names, size), strict=True))
    return Spec(tuple(names), tuple(Before(shuffled[a], shuffled[b]) for a, b in sorted(pairs)))


def valid_orders(spec: Spec) -> list[tuple[str, ...]]:
    def keeps(order: tuple[str, ...]) -> bool:
        return all(
            order.index(c.first) < order.index(c.then) for c in spec.constraints if isinstance(c, Before)
        )

    return [order for order in itertools.permutations(spec.actions) if keeps(order)]


@pytest.mark.parametrize("seed", range(120))
def test_the_point_of_no_return_is_where_no_valid_order_starts_like_this(seed: int) -> None:
    r = random.Random(seed)
    spec = order_spec(r, r.randint(2, 5), r.randint(1, 6) if seed % 4 else 0, acyclic=seed % 5 != 0)
    sequence = r.sample(spec.actions, r.randint(0, len(spec.actions)))
    orders = valid_orders(spec)
    alive = (
        any(order[: k + 1] == tuple(sequence[: k + 1]) for order in orders) for k in range(len(sequence))
    )
    assert dead_in_order(spec, sequence) == next((k for k, ok in enumerate(alive) if not ok), None)


@pytest.mark.parametrize("seed", range(120))
def test_repair_moves_as_few_actions_as_brute_force(seed: int) -> None:
    r = random.Random(seed)
    spec = order_spec(r, r.randint(2, 5), r.randint(1, 6))
    sequence = r.sample(spec.actions, r.randint(1, len(spec.actions)))
    repair = repair_order(spec, sequence)
    assert repair is not None
    assert repair.order in valid_orders(spec)
    fewest = min(len(sequence) - common(sequence, order) for order in valid_orders(spec))
    assert len(repair.moved) == fewest
    stayed = [a for a in sequence if a not in repair.moved]
    assert [a for a in repair.order if a in stayed] == stayed


def common(a: Sequence[str], b: Sequence[str]) -> int:
    """Length of the longest common subsequence."""
    row = [0] * (len(b) + 1)
    for x in a:
        last = 0
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], last + 1 if x == y else max(row[j], row[j - 1])
    return row[-1]


def test_contradictory_orders_have_no_repair() -> None:
    assert repair_order(Spec(("a", "b"), (Before("a", "b"), Before("b", "a"))), ["a"]) is None


# ---------------------------------------------------------------- timed mode


def day_spec(r: random.Random, size: int, *, slack: int, releases: bool) -> tuple[Spec, list[Placed]]:
    """A spec made around a hidden schedule, and an agent that mostly follows it."""
    names = [f"x{i}" for i in range(size)]
    order = r.sample(names, size)
    durations = {name: r.choice((15, 30, 45, 60)) for name in names}
    start, clock = {}, 540
    for name in order:
        clock += r.choice((0, 0, 15))
        start[name] = clock
        clock += durations[name]
    constraints: list[Constraint] = []
    for _ in range(size):
        a, b = sorted(r.sample(order, 2), key=order.index)
        constraints.append(Before(a, b))
    for name in r.sample(names, max(1, size // 3)):
        constraints.append(EndsBy(name, start[name] + durations[name] + r.randrange(0, slack + 1, 15)))
    for name in r.sample(names, max(1, size // 3)) if releases else ():
        constraints.append(StartsFrom(name, start[name] - r.randrange(0, slack + 1, 15)))
    spec = Spec(tuple(names), tuple(constraints), durations, (540, clock + slack))
    return spec, list(follow(r, order, start, durations))


def follow(
    r: random.Random, order: Sequence[str], start: dict[str, int], durations: dict[str, int]
) -> Iterator[Placed]:
    now, left = 540, list(order)
    while left:
        name = left.pop(1 if len(left) > 1 and r.random() < 0.12 else 0)
        begin = max(now, start[name]) + (r.choice((15, 30, 60)) if r.random() < 0.12 else 0)
        now = begin + durations[name]
        yield name, begin, now


def dead_by_z3(spec: Spec, placed: Sequence[Placed]) -> int | None:
    """The definition: after each call, is there any schedule that goes on from here?"""
    for k in range(1, len(placed) + 1):
        done = {name: (start, end) for name, start, end in placed[:k]}
        now = max(end for _, end in done.values())
        tasks = []
        for name in spec.actions:
            earliest = max(
                [
                    spec.horizon[0],
                    *(c.time for c in spec.constraints if isinstance(c, StartsFrom) and c.action == name),
                ]
            )  # type: ignore[index]
            latest = min(
                [
                    spec.horizon[1],
                    *(c.time for c in spec.constraints if isinstance(c, EndsBy) and c.action == name),
                ]
            )  # type: ignore[index]
            leaders = tuple(c.first for c in spec.constraints if isinstance(c, Before) and c.then == name)
            if name in done:
                start, end = done[name]
                tasks.append(Task(name, end - start, max(earliest, start), min(latest, end), leaders))
            else:
                tasks.append(Task(name, (spec.durations or {})[name], max(earliest, now), latest, leaders))
        if not schedulable(tasks, timeout_ms=20_000):
            return k - 1
    return None


def check_days(seeds: range, *, releases: bool) -> None:
    dead = 0
    for seed in seeds:
        r = random.Random(seed)
        spec, placed = day_spec(r, r.randint(2, 6), slack=r.choice((0, 15, 30)), releases=releases)
        expected = dead_by_z3(spec, placed)
        assert DayPlan(spec, spec.durations or {}).dead_at(placed) == expected, seed
        dead += expected is not None
    assert dead > len(seeds) // 6


@pytest.mark.parametrize("releases", [False, True])
def test_the_layers_find_the_same_point_of_no_return_as_z3(releases: bool) -> None:
    check_days(range(40), releases=releases)


@pytest.mark.heavy
@pytest.mark.parametrize("releases", [False, True])
def test_the_layers_find_the_same_point_of_no_return_as_z3_on_many(releases: bool) -> None:
    check_days(range(1_000, 1_000 + tries(5_000)), releases=releases)


def hard_tasks(r: random.Random, size: int) -> list[Task]:
    tasks: list[Task] = []
    for i in range(size):
        leaders = tuple(f"t{j}" for j in range(i) if r.random() < 0.15)
        release = r.choice((0, 0, 0, r.randint(0, 60)))
        duration = r.choice((0, 5, 15, 30))
        due = release + duration + r.randint(0, 25 * size)
        tasks.append(Task(f"t{i}", duration, release, due, leaders))
    return tasks


def test_each_layer_is_sound() -> None:
    counts = {True: 0, False: 0}
    for seed in range(250):
        r = random.Random(seed)
        tasks = hard_tasks(r, r.randint(1, 6))
        truth = schedulable(tasks, timeout_ms=20_000)
        carried = with_carried_deadlines(tasks)
        assert search(carried, 0) is truth
        quick = earliest_deadline_first(carried, 0)
        assert quick is None or quick is truth
        counts[bool(truth)] += 1
    assert min(counts.values()) > 25


def with_carried_deadlines(tasks: Sequence[Task]) -> list[Task]:
    latest = {t.name: t.latest_end for t in tasks}
    durations = {t.name: t.duration for t in tasks}
    for t in reversed(tasks):
        for leader in t.after:
            latest[leader] = min(latest[leader], latest[t.name] - durations[t.name])
    return [Task(t.name, t.duration, t.earliest, latest[t.name], t.after) for t in tasks]


@pytest.mark.parametrize("size", [9, 10, 12])
def test_an_over_full_day_of_free_tasks_is_decided(size: int) -> None:
    r = random.Random(size)
    durations = {f"x{i}": r.choice((15, 30, 45, 60, 90)) for i in range(size)}
    short = Spec(tuple(durations), (), durations, (0, sum(durations.values()) - 15))
    assert DayPlan(short, durations).alive(set(), 0) is False
    assert solver.satisfiable(short) is False
    late = Spec(tuple(durations), (StartsFrom("x0", 15),), durations, (0, sum(durations.values())))
    assert DayPlan(late, durations).alive(set(), 0) is True
    # A deadline for all but one leaves less room than they need: the sum over everything does not see it.
    crowd = tuple(
        EndsBy(name, sum(durations.values()) - durations["x0"] - 15) for name in list(durations)[1:]
    )
    full = Spec(tuple(durations), crowd, durations, (0, 2 * sum(durations.values())))
    assert DayPlan(full, durations).alive(set(), 0) is False


def test_repaired_schedules_keep_every_rule_and_change_as_little_as_possible() -> None:
    for seed in range(12):
        r = random.Random(seed)
        spec, placed = day_spec(r, 4, slack=15, releases=bool(seed % 2))
        declared = {name: start for name, start, _ in placed}
        repair = repair_schedule(spec, declared, spec.durations or {}, timeout_ms=10_000)
        assert repair is not None
        assert repair.starts is not None
        ends = {name: start + (spec.durations or {})[name] for name, start in repair.starts.items()}
        plan = [(name, repair.starts[name], ends[name]) for name in repair.order]
        assert DayPlan(spec, spec.durations or {}).dead_at(plan) is None
        assert repair.moved == tuple(a for a in repair.order if declared[a] != repair.starts[a])
        if DayPlan(spec, spec.durations or {}).dead_at(placed) is None:
            assert repair.moved == ()


def test_a_day_that_cannot_be_kept_has_no_repair() -> None:
    spec = Spec(("a", "b"), (EndsBy("a", 60), EndsBy("b", 60)), {"a": 40, "b": 40}, (0, 600))
    assert repair_schedule(spec, {"a": 0, "b": 40}, {"a": 40, "b": 40}) is None
    assert repair_schedule(spec, {"a": 0}, {"a": 40}) is None
