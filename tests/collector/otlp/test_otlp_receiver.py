"""What the OTLP receiver answers, and what it stores, for good and for broken requests."""

from __future__ import annotations

import gzip
import http.client
import json
import zlib

import orjson
import pytest
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from tests.support.traces import (
    JSON,
    PROTOBUF,
    Client,
    agent_request,
    agent_spans,
    any_value,
    new_id,
    request,
)

MIB = 1024 * 1024


def stored(client: Client, run: str) -> int:
    answer = client.http.get(f"/api/v1/runs/{run}/spans")
    return len(answer.json()["items"]) if answer.status_code == 200 else 0


TRUE_X = {"key": "x", "value": {"boolValue": True}}


def listed(*values: object) -> dict[str, object]:
    return {"arrayValue": {"values": values}}


def json_request(run: str, **overrides: object) -> dict[str, object]:
    span = {
        "traceId": run,
        "spanId": "00f067aa0ba902b7",
        "name": "execute_tool search",
        "kind": 1,
        "startTimeUnixNano": "1790000000000000000",
        "endTimeUnixNano": 1790000000001000000,
        "attributes": [
            {"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}},
            {"key": "gen_ai.tool.name", "value": {"stringValue": "search"}},
            {
                "key": "numbers",
                "value": {"arrayValue": {"values": [{"intValue": "5"}, {"doubleValue": 1.5}]}},
            },
            {
                "key": "nested",
                "value": {"kvlistValue": {"values": [{"key": "x", "value": {"boolValue": True}}]}},
            },
            {"key": "bytes", "value": {"bytesValue": "aGk="}},
        ],
        "status": {"code": 2, "message": "broken"},
        "someFutureField": {"a": 1},
        **overrides,
    }
    return {"resourceSpans": [{"scopeSpans": [{"scope": {"name": "s"}, "spans": [span]}]}]}


def test_protobuf_is_stored_before_it_is_acknowledged(shared: Client) -> None:
    run = new_id()
    answer = shared.send(agent_request(run, ["search", "book"]))
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-type"] == "application/x-protobuf"
    assert stored(shared, run) == 3


def test_json_with_hex_ids_and_a_charset_is_taken(shared: Client) -> None:
    run = new_id()
    body = orjson.dumps(json_request(run.upper()))
    answer = shared.send(body, {"content-type": "application/json; charset=utf-8"})
    assert (answer.status_code, answer.json()) == (200, {})
    (span,) = shared.get(f"/runs/{run}/spans")["items"]
    assert span["span_id"] == "00f067aa0ba902b7"
    assert (span["status"], span["status_message"]) == ("error", "broken")
    assert (span["start_ns"], span["end_ns"]) == (1790000000000000000, 1790000000001000000)
    assert span["attributes"] == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "search",
        "numbers": [5, 1.5],
        "nested": {"x": True},
        "bytes": "aGk=",
    }


def test_json_and_protobuf_of_the_same_span_are_one_span(shared: Client) -> None:
    run = new_id()
    said = {"trace": run, "id": 0x00F067AA0BA902B7, "at": {"gen_ai.operation.name": "execute_tool"}}
    shared.send(request(said).SerializeToString())
    shared.send(orjson.dumps(json_request(run)), JSON)
    assert stored(shared, run) == 1


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", lambda body: zlib.compress(body, wbits=-15)),
        ("gzip", lambda body: gzip.compress(body[:40]) + gzip.compress(body[40:])),
        ("identity", lambda body: body),
    ],
)
def test_compressed_bodies_are_taken(shared: Client, name: str, pack: object) -> None:
    run = new_id()
    body = pack(agent_request(run, ["search"]))  # type: ignore[operator]
    assert shared.send(body, {**PROTOBUF, "content-encoding": name}).status_code == 200
    assert stored(shared, run) == 2


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"{not json", JSON, 400),
        (b"[1, 2]", JSON, 400),
        (b'{"resourceSpans": 5}', JSON, 400),
        (b'{"resourceSpans": [5]}', JSON, 400),
        (b'{"resourceSpans": [{"scopeSpans": {"spans": []}}]}', JSON, 400),
        (b"[" * 100_000, JSON, 400),
        (b"\xff\xff\xff\xff", PROTOBUF, 400),
        (b"\x0a\xff\xff\xff\xff\x0f", PROTOBUF, 400),
        (b"hello", {"content-type": "text/plain"}, 415),
        (b"hello", {}, 415),
        (b"", {**PROTOBUF, "content-encoding": "br"}, 415),
        (b"not gzip", {**PROTOBUF, "content-encoding": "gzip"}, 400),
        (gzip.compress(b"x" * 1000, mtime=0)[:-9], {**PROTOBUF, "content-encoding": "gzip"}, 400),
        (gzip.compress(bytes(30 * MIB), mtime=0), {**PROTOBUF, "content-encoding": "gzip"}, 413),
        (bytes(21 * MIB), PROTOBUF, 413),
    ],
)
def test_a_request_that_cannot_be_read_is_refused_in_its_own_encoding(
    shared: Client, body: bytes, headers: dict[str, str], status: int
) -> None:
    answer = shared.send(body, headers)
    assert answer.status_code == status
    if headers.get("content-type") == "application/json":
        assert answer.headers["content-type"] == "application/json"
        assert answer.json()["code"] == 3
        assert answer.json()["message"]
    else:
        assert answer.headers["content-type"] == "application/x-protobuf"
        said = Status.FromString(answer.content)
        assert said.code == 3
        assert said.message


