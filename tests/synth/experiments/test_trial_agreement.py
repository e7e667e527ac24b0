from __future__ import annotations

from typing import Any

import pytest

from synth.experiments.agreement import calls_agree


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
