"""`PDOCTOR_EXPORT=otel`: every span through a TracerProvider of the OpenTelemetry SDK, and no records."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import pdoctor_trace
from collector.otlp.files import runs_from_otlp
from pdoctor_trace import runtime, sdkexport
from pdoctor_trace.runs import OpenRun, Request
from pdoctor_trace.settings import Settings
from pdoctor_trace.wrappers import RunVisit
from tests.support.sink import OtlpSink


@pdoctor_trace.tool
def divide(a: int, b: int) -> float:
    """Divide two numbers."""
    return a / b


ONCE = "actions: {divide: divide}\npolicies:\n  - {id: ONCE, rule: Divide must happen at most 1 time.}\n"


def agent() -> None:
    """Two calls, one of which fails, and one that was asked for and never came to a tool."""
    with pdoctor_trace.run(query="divide", agent="me", conversation="c7"), pdoctor_trace.guard(ONCE):
        divide(4, 2)
        with pytest.raises(ZeroDivisionError):
            divide(1, 0)
    run = OpenRun("test", agent="other")
    run.offer([("divide", "Divide two numbers.")])
    run.request(Request("call_1", "add", b"{}", 0, False, time.time_ns()))
    RunVisit(run).returned(None)


@pytest.fixture
def otel(sink: OtlpSink) -> Iterator[OtlpSink]:
    """What arrives from a program without a provider of its own."""
    pdoctor_trace.use_opentelemetry(batch_delay=0.0)
    yield sink
    pdoctor_trace.flush()
    pdoctor_trace.install(export="records")


def as_told(sink: OtlpSink) -> list[tuple[Any, ...]]:
    """The spans without ids and times, which no two executions share."""
    own = ("pdoctor.run.id", "pdoctor.hash.key")
    named = {span.span_id: span.name for span in sink.spans}
    return sorted(
        (
            span.name,
            named.get(span.parent_id, ""),
            span.failed,
            span.message,
            repr(sorted((key, value) for key, value in span.attributes.items() if key not in own)),
            repr([(name, sorted(told.items())) for name, _, told in span.events]),
        )
        for span in sink.spans
    )


@pytest.mark.parametrize("content", ["full", "none"])
def test_the_spans_are_those_of_the_record_path(sink: OtlpSink, content: str) -> None:
    pdoctor_trace.install(content=content)
    agent()
    pdoctor_trace.flush()
    records = as_told(sink)
    recorded = [*runs_from_otlp(io.BytesIO(b"".join(sink.bodies)), file="records")]
    sink.clear()
    pdoctor_trace.use_opentelemetry()
    agent()
    assert pdoctor_trace.flush()
    pdoctor_trace.install(export="records")
    assert as_told(sink) == records
    assert (len(records), len(recorded)) == (5, 2)
    rebuilt = [*runs_from_otlp(io.BytesIO(b"".join(sink.bodies)), file="otel")]
    assert [as_judged(run) for run in rebuilt] == [as_judged(run) for run in recorded]


def as_judged(run: Any) -> Any:
    """All of a run but its ids and times."""
    calls = [replace(call, start=None, end=None, hash_key=None) for call in run.calls]
    return replace(run, id="", calls=tuple(calls), extra={})


def test_our_own_provider_is_ours_alone(otel: OtlpSink) -> None:
    divide(4, 2)
    assert getattr(trace, "_TRACER_PROVIDER") is None  # noqa: B009
    trace.get_tracer("host").start_span("host work").end()
    assert pdoctor_trace.flush()
    (span,) = otel.spans
    assert (span.scope, span.name) == ("pdoctor_trace", "execute_tool divide")
    assert span.resource["telemetry.sdk.name"] == "opentelemetry"
    assert span.resource["process.pid"] == os.getpid()
    assert pdoctor_trace.status()["spans"] == {"recorded": 1, "queued": 0}


def test_the_hosts_provider_is_used_from_the_moment_it_is_there(
    otel: OtlpSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(theirs))
    divide(4, 2)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    divide(9, 3)
    assert pdoctor_trace.flush()
    pdoctor_trace.install(max_value_bytes=65_535)  # its own provider delivers while another one takes over
    pdoctor_trace.install(max_value_bytes=65_536)
    assert pdoctor_trace.flush()
    (late,) = theirs.get_finished_spans()
    assert late.attributes["gen_ai.tool.call.arguments"] == '{"a":9,"b":3}'
    assert [call.arguments for call in otel.calls] == [{"a": 4, "b": 2}]


def test_a_run_that_lasts_is_announced(otel: OtlpSink) -> None:
    pdoctor_trace.install(announce_after=0.01)
    with pdoctor_trace.run(query="q", agent="me"):
        deadline = time.monotonic() + 60
        while not otel.announcements and time.monotonic() < deadline:
            pdoctor_trace.flush()
    pdoctor_trace.install(announce_after=2.0)
    pdoctor_trace.flush()
    (announced,), (run,) = otel.announcements, otel.runs
    assert (announced.parent_id, announced.trace_id) == (run.span_id, run.trace_id)
    assert announced.run_id == run.run_id
    assert (announced["pdoctor.run.calls"], run["pdoctor.run.calls"]) == (None, 0)


def test_the_last_words_are_of_runs_that_go_on(otel: OtlpSink) -> None:
    with pdoctor_trace.run(query="q"):
        assert runtime.ACTIVE.exporter is not None
        runtime.ACTIVE.exporter.last_words()
    pdoctor_trace.flush()
    assert [span.name for span in otel.announcements] == ["invoke_agent"]


def test_the_hosts_random_numbers_make_no_ids(otel: OtlpSink) -> None:
    import random

    for _ in range(2):
        random.seed(7)
        divide(4, 2)
    pdoctor_trace.flush()
    assert len({call.trace_id for call in otel.calls}) == 2


def test_where_nothing_listens_a_flush_takes_its_time_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    pdoctor_trace.use_opentelemetry(endpoint="http://127.0.0.1:9")
    divide(4, 2)
    begun = time.monotonic()
    assert pdoctor_trace.flush(0.05) is False
    assert time.monotonic() - begun < 5
    pdoctor_trace.install(export="records")
    pdoctor_trace.flush(20)
    pdoctor_trace.uninstall()


def test_a_key_that_was_told_to_us_goes_with_the_spans(
    otel: OtlpSink, request: pytest.FixtureRequest
) -> None:
    request.addfinalizer(lambda: pdoctor_trace.install(api_key=""))
    pdoctor_trace.install(api_key="k1")
    divide(4, 2)
    assert pdoctor_trace.flush()
    assert {name.lower(): text for name, text in otel.headers[-1].items()}["authorization"] == "Bearer k1"


def test_the_protocol_is_opentelemetrys_unless_the_endpoint_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    (chosen,) = sdkexport._exporters(Settings())
    assert "grpc" in chosen.__module__
    (named,) = sdkexport._exporters(Settings(endpoint="http://a", endpoint_named=True))
    assert named()._endpoint == "http://a/v1/traces"
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    assert sdkexport._exporters(Settings()) == []


def test_who_was_replaced_announces_nothing_any_more(otel: OtlpSink) -> None:
    way = runtime.ACTIVE.exporter
    assert isinstance(way, sdkexport.SdkExport)
    way.wake_up()
    pdoctor_trace.install(export="records")
    assert way._stop.is_set()


PROGRAM = """
import os, pdoctor_trace
@pdoctor_trace.tool
def add(a, b):
    return a + b
