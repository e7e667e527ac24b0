"""Other vendors' layers over and under ours, undone in any order; either suppress key; hosts that fail."""

from __future__ import annotations

import importlib
import itertools
import sys
from collections.abc import Callable, Iterator
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest
import wrapt
from opentelemetry import context, trace
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

import pdoctor_trace
from pdoctor_trace.adapter import Target
from pdoctor_trace.calls import Call
from pdoctor_trace.harmless import FAILURES
from pdoctor_trace.patching import Row, patch
from pdoctor_trace.wrappers import around
from tests.support.sink import OtlpSink


@pdoctor_trace.tool
def work(number: int = 1) -> int:
    return number


# -- suppression

KEYS = ["suppress_instrumentation", context._SUPPRESS_INSTRUMENTATION_KEY]


@pytest.mark.parametrize("key", KEYS, ids=["plain", "generated"])
def test_either_key_silences_us_inside_and_only_there(sink: OtlpSink, key: str) -> None:
    def silent() -> None:
        context.attach(context.set_value(key, True))
        assert work(2) == 2
        with pdoctor_trace.run(query="silent"):
            assert work(3) == 3

    with pdoctor_trace.run(query="q"):
        work(1)
        copy_context().run(silent)
        work(4)
    pdoctor_trace.flush()
    assert [call.result for call in sink.calls] == [1, 4]
    assert [run["pdoctor.run.calls"] for run in sink.runs] == [2]


@pytest.mark.parametrize("value", [False, None, 0])
def test_a_key_that_is_off_silences_nobody(sink: OtlpSink, value: Any) -> None:
    def not_silent() -> None:
        context.attach(context.set_value(KEYS[0], value))
        work()

    copy_context().run(not_silent)
    pdoctor_trace.flush()
    assert len(sink.calls) == 1


def test_an_api_without_the_generated_key_has_the_plain_one(
    sink: OtlpSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Older and newer releases of the API need not have a private name."""
    monkeypatch.delattr(context, "_SUPPRESS_INSTRUMENTATION_KEY")

    def silent() -> None:
        context.attach(context.set_value(KEYS[0], True))
        work(2)

    work(1)
    copy_context().run(silent)
    pdoctor_trace.flush()
    assert [call.result for call in sink.calls] == [1]


# -- layers


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    name = f"pd_layers_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text("class Agent:\n    def call(self, x):\n        return x + 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module(name)
    sys.modules.pop(name, None)


def put_ours(module: Any) -> None:
    def enter(instance: Any, args: Any, kwargs: Any) -> Call:
        return Call("test", "call", b"{}")

    patch(Row("test", Target(module.__name__, "Agent.call", around(enter))), module)


class Vendor:
    """Wraps as vendors do, and undoes it by putting back what it found, or what it wraps."""

    def __init__(self, module: Any, seen: list[str], way: str) -> None:
        self.cls, self.seen, self.way = module.Agent, seen, way

    def put(self) -> None:
        self.saved = self.cls.call

        def wrapper(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
            self.seen.append("theirs")
            return wrapped(*args, **kwargs)

        if self.way == "saved function":
            saved = self.saved
            self.cls.call = lambda instance, *args: (self.seen.append("theirs"), saved(instance, *args))[1]
        else:
            wrapt.wrap_function_wrapper(self.cls, "call", wrapper)

    def undo(self) -> None:
        self.cls.call = self.saved if self.way == "saved function" else self.cls.call.__wrapped__


@pytest.mark.parametrize("way", ["saved function", "unwrap"])
@pytest.mark.parametrize(
    ("first", "undone"), list(itertools.product(["ours", "theirs"], ["ours, theirs", "theirs, ours"]))
)
def test_each_layer_ends_when_it_is_undone_and_the_call_is_made_once(
    sink: OtlpSink, agent: Any, way: str, first: str, undone: str
) -> None:
    seen: list[str] = []
    vendor = Vendor(agent, seen, way)
    steps: list[Callable[[], None]] = [lambda: put_ours(agent), vendor.put]
    for step in steps if first == "ours" else steps[::-1]:
        step()
    assert agent.Agent().call(1) == 2
    assert seen == ["theirs"]
    for who in undone.split(", "):
        if who == "ours":
            pdoctor_trace.uninstall()
        elif first == "ours":  # theirs is outermost: undoing it leaves ours as it was
            vendor.undo()
        assert agent.Agent().call(1) == 2
    pdoctor_trace.flush()
    assert len(sink.calls) == 1 + (undone == "theirs, ours")
    assert seen == ["theirs"] * (1 + ((first, undone) != ("ours", "theirs, ours")) + (first == "theirs"))


def test_installing_again_and_again_adds_no_layer(sink: OtlpSink) -> None:
    for _ in range(5):
        pdoctor_trace.install()
        importlib.reload(pdoctor_trace)
    work(1)
    pdoctor_trace.uninstall()
    work(2)
    pdoctor_trace.install()
    work(3)
    pdoctor_trace.flush()
    assert [call.result for call in sorted(sink.calls, key=lambda call: call.start)] == [1, 3]


# -- a host's provider that fails


class Failing(SpanProcessor):
    def __init__(self, where: str) -> None:
        self.where = where

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        if self.where == "start":
            raise RuntimeError("host's processor")

    def on_end(self, span: Any) -> None:
        if self.where == "end":
            raise RuntimeError("host's processor")


@pytest.mark.parametrize("where", ["start", "end"])
def test_a_processor_of_the_host_that_fails_costs_its_span_not_our_record(
    sink: OtlpSink, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    provider = TracerProvider()
    provider.add_span_processor(Failing(where))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    with pdoctor_trace.run(query="q"):
        assert work(5) == 5
    pdoctor_trace.flush()
    assert (len(sink.runs), [call.result for call in sink.calls]) == (1, [5])
    assert sink.calls[0].parent_id == sink.runs[0].span_id
    FAILURES.clear()


@pytest.mark.parametrize("provider", [object(), trace.NoOpTracerProvider()], ids=["nothing", "no spans"])
def test_a_provider_that_makes_no_spans_costs_nothing(
    sink: OtlpSink, monkeypatch: pytest.MonkeyPatch, provider: Any
) -> None:
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    with pdoctor_trace.run(query="q"):
        assert work(5) == 5
    pdoctor_trace.flush()
    assert (len(sink.runs), [call.result for call in sink.calls]) == (1, [5])
    assert sink.calls[0].parent_id == sink.runs[0].span_id != sink.calls[0].span_id
    assert int(sink.calls[0].trace_id, 16)
    FAILURES.clear()


def test_below_a_span_of_a_provider_that_makes_none_calls_have_ids_of_their_own(
    sink: OtlpSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a service that only hands on the trace of its caller."""
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", trace.NoOpTracerProvider())
    caller = trace.NonRecordingSpan(trace.SpanContext(7, 8, is_remote=True))

    def serve() -> None:
        context.attach(trace.set_span_in_context(caller))
        work(1)
        work(2)

    copy_context().run(serve)
    pdoctor_trace.flush()
    assert {call.parent_id for call in sink.calls} == {f"{8:016x}"}
    assert len({call.span_id for call in sink.calls} - {f"{8:016x}"}) == 2


def test_a_provider_that_was_shut_down_keeps_the_records_going(
    sink: OtlpSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = TracerProvider()
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    provider.shutdown()
    work(6)
    pdoctor_trace.flush()
    assert [call.result for call in sink.calls] == [6]
