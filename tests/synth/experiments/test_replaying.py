"""Recorded cases, and what their rules say of a new run of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from synth.agents.mock_tools import ToolFailed, ToolLog
from synth.agents.model import RECORDED
from synth.agents.recorded_tools import User, play, recorded_tools
from synth.cases.recorded import RecordedCase, RuleFile, read_recorded, recorded_case_from_json
from synth.errors import BadInput
from synth.experiments.recording import recorded_case
from synth.experiments.replaying import HASTE, _whenever, judged, trial_of
from synth.experiments.trial import Result, result_from_json
from synth.judge.rules import Rules
from synth.judge_process import SolverProcess
from synth.observed.run import read_runs, run_from_json
from synth.policies import PolicyResult
from tests.support.real_runs import HERE

RULES = """
actions: {look up: look_up, pay: pay, log: log}
policies:
  - {id: first, rule: Look up must happen before pay.}
  - {id: quick, rule: Pay must be followed by log within 2 seconds.}
  - {id: other, rule: Log must never happen., applies: {agent: "other*"}}
"""
SHOP = RuleFile("shop", RULES, 3)


@pytest.fixture(scope="module")
def solver() -> Iterator[SolverProcess]:
    with SolverProcess() as process:
        yield process


def call(name: str, at: float = 0, **arguments: Any) -> dict[str, Any]:
    return {"id": None, "name": name, "arguments": arguments, "result": f"{name}!", "start": at, "end": at}


RUN = {
    "run_id": "a" * 32, "query": "Pay A1.", "agent": "till",
    "calls": [call("pay", 1e9), call("log", 1e9 + 60)],
    "tools": ["look_up", "pay", "log"],
}  # fmt: skip


def made(solver: SolverProcess, record: dict[str, Any] = RUN, **more: Any) -> RecordedCase:
    return recorded_case(run_from_json(record), [SHOP], solver, **more)[0]


def result(case: RecordedCase, log: ToolLog, agent: str = "mine", **more: Any) -> Result:
    """A run that no collector saw."""
    said = [json.loads(json.dumps(one)) for one in log.to_json()]
    values = {"status": "ok", "error": None, "answer": "", "iterations": 0, "wall_seconds": 0.1}
    trial = trial_of(case, agent, "m")
    return Result(
        trial.key, agent, "m", None, "b" * 32, **{**values, **more}, run=None, tool_log=tuple(said),
    )  # fmt: skip


def log_of(case: RecordedCase, *calls: str) -> ToolLog:
    log = ToolLog()
    tools = {tool.name: tool for tool in recorded_tools(case, log)}
    for name in calls:
        try:
            tools[name]()
        except ToolFailed:
            continue
    return log


def test_a_case_has_the_rules_that_are_for_its_run_and_what_they_say(solver: SolverProcess) -> None:
    case = made(solver)
    assert case.found.policies == {"shop/first": "violated", "shop/quick": "violated"}
    assert case.found.outcome == "fail"
    assert "other" not in case.rules[0].text
    assert case.rules[0].version == 3
    again = recorded_case_from_json(json.loads(json.dumps(case.to_json())))
    assert again.to_json() == case.to_json()


def test_a_rule_that_says_another_thing_of_the_whole_conversation_is_left_out(solver: SolverProcess) -> None:
    seen = {"shop/first": "ok", "shop/quick": "violated"}
    case, left_out = recorded_case(run_from_json(RUN), [SHOP], solver, judged=seen)
    assert left_out == {"shop/first": "it is ok in its conversation and violated in the run alone"}
    assert case.found.policies == {"shop/quick": "violated"}
    assert "first" not in case.rules[0].text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"query": None}, "its request is not known", id="no request"),
        pytest.param({"calls": []}, "it has no call of a tool", id="no call"),
    ],
)
def test_runs_that_make_no_case(solver: SolverProcess, change: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        made(solver, {**RUN, **change})


def test_the_mistake_made_again_fails_and_without_it_the_case_passes(solver: SolverProcess) -> None:
    case = made(solver)
    bad = judged(case, result(case, log_of(case, "pay")), solver)
    assert (bad.outcome, list(bad.violated)) == ("fail", ["shop/first", "shop/quick"])
    good = judged(case, result(case, log_of(case, "look_up")), solver)
    assert (good.outcome, good.ways["miss"]) == ("pass", 1)
    assert good.differences() == {
        "shop/first": ("violated", "not_applicable"), "shop/quick": ("violated", "not_applicable"),
    }  # fmt: skip


def test_how_long_a_replay_took_decides_nothing(solver: SolverProcess) -> None:
    case = made(solver)
    now = judged(case, result(case, log_of(case, "pay", "log")), solver)
    assert now.policies["shop/quick"].verdict == "undecided"
    assert now.policies["shop/quick"].explanation == HASTE
    assert list(now.unproven) == ["shop/quick"]
    assert now.policies["shop/first"].verdict == "violated"


def test_what_the_judge_gave_up_on_is_not_put_down_to_haste(solver: SolverProcess) -> None:
    run = run_from_json({**RUN, "calls": [call("look_up", 1e9), call("pay", 1e9 + 1)]})
    given_up = PolicyResult(run.id, "first", "undecided", explanation="Gave up after 10 s.")
    found = dict(_whenever({"shop/first": given_up}, run, [SHOP], solver, Rules()))
    assert found["shop/first"].explanation == "Gave up after 10 s."


def test_an_agent_that_does_nothing_or_crashes_passes_nothing(solver: SolverProcess) -> None:
    case = made(solver)
    idle = judged(case, result(case, ToolLog()), solver)
    assert (idle.outcome, idle.idle) == ("undecided", True)
    crashed = judged(case, result(case, log_of(case, "look_up"), status="crash", error="KeyError"), solver)
    assert crashed.outcome == "fail"


def test_a_result_reads_back_with_what_was_heard(solver: SolverProcess) -> None:
    case = made(solver)
    one = result(case, log_of(case, "pay"), heard=({"role": "user", "content": "Yes", "before_call": 1},))
    assert result_from_json(json.loads(json.dumps(one.to_json()))) == one


def test_the_recorded_agent_has_every_verdict_again(solver: SolverProcess, tmp_path: Path) -> None:
    """All that a case keeps and its tools answer is enough to judge real runs as they were judged."""
    airline = RuleFile("airline", (HERE / "tau_airline.yaml").read_text())
    seen: set[str] = set()
    for number, run in enumerate(read_runs(HERE / "tau_airline" / "runs.jsonl")):
        if number % 3 or not run.calls:
            continue
        case = recorded_case_from_json(recorded_case(run, [airline], solver)[0].to_json())
        log = ToolLog()
        user = User(case, log, tmp_path / run.id)
        play(case, recorded_tools(case, log), user)
        heard = lines(tmp_path / run.id)
        again = judged(case, result(case, log, RECORDED, heard=heard), solver)
        assert again.differences() == {}
        assert again.ways == {"exact": len(run.calls)}
        seen |= set(case.found.policies.values())
    assert seen >= {"ok", "violated", "not_applicable"}


def lines(path: Path) -> Sequence[Any]:
    return tuple(map(json.loads, path.read_text().splitlines())) if path.exists() else ()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param("[]", "a recorded case is a JSON object", id="list"),
        pytest.param('{"constraints": []}', "pdoctor test AGENT --cases FILE", id="synthesized"),
        pytest.param('{"run_id": "x", "calls": []}', "pdoctor cases from-run", id="run"),
        pytest.param('{"query": "x", "run": {}}', "field id", id="no id"),
        pytest.param('{"id": "x", "query": "q", "run": {}, "extra": 1}', "unknown field", id="strange"),
        pytest.param('{"id": "x", "query": "q", "run": {}}', "field run.run_id", id="no run"),
        pytest.param(
            '{"id": "x", "query": "q", "run": {"run_id": "r", "calls": []}, "tools": [1]}', "tools", id="tool"
        ),
        pytest.param(
            '{"id": "x", "query": "q", "run": {"run_id": "r", "calls": []}, "tools": [], "rules": [{}]}',
            "rules", id="rules",
        ),
        pytest.param("", "no case stands in it", id="empty"),
    ],
)  # fmt: skip
def test_what_is_no_recorded_case_is_named(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "cases.jsonl").write_text(f"{line}\n")
    with pytest.raises(BadInput, match=r"cases\.jsonl") as bad:
        read_recorded(tmp_path / "cases.jsonl")
    assert message in str(bad.value)


def test_two_cases_of_one_id_are_refused(solver: SolverProcess, tmp_path: Path) -> None:
    line = json.dumps(made(solver).to_json())
    (tmp_path / "cases.jsonl").write_text(f"{line}\n{line}\n")
    with pytest.raises(BadInput, match="already used in line 1"):
        read_recorded(tmp_path / "cases.jsonl")