def test_a_body_of_50_mb_is_refused_before_it_is_read(shared: Client) -> None:
    host = shared.url.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=60)
    connection.putrequest("POST", "/v1/traces")
    connection.putheader("content-type", "application/x-protobuf")
    connection.putheader("content-length", str(50 * MIB))
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()


def test_a_chunked_body_without_a_length_is_bounded_too(shared: Client) -> None:
    def chunks():  # type: ignore[no-untyped-def]
        for _ in range(25):
            yield bytes(MIB)

    answer = shared.http.post("/v1/traces", content=chunks(), headers=PROTOBUF)
    assert answer.status_code == 413


def test_other_methods_are_told_what_is_possible(shared: Client) -> None:
    answer = shared.http.get("/v1/traces")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize("signal", ["metrics", "logs"])
@pytest.mark.parametrize("headers", [JSON, PROTOBUF])
def test_metrics_and_logs_are_accepted_and_dropped(
    shared: Client, signal: str, headers: dict[str, str]
) -> None:
    answer = shared.http.post(f"/v1/{signal}", content=b"{}", headers=headers)
    assert answer.status_code == 200
    assert answer.content == (b"{}" if headers is JSON else b"")


BAD_SPANS = [
    ({"trace_id": b""}, "trace_id"),
    ({"trace_id": bytes(16)}, "trace_id"),
    ({"trace_id": b"short"}, "trace_id"),
    ({"span_id": b""}, "span_id"),
    ({"span_id": bytes(8)}, "span_id"),
    ({"span_id": b"much too long"}, "span_id"),
    ({"parent_span_id": b"abc"}, "parent_span_id"),
]


@pytest.mark.parametrize(("change", "named"), BAD_SPANS)
def test_a_malformed_span_rejects_only_itself(shared: Client, change: dict[str, bytes], named: str) -> None:
    run = new_id()
    message = request(*agent_spans(run, ["search", "book"]))
    (field, value), *_ = change.items()
    setattr(message.resource_spans[0].scope_spans[0].spans[1], field, value)
    answer = shared.send(message.SerializeToString())
    assert answer.status_code == 200
    partial = ExportTraceServiceResponse.FromString(answer.content).partial_success
    assert partial.rejected_spans == 1
    assert named in partial.error_message
    assert "spans[1]" in partial.error_message
    assert stored(shared, run) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"traceId": "xyz"},
        {"traceId": 5},
        {"traceId": None},
        {"spanId": "0000000000000000"},
        {"spanId": ""},
        {"startTimeUnixNano": "soon"},
        {"startTimeUnixNano": -1},
        {"endTimeUnixNano": 2**64},
        {"name": ["a"]},
        {"attributes": {"a": 1}},
        {"attributes": [{"value": {"stringValue": "no key"}}]},
        {"attributes": [{"key": "k", "value": "bare"}]},
        {"attributes": [{"key": "k", "value": {"intValue": "9223372036854775808"}}]},
        {"attributes": [{"key": "k", "value": {"boolValue": "yes"}}]},
        {"attributes": [{"key": str(i), "value": {"intValue": i}} for i in range(10_001)]},
        {"status": "bad"},
        {"events": [5]},
    ],
)
def test_a_malformed_json_span_rejects_only_itself(shared: Client, change: dict[str, object]) -> None:
    run = new_id()
    good, bad = json_request(run), json_request(run, spanId="00f067aa0ba902b8")
    spans = good["resourceSpans"][0]["scopeSpans"][0]["spans"]  # type: ignore[index]
    spans.insert(0, {**bad["resourceSpans"][0]["scopeSpans"][0]["spans"][0], **change})  # type: ignore[index]
    answer = shared.send(json.dumps(good).encode(), JSON)
    assert answer.status_code == 200
    assert answer.json()["partialSuccess"]["rejectedSpans"] == "1"
    assert "spans[0]" in answer.json()["partialSuccess"]["errorMessage"]
    assert stored(shared, run) == 1


