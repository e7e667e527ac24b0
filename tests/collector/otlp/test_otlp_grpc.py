"""The gRPC receiver: what the official exporter and a plain channel get."""

from __future__ import annotations

import gc
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import grpc
import pytest
from google.rpc.status_pb2 import Status
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.logs.v1.logs_service_pb2_grpc import LogsServiceStub
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2_grpc import MetricsServiceStub
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import TraceServiceStub
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from collector.budget import Held
from collector.fair import Pace
from collector.otlp import intake
from collector.server import running
from tests.support.http2 import DATA, HEADERS, PATH, Peer, frame, head, literal, message
from tests.support.traces import Client, agent_spans, eventually, metrics_of, new_id, request, settings

UNFINISHED = (
    b"POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-protobuf\r\n"
    b"content-length: 1000\r\n\r\nx"
)
EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, str]]:
    """(HTTP client, gRPC target)."""
    port = free_port()
    with running(settings(tmp_path_factory.mktemp("grpc"), grpc_port=port)) as url, Client(url) as client:
        yield client, f"127.0.0.1:{port}"


def test_an_export_is_stored_before_it_is_answered(both: tuple[Client, str]) -> None:
    client, target = both
    run = new_id()
    with grpc.insecure_channel(target) as channel:
        answer = TraceServiceStub(channel).Export(request(*agent_spans(run, ["a", "b"])), timeout=60)
    assert answer == ExportTraceServiceResponse()
    assert len(client.get(f"/runs/{run}/spans")["items"]) == 3


@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
def test_the_official_exporter_delivers(both: tuple[Client, str], compression: grpc.Compression) -> None:
    client, target = both
    provider = TracerProvider()
    exporter = OTLPSpanExporter(target, insecure=True, compression=compression)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with provider.get_tracer("t").start_as_current_span("work") as span:
        trace = f"{span.get_span_context().trace_id:032x}"
    provider.shutdown()
    assert [span["name"] for span in client.get(f"/runs/{trace}/spans")["items"]] == ["work"]


