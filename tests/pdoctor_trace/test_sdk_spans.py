"""Beside the records: real spans in the host's own TracerProvider, with the same ids."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, Decision, Sampler, SamplingResult

import pdoctor_trace
from pdoctor_trace import semconv
from tests.support.sink import OtlpSink


@pdoctor_trace.tool
def look_up(key: str) -> str:
    """Look something up."""
    with trace.get_tracer("host").start_as_current_span("host work"):
        if key == "bad":
            raise KeyError(key)
        return key.upper()


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """A host with a provider of its own."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    pdoctor_trace.install(sdk_content=True)
    yield exporter
    pdoctor_trace.install(sdk_content=False)
    provider.shutdown()


@pytest.mark.parametrize("kept", [{}, {"content": "shape"}, {"content": "none"}, {"max_value_bytes": 2}])
def test_both_paths_have_the_same_spans(
    sink: OtlpSink, host: InMemorySpanExporter, kept: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    pdoctor_trace.install(endpoint=sink.url, **kept)
    request.addfinalizer(lambda: pdoctor_trace.install(max_value_bytes=65_536))
    with pdoctor_trace.run(query="q", agent="me"):
        look_up("a long key")
        with pytest.raises(KeyError):
            look_up("bad")
    pdoctor_trace.flush()
    theirs = {f"{s.context.span_id:016x}": s for s in host.get_finished_spans() if s.name != "host work"}
    assert set(theirs) == {span.span_id for span in sink.spans}
    for span in sink.spans:
        other = theirs[span.span_id]
        assert (f"{other.context.trace_id:032x}", other.name) == (span.trace_id, span.name)
        assert (other.start_time, other.end_time) == (span.start, span.end)
        assert dict(other.attributes) == span.attributes
        assert (other.status.status_code is trace.StatusCode.ERROR) == span.failed
        assert (f"{other.parent.span_id:016x}" if other.parent else "") == span.parent_id
    told = {"pdoctor.content", "pdoctor.truncated"}
    assert all(bool(told & {*call.attributes}) is bool(kept) for call in sink.calls)


def test_trouble_is_told_on_both_paths(sink: OtlpSink, host: InMemorySpanExporter) -> None:
    with pytest.raises(RuntimeError), pdoctor_trace.run(query="q"):
        raise RuntimeError("no key")
    pdoctor_trace.flush()
    (span,) = host.get_finished_spans()
    assert dict(span.attributes) == sink.runs[0].attributes
    assert span.attributes["pdoctor.run.trouble.message"] == "no key"


def test_the_hosts_spans_are_children_of_ours(sink: OtlpSink, host: InMemorySpanExporter) -> None:
    with pdoctor_trace.run():
        look_up("a")
    pdoctor_trace.flush()
    (work,) = [span for span in host.get_finished_spans() if span.name == "host work"]
    assert f"{work.parent.span_id:016x}" == sink.calls[0].span_id
    assert not trace.get_current_span().get_span_context().is_valid


def test_our_spans_are_children_of_the_hosts(sink: OtlpSink, host: InMemorySpanExporter) -> None:
    with trace.get_tracer("host").start_as_current_span("request") as request:
        look_up("a")
        with pdoctor_trace.case("c1"):
            look_up("b")
    pdoctor_trace.flush()
    outer = request.get_span_context()
    assert {span.trace_id for span in sink.spans} == {f"{outer.trace_id:032x}"}
    assert sink.runs[0].parent_id == f"{outer.span_id:016x}"
    assert sink.runs[0].run_id == f"{outer.trace_id:032x}"


def test_the_hosts_sampling_does_not_touch_the_records(
    sink: OtlpSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", TracerProvider(sampler=ALWAYS_OFF))
    with pdoctor_trace.run():
        look_up("a")
    pdoctor_trace.flush()
    assert (len(sink.runs), len(sink.calls)) == (1, 1)


def test_either_path_can_be_switched_off(sink: OtlpSink, host: InMemorySpanExporter) -> None:
    pdoctor_trace.install(sdk_spans=False)
    look_up("a")
    pdoctor_trace.install(sdk_spans=True, records=False)
    look_up("b")
    pdoctor_trace.install(records=True)
    pdoctor_trace.flush()
    ours = [s for s in host.get_finished_spans() if s.instrumentation_scope.name == "pdoctor_trace"]
    assert [span.attributes["gen_ai.tool.call.arguments"] for span in ours] == ['{"key":"b"}']
    assert [call.arguments for call in sink.calls] == [{"key": "a"}]


class _Sampler(Sampler):
    """Leaves out the calls of one tool, by what it is told when a span begins."""

    def should_sample(
        self, parent: Any, trace_id: int, name: str, kind: Any = None, attributes: Any = None, links: Any = ()
    ) -> SamplingResult:
        told = dict(attributes or {})
        left_out = told.get("gen_ai.tool.name") == "look_up" and told["gen_ai.agent.name"] == "quiet"
        return SamplingResult(Decision.DROP if left_out else Decision.RECORD_AND_SAMPLE, told)

    def get_description(self) -> str:
        return "no look_up"


class _Beginnings(SpanProcessor):
    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        self.seen.append(dict(span.attributes))


def test_samplers_and_processors_see_what_a_span_is_of(
    sink: OtlpSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider, begun = TracerProvider(sampler=_Sampler()), _Beginnings()
    provider.add_span_processor(begun)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    for agent in ("me", "quiet"):
        with pdoctor_trace.run(agent=agent):
            look_up("a")
    pdoctor_trace.flush()
    ours = [seen for seen in begun.seen if seen]
    assert [(seen["gen_ai.operation.name"], seen["gen_ai.agent.name"]) for seen in ours] == [
        ("invoke_agent", "me"),
        ("execute_tool", "me"),
        ("invoke_agent", "quiet"),
    ]
    assert ours[1]["gen_ai.tool.name"] == "look_up"
    assert len(sink.calls) == 2


def test_our_scope_says_its_version_and_its_schema(sink: OtlpSink, host: InMemorySpanExporter) -> None:
    look_up("a")
    pdoctor_trace.flush()
    theirs = [s.instrumentation_scope for s in host.get_finished_spans() if s.name != "host work"]
    told = [(scope.name, scope.version, scope.schema_url) for scope in theirs]
    assert told == [("pdoctor_trace", metadata.version("pdoctor-trace"), semconv.SCHEMA_URL)]
    request = ExportTraceServiceRequest.FromString(sink.bodies[0])
    (ours,) = request.resource_spans[0].scope_spans
    assert [(ours.scope.name, ours.scope.version, ours.schema_url)] == told
