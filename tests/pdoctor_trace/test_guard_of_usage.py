"""A guard whose rules limit what models use counts the replies of the run, as the verdict does afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import pdoctor_trace
from collector.otlp.segments import from_protobuf
from collector.otlp.spans import spans_of
from collector.rebuild import rebuild
from collector.settings import Limits
from pdoctor_trace.asking import DOOR
from synth.policies import Rules, judge_policies, load_policies
from tests.pdoctor_trace.test_chats import COUNTED, MODEL, loop
from tests.support.models import FakeModels
from tests.support.sink import OtlpSink

PRICES = f"prices: {{currency: EUR, {MODEL}: {{input: 1, output: 3}}}}\n"


@pytest.fixture(autouse=True)
def _no_guard_stays() -> Iterator[None]:
    yield
    pdoctor_trace.install(chat_spans=True)
    DOOR.guards = ()


def add(a: int, b: int) -> int:
    return a + b


def after_two_replies(models: FakeModels, limits: str, **options: Any) -> tuple[Any, Any]:
    """What came of a call after two replies of five tokens given and five written, and the guard."""
    tool = pdoctor_trace.tool(add)
    with pdoctor_trace.guard(f"limits: {limits}\n{PRICES}", mode="feedback") as guard, pdoctor_trace.run():
        loop(models, **options)
        return tool(40, 2), guard


@pytest.mark.parametrize(
    ("limits", "runs"),
    [
        ("{tokens: 20}", True),
        ("{tokens: 19}", False),
        ("{cost: 0.00004}", True),
        ("{cost: 0.000039}", False),
        ("{minutes: 1}", True),
    ],
)
@pytest.mark.parametrize("options", [{}, COUNTED], ids=["whole", "stream"])
def test_a_call_beyond_the_limit_does_not_run_and_the_verdict_agrees(
    models: FakeModels, sink: OtlpSink, limits: str, runs: bool, options: dict[str, Any]
) -> None:
    result, guard = after_two_replies(models, limits, **options)
    assert (result == 42) is runs, result
    assert dict(guard.counts) == ({} if runs else {"feedback": 1})
    pdoctor_trace.flush()
    segments = from_protobuf(b"".join(sink.bodies), Limits()).segments
    run = rebuild("r", list(spans_of([segment.payload for segment in segments]))).run
    (verdict,) = judge_policies(load_policies(f"limits: {limits}\n{PRICES}"), run, rules=Rules(z3="off"))
    assert verdict.verdict == "ok", verdict  # what was refused did not run
    assert [(one["input_tokens"], one["output_tokens"]) for one in run.extra["usage"]] == [(5, 5)] * 2


@pytest.mark.parametrize("options", [{"stream": True}, None], ids=["not told", "no spans"])
def test_usage_that_nobody_told_refuses_nothing_and_is_told(
    models: FakeModels, sink: OtlpSink, options: dict[str, Any] | None
) -> None:
    if options is None:
        pdoctor_trace.install(chat_spans=False)
    result, guard = after_two_replies(models, "{tokens: 1, on_break: block}", **(options or {}))
    assert (result, dict(guard.counts)) == (42, {"doubt": 1})
    pdoctor_trace.flush()
    told = [call.attributes.get("pdoctor.guard.decision") for call in sink.calls]
    assert told.count("doubt") == 1


def test_a_reply_of_another_run_does_not_count(models: FakeModels, sink: OtlpSink) -> None:
    tool = pdoctor_trace.tool(add)
    with pdoctor_trace.guard("limits: {tokens: 19}\n", mode="feedback"):
        with pdoctor_trace.run():
            loop(models)
        with pdoctor_trace.run():
            assert tool(1, 2) == 3


def test_the_verdict_blames_what_a_guard_that_observes_let_run(models: FakeModels, sink: OtlpSink) -> None:
    rules = "limits: {tokens: 19}\n"
    tool = pdoctor_trace.tool(add)
    with pdoctor_trace.guard(rules, mode="observe") as guard, pdoctor_trace.run():
        loop(models)
        assert tool(40, 2) == 42
    assert dict(guard.counts) == {"observe": 1}
    pdoctor_trace.flush()
    segments = from_protobuf(b"".join(sink.bodies), Limits()).segments
    run = rebuild("r", list(spans_of([segment.payload for segment in segments]))).run
    (verdict,) = judge_policies(load_policies(rules), run, rules=Rules(z3="off"))
    assert (verdict.verdict, [run.calls[i].arguments for i in verdict.violations]) == (
        "violated", [{"a": 40, "b": 2}],
    )  # fmt: skip
