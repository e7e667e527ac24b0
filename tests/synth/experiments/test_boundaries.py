"""Exactly at the limit of capability, and the seconds in Z3 of a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from synth.cases.case import Case
from synth.experiments.campaign import results_journal
from synth.experiments.capability import Curve, Point, Sampling, curve, measure
from synth.experiments.harness import Result, Trial
from synth.experiments.rates import Rate
from synth.experiments.tables import overview_table
from tests.support.bench_cases import order_case
from tests.support.bench_results import result, running


@pytest.mark.parametrize(("passed", "limit"), [(19, 2), (20, 4), (21, 4)])
def test_one_success_in_five_is_still_capable(passed: int, limit: int) -> None:
    rates = {2: Rate(100, 100), 3: Rate(passed, 100), 4: Rate(50, 100), 5: Rate(0, 100)}
    found = Curve("a", "m", tuple(Point(size, rate, 0) for size, rate in rates.items()))
    assert found.limit == limit


def cases(actions: int, count: int) -> Iterable[Case]:
    phrases = [f"the task number {k}" for k in range(actions)]
    rule = f"{phrases[0].capitalize()} must precede {phrases[1]}."
    return [order_case(rule, phrases, id=f"{actions}-{number}") for number in range(count)]


@pytest.mark.parametrize(("passing", "sizes"), [(1, [2]), (2, [2, 3])])
def test_measuring_goes_on_at_exactly_the_limit(passing: int, sizes: list[int]) -> None:
    def passes(trial: Trial) -> bool:
        assert trial.case is not None
        actions, number = map(int, trial.case.id.split("-"))
        return actions == 2 and number < passing

    with results_journal(None, {}) as journal:
        found = measure(running(passes), "a", "m", cases, journal, Sampling(per_pair=10, cap=10))
    assert [point.actions for point in found.points] == sizes
    assert found.points[0].rate == Rate(passing, 10)


def timed_in_z3(making: float, judging: float) -> Result:
    case = order_case().to_json() | {"statistics": {"z3_ms": making, "z3_calls": 7}}
    made = result("pass", case=case)
    verdict = {**(made.verdict or {}), "z3_ms": judging}
    return replace(made, run={"verdict": verdict, "calls": []})


def z3_columns(results: Iterable[Result]) -> tuple[str, ...]:
    (row,) = overview_table(list(results), "t", "T").to_json()["rows"]
    return tuple(row[name] for name in ("Z3-Count", "Z3-Time s", "judging s"))


def test_the_seconds_in_z3_are_those_of_making_and_apart_those_of_judging() -> None:
    assert z3_columns([timed_in_z3(1000.0, 250.0), timed_in_z3(0.0, 4000.0)]) == ("14", "1.00", "4.25")
    unjudged = replace(timed_in_z3(1000.0, 0.0), run=None)
    assert z3_columns([unjudged]) == ("7", "1.00", "0.00")
    by_closure = replace(unjudged, case=order_case().to_json())
    assert z3_columns([by_closure]) == ("-", "-", "0.00")
    assert curve("raw-loop", "m", [unjudged]).points[0].unsettled == 1
