"""Rare attacks: odd protobuf, bodies packed twice, new names without end, what follows a body."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import socket
import struct
import time
from urllib.parse import quote

from attack_load import (
    COUNTER,
    HERE,
    JSON,
    MIB,
    Attack,
    Tally,
    ask,
    connection,
    dripping,
    getting,
    in_threads,
    one_span,
    posting,
    varint,
)
from attack_odd import at_once, one_by_one, unread
from attack_wire import CALL, DATA, HEADERS, frame, over_http2

CHUNKED = (
    b"POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-protobuf\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
FORM = "application/x-www-form-urlencoded"
PRIORITY, WINDOW, PADDED = 2, 8, 8


def sized(tag: int, content: bytes) -> bytes:
    return bytes([tag << 3 | 2]) + varint(len(content)) + content


def in_span(more: bytes) -> bytes:
    """A request with one good span that has these bytes, too."""
    span = one_span(next(COUNTER), 1).resource_spans[0].scope_spans[0].spans[0].SerializeToString()
    return sized(1, sized(2, sized(2, span + more)))


def groups(depth: int) -> bytes:
    """A field that nobody knows: groups in groups."""
    return in_span(b"\xa3\x06" * depth + b"\xa4\x06" * depth)


def unknown_fields(count: int) -> bytes:
    return in_span(b"\xa0\x06\x01" * count)


def huge_numbers(count: int) -> bytes:
    """Numbers of ten bytes, and lengths beyond everything."""
    return in_span(b"\xa0\x06" + b"\xff" * 9 + b"\x01" + b"\x38" * (count - 1) + b"\xff" * 11)


def same_trace(runs: int) -> bytes:
    """Runs that all say they are of one trace."""
    message = one_span(99, 1)
    spans = message.resource_spans[0].scope_spans[0].spans
    del spans[:]
    for _ in range(runs):
        span = spans.add(trace_id=b"\x77" * 16, span_id=next(COUNTER).to_bytes(8, "big"), name="n")
        span.attributes.add(key="pdoctor.run.id").value.string_value = os.urandom(16).hex()
    return bytes(message.SerializeToString())


def new_names(runs: int) -> bytes:
    """Runs, each of a service, an agent, a version and a conversation that nobody has seen."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    message = ExportTraceServiceRequest()
    for _ in range(runs):
        number = next(COUNTER)
        part = message.resource_spans.add()
        for key in ("service.name", "service.version", "deployment.environment.name"):
            part.resource.attributes.add(key=key).value.string_value = f"{key}-{number}"
        span = part.scope_spans.add().spans.add(
            trace_id=os.urandom(16), span_id=os.urandom(8), name="n",
            start_time_unix_nano=2 * 10**18, end_time_unix_nano=10**18,
        )  # fmt: skip
        for key, value in (
            ("gen_ai.operation.name", "invoke_agent"), ("gen_ai.agent.name", f"agent-{number}"),
            ("gen_ai.agent.version", f"{number}"), ("gen_ai.conversation.id", f"talk-{number}"),
            ("gen_ai.request.model", f"model-{number}"),
        ):  # fmt: skip
            span.attributes.add(key=key).value.string_value = value
    return bytes(message.SerializeToString())


def after_body(begins: bytes, goes_on: bytes, connections: int = 16) -> Attack:
    """A chunked request whose end goes on and on."""

    def attack(port: int, seconds: float) -> str:
        end = time.monotonic() + seconds

        def work(tally: Tally) -> None:
            while time.monotonic() < end:
                try:
                    with socket.create_connection(("127.0.0.1", port), 5, source_address=(HERE, 0)) as one:
                        one.sendall(CHUNKED + begins)
                        while time.monotonic() < end:
                            one.sendall(goes_on)
                except OSError as failure:
                    tally.add(type(failure).__name__)

        return in_threads(connections, work)

    return attack


def packed_twice(times: int) -> Attack:
    body = bytes(64 * MIB)
    for _ in range(times):
        body = gzip.compress(body, 9)
    return posting(
        lambda: body, packed=False, distinct=1, threads=16,
        headers={"content-encoding": ", ".join(["gzip"] * times)},
    )  # fmt: skip


def asked(count: int) -> bytes:
    said = {"tool": "t" * 200, "text": "x" * 1_000, "arguments": {"a": "b" * count}}
    return json.dumps({**said, "seconds": 3600, "wait": 0}).encode()


def question(calls: int) -> bytes:
    """What a guard asks, about a long run."""
    made = [{"name": "ab"[at % 2], "arguments": {"x": at}} for at in range(calls)]
    return json.dumps({"run": {"calls": made, "tools": ["a", "b"]}, "call": {"name": "b"}}).encode()


def changing_rules(number: int) -> bytes:
    lines = "".join(f"  - {{id: p{at}, rule: A must happen before B{number}.}}\n" for at in range(20))
    return f"actions: {{A: a, B{number}: b{number}}}\npolicies:\n{lines}".encode()


def opened_campaigns() -> bytes:
    return json.dumps(
        {"name": "c" * 100, "kind": "test", "options": {f"o{at}": "v" * 90 for at in range(900)}}
    ).encode()


def views(port: int, seconds: float) -> str:
    """Saved searches without end."""
    end, numbers = time.monotonic() + seconds, itertools.count()

    def work(tally: Tally) -> None:
        http_ = connection(port)
        while time.monotonic() < end:
            body = json.dumps({"query": "x" * 90}).encode()
            tally.add(
                ask(
                    http_,
                    "PUT",
                    f"/api/v1/views/v{next(numbers)}-{os.getpid()}",
                    body,
                    {"content-type": JSON},
                )
            )
        http_.close()

    return in_threads(16, work)


