"""Runs in which the agent was not tested: in no rate, in a column of their own, and made again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from synth.cases.case import Case
from synth.experiments.campaign import (
    MOST_ERRORS,
    Budget,
    Meter,
    RunTrials,
    Stopped,
    in_short,
    results_journal,
    run_campaign,
)
from synth.experiments.capability import Sampling, curve, errors_within
from synth.experiments.dissect import Failure, Untested, dissect, dissections_journal, failures_of
from synth.experiments.paper import QUICK, Bench, Part, reproduce
from synth.experiments.plots import capability_figure
from synth.experiments.report import campaign_report, html, picture, report_of
from synth.experiments.tables import (
    cause_table,
    compare,
    comparison_table,
    curve_table,
    detection_table,
    error_table,
    limit_table,
    overview_table,
)
from synth.experiments.tally import detection, judgement, tally, untested
from synth.experiments.training import training_records
from synth.experiments.trial import Result, Trial
from synth.formal import Trouble
from tests.support.bench_cases import order_case
from tests.support.bench_results import REFUSED, result, running, trials
from tests.support.bench_results import untested as error

CASE = order_case().to_json()
FAULT = {"type": "order_error"}


def mixed() -> list[Result]:
    """Two errors beside a pass and a failure."""
    results = [result("pass", key="1"), result("fail", "order_error", key="2"), error("3"), error("4")]
    return [replace(one, case=CASE) for one in results]


# ---------------------------------------------------------------- what is counted


def test_errors_are_in_no_rate_and_have_a_count_of_their_own() -> None:
    (row,) = tally(mixed())
    assert (row.runs, row.passed, row.failed, row.unsettled, row.errors) == (4, 1, {"order_error": 1}, 0, 2)
    assert row.success_rate == 0.5
    assert row.to_json()["error"] == 2


def test_errors_are_no_point_of_a_curve_and_no_failure_within_it() -> None:
    (point,) = curve("raw-loop", "m", mixed()).points
    assert (point.rate.hits, point.rate.trials, point.unsettled, point.errors) == (1, 2, 0, 2)
    assert point.to_json()["errors"] == 2
    assert [one.key for one in errors_within(mixed(), limit=9)] == ["2"]


def test_a_size_of_which_nothing_is_known_is_no_limit() -> None:
    found = curve("raw-loop", "m", [replace(error(), case=CASE)])
    assert found.measured == ()
    assert limit_table([found], "t", "T").rows == (("raw-loop", "m", "-", "1"),)


def test_an_error_misses_no_planted_fault_and_raises_no_alarm() -> None:
    lost = error(fault=FAULT)
    assert judgement(lost) == judgement(error(planted=True)) == "error"
    (row,) = detection([lost, result("fail", "order_error", fault=FAULT)])
    assert (row.planted, row.found, row.missed, row.errors, row.exact) == (2, 1, 0, 1, False)


def test_what_is_not_settled_misses_no_planted_fault_either() -> None:
    for outcome in ("undecided", "open"):
        assert judgement(result(outcome, fault=FAULT)) == "unsettled"


def test_errors_are_not_looked_into_and_teach_nothing() -> None:
    assert [failure.case.id for failure in failures_of(mixed())] == ["case-1"]
    assert len(failures_of([error(case=CASE)])) == 0
    assert training_records([error(case=CASE)]) == []


def test_every_table_has_a_column_for_them() -> None:
    results = mixed()
    failed = [one for one in results if one.outcome == "fail"]
    curves = [curve("raw-loop", "m", results)]
    shown = [
        overview_table(results, "t", "T"),
        error_table(failed, results, "t", "T"),
        cause_table((), failed, "t", "T"),
        curve_table(curves, "t", "T"),
        limit_table(curves, "t", "T"),
        detection_table([error(fault=FAULT), error(fault=FAULT)], "t", "T"),
        comparison_table(compare(results, results), "t", "T"),
    ]
    cells = [table.to_json()["rows"][0]["error"] for table in shown]
    assert cells == ["2", "2", "1", "2", "2", "2", "2 / 2"]


def test_what_the_provider_said_comes_first_and_is_told_once_for_all_its_runs() -> None:
    down = Trouble("unreachable", None, "Connection refused")
    said = untested([error("1"), error("2", down), error("3")])
    assert said == (
        "Incorrect API key provided: k. (endpoint 401): planning was not tested in 2 runs",
        "Connection refused (unreachable): planning was not tested in 1 run",
    )
    many = [error(str(k), Trouble("endpoint", 500, f"oops {k}")) for k in range(9)]
    assert untested(many)[-1] == "other trouble: planning was not tested in 4 runs"
    assert untested([error("1", Trouble("no_verdict"))]) == ("no verdict: planning was not tested in 1 run",)


def test_a_report_says_it_first() -> None:
    report = campaign_report(mixed(), "T")
    assert report.summary[0].startswith(REFUSED.message)
    assert "planning was not tested in 2 runs" in html(report)


# ---------------------------------------------------------------- made again


def failing_first(keys: Iterable[str], ran: list[str]) -> RunTrials:
    """Something that runs trials, those of `keys` in vain."""
    void = set(keys)

    def run(given: Iterable[Trial]) -> Iterator[Result]:
        for trial in given:
            ran.append(trial.key)
            yield error(trial.key) if trial.key in void else result(key=trial.key)

    return run


def test_a_journal_keeps_no_error_as_a_result(tmp_path: Path) -> None:
    """Exactly what was void runs again with the same command, and its result takes the place."""
    wanted = trials(6)
    keys = [trial.key for trial in wanted]
    ran: list[list[str]] = []
    for void in ([keys[1], keys[4]], [keys[4]], []):
        ran.append([])
        with results_journal(tmp_path / "c.jsonl", {}) as journal:
            run_campaign(failing_first(void, ran[-1]), wanted, journal)
        assert [r.key for r in journal.records if r.is_void] == void
    assert ran == [keys, [keys[1], keys[4]], [keys[4]]]
    with results_journal(tmp_path / "c.jsonl", {}) as journal:
        assert [(r.key, r.outcome) for r in journal.records] == [(key, "pass") for key in keys]


def test_errors_of_an_earlier_part_use_up_no_budget_of_cases(tmp_path: Path) -> None:
    wanted = trials(6)
    for void in ([wanted[0].key], []):
        with results_journal(tmp_path / "c.jsonl", {}) as journal:
            run_campaign(failing_first(void, []), wanted, journal, Budget(cases=3))
    assert [r.key for r in journal.records if not r.is_void] == [trial.key for trial in wanted[:3]]


def test_a_campaign_with_errors_is_not_over(tmp_path: Path) -> None:
    for void, finished in (([trials(1)[0].key], False), ([], True)):
        with results_journal(tmp_path / "c.jsonl", {}) as journal:
            run_campaign(failing_first(void, []), trials(2), journal)
            journal.finish()
        assert journal.finished is finished


def test_what_a_journal_keeps_in_memory_says_that_it_was_an_error() -> None:
    assert in_short(error(case=CASE)).is_void


# ---------------------------------------------------------------- errors in a row


def test_five_errors_in_a_row_stop_a_campaign_with_the_provider_s_words() -> None:
    ran: list[str] = []
    wanted = trials(20)
    with results_journal(None, {}) as journal:
        with pytest.raises(Stopped, match=r"^Incorrect API key provided: k\. \(endpoint 401\): stopped"):
            run_campaign(failing_first([t.key for t in wanted[3:]], ran), wanted, journal)
        assert len(ran) == len(journal.records) == 3 + MOST_ERRORS


def test_errors_that_do_not_follow_each_other_stop_nothing() -> None:
    wanted = trials(20)
    void = [trial.key for number, trial in enumerate(wanted) if number % MOST_ERRORS]
    with results_journal(None, {}) as journal:
        run_campaign(failing_first(void, []), wanted, journal)
    assert len(journal.records) == 20


def test_where_nothing_is_left_to_do_nothing_is_stopped() -> None:
    wanted = trials(MOST_ERRORS)
    with results_journal(None, {}) as journal:
        run_campaign(failing_first([t.key for t in wanted], []), wanted, journal)
    assert len(journal.records) == MOST_ERRORS


def test_whoever_is_asked_may_go_on() -> None:
    asked: list[str] = []

    def goes_on(why: Stopped) -> bool:
        asked.append(str(why))
        return len(asked) < 2

    wanted = trials(40)
    with results_journal(None, {}) as journal:
        with pytest.raises(Stopped):
            run_campaign(failing_first([t.key for t in wanted], []), wanted, journal, Meter(goes_on=goes_on))
        assert len(journal.records) == 2 * MOST_ERRORS
    assert len(asked) == 2


# ---------------------------------------------------------------- dissection


def vain(agent: str, model: str, case: Case, number: int) -> bool:
    raise Untested(error())


def test_a_failure_with_an_error_has_no_cause_and_is_looked_into_again(tmp_path: Path) -> None:
    failures = [Failure("a", "m", order_case(id=f"case-{number}")) for number in range(2)]
    told: list[str] = []

    def passes(agent: str, model: str, case: Case, number: int) -> bool:
        return vain(agent, model, case, number) if case.id == "case-1" and number == 2 else False

    def one_of(case: Case, layer: str, count: int) -> list[Case]:
        return []

    for looks, left in ((passes, ["case-1"]), (lambda *_: False, [])):
        told.clear()
        with dissections_journal(tmp_path / "d.jsonl", {}) as journal:
            dissect(
                failures, looks, journal, mutate=one_of,
                on_error=lambda failure, result: told.append(failure.case.id),
            )  # fmt: skip
        assert told == left
        assert {d.case_id for d in journal.records} == {"case-0", "case-1"} - set(left)


def test_errors_in_a_row_stop_looking_into_failures() -> None:
    meter = Meter()
    failures = [Failure("a", "m", order_case(id=f"case-{number}")) for number in range(20)]

    def passes(agent: str, model: str, case: Case, number: int) -> bool:
        meter.count(error())
        return vain(agent, model, case, number)

    with dissections_journal(None, {}) as journal, pytest.raises(Stopped):
        dissect(failures, passes, journal, meter=meter)
    assert journal.records == []


# ---------------------------------------------------------------- the paper's experiments


def test_the_experiments_stop_and_go_on_where_they_stopped(tmp_path: Path) -> None:
    sizes = replace(QUICK, rq1_cases=8, largest=2, errors=1)
    ran: list[str] = []

    def refused(given: Iterable[Trial]) -> Iterator[Result]:
        for trial in given:
            ran.append(trial.key)
            yield error(trial.key)

    halted = reproduce(Bench(refused, lambda _: vain), [("a", "m")], sizes, tmp_path)
    assert isinstance(halted.stopped, Stopped)
    assert [one.outcome for one in halted.rq1] == ["error"] * MOST_ERRORS
    assert (halted.chapters, halted.errors, len(ran)) == ((), MOST_ERRORS, MOST_ERRORS)
    assert f"Not everything was measured: {halted.stopped}." in report_of(halted).summary
    done = reproduce(Bench(running(), lambda _: lambda *_: False), [("a", "m")], sizes, tmp_path)
    assert [one.outcome for one in done.rq1] == ["pass"] * 8
    assert done.stopped is None
    assert not any("Not everything" in said for said in report_of(done).summary)


def test_what_was_measured_before_errors_in_a_row_is_kept(tmp_path: Path) -> None:
    sizes = replace(QUICK, rq1_cases=2, largest=3, errors=1, sampling=Sampling(per_pair=9, cap=20))
    tested = 0

    def refused_later(given: Iterable[Trial]) -> Iterator[Result]:
        nonlocal tested
        for trial in given:
            (made,) = running()([trial])
            tested += 1
            yield made if tested <= 4 else error(made.key)

    begun: list[Part] = []
    bench = Bench(refused_later, lambda _: vain, on_part=begun.append)
    halted = reproduce(bench, [("a", "m"), ("b", "m")], sizes, tmp_path)
    assert [part.name for part in begun] == ["RQ1", "RQ1", "capability order"]
    assert [one.outcome for one in halted.rq1] == ["pass"] * 4
    (chapter,) = halted.chapters
    assert [one.outcome for one in chapter.results] == ["error"] * MOST_ERRORS
    assert (chapter.mode, chapter.dissections) == ("order", ())
    assert report_of(halted).summary[0].startswith("Not everything was measured: ")


def test_the_time_that_errors_took_is_not_used_up(tmp_path: Path) -> None:
    sizes = replace(QUICK, rq1_seconds=50.0, rq1_cases=1, largest=2, errors=1)

    def slow_refusal(given: Iterable[Trial]) -> Iterator[Result]:
        for trial in given:
            yield replace(error(trial.key), wall_seconds=100.0)

    reproduce(Bench(slow_refusal, lambda _: vain), [("a", "m")], sizes, tmp_path)
    done = reproduce(Bench(running(), lambda _: lambda *_: False), [("a", "m")], sizes, tmp_path)
    assert [one.outcome for one in done.rq1] == ["pass"]


def test_what_the_experiments_lack_is_counted(tmp_path: Path) -> None:
    """An error for Table 2, and a failure in each mode whose cause could be looked for in neither way."""
    sizes = replace(QUICK, rq1_cases=2, largest=2, errors=1)

    def first_in_vain(given: Iterable[Trial]) -> Iterator[Result]:
        for number, trial in enumerate(given):
            (made,) = running(lambda _: number % 2 == 1)([trial])  # noqa: B023
            yield error(made.key) if made.actions > 2 and not number else made

    measured = reproduce(Bench(first_in_vain, lambda _: vain), [("a", "m")], sizes, tmp_path)
    assert [len(chapter.dissections) for chapter in measured.chapters] == [0, 0]
    assert measured.errors == 5


@pytest.mark.processes  # the first figure on a machine makes matplotlib ask another program for the fonts
def test_figures_say_what_they_leave_out() -> None:
    curves = [curve("raw-loop", "m", mixed())]
    assert picture(curves, "figure8", "Figure 8").title == "Figure 8 (2 runs in error left out)"
    pytest.importorskip("matplotlib")
    (axes,) = capability_figure(curves, "T").axes
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["raw-loop (2 in error left out)"]
    assert axes.get_title() == "m"
    assert axes.get_xlim() == (curves[0].points[0].actions - 0.5, curves[0].points[-1].actions + 0.5)
