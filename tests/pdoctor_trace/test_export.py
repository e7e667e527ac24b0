"""Delivery: what happens when the collector is slow, down, strict, or comes back."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from pdoctor_trace.export import Exporter
from pdoctor_trace.harmless import FAILURES
from pdoctor_trace.resource import resource_attributes
from pdoctor_trace.sender import Sender
from pdoctor_trace.settings import Settings
from pdoctor_trace.wire import run_bytes, span_bytes
from tests.support.sink import OtlpSink


def record(number: int = 1, body: tuple[object, ...] = ()) -> bytes:
    return span_bytes(run_bytes(1, ()), number, 0, f"span {number}", 10, 20, None, body)  # type: ignore[arg-type]


def exporter(url: str, **changes: object) -> Exporter:
    options = {"batch_delay": 0.0, "timeout": 5.0, **changes}
    return Exporter(Settings(endpoint=url, **options))  # type: ignore[arg-type]


@pytest.fixture
def sink() -> Iterator[OtlpSink]:
    with OtlpSink() as server:
        yield server


def names(sink: OtlpSink) -> list[str]:
    return [span.name for span in sink.spans]


def test_everything_put_arrives_once_and_in_order(sink: OtlpSink) -> None:
    out = exporter(sink.url)
    for number in range(1, 1_501):
        out.put(record(number))
    assert out.flush(60)
    assert names(sink) == [f"span {number}" for number in range(1, 1_501)]
    assert out.counters() == {"recorded": 1_500, "exported": 1_500, "rejected": 0, "dropped": 0, "queued": 0}


def test_batches_are_bounded(sink: OtlpSink) -> None:
    out = exporter(sink.url, batch_delay=0.2)
    for number in range(1, 1_101):
        out.put(record(number))
    out.flush(10)
    assert max(body.count(b"span ") for body in sink.bodies) <= 512
    big = b"x" * 1_000_000
    for number in range(6):
        out.put(record(number + 1, ("k", big)), len(big))
    out.flush(10)
    assert max(map(len, sink.bodies)) < 4_000_000


def test_the_request_says_who_sends(sink: OtlpSink) -> None:
    out = exporter(sink.url, api_key="pdk_1")
    out.put(record())
    out.flush(5)
    (span,) = sink.spans
    assert span.resource["telemetry.sdk.name"] == span.scope == "pdoctor_trace"
    assert span.resource["pdoctor.dropped_spans"] == 0
    assert sink.headers[0]["Authorization"] == "Bearer pdk_1"
    assert sink.headers[0]["Content-Type"] == "application/x-protobuf"


def test_the_resource_honours_opentelemetry_variables() -> None:
    environment = {
        "OTEL_RESOURCE_ATTRIBUTES": "team=a%20b, service.name = x,broken",
        "OTEL_SERVICE_NAME": "svc",
    }
    found = resource_attributes(environment)
    assert (found["service.name"], found["team"]) == ("svc", "a b")


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_pressure_is_answered_with_a_retry(sink: OtlpSink, status: int) -> None:
    sink.answers = [status, 200]
    out = exporter(sink.url)
    out.put(record())
    assert out.flush(60)
    assert names(sink) == ["span 1"]


def test_retry_after_is_honoured(sink: OtlpSink) -> None:
    sink.answers = [(503, {"Retry-After": "0.6"}), 200]
    out = exporter(sink.url)
    start = time.monotonic()
    out.put(record())
    while not names(sink) and time.monotonic() < start + 5:
        time.sleep(0.01)
    assert names(sink) == ["span 1"]
    assert 0.4 < time.monotonic() - start < 3


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_refusal_for_good_is_counted_and_not_repeated(
    sink: OtlpSink, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    sink.answers = [status]
    out = exporter(sink.url)
    out.put(record(1))
    assert out.flush(60)
    out.put(record(2))
    assert out.flush(60)
    assert names(sink) == ["span 2"]
    assert (out.rejected, out.exported) == (1, 1)
    assert f"HTTP {status}" in caplog.text
    assert ("PDOCTOR_API_KEY" in caplog.text) == (status in (401, 403))


def test_a_batch_that_is_too_large_is_halved(sink: OtlpSink) -> None:
    sink.answers = [413, 200, 413, 413, 200]
    out = exporter(sink.url, batch_delay=0.1)
    for number in range(1, 5):
        out.put(record(number))
    assert out.flush(60)
    assert names(sink) == ["span 1", "span 2", "span 4"], "span 3 alone was still too large"
    assert (out.exported, out.rejected) == (3, 1)


def test_partial_success_is_counted(sink: OtlpSink) -> None:
    sink.rejected = 2
    out = exporter(sink.url, batch_delay=0.1)
    for number in range(1, 4):
        out.put(record(number))
    assert out.flush(60)
    assert (out.exported, out.rejected) == (1, 2)


def test_a_collector_that_starts_later_gets_everything() -> None:
    port = free_port()
    out = exporter(f"http://127.0.0.1:{port}")
    for number in range(1, 101):
        out.put(record(number))
    time.sleep(0.3)
    assert out.counters()["queued"] == 100
    with OtlpSink(port) as late:
        assert out.flush(60)
        assert len(names(late)) == 100


def test_nothing_is_lost_while_the_collector_restarts() -> None:
    first = OtlpSink()
    port = first.port
    out = exporter(first.url)
    out.put(record(1))
    assert out.flush(60)
    first.close()
    for number in range(2, 300):
        out.put(record(number))
        time.sleep(0.001)
    with OtlpSink(port) as second:
        assert out.flush(60)
        assert {*names(first), *names(second)} == {f"span {number}" for number in range(1, 300)}


def test_a_full_queue_drops_and_tells_the_collector() -> None:
    port = free_port()
    out = exporter(f"http://127.0.0.1:{port}", queue_size=100)
    for number in range(1, 251):
        out.put(record(number))
    assert out.counters()["dropped"] == 150
    with OtlpSink(port) as sink:
        assert out.flush(60)
        assert len(sink.spans) == 100
        assert max(span.resource["pdoctor.dropped_spans"] for span in sink.spans) == 150
        out.put(record(999))
        assert out.flush(60), "there is room again"


def test_the_queue_is_bounded_in_bytes_too() -> None:
    out = exporter(f"http://127.0.0.1:{free_port()}", queue_bytes=10_000)
    for number in range(1, 31):
        out.put(record(number), 1_000)
    assert out.counters()["dropped"] >= 10


def test_putting_never_waits_for_a_collector_that_hangs() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        out = exporter(f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=0.5)
        start = time.monotonic()
        for number in range(1, 1_001):
            out.put(record(number))
        assert time.monotonic() - start < 1
        assert not out.flush(0.2)
        assert time.monotonic() - start < 2


def test_many_threads_may_put_at_once(sink: OtlpSink) -> None:
    out = exporter(sink.url)

    def work(base: int) -> None:
        for number in range(200):
            out.put(record(base + number + 1))

    threads = [threading.Thread(target=work, args=(1_000 * n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert out.flush(60)
    assert len(set(names(sink))) == 1_600


def test_an_endpoint_may_name_the_path_itself() -> None:
    assert Sender("http://h:1/v1/traces").path == "/v1/traces"
    assert Sender("http://h:1/base/").path == "/base/v1/traces"
    assert Sender("h:1").path == "/v1/traces"


def test_an_unusable_endpoint_is_a_problem_not_an_exception() -> None:
    answer = Sender("http://127.0.0.1:notaport").send(b"")
    assert answer.status == 0
    assert answer.problem


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def test_a_sender_with_a_key_that_no_header_can_hold_never_tells_it(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ValueError, match="no HTTP header can hold") as raised:
        Sender("http://127.0.0.1:9", "pdk_secret\nX-Other: 1")
    out = exporter("http://127.0.0.1:9", api_key="pdk_secret\n\x00")
    out.put(record())
    out.flush(5)
    assert out.rejected == 1
    assert "secret" not in caplog.text + str(raised.value)
    FAILURES.clear()


@pytest.mark.parametrize(
    ("endpoint", "compression", "encoding"),
    [
        ("http://127.0.0.1:4318", "auto", None),
        ("localhost:4318", "auto", None),
        ("http://collector.example:4318", "auto", "gzip"),
        ("http://[broken", "auto", None),
        ("http://127.0.0.1:4318", "deflate", "deflate"),
        ("http://collector.example:4318", "none", None),
    ],
)
def test_how_a_batch_is_compressed_is_settled_once(
    endpoint: str, compression: str, encoding: str | None
) -> None:
    sender = Sender(endpoint, compression=compression)
    assert sender._headers.get("Content-Encoding") == encoding