def test_who_brings_spans_sends_and_who_brings_none_does_not(
    both: tuple[Client, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over gRPC as over HTTP: others that ask much wait for them."""
    told: list[str] = []
    monkeypatch.setattr(Pace, "sent", lambda _pace, connection: told.append(connection))
    client, target = both
    with grpc.insecure_channel(target) as channel:
        TraceServiceStub(channel).Export(ExportTraceServiceRequest(), timeout=60)
        assert told == []
        TraceServiceStub(channel).Export(request(*agent_spans(new_id(), ["a"])), timeout=60)
    over_grpc, told[:] = list(told), []
    client.send(b"")
    assert told == []
    client.send(request(*agent_spans(new_id(), ["a"])).SerializeToString())
    assert over_grpc == [over_grpc[0]] * 2, "for questions and for refusals"
    assert told == [told[0]] * 2 != over_grpc
    assert all(one.startswith("127.0.0.1:") for one in (*told, *over_grpc))


@pytest.mark.parametrize("protocol", ["gRPC", "HTTP"])
def test_bodies_that_never_end_leave_nothing_to_search_for(both: tuple[Client, str], protocol: str) -> None:
    """Each was a circle of 34 objects; to find those of thousands held up the event loop for 250 ms."""

    def held() -> int:
        return sum(isinstance(one, Held) for one in gc.get_objects())

    client, target = both
    gc.collect()
    before = held()
    gc.disable()
    try:
        if protocol == "gRPC":
            with Peer(int(target.rpartition(":")[2])) as peer:
                for call in range(1, 20, 2):
                    peer.say(frame(HEADERS, 4, call, head()) + frame(DATA, 0, call, b"\0\0\0\x01\0x"))
                eventually(lambda: held() == before + 10)
        else:
            there = urlsplit(client.url)
            with ExitStack() as open_now:
                for _ in range(10):
                    one = socket.create_connection((there.hostname, there.port), 30)
                    open_now.enter_context(one)
                    one.sendall(UNFINISHED)
                eventually(lambda: held() == before + 10)
        eventually(lambda: held() == before, 10)
    finally:
        gc.enable()


def test_a_malformed_span_rejects_only_itself(both: tuple[Client, str]) -> None:
    client, target = both
    run = new_id()
    message = request(*agent_spans(run, ["a", "b"]))
    message.resource_spans[0].scope_spans[0].spans[0].span_id = b"abc"
    with grpc.insecure_channel(target) as channel:
        answer = TraceServiceStub(channel).Export(message, timeout=60)
    assert answer.partial_success.rejected_spans == 1
    assert "span_id" in answer.partial_success.error_message
    assert len(client.get(f"/runs/{run}/spans")["items"]) == 2


def refusal(target: str, body: bytes, **options: object) -> grpc.RpcError:
    with grpc.insecure_channel(target) as channel, pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary(EXPORT)(body, timeout=20, **options)
    return caught.value


def test_broken_bytes_are_invalid_argument_with_details(both: tuple[Client, str]) -> None:
    error = refusal(both[1], b"\xff\xff\xff")
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    details = dict(error.trailing_metadata())["grpc-status-details-bin"]
    assert Status.FromString(details).message == error.details()


@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
def test_a_message_that_is_too_big_is_refused_also_when_it_unpacks(
    both: tuple[Client, str], compression: grpc.Compression
) -> None:
    error = refusal(both[1], bytes(30 * 1024 * 1024), compression=compression)
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


def test_metrics_and_logs_are_accepted_and_dropped(both: tuple[Client, str]) -> None:
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

    with grpc.insecure_channel(both[1]) as channel:
        assert MetricsServiceStub(channel).Export(ExportMetricsServiceRequest(), timeout=60).ByteSize() == 0
        assert LogsServiceStub(channel).Export(ExportLogsServiceRequest(), timeout=60).ByteSize() == 0


def test_a_key_is_needed_once_there_is_one(tmp_path: Path) -> None:
    port, run = free_port(), new_id()
    body = request(*agent_spans(run, ["a"])).SerializeToString()
    target = f"127.0.0.1:{port}"
    with running(settings(tmp_path, grpc_port=port)) as url, Client(url) as client:
        made = client.http.post("/api/v1/keys", json={"name": "root", "scopes": ["admin"]}).json()["key"]
        assert refusal(target, body).code() is grpc.StatusCode.UNAUTHENTICATED
        with grpc.insecure_channel(target) as channel:
            metadata = (("authorization", f"Bearer {made}"),)
            assert channel.unary_unary(EXPORT)(body, timeout=60, metadata=metadata) == b""


def test_a_key_that_is_revoked_while_a_message_comes_has_nothing_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "SLOW_SECONDS", 0.0)
    port, sent = free_port(), message(request(*agent_spans(new_id(), ["a"])).SerializeToString())
    with running(settings(tmp_path, grpc_port=port)) as url, Client(url) as client, Peer(port) as peer:
        keys = {"name": "n", "scopes": ["admin"]}
        mine = {"authorization": f"Bearer {client.http.post('/api/v1/keys', json=keys).json()['key']}"}
        lost = client.http.post("/api/v1/keys", json=keys, headers=mine).json()["key"]
        bearer = (b"authorization", f"Bearer {lost}".encode())
        peer.say(frame(HEADERS, 4, 1, head(PATH, bearer)) + frame(DATA, 0, 1, sent[:99]))
        eventually(lambda: metrics(client, mine)["in_flight_bytes"] == 99)
        gone = client.http.delete(f"/api/v1/keys/{lost.split('_')[1]}", headers=mine)
        assert gone.status_code == 200
        peer.say(frame(DATA, 1, 1, sent[99:]))
        assert literal(b"grpc-status", b"16") in peer.answer(1)
        assert client.http.get("/api/v1/stats", headers=mine).json()["runs"] == 0


def metrics(client: Client, headers: dict[str, str]) -> dict[str, float]:
    client.http.headers.update(headers)
    return metrics_of(client)


def test_a_taken_grpc_port_stops_the_start_with_a_plain_message(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        collector = running(settings(tmp_path, grpc_port=other.getsockname()[1]))
        with pytest.raises(OSError, match="--grpc-port chooses another"), collector:
            raise AssertionError("the collector started")
    assert not (tmp_path / "store.db").exists()


def test_calls_are_counted_and_how_long_they_took(tmp_path: Path) -> None:
    port = free_port()
    known = settings(tmp_path, checkers=0, grpc_port=port)
    with running(known) as url, Client(url) as client, grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        export = channel.unary_unary(EXPORT)
        for _ in range(2):
            export(request(*agent_spans(new_id(), ["a"])).SerializeToString(), timeout=10)
        with pytest.raises(grpc.RpcError):
            export(b"\xff", timeout=10)
        MetricsServiceStub(channel).Export(ExportMetricsServiceRequest(), timeout=10)

        def counted() -> dict[str, float]:
            found = metrics_of(client)
            return {name: value for name, value in found.items() if name.startswith("grpc_calls_total")}

        expected = {
            'grpc_calls_total{service="Trace",code="OK"}': 2.0,
            'grpc_calls_total{service="Trace",code="INVALID_ARGUMENT"}': 1.0,
            'grpc_calls_total{service="Metrics",code="OK"}': 1.0,
        }
        eventually(lambda: counted() == expected, 30)
        assert metrics_of(client)['grpc_call_seconds_count{service="Trace"}'] == 3.0
        assert metrics_of(client)['grpc_call_seconds_bucket{service="Metrics",le="+Inf"}'] == 1.0
