"""From calls to instants: task time from arguments and results, wall time from clock readings."""

from __future__ import annotations

import pytest

from synth.formal.constraints import Bounded, Fixed
from synth.formal.model import Step
from synth.observed.clocks import TIE
from synth.observed.instants import (
    NEVER,
    declared_start,
    instants,
    observed_order,
    reported_duration,
    schedule_of,
)
from tests.support.building import call, ns, task


@pytest.mark.parametrize(
    ("value", "minutes"),
    [
        ("09:30", 570),
        ("9:30", 570),
        (" 09:30:00 ", 570),
        ("9:30 am", 570),
        ("12:15 AM", 15),
        ("12:15pm", 735),
        ("24:00", 1440),
        ("00:00", 0),
        (570, 570),
        (570.0, 570),
        ("570", 570),
        (-5, -5),
        ("24:01", None),
        ("13:00 pm", None),
        ("9:60", None),
        ("noon", None),
        ("", None),
        (True, None),
        (float("nan"), None),
        (float("inf"), None),
        ([570], None),
        (10**12, None),
    ],
)
def test_declared_starts(value: object, minutes: int | None) -> None:
    found = declared_start(task("a", value))
    assert found == minutes if minutes is not None else isinstance(found, str)


def test_a_missing_start_says_so() -> None:
    assert declared_start(call("a", arguments="{")) == "the argument start_time is missing"
    assert declared_start(task("a", None)) == "the argument start_time is missing"


@pytest.mark.parametrize(
    ("result", "minutes"),
    [
        ("Success: it took 120 minutes.", 120),
        ("It took 2 hours.", 120),
        ("It took 2 hours and 30 minutes.", 150),
        ("took 1 hour 5 min", 65),
        ("took 90.5 minutes", 91),
        ("took 0 minutes", 0),
        ({"duration_minutes": 45}, 45),
        ({"duration_minutes": 45.2}, 46),
        ('{"duration_minutes": 45}', 45),
        ({"content": "took 15 minutes"}, 15),
        ([{"type": "text", "text": "took 15 minutes"}], 15),
        ({"duration_minutes": -1}, None),
        ({"duration_minutes": "45"}, None),
        ("done", None),
        (None, None),
        (45, None),
    ],
)
def test_reported_durations(result: object, minutes: int | None) -> None:
    assert reported_duration(call("a", result=result)) == minutes


def test_the_observed_order_is_by_start_then_by_place() -> None:
    assert observed_order([call("a", 2), call("b", 1), call("c", 1)]) == [1, 2, 0]
    assert observed_order([call("a", 2), call("b"), call("c", 1)]) == [0, 1, 2]


def test_the_kth_call_is_the_step_from_k_to_k_plus_one() -> None:
    schedule = schedule_of({"a": 1, "b": 0}, [call("b"), call("a")])
    assert schedule.unit == "calls"
    assert schedule.steps == (Step("b", 0, 1, 0), Step("a", 1, 2, 1))


def test_where_overlap_counts_steps_are_on_the_wall_clock() -> None:
    calls = [call("a", 1, 3), call("b", 2, 4)]
    schedule = schedule_of({"a": 0, "b": 1}, calls, overlap_counts=True)
    assert schedule.unit == "ns"
    assert schedule.steps == (Step("a", ns(1), ns(3), 0), Step("b", ns(2), ns(4), 1))


def test_a_call_that_never_finished_ends_never() -> None:
    times = instants([call("a*", 1), call("b", 2, 3)])
    assert isinstance(times, Fixed)
    assert times.end(0) // times.scale == NEVER


def test_other_clocks_are_known_within_their_skew() -> None:
    calls = [call("a", 1, 2), call("b", 3, 4, extra={"clock": "other"})]
    assert isinstance(instants(calls), Fixed)
    times = instants(calls, skew_ns=ns(0.5))
    assert isinstance(times, Bounded)
    lo, hi = times.start(1).lo // times.scale, times.start(1).hi // times.scale
    assert (lo, hi) == (ns(2.5) - TIE, ns(3.5) + TIE)
    assert times.start(0).lo == times.start(0).hi
