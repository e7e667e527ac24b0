"""OTLP as the specification and other implementations have it: exporters, transfer, values, times."""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import struct
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from google.rpc.status_pb2 import Status
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from collector import server
from collector.otlp.body import decompress
from collector.otlp.errors import ExportError
from collector.server import running
from collector.settings import Limits
from tests.support.traces import (
    JSON,
    PROTOBUF,
    T0,
    Client,
    agent_request,
    agent_spans,
    any_value,
    new_id,
    request,
    settings,
)

MIB = 1024 * 1024


def stored(client: Client, run: str) -> list[dict[str, Any]]:
    answer = client.http.get(f"/api/v1/runs/{run}/spans")
    items: list[dict[str, Any]] = answer.json()["items"] if answer.status_code == 200 else []
    return items


def partial(content: bytes) -> Any:
    return ExportTraceServiceResponse.FromString(content).partial_success


def json_spans(*spans: dict[str, Any], **resource_spans: Any) -> bytes:
    return json.dumps(
        {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}], **resource_spans}]}
    ).encode()


def json_span(run: str, number: int = 1, **fields: Any) -> dict[str, Any]:
    return {"traceId": run, "spanId": f"{number:016x}", "name": "n", "startTimeUnixNano": str(T0), **fields}


# ---------------------------------------------------------------- exporters


@pytest.mark.parametrize("compression", list(Compression))
def test_the_official_http_exporter_delivers(shared: Client, compression: Compression) -> None:
    provider = TracerProvider()
    exporter = OTLPSpanExporter(f"{shared.url}/v1/traces", compression=compression)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    with provider.get_tracer("t").start_as_current_span("outer") as span:
        trace = f"{span.get_span_context().trace_id:032x}"
        for number in range(600):  # more than one batch
            with provider.get_tracer("t").start_as_current_span(f"inner {number}") as inner:
                inner.set_attributes({"list": [1, 2], "nan": float("nan"), "text": "ö\x00", "flag": True})
    provider.shutdown()
    assert len(stored(shared, trace)) == 601


def test_bytes_that_the_npm_exporter_sent_are_taken_as_they_are(shared: Client) -> None:
    """What @opentelemetry/exporter-trace-otlp-http sent for the Vercel AI SDK (see recorded/README.md)."""
    body = (Path(__file__).parents[1] / "recorded" / "vercel_generate.json").read_bytes()
    answer = shared.send(body, {"content-type": "application/json"})
    assert (answer.status_code, answer.json()) == (200, {})
    spans = json.loads(body)["resourceSpans"][0]["scopeSpans"][0]["spans"]
    sent = [s for r in json.loads(body)["resourceSpans"] for c in r["scopeSpans"] for s in c["spans"]]
    items = stored(shared, spans[0]["traceId"])
    assert {item["span_id"] for item in items} == {span["spanId"] for span in sent}


# ---------------------------------------------------------------- transfer


class Raw:
    """A connection on which every byte is ours."""

    def __init__(self, client: Client) -> None:
        host, _, port = client.url.removeprefix("http://").partition(":")
        self.host = f"{host}:{port}"
        self.socket = socket.create_connection((host, int(port)), timeout=20)
        self.file = self.socket.makefile("rb")

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.file.close()
        self.socket.close()

    def head(self, *lines: str, version: str = "1.1", kind: str = "application/x-protobuf") -> None:
        said = [f"POST /v1/traces HTTP/{version}", f"Host: {self.host}", f"Content-Type: {kind}", *lines]
        self.socket.sendall("\r\n".join([*said, "", ""]).encode())

    def answer(self) -> tuple[int, dict[str, str], bytes]:
        status = int(self.file.readline().split()[1])
        headers = {}
        while (line := self.file.readline().strip()) != b"":
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        return status, headers, self.file.read(int(headers["content-length"]))


def test_http_1_0_is_answered_and_closed(shared: Client) -> None:
    run = new_id()
    body = agent_request(run, ["a"])
    with Raw(shared) as raw:
        raw.head(f"Content-Length: {len(body)}", version="1.0")
        raw.socket.sendall(body)
        assert raw.answer()[0] == 200
        assert raw.file.read() == b""
    assert len(stored(shared, run)) == 2


