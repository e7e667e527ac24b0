"""What attackers send: bodies that cost more than they weigh, and floods of requests and connections.

An attack is a function of (port, seconds), and says what it got. It comes from the address of the
well-behaved sender, so that only their connections are told apart, or from one of its own.
"""

from __future__ import annotations

import contextlib
import gzip
import http.client
import itertools
import json
import os
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

MIB = 1024 * 1024
ADDRESS, SENDERS, ELSEWHERE = "PDOCTOR_ATTACK_FROM", "127.0.0.1", "127.0.0.66"
HERE = os.environ.get(ADDRESS, SENDERS)
PROTOBUF, JSON = "application/x-protobuf", "application/json"
Attack = Callable[[int, float], str]
Headers = Mapping[str, str]
COUNTER = itertools.count(random.SystemRandom().randrange(1 << 60))


# ---------------------------------------------------------------- bodies


def one_span(run: int, span: int) -> ExportTraceServiceRequest:
    message = ExportTraceServiceRequest()
    spans = message.resource_spans.add().scope_spans.add().spans
    spans.add(trace_id=run.to_bytes(16, "big"), span_id=span.to_bytes(8, "big"), name="n")
    return message


def fleet(runs: int, pad: int) -> bytes:
    """One-span runs under one resource of so many bytes."""
    message = ExportTraceServiceRequest()
    part = message.resource_spans.add()
    part.resource.attributes.add(key="pad").value.string_value = "p" * pad
    spans = part.scope_spans.add().spans
    for _ in range(runs):
        number = next(COUNTER)
        spans.add(trace_id=(number << 40 | 1).to_bytes(16, "big"), span_id=number.to_bytes(8, "big"))
    return message.SerializeToString()


def dense(spans: int, elements: int, run: int | None = None) -> bytes:
    """Spans of one run, each with a list of so many empty values."""
    trace = (run or next(COUNTER)).to_bytes(16, "big")
    message = ExportTraceServiceRequest()
    scope = message.resource_spans.add().scope_spans.add()
    for _ in range(spans):
        span = scope.spans.add(trace_id=trace, span_id=next(COUNTER).to_bytes(8, "big"), name="n")
        values = span.attributes.add(key="k").value.array_value.values
        for _ in range(elements):
            values.add()
    return message.SerializeToString()


def many_attributes(count: int) -> bytes:
    message = one_span(next(COUNTER), 1)
    span = message.resource_spans[0].scope_spans[0].spans[0]
    for _ in range(count):
        span.attributes.add()
    return message.SerializeToString()


def many_events(count: int) -> bytes:
    message = one_span(next(COUNTER), 1)
    span = message.resource_spans[0].scope_spans[0].spans[0]
    for _ in range(count):
        span.events.add()
    return message.SerializeToString()


def nested(depth: int) -> bytes:
    """A value in a value in a value."""
    value = b""
    for _ in range(depth):
        value = (
            b"\x2a" + varint(len(value) + 1 + len(varint(len(value)))) + b"\x0a" + varint(len(value)) + value
        )
    attribute = b"\x0a\x01k\x12" + varint(len(value)) + value
    span = (
        b"\x0a\x10"
        + os.urandom(16)
        + b"\x12\x08"
        + os.urandom(8)
        + b"\x4a"
        + varint(len(attribute))
        + attribute
    )
    for tag in (b"\x12", b"\x12", b"\x0a"):
        span = tag + varint(len(span)) + span
    return span


def varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def huge_strings() -> bytes:
    """Strings of megabytes in every place for text."""
    message = ExportTraceServiceRequest()
    part = message.resource_spans.add()
    part.resource.attributes.add(key="x" * MIB).value.string_value = "y" * MIB
    scope = part.scope_spans.add()
    scope.scope.name = "s" * MIB
    for _ in range(4):
        number = next(COUNTER)
        span = scope.spans.add(
            trace_id=number.to_bytes(16, "big"), span_id=number.to_bytes(8, "big"), name="n" * 3 * MIB
        )
        span.attributes.add(key="gen_ai.operation.name").value.string_value = "execute_tool"
        span.attributes.add(key="gen_ai.tool.name").value.string_value = "t" * (MIB // 2)
    return message.SerializeToString()


def same_ids(count: int) -> bytes:
    message = one_span(next(COUNTER), 7)
    spans = message.resource_spans[0].scope_spans[0].spans
    for _ in range(count - 1):
        spans.add().CopyFrom(spans[0])
    return message.SerializeToString()


def chain(count: int, trace: int | None = None) -> bytes:
    """Spans of one run, each the parent of the next; the last is the parent of the first."""
    message = ExportTraceServiceRequest()
    spans = message.resource_spans.add().scope_spans.add().spans
    trace_id = (trace or next(COUNTER)).to_bytes(16, "big")
    for at in range(count):
        span = spans.add(
            trace_id=trace_id, span_id=(at + 1).to_bytes(8, "big"),
            parent_span_id=(at or count).to_bytes(8, "big"), name="execute_tool x",
            start_time_unix_nano=random.choice((0, 1, 4 * 10**18, 2**63, 2**64 - 1)),
            end_time_unix_nano=random.choice((0, 1, 4 * 10**18, 2**63, 2**64 - 1)),
        )  # fmt: skip
        span.attributes.add(key="gen_ai.operation.name").value.string_value = "execute_tool"
        span.attributes.add(key="gen_ai.tool.name").value.string_value = f"tool-{at}"
    return message.SerializeToString()


def chat(messages: int) -> bytes:
    """One model call with a conversation of so many messages, each with calls and results of tools."""
    said = [
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": f"c{at}", "name": f"t{at}", "arguments": {"a": at}}],
        }
        for at in range(messages)
    ]
    message = one_span(next(COUNTER), 1)
    span = message.resource_spans[0].scope_spans[0].spans[0]
    span.attributes.add(key="gen_ai.operation.name").value.string_value = "chat"
    span.attributes.add(key="gen_ai.input.messages").value.string_value = json.dumps(said)
    return message.SerializeToString()


def random_bytes(size: int) -> bytes:
    return os.urandom(size)


def json_containers(count: int) -> bytes:
    return b'{"resourceSpans":[' + b"{}," * count + b"{}]}"


def json_numbers(count: int) -> bytes:
    return b'{"a":[' + b"1," * count + b'1],"resourceSpans":[]}'


def json_deep(depth: int) -> bytes:
    return b'{"resourceSpans":' + b"[" * depth


def json_texts(count: int) -> bytes:
    return b'{"a":[' + b'"\\ud83d\\ude00",' * count + b'""]}'


def json_spans(count: int) -> bytes:
    spans = [
        {
            "traceId": f"{next(COUNTER):032x}", "spanId": f"{at + 1:016x}", "name": "n",
            "attributes": [{"key": "k", "value": {"arrayValue": {"values": [{"intValue": "1"}] * 8}}}],
        }
        for at in range(count)
    ]  # fmt: skip
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode()


# ---------------------------------------------------------------- how they are sent