def odd_methods(port: int, seconds: float) -> str:
    """Methods and addresses that nobody has heard of, each once."""
    end = time.monotonic() + seconds
    methods = itertools.cycle(("PROPFIND", "MKCOL", "PATCH", "OPTIONS", "TRACE", "SEARCH", "PURGE", "LINK"))

    def work(tally: Tally) -> None:
        http_ = connection(port)
        while time.monotonic() < end:
            tally.add(ask(http_, next(methods), f"/{next(COUNTER)}/runs", b"", {}))
        http_.close()

    return in_threads(32, work)


def slowly_read(path: str, *, connections: int, times: int) -> Attack:
    request = f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n"
    return unread(request.encode(), connections=connections, times=times)


def new_services(number: int) -> bytes:
    """Calls of services of gRPC that there are not."""
    calls = []
    for at in range(40 * number + 1, 40 * number + 41, 2):
        path = f"/x{next(COUNTER)}.Y/Z".encode()
        head = CALL.replace(CALL[CALL.index(b"\x05:path") :], b"") + b"\x05:path" + bytes([len(path)]) + path
        calls.append(frame(HEADERS, 5, at, head))
    return b"".join(calls)


def padded(number: int) -> bytes:
    """Frames that are padding alone."""
    begun = frame(HEADERS, 4, 1, CALL) if not number else b""
    return begun + frame(DATA, PADDED, 1, b"\xff" + bytes(255)) * 500


READ = f"/api/v1/runs/{(77).to_bytes(16, 'big').hex()}/spans?limit=1000"
RARE: dict[str, Attack] = {
    "rare: fields after a body": after_body(b"0\r\n", b"x: y\r\n" * 5_000),
    "rare: one field after a body": after_body(b"0\r\nx: ", b"y" * 60_000),
    "rare: a chunk's extension": after_body(b"5;x=", b"y" * 60_000),
    "rare: heads of many fields": posting(
        lambda: b"", packed=False, threads=16, distinct=1, headers={f"x{at}": "y" for at in range(99)}
    ),
    "rare: packed twice": packed_twice(2),
    "rare: packed five times": packed_twice(5),
    "rare: groups, 50 deep": posting(lambda: groups(50), threads=16, packed=False),
    "rare: groups, 200,000 deep": posting(lambda: groups(200_000), threads=16),
    "rare: a million unknown fields": posting(lambda: unknown_fields(1_000_000), threads=16),
    "rare: 100,000 unknown fields": posting(lambda: unknown_fields(100_000), threads=16),
    "rare: numbers without end": posting(lambda: huge_numbers(9), threads=16, packed=False),
    "rare: one trace of all runs": posting(lambda: same_trace(900), threads=8, distinct=40),
    "rare: new names of everything": posting(lambda: new_names(300), threads=8, distinct=60),
    "rare: one new name at a time": one_by_one(lambda: new_names(1)),
    "rare: methods and addresses": odd_methods,
    "rare: services of gRPC": over_http2(new_services, connections=16),
    "rare: padding": over_http2(padded, connections=16),
    "rare: priorities": over_http2(lambda n: frame(PRIORITY, 0, 2 * n + 1, bytes(5)) * 500, connections=16),
    "rare: windows": over_http2(
        lambda _: frame(WINDOW, 0, 0, struct.pack(">I", 1)) * 500, connections=16
    ),
    "rare: frames of no kind": over_http2(lambda _: frame(99, 0, 0, b"x" * 200) * 500, connections=16),
    "rare: forms of many fields": posting(
        lambda: b"a&" * (MIB // 2 - 9), path="/login", kind=FORM, packed=False, threads=16, distinct=1
    ),
    "rare: addresses of many parameters": getting(lambda: f"/runs?{'tool=a&' * 6_000}", threads=16),
    "rare: percent signs": getting(lambda: "/runs?q=" + quote("\U0001f600 OR (" * 900), threads=16),
    "rare: bodies, a byte a second": dripping(
        b"POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99\r\n\r\n", b"\x0a",
        connections=900, pause=1.0,
    ),
    "rare: questions to people": posting(
        lambda: asked(16_000), path="/api/v1/approvals", kind=JSON, packed=False, threads=16, distinct=4
    ),
    "rare: questions of guards": posting(
        lambda: question(4_000), path="/api/v1/guard", kind=JSON, packed=False, threads=16, distinct=1
    ),
    "rare: rules that change": posting(
        lambda: changing_rules(next(COUNTER) % 1_000), path="/api/v1/policies/rare", method="PUT",
        kind="application/yaml", packed=False, threads=4, distinct=40,
    ),
    "rare: campaigns": posting(
        opened_campaigns, path="/api/v1/campaigns", kind=JSON, packed=False, threads=8, distinct=1
    ),
    "rare: saved searches": views,
    "rare: all judged again": posting(
        lambda: b"{}", path="/api/v1/recheck", kind=JSON, packed=False, threads=8, distinct=1
    ),
    "rare: exports unread": slowly_read("/runs/export?format=jsonl", connections=60, times=3),
    "rare: spans unread": slowly_read(READ, connections=100, times=9),
    "rare: /metrics": getting(lambda: "/metrics", threads=16),
    "rare: compared": getting(lambda: f"/compare?by=agent&a=agent-{next(COUNTER)}&b=x", threads=8),
    "rare: groups of findings": getting(
        lambda: f"/api/v1/findings/groups?since={next(COUNTER) % 10**9}", threads=8
    ),
}  # fmt: skip
RARE["rare: names, rules and readers at once"] = at_once(
    *(
        RARE[f"rare: {name}"]
        for name in ("new names of everything", "rules that change", "/metrics", "compared")
    )
)