def test_deep_nesting_rejects_only_the_span_that_has_it(shared: Client) -> None:
    run = new_id()
    deep: object = "x"
    for _ in range(150):  # protobuf refuses the whole message at a depth of 100
        deep = [deep]
    message = request(*agent_spans(run, ["search"]), {"trace": run, "id": 77, "at": {"deep": deep}})
    answer = shared.send(message.SerializeToString())
    assert answer.status_code == 200
    assert ExportTraceServiceResponse.FromString(answer.content).partial_success.rejected_spans == 1
    assert stored(shared, run) == 2


def test_deep_json_rejects_only_the_span_that_has_it(shared: Client) -> None:
    run = new_id()
    value: object = {"stringValue": "x"}
    for _ in range(200):
        value = {"arrayValue": {"values": [value]}}
    body = json_request(run)
    spans = body["resourceSpans"][0]["scopeSpans"][0]["spans"]  # type: ignore[index]
    spans.append({**spans[0], "spanId": "00f067aa0ba902b9", "attributes": [{"key": "deep", "value": value}]})
    answer = shared.send(json.dumps(body).encode(), JSON)
    assert answer.json()["partialSuccess"]["rejectedSpans"] == "1"
    assert stored(shared, run) == 1


def test_invalid_utf8_rejects_only_the_span_that_has_it(shared: Client) -> None:
    run = new_id()
    body = request(*agent_spans(run, ["search", "XXXX"])).SerializeToString()
    answer = shared.send(body.replace(b"execute_tool XXXX", b"execute_tool \xff\xfe\xfd\xff"))
    assert answer.status_code == 200
    assert ExportTraceServiceResponse.FromString(answer.content).partial_success.rejected_spans == 1
    assert stored(shared, run) == 2


def test_too_many_attributes_reject_the_span(shared: Client) -> None:
    run = new_id()
    message = request(*agent_spans(run, ["search"]))
    span = message.resource_spans[0].scope_spans[0].spans[0]
    for number in range(10_001):
        any_value(span.attributes.add(key=f"k{number}").value, number)
    partial = ExportTraceServiceResponse.FromString(shared.send(message.SerializeToString()).content)
    assert "attributes" in partial.partial_success.error_message
    assert stored(shared, run) == 1


def test_unknown_protobuf_fields_survive(shared: Client) -> None:
    run = new_id()
    message = request(*agent_spans(run, ["search"]))
    body = message.SerializeToString() + b"\x98\x06\x01"  # field 99 of the request, a varint
    assert shared.send(body).status_code == 200
    assert stored(shared, run) == 2


def test_a_foreign_host_name_is_refused_on_loopback(shared: Client) -> None:
    run = new_id()
    answer = shared.send(agent_request(run, ["search"]), {**PROTOBUF, "host": "evil.example"})
    assert answer.status_code == 403
    assert stored(shared, run) == 0


def test_a_page_elsewhere_cannot_send(shared: Client) -> None:
    run = new_id()
    headers = {**JSON, "origin": "http://evil.example"}
    assert shared.send(orjson.dumps(json_request(run)), headers).status_code == 403
    assert stored(shared, run) == 0
