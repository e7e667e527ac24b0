"""Runs and bounds far beyond what is sensible end in bounded time, with a verdict."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from synth.judge import Rules, judge
from synth.observed.run import Run, ToolCall
from tests.support.building import call, case, ns, run, task
from tests.support.policing import judged, policy, rules_file

pytestmark = pytest.mark.slow


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """CPU time, generous: these guard against growth with the square of the run."""
    began = time.process_time()
    yield
    assert time.process_time() - began < seconds


def test_ten_thousand_calls_in_order_mode() -> None:
    calls = [call("abcz"[i % 4], i, i + 5) for i in range(10_000)]
    for rules in (Rules(wall_limit=1e9), Rules(wall_limit=1e9, strict_parallel=True)):
        with within(5):
            assert judge(case("a<b", "b<c"), run(calls), rules=rules).error_type == "act_error"


def test_ten_thousand_calls_in_timed_mode() -> None:
    day = case("a<b", durations={"a": 30, "b": 30})
    with within(6):
        verdict = judge(day, run([task("ab"[i % 2], 540 + 60 * (i % 9)) for i in range(10_000)]))
    assert verdict.outcome == "fail"
    with within(6):
        again = judge(day, run([task("a", 540) for _ in range(3_000)]))
    assert again.error_type == "action_lost"


@pytest.mark.parametrize(
    "sentence",
    [
        "A must happen before B.",
        "A must be followed by B within 5 seconds.",
        "B must start at least 1 second after A.",
        "A must not overlap B.",
        "A must happen immediately before B.",
        "B must never happen after A.",
    ],
)
def test_ten_thousand_calls_under_one_policy(sentence: str) -> None:
    calls = [call("ab"[i % 2], i, i + 3) for i in range(10_000)]
    with within(5):
        assert judged(rules_file(sentence), calls, Rules(z3="failing")).verdict in ("ok", "violated")


def test_conditions_that_would_look_at_everything_again_and_again() -> None:
    greedy = policy("guard: {calls: A, check: \"earlier('*').all(x, earlier('*').all(y, x.index >= 0))\"}")
    with within(10):
        assert judged(greedy, "a " * 5_000).verdict == "undecided"
    newest = policy("guard: {calls: A, check: \"last('do_b') == null\"}")
    with within(5):
        assert judged(newest, "a " * 5_000).verdict == "ok"


def test_many_calls_with_the_same_wide_bounds_stay_undecided() -> None:
    wide = tuple(ToolCall(None, f"do_{'ab'[i % 2]}", {}, start=(0, ns(9)), end=(0, ns(9))) for i in range(60))
    for sentence in (
        "A must happen before B.",
        "A must not overlap B.",
        "A must happen immediately before B.",
    ):
        with within(10):
            assert judged(rules_file(sentence), Run("run", wide)).verdict == "undecided"


def test_a_hopeless_day_of_sixty_tasks() -> None:
    names = [f"x{i}" for i in range(60)]
    day = case(
        *[f"{name}>={(540, 600, 700)[i % 3]}" for i, name in enumerate(names)],
        durations=dict.fromkeys(names, 10),
        horizon=(540, 1140),
    )
    with within(20):
        verdict = judge(day, run([task(name, 540 + 10 * i, 10) for i, name in enumerate(names[:30])]))
    assert verdict.outcome == "fail"
