"""Numbers about a run: worked examples, ranges, and what the API shows."""

from __future__ import annotations

from typing import Any

from click.testing import CliRunner
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from collector.cli.runs import command
from collector.metrics import METRICS, Observed, measured
from collector.metrics.plans import METRICS as PLAN_METRICS
from collector.metrics.times import covered
from collector.model import ModelCall, Run, ToolCall
from tests.support.traces import MS, T0, Client, agent_request, agent_spans, new_id, request

PLANS = [metric.name for metric in PLAN_METRICS]
"""Known where the case states a gold plan."""


def call(tool: str, start: int | None = None, end: int | None = None, **more: Any) -> ToolCall:
    def at(ms: int | None) -> tuple[int, int] | None:
        return None if ms is None else (T0 + ms * MS, T0 + ms * MS)

    return ToolCall(None, tool, start=at(start), end=at(end), **more)


def test_a_worked_example() -> None:
    calls = (
        call("search", 0, 20, arguments={"q": "x", "n": 1}, step=0),
        call("search", 10, 30, arguments={"n": 1, "q": "x"}, step=0),
        call("book", 60, 70, arguments={}, error="no room", step=1),
        call("rent", 80, 90, error="slow", step=2),
        call("fly", 95, 95, executed=False, step=2, error="unknown"),
    )
    run = Run("r", calls, tools=("search", "book", "rent"))
    models = (ModelCall(T0, T0, 10, 3), ModelCall(T0, T0, 7, None))
    kinds = {2: "tool_raised", 3: "timeout", 4: "unknown_tool"}
    assert measured(Observed(run, models, kinds, T0, T0 + 100 * MS)) == {
        "calls": 5, "executed_calls": 4, "tools": 4, "failed_calls": 3,
        "errors": {"tool_raised": 1, "timeout": 1, "unknown_tool": 1}, "unknown_tools": 1,
        "repeated_calls": 1, "repeated_share": 0.2, "progress_rate": None, "repetition_rate": 0.25,
        **dict.fromkeys(PLANS),
        "turns": 3, "parallel_turns": 2,
        "duration_ms": 100.0, "tool_time_share": 0.5,
        "model_calls": 2, "input_tokens": 17, "output_tokens": 3,
    }  # fmt: skip


def test_what_is_not_known_is_null_and_never_zero() -> None:
    found = measured(Observed(Run("r", (call("search"),))))
    unknown = {name for name, value in found.items() if value is None}
    assert unknown == {
        "unknown_tools", "progress_rate", "turns", "parallel_turns", "duration_ms", "tool_time_share",
        "model_calls", "input_tokens", "output_tokens", *PLANS,
    }  # fmt: skip


def test_bounded_times_give_no_share_of_time() -> None:
    bounded = ToolCall("c", "search", start=(T0, T0 + 9), end=(T0, T0 + 9))
    assert measured(Observed(Run("r", (bounded,)), (), {}, T0, T0 + 9))["tool_time_share"] is None


times = st.one_of(st.none(), st.integers(0, 50))
calls_ = st.builds(
    call, st.sampled_from("abc"), times, times, arguments=st.sampled_from([None, {}, {"x": 1}, "raw", [1]]),
    error=st.sampled_from([None, "boom"]), executed=st.booleans(),
    step=st.one_of(st.none(), st.integers(0, 3)),
)  # fmt: skip


@given(st.lists(calls_, max_size=8), st.one_of(st.none(), st.just(("a",))))
@hypothesis_settings(max_examples=150, deadline=None)
def test_every_metric_stays_in_its_range(calls: list[ToolCall], tools: tuple[str, ...] | None) -> None:
    found = measured(Observed(Run("r", tuple(calls), tools=tools)))
    for metric in METRICS:
        value = found[metric.name]
        for number in value.values() if isinstance(value, dict) else [value]:
            assert number is None or 0 <= number <= (metric.highest or float("inf")), metric.name


def test_overlapping_calls_count_their_time_once() -> None:
    assert covered([(0, 10), (5, 12), (6, 7), (20, 21)]) == 13


def test_the_api_shows_the_metrics_of_a_run_that_nothing_judges(shared: Client) -> None:
    run = new_id()
    calls = [
        {"name": "search", "arguments": {"q": 1}},
        {"name": "search", "arguments": {"q": 1}},
        {"name": "book", "error": "no room", "at": {"pdoctor.error.kind": "tool_raised"}},
    ]
    spans = agent_spans(run, calls, tools=["search"])
    used = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 2}
    chat = {"trace": run, "id": 90, "parent": 1, "at": {**used, "pdoctor.run.id": run}}
    shared.send(request(*spans, chat).SerializeToString())
    found = shared.judged(run)
    assert found["outcome"] is None
    shown = ("calls", "errors", "repeated_calls", "unknown_tools")
    assert {name: found["metrics"][name] for name in shown} == {
        "calls": 3, "errors": {"tool_raised": 1}, "repeated_calls": 1, "unknown_tools": 1,
    }  # fmt: skip
    assert [found["metrics"][name] for name in ("model_calls", "input_tokens", "output_tokens")] == [1, 5, 2]
    assert found["metrics"]["duration_ms"] == 41.0
    assert set(found["metrics"]) == {metric.name for metric in METRICS}


def test_runs_show_prints_the_metrics(shared: Client) -> None:
    run = new_id()
    shared.send(agent_request(run, ["search", {"name": "book", "error": "no room"}]))
    shared.judged(run)
    said = CliRunner().invoke(command, ["show", run, "--collector", shared.url]).output
    assert "metrics: calls 2, executed_calls 2, tools 2, failed_calls 1, errors (error 1)" in said
    assert "duration_ms 31" in said


def test_every_metric_says_what_it_is() -> None:
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    assert all(len(metric.about) > 10 for metric in METRICS)