def test_a_chunked_body_in_small_pieces_is_taken(shared: Client) -> None:
    run = new_id()
    body = agent_request(run, ["a", "b"])
    with Raw(shared) as raw:
        raw.head("Transfer-Encoding: chunked")
        for at in range(0, len(body), 50):
            piece = body[at : at + 50]
            raw.socket.sendall(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        raw.socket.sendall(b"0\r\n\r\n")
        assert raw.answer()[0] == 200
    assert len(stored(shared, run)) == 3


def test_no_length_and_no_chunks_is_an_empty_body(shared: Client) -> None:
    with Raw(shared) as raw:
        raw.head()
        assert raw.answer()[0] == 200


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("application/x-protobuf", b"\xff\xff", 400),
        ("application/json", b"{", 400),
        ("Application/JSON; charset=utf-8", b"{", 400),
        ("text/plain", b"hello", 415),
        ("", b"hello", 415),
    ],
)
def test_a_connection_serves_on_after_an_error(shared: Client, kind: str, body: bytes, status: int) -> None:
    run = new_id()
    good = agent_request(run, ["a"])
    with Raw(shared) as raw:
        raw.head(f"Content-Length: {len(body)}", kind=kind)
        raw.socket.sendall(body)
        found, headers, content = raw.answer()
        assert found == status
        assert headers["content-type"] == (
            "application/json" if "json" in kind.lower() else "application/x-protobuf"
        )
        said = json.loads(content) if "json" in kind.lower() else None
        assert said["message"] if said else Status.FromString(content).message
        raw.head(f"Content-Length: {len(good)}")
        raw.socket.sendall(good)
        assert raw.answer()[0] == 200
    assert len(stored(shared, run)) == 2


def test_requests_may_follow_each_other_without_waiting(shared: Client) -> None:
    runs = [new_id() for _ in range(5)]
    with Raw(shared) as raw:
        for run in runs:
            body = agent_request(run, ["a"])
            raw.head(f"Content-Length: {len(body)}")
            raw.socket.sendall(body)
        assert [raw.answer()[0] for _ in runs] == [200] * 5
    assert [len(stored(shared, run)) for run in runs] == [2] * 5