with pdoctor_trace.run(query="q"):
    add(1, 2)
if os.environ.get("FORK"):
    if os.fork() == 0:
        add(3, 4)
    else:
        os.wait()
"""


def program(code: str = PROGRAM, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "PDOCTOR_"))}
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env={**kept, "PDOCTOR_EXPORT": "otel", **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_program_delivers_at_its_end_what_opentelemetrys_variables_say() -> None:
    with OtlpSink() as receiver:
        done = program(
            OTEL_EXPORTER_OTLP_ENDPOINT=receiver.url,
            OTEL_EXPORTER_OTLP_HEADERS="x-team=shop",
            OTEL_SERVICE_NAME="shop",
            FORK="1",
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert sorted(call.result for call in receiver.calls) == [3, 7]
        assert len(receiver.runs) == 1
        assert {span.resource["service.name"] for span in receiver.spans} == {"shop"}
        assert {headers["x-team"] for headers in receiver.headers} == {"shop"}


WORKERS = """
import multiprocessing, pdoctor_trace
@pdoctor_trace.tool
def add(a, b):
    return a + b
def work():
    add(1, 2)
if __name__ == "__main__":
    worker = multiprocessing.get_context("fork").Process(target=work)
    worker.start()
    worker.join()
"""


def test_a_worker_process_delivers_before_it_leaves() -> None:
    with OtlpSink() as receiver:
        done = program(WORKERS, OTEL_EXPORTER_OTLP_ENDPOINT=receiver.url)
        assert (done.returncode, done.stderr) == (0, "")
        assert [call.result for call in receiver.calls] == [3]


HOSTS = """
import pdoctor_trace, sys
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
never_left = pdoctor_trace.run(query="q")
never_left.__enter__()
"""


def test_what_is_open_at_the_end_is_told_before_the_hosts_provider_ends() -> None:
    with OtlpSink() as receiver:
        done = program(HOSTS, OTEL_EXPORTER_OTLP_ENDPOINT=receiver.url)
        assert (done.returncode, done.stderr) == (0, "")
        assert [span["gen_ai.operation.name"] for span in receiver.announcements] == ["invoke_agent"]


def test_other_exporters_and_samplers_are_taken_by_their_names() -> None:
    shown = program(OTEL_TRACES_EXPORTER="console")
    assert '"name": "execute_tool add"' in shown.stdout
    nothing = program(OTEL_TRACES_EXPORTER="console", OTEL_TRACES_SAMPLER="always_off")
    assert (nothing.stdout, nothing.stderr, nothing.returncode) == ("", "", 0)
    unknown = program(OTEL_TRACES_EXPORTER="bogus")
    assert "'bogus'" in unknown.stderr
    assert unknown.returncode == 0


def test_without_the_sdk_that_is_said_and_the_program_goes_on() -> None:
    hide = "import sys; sys.modules['opentelemetry.sdk'] = None\n"
    done = program(hide + PROGRAM)
    assert done.returncode == 0
    assert "pip install 'pdoctor-trace[otel]'" in done.stderr
    asked = program(hide + "import pdoctor_trace; pdoctor_trace.use_opentelemetry()")
    assert "ImportError: PDOCTOR_EXPORT=otel needs the OpenTelemetry SDK" in asked.stderr
    no_exporter = program("import sys; sys.modules['opentelemetry.exporter'] = None\n" + PROGRAM)
    assert no_exporter.returncode == 0
    assert "pip install 'pdoctor-trace[otel]'" in no_exporter.stderr
