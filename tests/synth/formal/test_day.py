"""Schedules and the reference planner, against brute force."""

from __future__ import annotations

from itertools import permutations
from random import Random

import pytest

from synth.formal.constraints import Before, EndsBy, StartsFrom
from synth.formal.day import Day, ReferencePlanner, count_feasible_orders, day_of, find_schedule, play
from synth.formal.order import Closure


def feasible_orders(day: Day, durations: list[int]) -> list[tuple[int, ...]]:
    """Orders that work when every task starts as early as it can."""
    return [order for order in permutations(range(len(durations))) if works(day, durations, order)]


def works(day: Day, durations: list[int], order: tuple[int, ...]) -> bool:
    now, done = day.begin, 0
    for task in order:
        now = max(now, day.earliest[task]) + durations[task]
        if day.order.before[task] & ~done or now > day.latest[task]:
            return False
        done |= 1 << task
    return True


def random_day(rng: Random) -> tuple[Day, list[int]]:
    size = rng.randint(1, 5)
    order = Closure(size)
    for _ in range(rng.randint(0, 3)):
        order.add(rng.randrange(size), rng.randrange(size))
    durations = [rng.randint(1, 6) for _ in range(size)]
    earliest = [rng.choice((0, 0, rng.randint(0, 15))) for _ in range(size)]
    latest = [rng.choice((20, 20, rng.randint(4, 20))) for _ in range(size)]
    return Day(order, earliest, latest, 0), durations


def test_a_schedule_is_found_exactly_when_one_exists():
    rng = Random(1)
    found = 0
    for _ in range(800):
        day, durations = random_day(rng)
        slots = find_schedule(day, durations)
        assert (slots is not None) is bool(feasible_orders(day, durations))
        if slots is None:
            continue
        found += 1
        order = tuple(task for task, _ in slots)
        assert sorted(order) == list(range(len(durations)))
        assert works(day, durations, order)
        now = 0
        for task, start in slots:
            assert start == max(now, day.earliest[task])
            now = start + durations[task]
    assert 200 < found < 700


def test_a_schedule_can_be_completed_from_the_middle():
    day = Day(Closure(3, [(0, 1)]), [0, 0, 0], [100, 100, 100], 0)
    assert find_schedule(day, [10, 10, 10], done=0b001, now=50) == [(1, 50), (2, 60)]
    assert find_schedule(day, [10, 10, 10], done=0b111, now=50) == []
    assert find_schedule(day, [10, 10, 10], done=0b001, now=95) is None


def test_the_search_gives_up_at_its_limit():
    free = Day(Closure(20), [0] * 20, [200] * 20, 0)
    assert find_schedule(free, [10] * 20) is not None
    assert find_schedule(free, [10] * 20, max_sets=3) is None


def test_feasible_orders_are_counted_like_permutations():
    rng = Random(2)
    for _ in range(400):
        day, durations = random_day(rng)
        assert count_feasible_orders(day, durations) == len(feasible_orders(day, durations))


def test_counting_orders_gives_up_at_its_limit():
    free = Day(Closure(9), [0] * 9, [900] * 9, 0)
    assert count_feasible_orders(free, [10] * 9, max_states=20) is None


def test_constraints_become_a_day():
    day = day_of(
        "ab", [Before("a", "b"), EndsBy("a", 700), EndsBy("a", 650), StartsFrom("b", 600)], (540, 1080)
    )
    assert day is not None
    assert (day.order.edges(), list(day.earliest), list(day.latest)) == ([(0, 1)], [540, 600], [650, 1080])
    assert day_of("ab", [Before("a", "b"), Before("b", "a")], (540, 1080)) is None


def test_the_planner_halts_and_starts_over_when_a_duration_breaks_its_plan():
    # `b` may not start before 09:30, so `a` seems to fit in first; but it takes too long.
    constraints = [Before("x", "a"), Before("x", "b"), StartsFrom("b", 570), EndsBy("b", 630)]
    planner = ReferencePlanner(["x", "a", "b"], constraints, (480, 750))
    assert play(planner, {"x": 30, "a": 125, "b": 30}) == [
        ("x", 480),
        ("a", 510),
        ("x", 480),
        ("b", 570),
        ("a", 600),
    ]
    assert (planner.replans, planner.finished) == (1, True)


def test_a_new_attempt_must_begin_with_a_task_that_is_done():
    # Without `x` only `b` could come first now, and that would seem to go on with the old attempt.
    planner = ReferencePlanner(["a", "b"], [StartsFrom("b", 570), EndsBy("b", 630)], (480, 750))
    assert play(planner, {"a": 155, "b": 30}) == [("a", 480)]
    assert (planner.replans, planner.finished, planner.gave_up) == (1, False, True)


def test_the_planner_finishes_where_it_need_not_start_over():
    rng = Random(3)
    replans = 0
    for _ in range(600):
        day, durations = random_day(rng)
        planner = ReferencePlanner.for_day([str(task) for task in range(len(durations))], day)
        calls = play(planner, {str(task): minutes for task, minutes in enumerate(durations)})
        possible = find_schedule(day, durations) is not None
        assert possible or not planner.finished
        assert planner.finished or planner.replans or not possible
        assert len(calls) <= len(durations) * (planner.replans + 1)
        replans += planner.replans
    assert replans > 5


def test_the_planner_never_sees_a_duration_before_its_task_is_done():
    day = Day(Closure(2), [0, 0], [100, 100], 0)
    planner = ReferencePlanner.for_day(["a", "b"], day)
    first = planner.next_call()
    assert first == ("a", 0)
    assert planner.known == {}
    planner.learn(10)
    assert planner.next_call() == ("b", 10)


def test_the_planner_without_hope_says_so():
    planner = ReferencePlanner("ab", [Before("a", "b"), Before("b", "a")], (540, 1080))
    assert planner.next_call() is None
    assert (planner.gave_up, planner.finished) == (True, False)


def test_learning_needs_a_call():
    planner = ReferencePlanner("a", [], (540, 1080))
    with pytest.raises(ValueError, match="follows next_call"):
        planner.learn(10)
