"""How long the experiments can still take, and how little memory long ones need."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from synth.experiments.campaign import in_short, results_journal
from synth.experiments.capability import Sampling
from synth.experiments.paper import PAPER, QUICK, Forecast, parts_of
from tests.support.bench_results import finding, result

SUBJECTS = (("react", "m"), ("raw-loop", "m"))
SIZES = replace(
    QUICK, rq1_cases=10, sampling=Sampling(per_pair=5, cap=20), largest=4, errors=2, mutants=1, contrasts=0
)


def test_the_parts_of_the_experiments_are_those_of_the_paper() -> None:
    parts = parts_of(PAPER, SUBJECTS)
    assert [part.name for part in parts] == [
        "RQ1", "RQ1",
        "capability order", "capability order", "causes order", "causes against chance order",
        "capability timed", "capability timed", "causes timed", "causes against chance timed",
    ]  # fmt: skip
    assert parts[0].seconds == 3_600
    assert parts[2].runs == 20 + 60 + 120 + 200 + 15 * 300
    assert parts[4].runs == 2 * 100 * (3 + 3 * 10)
    assert parts[5].runs == 2 * (20 * (3 + 3 * 40) + 19 * 50)


def test_what_is_left_shrinks_with_every_run_and_skips_what_ended_early() -> None:
    parts = parts_of(SIZES, SUBJECTS)
    forecast = Forecast(parts, parallel=2)
    assert [part.runs for part in parts] == [10, 10, 40, 40, 24, 0, 40, 40, 24, 0]
    forecast.begin(parts[0])
    forecast.count(result())  # half a second of agent time, by one of two agents
    assert forecast.seconds == pytest.approx(0.25 * (228 - 1))
    forecast.begin(parts[4])
    assert forecast.seconds == pytest.approx(0.25 * (24 + 40 + 40 + 24))
    forecast.begin(parts[8])
    for _ in range(30):
        forecast.count(result())
    assert forecast.seconds == 0


def test_a_part_that_ends_by_the_clock_takes_no_longer_than_that() -> None:
    parts = parts_of(replace(SIZES, rq1_seconds=60.0, rq1_cases=None), SUBJECTS)
    forecast = Forecast(parts, parallel=1)
    forecast.begin(parts[1])
    assert forecast.seconds == pytest.approx(60, abs=1)


def test_what_is_remembered_in_short_is_whole_in_the_file(tmp_path: Path) -> None:
    case = {
        "id": "c",
        "topic": "t",
        "mode": "order",
        "actions": [1, 2],
        "query": "q" * 1000,
        "statistics": {},
    }
    made = replace(
        result("fail", "order_error", case=case, findings=[finding("order_error")]),
        tool_log=({"name": "a"},), answer="long",
    )  # fmt: skip
    with results_journal(tmp_path / "j.jsonl", {}, remembered=in_short) as journal:
        journal.add(made)
        (kept,) = journal.records
    assert (kept.tool_log, kept.answer, kept.actions) == ((), "", 2)
    assert (kept.verdict, kept.outcome, kept.key) == (made.verdict, "fail", made.key)
    assert "query" not in (kept.case or {})
    written = json.loads((tmp_path / "j.jsonl").read_text().splitlines()[1])
    assert written == json.loads(json.dumps(made.to_json()))
