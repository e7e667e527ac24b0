"""Delivery to collectors that misbehave: the host never waits, and what fits the queue arrives once."""

from __future__ import annotations

import gc
import socket
import sys
import threading
import time
import tracemalloc

import pytest

import pdoctor_trace
from pdoctor_trace.export import Exporter
from pdoctor_trace.settings import Settings
from pdoctor_trace.wire import run_bytes, span_bytes
from tests.support.bad_collectors import (
    BEHAVIOURS,
    BadCollector,
    Behaviour,
    drips_headers,
    never_stops_talking,
)
from tests.support.sink import OtlpSink


def record(number: int) -> bytes:
    return span_bytes(run_bytes(1, ()), number, 0, f"span {number}", 10, 20, None, ())


def exporter(url: str, **changes: object) -> Exporter:
    options = {"batch_delay": 0.0, "timeout": 0.3, "exit_timeout": 1.0, **changes}
    return Exporter(Settings(endpoint=url, **options))  # type: ignore[arg-type]


def names(sink: OtlpSink) -> list[str]:
    return sorted(span.name for span in sink.spans)


@pytest.mark.parametrize("behaviour", BEHAVIOURS, ids=lambda one: one.__name__)
def test_what_waited_for_a_bad_collector_arrives_once_at_a_good_one(behaviour: Behaviour) -> None:
    with BadCollector(behaviour) as bad:
        port = bad.port
        out = exporter(bad.url)
        start = time.thread_time()
        for number in range(1, 201):
            out.put(record(number))
        assert time.thread_time() - start < 0.5, "the host's thread does not work for the collector"
        assert not out.flush(0.8)
        assert out.counters() == {"recorded": 200, "exported": 0, "rejected": 0, "dropped": 0, "queued": 200}
        assert out.last_problem
        start = time.monotonic()
        out.close()
        assert time.monotonic() - start < 2, "an exit is not held up"
    with OtlpSink(port) as good:
        assert out.flush(60)
        assert names(good) == sorted(f"span {number}" for number in range(1, 201))


def test_collectors_left_for_another_share_the_time_of_a_flush_and_come_last(sink: OtlpSink) -> None:
    @pdoctor_trace.tool
    def work() -> None: ...

    with OtlpSink() as first, OtlpSink() as second:
        for left in (first, second):
            left.answers = [503] * 10_000
            pdoctor_trace.install(endpoint=left.url, batch_delay=0.0)
            work()
        pdoctor_trace.install(endpoint=sink.url, batch_delay=30.0)
        work()
        start = time.monotonic()
        assert not pdoctor_trace.flush(0.8), "two calls were delivered to nobody"
        assert time.monotonic() - start < 1.5, "one time limit, not one for each"
        assert len(sink.calls) == 1
        first.answers, second.answers = [], []
        assert pdoctor_trace.flush(60)
        assert [len(first.calls), len(second.calls)] == [1, 1]


def test_an_answer_may_not_take_longer_than_the_timeout_as_a_whole() -> None:
    with BadCollector(drips_headers) as bad:
        out = exporter(bad.url)
        out.put(record(1))
        deadline = time.monotonic() + 60
        while bad.connections < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert bad.connections >= 2, "byte by byte is no reason to wait for ever"


def test_an_endless_answer_is_not_kept_in_memory() -> None:
    with BadCollector(never_stops_talking) as bad:
        out = exporter(bad.url, timeout=1.0)
        gc.collect()
        tracemalloc.start()
        out.put(record(1))
        out.flush(1.5)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert bad.connections >= 1
        assert peak < 4_000_000


@pytest.mark.parametrize(
    "endpoint", ["http://[::1", "http://127.0.0.1:notaport", "http://", "ftp://x", "\udc80"]
)
def test_an_endpoint_that_cannot_be_used_is_told_and_ends_nothing(endpoint: str) -> None:
    out = exporter(endpoint)
    out.put(record(1))
    assert not out.flush(0.3)
    assert out.last_problem
    assert out.counters()["queued"] == 1
    assert out._thread is not None
    assert out._thread.is_alive()


def test_a_program_without_arguments_is_somebody_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Embedded interpreters have an empty `sys.argv`, or none."""
    monkeypatch.setattr(sys, "argv", [])
    with OtlpSink() as sink:
        out = exporter(sink.url)
        out.put(record(1))
        assert out.flush(60)
        assert sink.spans[0].resource["service.name"] == "unknown_service:python"


def test_half_a_batch_that_was_too_large_waits_like_any_other() -> None:
    with OtlpSink() as sink:
        sink.answers = [413, 503, 200, (429, {"Retry-After": "0.1"}), 200]
        out = exporter(sink.url, batch_delay=0.1, timeout=5.0)
        for number in range(1, 5):
            out.put(record(number))
        assert out.flush(60)
        assert names(sink) == ["span 1", "span 2", "span 3", "span 4"]
        assert (out.exported, out.rejected) == (4, 0)


def test_where_no_thread_can_be_started_the_host_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Under a limit of processes or threads, and late in a program's exit, Python refuses new ones."""

    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name.startswith("pdoctor_trace"):
            raise RuntimeError("can't start new thread")
        start(thread)

    with OtlpSink() as sink:
        out = exporter(sink.url, timeout=5.0)
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", refuse)
            out.put(record(1))
            out.put(record(2))
            assert "can't start new thread" in caplog.text
            assert out.flush(60), "then the thread that asks for it sends"
        out.put(record(3))
        assert out.flush(60)
        assert names(sink) == ["span 1", "span 2", "span 3"]


def test_a_batch_that_cannot_be_sent_for_a_reason_of_ours_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    from pdoctor_trace.harmless import FAILURES

    with OtlpSink() as sink:
        out = exporter(sink.url, timeout=5.0)

        def broken(spans: list[bytes]) -> None:
            raise KeyError("ours")

        with monkeypatch.context() as patched:
            patched.setattr(out, "_deliver", broken)
            out.put(record(1))
            assert out.flush(60)
        out.put(record(2))
        assert out.flush(60)
        assert (names(sink), out.rejected) == (["span 2"], 1)
        assert sum(FAILURES.values()) == 1
        FAILURES.clear()


def test_the_timeout_also_bounds_a_collector_that_does_not_read() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        out = exporter(f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=0.3)
        for number in range(1, 400):
            out.put(span_bytes(run_bytes(1, ()), number, 0, "big", 10, 20, None, ("k", "x" * 10_000)), 10_000)
        assert not out.flush(1.0)
        assert "imeout" in out.last_problem
