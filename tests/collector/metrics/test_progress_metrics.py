"""Progress and repetition of a collector's runs: as metrics, after each call, on the page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from collector.metrics import Observed, measured
from collector.metrics.progress import progress_rates
from collector.model import Run, ToolCall
from collector.server import running
from synth.cases import case_from_json
from tests.support.traces import Client, agent_request, case_json, new_id, settings

CASE = case_json("case-progress", "a < b")
FIRST, THEN = (action["tool"] for action in CASE["actions"])


def seen(*tools: str, case: bool = True, **call: Any) -> Observed:
    calls = tuple(ToolCall(None, tool, **call) for tool in tools)
    return Observed(Run("r", calls), case=case_from_json(CASE) if case else None)


def rates(of: Observed) -> tuple[Any, Any]:
    return measured(of)["progress_rate"], measured(of)["repetition_rate"]


def test_progress_needs_a_case_and_repetition_needs_known_arguments() -> None:
    assert rates(seen(FIRST, THEN, THEN)) == (1, 0.5)
    assert rates(seen(THEN, FIRST, case=False)) == (None, 0)
    assert rates(seen()) == (0, 0)
    assert rates(seen(FIRST)) == (0.5, 0)
    assert rates(seen(FIRST, FIRST, partly={"arguments": "absent"})) == (0.5, None)
    assert rates(seen(FIRST, FIRST, partly={"arguments": "hashed"})) == (0.5, 1)
    assert rates(seen(FIRST, FIRST, partly={"result": "cut"})) == (0.5, 1)


def test_the_papers_example_beside_the_share_of_repeated_calls() -> None:
    calls = tuple(ToolCall(None, "guess", {"code": code}) for code in ("1234", "2143", "1234", "5618"))
    found = measured(Observed(Run("r", calls)))
    assert (found["repetition_rate"], found["repeated_share"], found["repeated_calls"]) == (1 / 3, 0.25, 1)


def test_steps_of_a_metric_have_the_attributes_of_the_paper() -> None:
    step = seen(FIRST, arguments={"x": 1}, result="ok", extra={"state": [3]}).steps[0]
    assert (step.number, step.action, step.observation, step.state) == (1, f'{FIRST} {{"x":1}}', "ok", [3])


def test_rates_after_each_call_are_the_last_ones_history() -> None:
    run = seen(THEN, FIRST, FIRST, THEN)
    assert progress_rates(run) == (0, 0.5, 0.5, 1)
    assert run.repetition == (0, 0, 1 / 3, 2 / 3)


def test_the_api_and_the_page_show_progress_and_repetition(fresh: Client) -> None:
    fresh.post("/cases", CASE)
    run = new_id()
    fresh.send(agent_request(run, [FIRST, FIRST, THEN], case="case-progress"))
    found = fresh.judged(run)
    assert found["progress"] == {"progress": [0.5, 0.5, 1], "repetition": [0, 0.5, 0.5]}
    assert (found["metrics"]["progress_rate"], found["metrics"]["repetition_rate"]) == (1, 0.5)
    page = fresh.http.get(f"/runs/{run}").text
    assert 'class="progress" points="221.67,67 533,67 844.33,12"' in page
    assert 'class="repetition" points="221.67,122 533,67 844.33,67"' in page
    assert "progress 100%, repetition 50% after 3 calls" in page
    assert '<path class="marked" d="M377.33 130h311.33v10h-311.33z"/>' in page
    assert "<tr><td>call 1</td><td>50%</td><td>50%</td></tr>" in page


def test_a_run_that_repeats_nothing_has_no_strip(fresh: Client) -> None:
    run = new_id()
    fresh.send(agent_request(run, ["x", "y"]))
    fresh.judged(run)
    page = fresh.http.get(f"/runs/{run}").text
    assert 'metric=repetition_rate&amp;last=30d">repetition_rate</a></dt><dd>0.0%</dd>' in page
    assert 'id="rates"' not in page
    assert "polyline" not in page
    assert "made before; the strip" not in page
    assert 'class="marked"' not in page


def test_a_run_without_a_case_has_repetition_alone_and_one_call_no_curve(fresh: Client) -> None:
    several, one = new_id(), new_id()
    fresh.send(agent_request(several, ["x", "x"]))
    fresh.send(agent_request(one, ["x"]))
    assert fresh.judged(several)["progress"] == {"progress": None, "repetition": [0, 1]}
    page = fresh.http.get(f"/runs/{several}").text
    assert "Repetition: calls that were made before, 100 %" in page
    assert "Progress: actions" not in page
    fresh.judged(one)
    assert 'id="rates"' not in fresh.http.get(f"/runs/{one}").text


def test_rates_that_unseen_calls_may_change_are_not_said(tmp_path: Path) -> None:
    some, all_of_it = new_id(), new_id()
    with running(settings(tmp_path, idle_seconds=1.0)) as url, Client(url) as fresh:
        fresh.post("/cases", CASE)
        fresh.send(agent_request(some, [FIRST], case="case-progress", root=False))
        fresh.send(agent_request(all_of_it, [FIRST, THEN], case="case-progress", root=False))
        found, whole = fresh.judged(some), fresh.judged(all_of_it)
    assert len(found["problems"]) == 1
    assert found["progress"] == {"progress": None, "repetition": None}
    assert (found["metrics"]["progress_rate"], found["metrics"]["repetition_rate"]) == (None, None)
    assert whole["progress"] == {"progress": None, "repetition": None}
    assert (whole["metrics"]["progress_rate"], whole["metrics"]["repetition_rate"]) == (1, None)


def stated(*states: Any) -> Observed:
    """Calls of a run without a case whose states are these."""
    said: list[dict[str, Any]] = [{} if state is None else {"state": state} for state in states]
    return Observed(Run("r", tuple(ToolCall(None, "act", at, extra=one) for at, one in enumerate(said))))


def test_without_a_case_states_tell_the_progress() -> None:
    told = stated({"progress": 0.5}, {"progress": 1, "board": "x"})
    assert (progress_rates(told), rates(told)) == ((0.5, 1), (1, 0))
    for other in (None, {}, 3, *({"progress": bad} for bad in (1.5, True, "1", float("nan")))):
        assert progress_rates(stated({"progress": 0.5}, other)) is None
    assert progress_rates(stated()) is None
    assert progress_rates(Observed(replace(told.run, problems=("lost",)))) is None


def test_states_come_with_spans(fresh: Client) -> None:
    run = new_id()
    states = ['{"state":{"progress":0.25}}', '{"state":{"progress":1,"goal":"5618"}}']
    fresh.send(agent_request(run, [{"name": "act", "at": {"pdoctor.tool.state": said}} for said in states]))
    found = fresh.judged(run)
    assert found["progress"] == {"progress": [0.25, 1], "repetition": [0, 1]}
    assert [call["state"] for call in found["calls"]] == [{"progress": 0.25}, {"progress": 1, "goal": "5618"}]
    assert found["record"]["calls"][1]["state"] == {"progress": 1, "goal": "5618"}
    assert found["metrics"]["progress_rate"] == 1
