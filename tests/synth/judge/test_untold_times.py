"""Calls of which no clock tells when they were made: whatever depends on their place is open."""

from __future__ import annotations

from dataclasses import replace

from synth.judge import judge
from synth.observed.clocks import ANY_TIME
from synth.observed.run import ToolCall
from tests.support.building import call, case, run, task
from tests.support.policing import judged, policy

ORDER = case("a<b", extra="c")
DAY = case("a<b", durations={"a": 60, "b": 60})


def untold(made: ToolCall) -> ToolCall:
    return replace(made, start=ANY_TIME, end=ANY_TIME)


def test_the_order_of_a_call_without_a_time_is_open() -> None:
    for one, other in (("a", "b"), ("b", "a")):
        calls = [untold(call(one)), call(other, 5, 6), call("c", 7, 8)]
        found = judge(ORDER, run(calls))
        assert (found.outcome, {finding.code for finding in found.findings}) == ("undecided", {"undecided"})
    told = [call("a", 1, 2), call("b", 5, 6), untold(call("c"))]
    assert judge(ORDER, run(told)).outcome == "pass"
    wrong = [call("b", 1, 2), call("a", 5, 6), untold(call("c"))]
    assert judge(ORDER, run(wrong)).outcome == "fail"


def test_in_timed_mode_it_may_have_begun_a_plan() -> None:
    first, then = task("a", "09:00"), task("b", "08:00")
    times = [replace(one, start=(i, i), end=(i, i)) for i, one in enumerate((first, then))]
    assert judge(DAY, run(times)).outcome == "fail"
    found = judge(DAY, run([untold(first), times[1]]))
    assert (found.outcome, {finding.code for finding in found.findings}) == ("undecided", {"start_unknown"})
    alone = case("a>=540", durations={"a": 60})
    assert judge(alone, run([untold(first)])).outcome == "pass", "no other call may stand before it"


def test_what_the_user_said_last_before_it_is_open() -> None:
    check = policy("guard: {calls: A, check: \"user == 'yes'\"}")
    said = [{"role": "user", "content": text, "before_call": 0} for text in ("no", "yes")]
    assert judged(check, [call("a", 1, 2)], extra={"messages": said}).verdict == "ok"
    assert judged(check, [untold(call("a"))], extra={"messages": said}).verdict == "undecided"
    assert judged(check, [untold(call("a"))], extra={"messages": said[1:]}).verdict == "ok"
