from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from synth.cases.case import Case
from synth.experiments.campaign import Budget, results_journal
from synth.experiments.capability import Curve, Point, Sampling, curve, errors_within, measure
from synth.experiments.rates import Rate
from synth.experiments.trial import Trial
from tests.support.bench_cases import order_case
from tests.support.bench_results import result, running

SMALL = Sampling(per_pair=2, cap=12)


def cases(actions: int, count: int) -> Iterable[Case]:
    phrases = [f"the task number {k}" for k in range(actions)]
    rule = f"{phrases[0].capitalize()} must precede {phrases[1]}."
    return [order_case(rule, phrases, id=f"{actions}-{number}") for number in range(count)]


def fails_from(size: int) -> Callable[[Trial], bool]:
    def passes(trial: Trial) -> bool:
        assert trial.case is not None
        return len(trial.case.actions) < size

    return passes


def test_the_paper_s_sizes_sum_to_its_1600_cases() -> None:
    assert [Sampling().count(n) for n in range(2, 10)] == [20, 60, 120, 200, 300, 300, 300, 300]
    assert sum(Sampling().count(n) for n in range(2, 10)) == 1600


def test_measuring_ends_at_the_first_size_below_the_limit() -> None:
    with results_journal(None, {}) as journal:
        found = measure(running(fails_from(5)), "a", "m", cases, journal, SMALL)
    assert [(p.actions, p.rate.hits, p.rate.trials) for p in found.points] == [
        (2, 2, 2),
        (3, 6, 6),
        (4, 12, 12),
        (5, 0, 12),
    ]
    assert found.limit == 4


def test_an_agent_that_never_fails_ends_at_the_largest_size() -> None:
    with results_journal(None, {}) as journal:
        found = measure(running(), "a", "m", cases, journal, SMALL, largest=4)
    assert (found.limit, len(found.points)) == (4, 3)


def test_an_agent_that_always_fails_has_no_capability() -> None:
    with results_journal(None, {}) as journal:
        found = measure(running(lambda trial: False), "a", "m", cases, journal, SMALL)
    assert (found.limit, len(found.points)) == (1, 1)


def test_early_stop_leaves_a_size_once_it_is_decided() -> None:
    sampling = Sampling(per_pair=60, cap=60, smallest_batch=10, early_stop=True)
    with results_journal(None, {}) as journal:
        found = measure(running(fails_from(3)), "a", "m", cases, journal, sampling)
    assert [(p.rate.hits, p.rate.trials) for p in found.points] == [(10, 10), (0, 20)]


def test_a_budget_ends_measuring() -> None:
    with results_journal(None, {}) as journal:
        measure(running(), "a", "m", cases, journal, SMALL, Budget(cases=5))
    assert len(journal.records) == 5


def test_undecided_runs_are_shown_apart() -> None:
    case = order_case().to_json()
    (point,) = curve("raw-loop", "m", [result("pass", case=case), result("undecided", case=case)]).points
    assert point == Point(4, Rate(1, 1), 1)


def test_points_say_their_interval() -> None:
    said = Curve("a", "m", (Point(3, Rate(8, 10), 0),)).to_json()["points"][0]
    assert said["success_rate"] == 0.8
    assert (said["low"], said["high"]) == pytest.approx((0.4902, 0.9433), abs=1e-4)


def test_errors_are_drawn_within_the_limit_and_alike_for_the_same_seed() -> None:
    case = order_case().to_json()
    errors = [result("fail", "order_error", key=str(k), case=case) for k in range(50)]
    passes = [result("pass", key=f"p{k}", case=case) for k in range(5)]
    chosen = errors_within([*errors, *passes], limit=4, count=10)
    assert len(chosen) == 10
    assert chosen == errors_within([*errors, *passes], limit=4, count=10)
    assert errors_within(errors, limit=3) == []
    assert chosen == errors_within([*reversed(errors), *passes], limit=4, count=10)
    assert sorted(errors_within(errors, limit=4), key=lambda one: errors.index(one)) == errors
    assert len(errors_within(errors, limit=4, count=None)) == 50
