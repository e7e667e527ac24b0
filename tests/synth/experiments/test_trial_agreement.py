from __future__ import annotations

from typing import Any

import pytest

from synth.cases.case import case_from_json
from synth.experiments.agreement import calls_agree, decided_by_log
from synth.judge import judge
from synth.observed.run import Run, ToolCall
from tests.support.traces import case_json

CASE = case_from_json(case_json("case-1", "a < b"))


def call(name: str, executed: bool = True, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments, "executed": executed}


def run(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"calls": list(calls)}


def test_calls_agree_when_each_arrived_exactly_once() -> None:
    log = [call("a"), call("b", start_time="09:00"), call("a")]
    assert calls_agree(run(*log), log) == []
    assert calls_agree(run(), []) == []


def test_a_call_that_was_never_executed_needs_no_entry_in_the_log() -> None:
    assert calls_agree(run(call("invented", executed=False), call("a")), [call("a")]) == []


def test_a_call_that_failed_may_be_in_the_log_or_not() -> None:
    failed = {**call("a"), "error": "refused"}
    assert calls_agree(run(failed, call("a"), call("b")), [call("a"), call("b")]) == []
    assert calls_agree(run(failed, call("a")), [call("a"), call("a")]) == []
    assert calls_agree(run(failed), [call("b")]) == ["not traced: b({})"]


@pytest.mark.parametrize(
    ("traced", "logged", "said"),
    [
        ([call("a")], [call("a"), call("b")], ["not traced: b({})"]),
        ([call("a"), call("a")], [call("a")], ["traced without execution: a({})"]),
        (
            [call("a", x=1)],
            [call("a", x=2)],
            ['not traced: a({"x": 2})', 'traced without execution: a({"x": 1})'],
        ),
    ],
)
def test_whatever_was_lost_doubled_or_changed_is_named(traced: Any, logged: Any, said: list[str]) -> None:
    assert calls_agree(run(*traced), logged) == said


def test_calls_of_one_message_may_run_in_any_order() -> None:
    traced = run({**call("a"), "step": 0}, {**call("b"), "step": 0}, {**call("c"), "step": 1})
    assert calls_agree(traced, [call("b"), call("a"), call("c")]) == []
    assert calls_agree(traced, [call("b"), call("c"), call("a")]) != []


def test_another_order_is_a_difference_too() -> None:
    (said,) = calls_agree(run(call("a"), call("b")), [call("b"), call("a")])
    assert said.startswith("the order differs")


# ---------------------------------------------------------------- calls that may have run


def judged(*calls: ToolCall) -> dict[str, Any]:
    seen = Run("r", calls, case_id="case-1", tools=("do_a", "do_b"))
    verdict = judge(CASE, seen)
    record = seen.to_json()
    return {
        "calls": record["calls"],
        "record": record,
        "verdict": verdict.to_json(),
        "outcome": verdict.outcome,
    }


def logged(tool: str, at: int) -> dict[str, Any]:
    return {"name": tool, "arguments": {}, "result": "done", "start": at, "end": at + 1}


def called(tool: str, at: int, executed: bool | None = True) -> ToolCall:
    return ToolCall(None, tool, {}, start=(at, at), end=(at, at), executed=executed)


def test_the_log_decides_whether_a_call_ran_that_was_never_heard_of_again() -> None:
    run = judged(called("do_a", 10), called("do_b", 20, executed=None))
    assert run["outcome"] == "undecided"
    found = {
        name: decided_by_log(run, CASE, log)["outcome"]
        for name, log in (
            ("ran", [logged("do_a", 10), logged("do_b", 30)]),
            ("never", [logged("do_a", 10)]),
        )
    }
    assert found == {"ran": "pass", "never": "fail"}
    assert calls_agree(run, [logged("do_a", 10), logged("do_b", 30)]) == []
    assert calls_agree(run, [logged("do_a", 10)]) == []


def test_an_entry_of_a_call_that_was_seen_to_run_is_no_other_call() -> None:
    run = judged(called("do_a", 10), called("do_b", 20), called("do_b", 30, executed=None))
    log = [logged("do_a", 10), logged("do_b", 20)]
    assert (run["outcome"], decided_by_log(run, CASE, log)["outcome"]) == ("undecided", "pass")
    twice = decided_by_log(run, CASE, [*log, logged("do_b", 40)])
    assert (twice["outcome"], twice["error_type"]) == ("fail", "order_error")


def test_what_the_collector_has_decided_stays() -> None:
    run = judged(called("do_b", 10), called("do_a", 20))
    assert decided_by_log(run, CASE, []) is run
