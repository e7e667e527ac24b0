"""Campaigns under a guard: what is told of them, from results as they are kept."""

from __future__ import annotations

from typing import Any

import pytest

from synth.experiments.guarded import guarded, violating
from synth.experiments.report import results_report
from synth.experiments.tally import detection, tally
from synth.experiments.trial import Result, Trial, result_from_json
from tests.support.bench_cases import order_case, timed_case

CASE = order_case()
FLOUR, OVEN, DOUGH, LOAF = (action.tool for action in CASE.actions)
RIGHT = (FLOUR, DOUGH, OVEN, LOAF)


def log(*calls: str | tuple[str, dict[str, Any]], at_once: bool = False) -> tuple[dict[str, Any], ...]:
    """What mock tools write of these calls, one after another or all at the same time."""
    made = [(call, {}) if isinstance(call, str) else call for call in calls]
    return tuple(
        {
            "index": i, "name": name, "arguments": arguments, "result": "done", "failed": False,
            "start": 10 * (i + 1), "end": 1_000 + i if at_once else 10 * (i + 1) + 5, "thread": 1,
        }
        for i, (name, arguments) in enumerate(made)
    )  # fmt: skip


@pytest.mark.parametrize(
    ("calls", "wrong"),
    [
        (RIGHT, 0),
        ((), 0),
        ((LOAF, FLOUR, DOUGH, OVEN), 1),
        ((DOUGH, FLOUR, OVEN, LOAF), 1),
        ((FLOUR, FLOUR, FLOUR), 2),
        ((FLOUR, "verify_oven"), 0),
    ],
)
def test_calls_after_which_nothing_right_is_left_are_counted(calls: tuple[str, ...], wrong: int) -> None:
    assert violating(CASE, log(*calls)) == wrong


def test_a_call_that_began_before_the_one_it_waits_for_had_ended_counts() -> None:
    assert violating(CASE, log(FLOUR, DOUGH, at_once=True)) == 0  # taken to succeed, as the guard takes it
    assert violating(CASE, log(DOUGH, FLOUR, at_once=True)) == 1


def test_in_timed_mode_a_start_too_early_counts() -> None:
    case = timed_case(
        "The flour delivery must precede the dough kneading. The dough kneading must happen after 11:00.",
        {"the flour delivery": 30, "the dough kneading": 45},
    )
    first = (FLOUR, {"start_time": "09:00"})
    assert violating(case, log(first, (DOUGH, {"start_time": "11:00"}))) == 0
    assert violating(case, log(first, (DOUGH, {"start_time": "10:00"}))) == 1


def result(guard: str | None, outcome: str, calls: tuple[str, ...], refused: int | None = None) -> Result:
    trial = Trial("raw-loop", "simulated-swaps", CASE, guard=guard)
    verdict = {"outcome": outcome, "error_type": "order_error" if outcome == "fail" else None, "findings": []}
    return Result(
        trial=trial.key, agent=trial.tested, model=trial.model, case_id=CASE.id, trace_id="7", status="ok",
        error=None, answer="", iterations=1, wall_seconds=0.1, run={"verdict": {**verdict, "z3_ms": 0}},
        tool_log=log(*calls), case=CASE.to_json(), guard=guard, refused=refused,
        planted={"fault": {"type": "order_error"}},
    )  # fmt: skip


RESULTS = [
    result("none", "fail", (DOUGH, FLOUR, OVEN, LOAF)),
    result("feedback", "pass", RIGHT, 1),
    result("feedback", "fail", (FLOUR, OVEN), 2),
    result("block", "fail", (FLOUR,), 1),
]


def test_each_guard_has_a_row_with_its_rate_and_what_it_stopped() -> None:
    told = {row.guard: (row.agent, row.passed.value, row.violating, row.refused) for row in guarded(RESULTS)}
    assert told == {
        "none": ("raw-loop", 0.0, 1, 0),
        "feedback": ("raw-loop", 0.5, 1, 3),
        "block": ("raw-loop", 0.0, 0, 1),
    }
    low, high = guarded(RESULTS)[1].to_json()["interval"]
    assert 0 < low < 0.5 < high < 1


def test_runs_under_different_guards_are_never_one_row_and_never_one_trial() -> None:
    assert [row.agent for row in tally(RESULTS)] == [
        "raw-loop (guard: none)",
        "raw-loop (guard: feedback)",
        "raw-loop (guard: block)",
    ]
    assert len({Trial("a", "m", CASE, guard=guard).key for guard in (None, "none", "block")}) == 3
    assert Trial("a", "m", CASE).key == f"a|m|{CASE.id}|0"  # as in journals of before


def test_a_fault_that_a_guard_may_stop_is_not_one_to_be_found() -> None:
    (found,) = detection(RESULTS)
    assert (found.runs, found.found, found.missed) == (1, 1, 0)


def test_the_report_begins_with_the_table_where_there_is_a_guard() -> None:
    report = results_report(RESULTS, "guards")
    assert report.tables[0].name == "guard"
    assert report.tables[0].rows[1] == (
        "raw-loop", "simulated-swaps", "feedback", "2", "50.0%", "9-91%", "1", "3",
    )  # fmt: skip
    plain = [result(None, "fail", (DOUGH,))]
    assert "guard" not in [table.name for table in results_report(plain, "none").tables]


def test_what_is_kept_of_a_run_under_guard_comes_back() -> None:
    for one in RESULTS:
        assert result_from_json(one.to_json()) == one
