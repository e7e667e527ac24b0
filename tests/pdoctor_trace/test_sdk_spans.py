"""Beside the records: real spans in the host's own TracerProvider, with the same ids."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

import pdoctor_trace
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
    yield exporter
    provider.shutdown()


def test_both_paths_have_the_same_spans(sink: OtlpSink, host: InMemorySpanExporter) -> None:
    with pdoctor_trace.run(query="q", agent="me"):
        look_up("a")
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
