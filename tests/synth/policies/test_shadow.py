"""What a guard would have refused in recorded runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from synth.observed.run import Run, ToolCall, read_runs
from synth.policies import Rules, judge_policies, load_policies
from synth.policies.shadow import Shadow

OFF = Rules(z3="off", repair=False)
AIRLINE = Path(__file__).parents[2] / "real_data"
HEAD = "actions: {look: look, verify: verify, refund: refund, 'close': close_order}\npolicies:\n"
SECOND = 10**9


def shadow(text: str, *runs: Run, mode: str = "block") -> dict[str, Any]:
    policies = load_policies(HEAD + text)
    found = Shadow(policies, mode)
    for run in runs:
        found.add(run, judge_policies(policies, run, rules=OFF), "pass")
    return found.to_json()


def run(*tools: str, **fields: Any) -> Run:
    return Run("r", tuple(ToolCall(None, tool, {}) for tool in tools), **fields)


def counts(told: dict[str, Any], policy: str) -> list[int]:
    return [told["policies"][policy][name] for name in ("calls", "right", "follows", "wrong")]


FIRST = "  - {id: FIRST, rule: Verify must happen before refund.}\n"
THEN = "  - {id: THEN, rule: Refund must happen before close.}\n"


def test_what_is_refused_does_not_run_and_what_follows_from_that_is_told_apart() -> None:
    told = shadow(FIRST + THEN, run("refund", "close_order"), run("verify", "refund", "close_order"))
    assert counts(told, "FIRST") == [1, 1, 0, 0]
    assert counts(told, "THEN") == [1, 0, 1, 0]
    assert (told["calls"], told["refused"], told["runs"], told["outcomes"]) == (5, 2, 1, {"pass": 1})
    example = told["policies"]["FIRST"]["example"]
    assert (example["run_id"], example["call"], example["tool"]) == ("r", 0, "refund")


def test_rules_that_only_observe_refuse_nothing() -> None:
    mild = FIRST.replace("refund.}", "refund., on_break: warn}")
    assert shadow(mild + THEN, run("refund", "close_order"))["refused"] == 0
    assert shadow(FIRST, run("refund"), mode="observe")["refused"] == 0


def test_rules_about_times_are_not_asked_of_runs_without_times() -> None:
    text = "  - {id: NIGHT, rule: 'Refund must start between 00:00 and 00:01.'}\n"
    assert shadow(text, run("refund"))["refused"] == 0


def test_a_call_that_still_ran_is_no_predecessor() -> None:
    def at(tool: str, start: int, end: int) -> ToolCall:
        start, end = start * SECOND, end * SECOND
        return ToolCall(None, tool, {}, start=(start, start), end=(end, end))

    for end, right in ((5, 1), (2, 0)):
        told = shadow(FIRST, Run("r", (at("verify", 1, end), at("refund", 3, 4))))
        assert counts(told, "FIRST") == [right, right, 0, 0]


def test_on_recorded_runs_of_a_model_nothing_is_refused_that_no_verdict_blames() -> None:
    policies = load_policies(AIRLINE / "tau_airline.yaml")
    found = Shadow(policies, "block")
    runs = list(read_runs(AIRLINE / "tau_airline" / "runs.jsonl"))
    for one in runs:
        found.add(one, judge_policies(policies, one, rules=OFF))
    told = found.to_json()
    assert told["cut"] == 0
    assert told["refused"] > 10
    assert {id_: one["wrong"] for id_, one in told["policies"].items() if one["wrong"]} == {}
