"""Timed cases where a start or a duration was cut, hashed or left out."""

from __future__ import annotations

from typing import Any

import pytest

from synth.judge import judge
from synth.observed.instants import hidden_duration, reported_duration
from synth.observed.run import Run, ToolCall
from tests.support.building import call, case, run, task

DAY = case("a<b", durations={"a": 60, "b": 30}, horizon=(540, 720))
CUT_ARGUMENTS: Any = {"arguments": "cut"}
CUT_RESULT: Any = {"result": "cut"}


def verdict(*calls: ToolCall, **fields: Any) -> tuple[str, set[str]]:
    found = judge(DAY, run(calls, **fields))
    return found.outcome, {finding.code for finding in found.findings}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"start_time": "09… (+3 characters)"}, "cut"),
        ({"…": "+1 more"}, "cut"),
        ('{"start_t', "cut"),
        ({"start_time": "str:5:0123456789abcdef"}, "hashed"),
        (None, "absent"),
    ],
)
def test_a_start_that_is_not_known_is_no_parameter_error(arguments: Any, why: Any) -> None:
    hidden = call("a", arguments=arguments, partly={"arguments": why})
    assert verdict(hidden, task("b", "10:00")) == ("undecided", {"start_hidden"})


def test_what_the_other_calls_prove_stays() -> None:
    hidden = call("a", arguments=None, partly={"arguments": "absent"})
    assert verdict(hidden, task("b", "08:00"))[0] == "fail"
    assert verdict(hidden)[0] == "fail", "b was never called"
    assert verdict(task("b", "10:00"), hidden, call("x"))[0] == "fail"


def test_no_repair_and_no_point_of_no_return_are_built_on_hidden_values() -> None:
    hidden = call("a", arguments=None, partly={"arguments": "absent"})
    found = judge(DAY, run([hidden, task("b", "08:00")]))
    assert (found.outcome, found.dead_at, found.repair) == ("fail", None, None)
    whole = judge(DAY, run([task("a", "09:00"), task("b", "08:00")]))
    assert whole.dead_at is not None


def test_where_another_attempt_may_have_begun_only_what_holds_for_any_is_said() -> None:
    hidden = call("a", arguments=None, partly={"arguments": "absent"})
    again = (task("a", "09:00"), task("b", "08:00"), hidden, task("b", "10:00"))
    assert verdict(*again) == ("undecided", {"start_hidden"})
    lost = (task("a", "09:00"), task("a", "09:00"), hidden)
    assert verdict(*lost)[0] == "fail"


def test_a_duration_that_is_not_known_may_be_any() -> None:
    long_ago = call(
        "a", arguments={"start_time": "09:00"}, partly=CUT_RESULT, result="Success: … (+90 characters)"
    )
    found = judge(DAY, run([long_ago, task("b", "10:00")]))
    assert found.outcome == "undecided"
    assert any("duration of A (call 0) was cut" in finding.explanation for finding in found.findings)
    assert verdict(long_ago, task("b", "08:50"))[0] == "fail", "b starts before a does"


@pytest.mark.parametrize(
    ("result", "minutes"),
    [
        ("Success: a took 120 minutes. And … (+90 characters)", 120),
        ("Success: a took 12… (+11 characters)", None),
        ("Success: a took 2 hours… (+15 characters)", None),
        ("Success: a took 2 hours and 3… (+9 characters)", None),
        ("Success: a took 2 hours, as … (+9 characters)", 120),
        ({"duration_minutes": 45, "…": "+3 more"}, 45),
        ({"text": "a took 120 minutes", "…": "+3 more"}, None),
        ({"text": "a took 120 minutes.", "note": "… (+3 characters)"}, 120),
        (["a took 120 minutes.", "… (+3 more)"], 120),
    ],
)
def test_a_duration_counts_where_what_is_missing_cannot_change_it(result: Any, minutes: int | None) -> None:
    made = call("a", arguments={"start_time": "09:00"}, partly=CUT_RESULT, result=result)
    assert reported_duration(made) == minutes
    assert (hidden_duration(made) is None) is (minutes is not None)


def test_arguments_that_were_cut_are_not_malformed() -> None:
    asked = call("a", arguments='{"start_time": "09', executed=False, partly=CUT_ARGUMENTS)
    assert "tool_error" not in verdict(asked, task("b", "10:00"))[1]
    malformed = call("a", arguments='{"start_time": "09', executed=False)
    assert "tool_error" in verdict(malformed, task("b", "10:00"))[1]


def test_order_does_not_need_values() -> None:
    made = (call(name, arguments=None, partly={"arguments": "absent", "result": "absent"}) for name in "ab")
    assert judge(case("a<b"), Run("run", tuple(made))).outcome == "pass"


def test_what_the_case_says_of_a_duration_is_no_substitute_for_a_report_that_was_cut() -> None:
    hidden = call(
        "a", arguments={"start_time": "09:00"}, partly=CUT_RESULT, result="Success: … (+90 characters)"
    )
    assert verdict(hidden, task("b", "09:30"))[0] == "undecided"
    assert verdict(task("a", "09:00"), task("b", "09:30"))[0] == "fail"