def test_a_body_in_thousands_of_tiny_pieces_is_refused(shared: Client) -> None:
    run = new_id()
    body = agent_request(run, ["a"] * 30)
    with Raw(shared) as raw, contextlib.suppress(ConnectionError):  # what comes after the refusal is not read
        raw.head("Transfer-Encoding: chunked")
        raw.socket.sendall(b"".join(b"1\r\n%b\r\n" % body[at : at + 1] for at in range(len(body))))
        raw.socket.sendall(b"0\r\n\r\n")
        assert raw.file.readline().split()[1] == b"400"
    assert stored(shared, run) == []
    run = new_id()
    body = agent_request(run, ["a"] * 1_500)
    with Raw(shared) as raw:
        raw.head("Transfer-Encoding: chunked")
        pieces = (body[at : at + 100] for at in range(0, len(body), 100))
        raw.socket.sendall(b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n")
        assert raw.answer()[0] == 200
    assert len(body) > 200_000


def test_pieces_are_counted_for_each_body(shared: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "PIECES", 3)
    with Raw(shared) as raw:
        for _ in range(6):
            raw.head("Content-Length: 2", kind="application/json")
            raw.socket.sendall(b"{}")
            assert raw.answer()[0] == 200


AFTER_A_BODY: dict[str, Callable[[], bytes]] = {
    "fields": lambda: b"x: y\r\n" * 5_000,
    "one field": lambda: b"y" * 30_000,
    "an extension of a chunk": lambda: b"e" * 30_000,
}


@pytest.mark.parametrize("how", AFTER_A_BODY)
def test_what_follows_a_body_without_end_is_cut_off(shared: Client, how: str) -> None:
    """It is kept nowhere, and nobody else waits for it."""
    begins = {"fields": b"0\r\n", "one field": b"0\r\nx: ", "an extension of a chunk": b"5;e="}[how]
    with Raw(shared) as raw, contextlib.suppress(ConnectionError):
        raw.head("Transfer-Encoding: chunked")
        raw.socket.sendall(begins)
        for _ in range(500):
            raw.socket.sendall(AFTER_A_BODY[how]())
        raise AssertionError("all of it was read")
    assert shared.http.get("/healthz").status_code == 200


def test_what_follows_a_body_says_nothing_about_the_request(shared: Client) -> None:
    """A front has looked at the head alone: a name or an address that comes later is nobody's."""
    run = new_id()
    body = agent_request(run, ["a"])
    with Raw(shared) as raw:
        raw.head("Transfer-Encoding: chunked")
        after = b"content-encoding: gzip\r\nauthorization: Bearer x\r\nhost: evil.example\r\n\r\n"
        raw.socket.sendall(b"%x\r\n%b\r\n0\r\n" % (len(body), body) + after)
        assert raw.answer()[0] == 200
    assert len(stored(shared, run)) == 2


def test_a_head_of_very_many_fields_is_refused_however_small_it_is(shared: Client) -> None:
    with Raw(shared) as raw:
        raw.head(*["a: b"] * (server.FIELDS + 1), "Content-Length: 0")
        assert raw.file.readline().split()[1] == b"431"
    with Raw(shared) as raw:
        raw.head(*["a: b"] * 200, "Content-Length: 0")
        assert raw.answer()[0] == 200


def test_hundreds_of_requests_ahead_of_their_answers_are_not_kept(shared: Client) -> None:
    asked = f"GET /api/v1/stats HTTP/1.1\r\nhost: {shared.url[7:]}\r\n\r\n".encode()
    with Raw(shared) as raw, contextlib.suppress(ConnectionError):
        raw.socket.sendall(asked * 500)
        assert raw.file.read().count(b"HTTP/1.1 200") < 100


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A collector that waits only a second for a body."""
    limits = Limits(body_seconds=1.0)
    with running(settings(tmp_path_factory.mktemp("slow"), limits=limits)) as url, Client(url) as client:
        yield client


def test_a_body_that_does_not_arrive_is_given_up_and_serves_others_meanwhile(impatient: Client) -> None:
    run = new_id()
    with Raw(impatient) as raw:
        raw.head("Content-Length: 1000")
        raw.socket.sendall(b"\x0a")
        began = time.monotonic()
        assert impatient.send(agent_request(run, ["a"])).status_code == 200
        assert time.monotonic() - began < 0.9
        status, headers, content = raw.answer()
        assert (status, headers["connection"]) == (408, "close")
        assert "1 s" in Status.FromString(content).message


def test_a_client_that_hangs_up_in_the_middle_leaves_no_trace(shared: Client) -> None:
    run = new_id()
    body = agent_request(run, ["a"])
    with Raw(shared) as raw:
        raw.head(f"Content-Length: {len(body)}")
        raw.socket.sendall(body[:-5])
        raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert shared.send(agent_request(new_id(), ["a"])).status_code == 200
    assert stored(shared, run) == []


# ---------------------------------------------------------------- compression


def test_a_body_of_very_many_empty_gzip_members_is_refused_at_once() -> None:
    """Each member makes the rest be copied: a few MiB would cost hours."""
    began = time.process_time()
    with pytest.raises(ExportError, match="gzip members") as caught:
        decompress(gzip.compress(b"", mtime=0) * 200_000, "gzip", 20 * MIB)
    assert caught.value.http == 400
    assert time.process_time() - began < 1


def test_a_body_of_a_few_gzip_members_is_joined() -> None:
    parts = [b"a", b"", b"bc"]
    assert decompress(b"".join(gzip.compress(part) for part in parts), "gzip", 10) == b"abc"


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
@pytest.mark.parametrize("headers", [JSON, PROTOBUF])
def test_a_bomb_in_either_encoding_and_coding_is_refused(
    shared: Client, coding: str, headers: dict[str, str]
) -> None:
    pack = gzip.compress if coding == "gzip" else zlib.compress
    answer = shared.send(pack(b" " * (60 * MIB)), {**headers, "content-encoding": coding})
    assert answer.status_code == 413


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_every_cut_of_a_compressed_body_is_refused(shared: Client, coding: str) -> None:
    run = new_id()
    plain = agent_request(run, ["a"])
    body = gzip.compress(plain) if coding == "gzip" else zlib.compress(plain)
    for cut in range(1, len(body), max(1, len(body) // 15)):
        answer = shared.send(body[:cut], {**PROTOBUF, "content-encoding": coding})
        assert answer.status_code == 400, cut
    assert stored(shared, run) == []


# ---------------------------------------------------------------- ids, numbers, values


@pytest.mark.parametrize(
    "ids",
    [
        {"traceId": "abc"},
        {"traceId": "a" * 31},
        {"traceId": "a" * 34},
        {"traceId": "g" * 32},
        {"traceId": "0" * 32},
        {"traceId": "W8bT2aL5Q7+hpUmV0c3X4A=="},
        {"spanId": "0" * 16},
        {"spanId": "1" * 15},
        {"spanId": "1" * 18},
        {"spanId": "-" * 16},
        {"spanId": "\u0661" * 16},
        {"parentSpanId": "12"},
        {"parentSpanId": "zzzzzzzzzzzzzzzz"},
        {"parentSpanId": 7},
    ],
)
def test_a_wrong_id_in_json_rejects_its_span_with_the_reason(shared: Client, ids: dict[str, Any]) -> None:
    run = new_id()
    answer = shared.send(json_spans({**json_span(run), **ids}, json_span(run, 2)), JSON)
    said = answer.json()["partialSuccess"]
    assert (answer.status_code, said["rejectedSpans"]) == (200, "1")
    named = next(iter(ids))
    assert (
        named in said["errorMessage"]
        or {"traceId": "trace_id", "spanId": "span_id"}.get(named, "parent_span_id") in said["errorMessage"]
    )
    assert len(stored(shared, run)) == 1


def test_ids_of_zeros_in_protobuf_reject_their_spans(shared: Client) -> None:
    run = new_id()
    spans = [{"trace": "0" * 32, "id": 1}, {"trace": run, "id": 0}, {"trace": run, "id": 7}]
    answer = shared.send(request(*spans).SerializeToString())
    partly = ExportTraceServiceResponse.FromString(answer.content).partial_success
    assert (answer.status_code, partly.rejected_spans) == (200, 2)
    assert "trace_id" in partly.error_message
    assert "span_id" in partly.error_message
    assert [item["span_id"] for item in stored(shared, run)] == [f"{7:016x}"]
    assert shared.http.get(f"/api/v1/runs/{'0' * 32}").status_code == 404


def test_upper_case_ids_and_a_zero_parent_are_taken(shared: Client) -> None:
    run = new_id()
    span = json_span(run.upper(), parentSpanId="0" * 16)
    assert shared.send(json_spans(span), JSON).json() == {}
    (item,) = stored(shared, run)
    assert item["parent_id"] is None


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ({"intValue": "-9223372036854775808"}, -(2**63)),
        ({"intValue": 9007199254740993}, 9007199254740993),
        ({"doubleValue": "Infinity"}, None),
        ({"doubleValue": 3}, 3.0),
        ({"boolValue": False}, False),
        ({"bytesValue": "-_8="}, "+/8="),
        ({"stringValue": "a\u0000b"}, "a\u0000b"),
        ({"stringValue": ""}, ""),
        ({"arrayValue": {}}, []),
        ({"kvlistValue": {"values": []}}, {}),
        ({}, None),
        (None, None),
        ({"someNewValue": 1}, None),
    ],
)
def test_values_of_every_kind_are_read(shared: Client, value: Any, read: Any) -> None:
    run = new_id()
    assert (
        shared.send(json_spans(json_span(run, attributes=[{"key": "k", "value": value}])), JSON).json() == {}
    )
    (item,) = stored(shared, run)
    assert item["attributes"] == {"k": read}


@pytest.mark.parametrize(
    "value",
    [
        {"intValue": "--5"}, {"intValue": 1.5}, {"intValue": "0x10"}, {"intValue": True},
        {"bytesValue": "!!!!"}, {"bytesValue": 5}, {"doubleValue": "many"}, {"arrayValue": 5},
        {"kvlistValue": {"values": [5]}},
    ],
)  # fmt: skip
@pytest.mark.parametrize("place", ["span", "resource"])
def test_a_value_that_fits_no_field_is_told(shared: Client, value: Any, place: str) -> None:
    run = new_id()
    attributes = [{"key": "k", "value": value}]
    if place == "span":
        answer = shared.send(json_spans(json_span(run, attributes=attributes), json_span(run, 2)), JSON)
        assert answer.json()["partialSuccess"]["rejectedSpans"] == "1"
        assert len(stored(shared, run)) == 1
    else:
        body = json_spans(json_span(run), resource={"attributes": attributes})
        answer = shared.send(body, JSON)
        assert (answer.status_code, answer.json()["code"]) == (400, 3)
        assert next(iter(value)) in answer.json()["message"]


@pytest.mark.parametrize("spelled", [2, "2", "STATUS_CODE_ERROR"])
def test_an_enum_is_read_by_number_or_name(shared: Client, spelled: Any) -> None:
    run = new_id()
    span = json_span(run, kind="SPAN_KIND_CLIENT", status={"code": spelled})
    assert shared.send(json_spans(span), JSON).json() == {}
    assert stored(shared, run)[0]["status"] == "error"


def test_unknown_fields_and_enum_values_are_ignored(shared: Client) -> None:
    run = new_id()
    span = json_span(run, kind="SPAN_KIND_OF_TOMORROW", status={"code": 99, "x": 1}, future={"a": [1]})
    body = json_spans(span, future=[], resource={"attributes": [], "entityRefs": [{"type": "x"}]})
    assert shared.send(body, JSON).json() == {}
    assert stored(shared, run)[0]["status"] == "unset"


# ---------------------------------------------------------------- counts and depth


def many_attributes(run: str, count: int) -> bytes:
    message = request(*agent_spans(run, ["search"]))
    span = message.resource_spans[0].scope_spans[0].spans[0]
    for number in range(count - len(span.attributes)):
        any_value(span.attributes.add(key=f"k{number}").value, number)
    return message.SerializeToString()


def test_ten_thousand_attributes_are_taken_and_shown(shared: Client) -> None:
    run = new_id()
    assert shared.send(many_attributes(run, 10_000)).content == b""
    (item,) = (item for item in stored(shared, run) if "search" in item["name"])
    assert len(item["attributes"]) == 10_000
    assert partial(shared.send(many_attributes(new_id(), 10_001)).content).rejected_spans == 1
    assert shared.judged(run)["calls"][0]["name"] == "search"


def nested_json(depth: int, kind: str) -> dict[str, Any]:
    value: dict[str, Any] = {"stringValue": "x"}
    for _ in range(depth):
        value = {kind: {"values": [value if kind == "arrayValue" else {"key": "k", "value": value}]}}
    return value


@pytest.mark.parametrize("kind", ["arrayValue", "kvlistValue"])
@pytest.mark.parametrize(("depth", "taken"), [(15, True), (60, False), (120, False)])
def test_nesting_is_bounded_alike_in_json_and_protobuf(
    shared: Client, kind: str, depth: int, taken: bool
) -> None:
    run = new_id()
    deep = json_span(run, attributes=[{"key": "deep", "value": nested_json(depth, kind)}])
    answer = shared.send(json_spans(deep, json_span(run, 2)), JSON)
    assert (answer.json() == {}) == taken
    assert len(stored(shared, run)) == 1 + taken
    message = request({"trace": run, "id": 11}, {"trace": run, "id": 12})
    value = message.resource_spans[0].scope_spans[0].spans[0].attributes.add(key="deep").value
    for _ in range(depth):
        inner = value.array_value.values if kind == "arrayValue" else value.kvlist_value.values
        value = inner.add() if kind == "arrayValue" else inner.add(key="k").value
    value.string_value = "x"
    assert partial(shared.send(message.SerializeToString()).content).rejected_spans == (not taken)
    assert len(stored(shared, run)) == 2 * (1 + taken)


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b"\x0a\x00" * 60_000, PROTOBUF),
        (b"\x0a\xc0\xa9\x07" + b"\x12\x00" * 60_000, PROTOBUF),
        (b'{"resourceSpans":[' + b"{}," * 60_000 + b"{}]}", JSON),
        (b'{"resourceSpans":[{"scopeSpans":[' + b"{}," * 60_000 + b"{}]}]}", JSON),
        (b'{"resourceSpans":[{"scopeSpans":[{"spans":[' + b"{}," * 60_000 + b"{}]}]}]}", JSON),
    ],
)
def test_very_many_empty_messages_are_refused_before_anything_is_made_of_them(
    shared: Client, body: bytes, headers: dict[str, str]
) -> None:
    answer = shared.send(body, headers)
    assert answer.status_code == 413
    assert b"over the limit of 50000" in answer.content


# ---------------------------------------------------------------- times


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (0, 0),
        (1, 2),
        (T0, T0 - 10**9),
        (T0, 0),
        (0, T0),
        (16_725_225_600 * 10**9, 16_725_225_601 * 10**9),
        (2**63 - 1, 2**63),
        (2**64 - 1, 2**64 - 1),
        (2**64 - 1, 0),
    ],
)
def test_any_clock_is_taken_judged_and_shown(shared: Client, start: int, end: int) -> None:
    run = new_id()
    spans = agent_spans(run, ["a", "b"])
    for span in spans:
        span |= {"start": start, "end": end}
    assert shared.send(request(*spans).SerializeToString()).content == b""
    found = shared.judged(run)
    assert [call["name"] for call in found["calls"]] == ["a", "b"]
    assert shared.http.get(f"/runs/{run}").status_code == 200
    listed = shared.http.get("/api/v1/runs", params={"limit": 200})
    assert run in {item["id"] for item in listed.json()["items"]}


def test_spans_in_any_order_and_twice_are_each_stored_once(shared: Client) -> None:
    run = new_id()
    spans = agent_spans(run, ["a", "b", "c"])
    for part in ([spans[3]], [spans[2], spans[0]], spans, [*spans, *spans]):
        assert shared.send(request(*part).SerializeToString()).content == b""
    found = shared.judged(run)
    assert [call["name"] for call in found["calls"]] == ["a", "b", "c"]
    assert len(stored(shared, run)) == 4