class Tally:
    """What was answered, over all threads of an attack."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def add(self, what: object) -> None:
        with self._lock:
            self._counts[str(what)] += 1

    def __str__(self) -> str:
        return ", ".join(f"{number} x {what}" for what, number in self._counts.most_common(6))


def in_threads(count: int, work: Callable[[Tally], None]) -> str:
    tally = Tally()
    threads = [threading.Thread(target=work, args=(tally,), daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return str(tally)


def connection(port: int) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", port, timeout=60, source_address=(HERE, 0))


def ask(http_: http.client.HTTPConnection, method: str, path: str, body: bytes, headers: Headers) -> object:
    """The status, or how the connection ended."""
    try:
        http_.request(method, path, body or None, dict(headers))
        answer = http_.getresponse()
        answer.read()
    except (OSError, http.client.HTTPException) as failure:
        http_.close()
        time.sleep(0.05)
        return type(failure).__name__
    return answer.status


def posting(
    bodies: Callable[[], bytes], *, kind: str = PROTOBUF, threads: int = 8, distinct: int = 4,
    path: str = "/v1/traces", method: str = "POST", packed: bool = True, headers: Headers | None = None,
) -> Attack:  # fmt: skip
    """Bodies again and again over several connections; they are made before the time begins."""

    def attack(port: int, seconds: float) -> str:
        sent = {"content-type": kind, **(headers or {})}
        ready = [bodies() for _ in range(distinct)]
        if packed:
            sent["content-encoding"] = "gzip"
            ready = [gzip.compress(body, 1) for body in ready]
        end = time.monotonic() + seconds

        def work(tally: Tally) -> None:
            http_ = connection(port)
            for body in itertools.cycle(ready):
                if time.monotonic() > end:
                    break
                tally.add(ask(http_, method, path, body, sent))
            http_.close()

        return in_threads(threads, work)

    return attack


def getting(paths: Callable[[], str], *, threads: int = 16, headers: Headers | None = None) -> Attack:
    """Pages and answers of the API."""

    def attack(port: int, seconds: float) -> str:
        end = time.monotonic() + seconds

        def work(tally: Tally) -> None:
            http_ = connection(port)
            while time.monotonic() < end:
                tally.add(ask(http_, "GET", paths(), b"", headers or {}))
            http_.close()

        return in_threads(threads, work)

    return attack


def dripping(head: bytes, rest: bytes, *, connections: int, pause: float, step: int = 1) -> Attack:
    """Requests whose end never comes: after the head so many bytes after each pause."""

    def attack(port: int, seconds: float) -> str:
        tally, opened, end = Tally(), [], time.monotonic() + seconds
        for _ in range(connections):
            try:
                one = socket.create_connection(("127.0.0.1", port), 5, source_address=(HERE, 0))
                one.sendall(head)
                one.setblocking(False)
                opened.append(one)
            except OSError as failure:
                tally.add(type(failure).__name__)
        place = 0
        while time.monotonic() < end:
            at = place % max(1, len(rest))
            part = (rest * 2)[at : at + step]
            for one in [*opened] if part else ():
                try:
                    one.send(part)
                except BlockingIOError:
                    pass
                except OSError:
                    tally.add("closed")
                    opened.remove(one)
            place += step
            time.sleep(pause)
        for one in opened:
            one.close()
        tally.add(f"{len(opened)} still open")
        return str(tally)

    return attack


def connecting(*, say: bytes = b"", threads: int = 4) -> Attack:
    """Connections that come and go."""

    def attack(port: int, seconds: float) -> str:
        end = time.monotonic() + seconds

        def work(tally: Tally) -> None:
            while time.monotonic() < end:
                try:
                    with socket.create_connection(("127.0.0.1", port), 5, source_address=(HERE, 0)) as one:
                        one.sendall(say)
                    tally.add("opened")
                except OSError as failure:
                    tally.add(type(failure).__name__)
                    time.sleep(0.01)

        return in_threads(threads, work)

    return attack


def wrong_keys() -> Headers:
    import secrets

    return {"authorization": f"Bearer pdk_{secrets.token_hex(6)}_{secrets.token_urlsafe(32)}"}


def flooding_keys(port: int, seconds: float) -> str:
    """Well-formed keys that nobody made, a new one with each request."""
    end = time.monotonic() + seconds

    def work(tally: Tally) -> None:
        http_ = connection(port)
        while time.monotonic() < end:
            tally.add(ask(http_, "POST", "/v1/traces", b"", {"content-type": PROTOBUF, **wrong_keys()}))
        http_.close()

    return in_threads(16, work)


def check_body(calls: int, policies: int) -> bytes:
    run = {
        "id": "r", "query": "q", "status": "ok",
        "calls": [{"index": at, "tool": f"t{at % 50}", "arguments": {}} for at in range(calls)],
    }  # fmt: skip
    rules = "".join(
        f"  - id: p{at}\n    rule: t{at % 50} must happen before t{(at + 7) % 50}.\n"
        for at in range(policies)
    )
    return json.dumps({"run": run, "policies": "policies:\n" + rules}).encode()


EXTREMES = (
    "/?tool=%00&since=1e308&until=-1e308", "/?cursor=" + "A" * 2000,
    "/?" + "&".join(f"a{n}=b" for n in range(500)),
    "/api/v1/runs?limit=1000", "/api/v1/runs?limit=1000&tool=x&policy=y&agent=z&error_type=timeout",
    "/api/v1/runs?since=nan", "/api/v1/runs?since=inf&until=-inf", "/api/v1/runs?limit=99999999999999999999",
    "/api/v1/findings?limit=1000", "/api/v1/findings?rule=" + "%F0%9F%92%A9" * 500, "/api/v1/stats",
    "/metrics", "/runs/" + "f" * 3000, "/openapi.json", "/docs", "/readyz",
    "/api/v1/runs/..%2f..%2fetc%2fpasswd",
    "/api/v1/seen-tools", "/api/v1/cases?limit=1000", "/api/v1/policies",
)  # fmt: skip


def extremes() -> Iterator[str]:
    return itertools.cycle(random.sample(EXTREMES, len(EXTREMES)))


def policies_body(number: int) -> bytes:
    rules = "".join(f"  - id: p{at}\n    rule: a{at} must happen before b{at}.\n" for at in range(number))
    return ("policies:\n" + rules).encode()


def _paths() -> Callable[[], str]:
    asked = extremes()
    return lambda: next(asked)


CHUNKED = (
    b"POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-protobuf\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
LONG = (
    b"POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-protobuf\r\n"
    b"content-length: 19999999\r\n\r\n"
)

ATTACKS: dict[str, Attack] = {
    "bombs": posting(lambda: bytes(19 * MIB), threads=30, distinct=1),
    "bombs under 1 MiB": posting(lambda: bytes(MIB - 1), threads=60, distinct=1),
    "big resource, 5,000 runs": posting(lambda: fleet(5_000, MIB), threads=4, distinct=3),
    "50,000 runs a request": posting(lambda: fleet(50_000, 300), threads=3, distinct=3),
    "3,900 runs a request, inline": posting(lambda: fleet(3_900, 10), threads=16, distinct=8),
    "a span of a million elements": posting(lambda: dense(1, MIB), threads=16),
    "a span of 200,000 elements": posting(lambda: dense(1, 200_000), threads=32),
    "dense spans of one run": posting(lambda: dense(900, 9_900, run=77), threads=4),
    "a million attributes": posting(lambda: many_attributes(10**6), threads=16),
    "500,000 events": posting(lambda: many_events(500_000), threads=32),
    "nested 90 deep": posting(lambda: nested(90), threads=32, packed=False),
    "nested 100,000 deep": posting(lambda: nested(20_000), threads=16),
    "huge strings": posting(huge_strings, threads=8),
    "the same ids": posting(lambda: same_ids(40_000), threads=8),
    "chains in circles": posting(lambda: chain(3_000), threads=8),
    "long conversations": posting(lambda: chat(20_000), threads=8),
    "random bytes": posting(lambda: random_bytes(900_000), threads=16, packed=False),
    "empty parts": posting(lambda: b"\x0a\x00" * (10 * MIB - 9), threads=8, distinct=1),
    "500,000 empty parts": posting(lambda: b"\x0a\x00" * 500_000, threads=32, distinct=1),
    "JSON containers": posting(lambda: json_containers(990_000), kind=JSON, threads=8, distinct=1),
    "JSON numbers": posting(lambda: json_numbers(9_000_000), kind=JSON, threads=8, distinct=1),
    "JSON deep": posting(lambda: json_deep(19 * MIB), kind=JSON, threads=8, distinct=1),
    "JSON texts": posting(lambda: json_texts(MIB), kind=JSON, threads=8, distinct=1),
    "JSON spans": posting(lambda: json_spans(20_000), kind=JSON, threads=8, distinct=1),
    "JSON of 120 kB": posting(lambda: json_containers(40_000), kind=JSON, threads=32, distinct=1),
    "flood of small requests": posting(lambda: fleet(1, 10), threads=100, packed=False, distinct=200),
    "flood without a body": posting(lambda: b"", threads=100, packed=False, distinct=1),
    "1,200 silent": dripping(b"", b"", connections=1_200, pause=0.2, step=0),
    "600 dripping heads": dripping(b"GET / HTTP/1.1\r\n", b"x-a: b\r\n", connections=600, pause=0.1),
    "600 dripping bodies": dripping(LONG, b"\0", connections=600, pause=0.1),
    "chunked without end": dripping(CHUNKED, b"1\r\n\0\r\n", connections=300, pause=0.05, step=6),
    "bodies of 19 MiB, unfinished": dripping(LONG, bytes(MIB), connections=60, pause=0.01, step=MIB),
    "connect and leave": connecting(),
    "ask and leave": connecting(say=b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"),
    "extreme parameters": getting(_paths()),
    "40 pages at once": getting(lambda: "/", threads=40),
    "readers of the dense run": getting(
        lambda: random.choice(("/runs/", "/api/v1/runs/")) + (77).to_bytes(16, "big").hex(), threads=12
    ),
    "check, many pairs": posting(
        lambda: check_body(20_000, 90), path="/api/v1/check", kind=JSON, packed=False, threads=8, distinct=1
    ),
    "check, 60,000 calls": posting(
        lambda: check_body(60_000, 5), path="/api/v1/check", kind=JSON, packed=False, threads=8, distinct=1
    ),
    "policy files": posting(
        lambda: policies_body(2_000), path="/api/v1/policies/x", method="PUT", kind="application/yaml",
        packed=False, threads=4, distinct=2,
    ),
    "wrong keys": flooding_keys,
}  # fmt: skip


def run_attack(name: str, port: int, seconds: float) -> str:
    with contextlib.suppress(OSError):
        import resource

        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return ATTACKS[name](port, seconds)
