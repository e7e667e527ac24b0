"""The default address is that of every OTLP back end: records go there only if one of ours listens."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

import pdoctor_trace
from pdoctor_trace import recognition, runtime, sameplace, selfcheck, settings
from pdoctor_trace.export import Exporter
from pdoctor_trace.settings import Settings, read, with_changes
from pdoctor_trace.wire import run_bytes, span_bytes
from tests.support.sink import OtlpSink

SPAN = span_bytes(run_bytes(1, ()), 1, 0, "span", 10, 20, None, ())
OTHERS = {
    "not found": (404, b"404 page not found"),
    "a page": (200, b"<html>Jaeger</html>"),
    "another name": (200, b'{"status":"ok","service":"phoenix"}'),
    "a list": (200, b'["pdoctor"]'),
    "healthy, no more": (200, b'{"status":"ok"}'),
}


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Iterator[OtlpSink]:
    """Who listens at the default address."""
    with OtlpSink() as server:
        monkeypatch.setattr(settings, "DEFAULT_ENDPOINT", server.url)
        yield server


def unnamed(server: OtlpSink, named: bool = False) -> Exporter:
    """It tells of no run that a test before left open: that would be one record more."""
    chosen = Settings(endpoint=server.url, endpoint_named=named, batch_delay=0.0, announce_after=0.0)
    return Exporter(chosen)


@pytest.fixture
def provider() -> Iterator[TracerProvider]:
    made = TracerProvider()
    yield made
    made.shutdown()


def test_a_collector_of_ours_gets_the_records_and_is_asked_once(listener: OtlpSink) -> None:
    out = unnamed(listener)
    assert not out.is_taken
    for _ in range(3):
        out.put(SPAN)
        assert out.flush(60)
    assert (len(listener.spans), listener.asked, out.is_taken) == (3, 1, True)


@pytest.mark.parametrize("said", OTHERS.values(), ids=list(OTHERS))
def test_another_back_end_gets_nothing(
    listener: OtlpSink, said: tuple[int, bytes], caplog: pytest.LogCaptureFixture
) -> None:
    listener.health = said
    out = unnamed(listener)
    for _ in range(3):
        out.put(SPAN)
        assert out.flush(60)
    assert (listener.bodies, out.is_taken, out.counters()["rejected"]) == ([], False, 3)
    assert listener.asked <= 2
    assert caplog.text.count("PDOCTOR_ENDPOINT names") == 1


def test_it_is_asked_again_later(listener: OtlpSink, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recognition, "ASK_AGAIN", 0.0)
    health, listener.health = listener.health, OTHERS["not found"]
    out = unnamed(listener)
    out.put(SPAN)
    out.flush(5)
    listener.health = health
    out.put(SPAN)
    assert out.flush(60)
    assert len(listener.spans) == 1


def test_an_address_that_was_named_is_used_as_it_is(listener: OtlpSink) -> None:
    listener.health = OTHERS["not found"]
    out = unnamed(listener, named=True)
    out.put(SPAN)
    assert out.flush(60)
    assert (len(listener.spans), listener.asked) == (1, 0)


def test_who_names_the_default_names_it(listener: OtlpSink) -> None:
    assert not read({})[0].endpoint_named
    assert read({"PDOCTOR_ENDPOINT": listener.url})[0].endpoint_named
    assert with_changes(Settings(), {"endpoint": listener.url}).endpoint_named
    assert with_changes(
        with_changes(Settings(), {"endpoint": "http://a"}), {"content": "none"}
    ).endpoint_named


def test_records_wait_while_nothing_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    with OtlpSink() as gone:
        port, url = gone.port, gone.url
    monkeypatch.setattr(settings, "DEFAULT_ENDPOINT", url)
    out = Exporter(Settings(endpoint=url, batch_delay=0.0))
    out.put(SPAN)
    assert not out.flush(0.05)
    assert out.counters()["queued"] == 1
    with OtlpSink(port) as back:
        assert out.flush(60)
        assert len(back.spans) == 1


def test_what_has_trouble_is_not_taken_for_another_back_end(listener: OtlpSink) -> None:
    health, listener.health = listener.health, (503, b"")
    out = unnamed(listener)
    out.put(SPAN)
    assert not out.flush(0.05)
    listener.health = health
    assert out.flush(60)
    assert len(listener.spans) == 1


def test_whoever_comes_after_an_outage_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with OtlpSink() as first:
        monkeypatch.setattr(settings, "DEFAULT_ENDPOINT", first.url)
        out = unnamed(first)
        out.put(SPAN)
        assert out.flush(60)
        port = first.port
    out.put(SPAN)
    assert not out.flush(0.05)
    with OtlpSink(port) as other:
        other.health = OTHERS["not found"]
        assert out.flush(60)
        assert other.bodies == []


def test_a_collector_from_before_is_known_by_its_readiness(
    listener: OtlpSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(endpoint: str, path: str, timeout: float) -> tuple[int, dict[str, object]]:
        return 200, {"/healthz": {"status": "ok"}, "/readyz": {"status": "unready", "problems": ["x"]}}[path]

    monkeypatch.setattr(recognition, "_asked", asked)
    out = unnamed(listener)
    out.put(SPAN)
    assert out.flush(60)
    assert len(listener.spans) == 1


def test_our_collector_says_its_name() -> None:
    from collector.api.health import healthz

    assert asyncio.run(healthz()) == {"status": "ok", "service": recognition.OURS}


def test_the_check_of_an_installation_says_so(listener: OtlpSink) -> None:
    listener.health = OTHERS["not found"]
    chosen = Settings(endpoint=listener.url)
    assert selfcheck._collector(chosen)["problem"] == recognition.NAME_ONE
    assert selfcheck._collector(with_changes(chosen, {"endpoint": listener.url}))["problem"] is None


# -- the host's own exporter points there, too


@pdoctor_trace.tool
def work() -> None:
    with trace.get_tracer("host").start_as_current_span("host work"):
        time.sleep(0)


def exporting(provider: TracerProvider, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(endpoint=f"{url}/v1/traces")))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)


def test_what_one_place_is() -> None:
    place = sameplace._place
    assert (
        place("http://localhost:4318/v1/traces")
        == place("http://127.0.0.1:4318")
        == place("http://[::1]:4318")
    )
    assert (place("https://a/b"), place("http://a"), place("http://a:99")) == (
        ("a", 443),
        ("a", 80),
        ("a", 99),
    )
    assert (place("a:4317"), place("http://a:x"), place("")) == (None, None, None)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_where_both_paths_lead_to_one_place_each_span_comes_once(
    sink: OtlpSink, provider: TracerProvider, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    exporting(provider, monkeypatch, f"http://{host}:{sink.port}")
    with pdoctor_trace.run(), trace.get_tracer("host").start_as_current_span("inside"):
        work()
    pdoctor_trace.flush()
    spans = {span.name: span for span in sink.spans}
    assert len(sink.spans) == 4
    assert spans["host work"].parent_id == spans["execute_tool work"].span_id
    assert spans["inside"].parent_id == spans["invoke_agent"].span_id
    assert len({span.trace_id for span in sink.spans}) == 1


def test_where_they_lead_to_two_places_both_are_sent(
    sink: OtlpSink, provider: TracerProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    with OtlpSink() as other:
        exporting(provider, monkeypatch, other.url)
        work()
        pdoctor_trace.flush()
        assert [span.name for span in sink.spans] == ["execute_tool work"]
        assert sorted(span.name for span in other.spans) == ["execute_tool work", "host work"]


def test_another_back_end_at_the_default_address_gets_the_hosts_spans_once(
    listener: OtlpSink, sink: OtlpSink, provider: TracerProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    listener.health = OTHERS["not found"]
    exporting(provider, monkeypatch, listener.url)
    monkeypatch.setattr(runtime.ACTIVE, "exporter", out := unnamed(listener))
    for _ in range(2):
        work()
    out.flush(5)
    assert sorted(span.name for span in listener.spans) == ["execute_tool work"] * 2 + ["host work"] * 2
    assert len({span.span_id for span in listener.spans}) == len(listener.spans) == 4
