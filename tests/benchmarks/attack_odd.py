"""More attacks: by bodies of the API, odd corners of HTTP, gRPC, and what spans make of one another."""

from __future__ import annotations

import itertools
import json
import os
import random
import socket
import threading
import time
from contextlib import suppress

from attack_load import (
    ATTACKS,
    COUNTER,
    HERE,
    JSON,
    MIB,
    PROTOBUF,
    Attack,
    Tally,
    ask,
    connection,
    in_threads,
    one_span,
    posting,
)  # fmt: skip

YAML = "application/yaml"


def case_lists(size: int) -> bytes:
    return b"[" + b"[]," * (size // 3) + b"[]]"


def case_texts(size: int) -> bytes:
    return b"[" + b'"ab",' * (size // 5) + b'""]'


def yaml_sequences(size: int) -> bytes:
    return b"policies:\n" + b"- - - - - - - -\n" * (size // 16)


def yaml_keys(size: int) -> bytes:
    return b"policies:\n" + b"- ? a\n" * (size // 6)


def bindings(count: int) -> bytes:
    return json.dumps([{"trace_id": os.urandom(16).hex(), "case_id": "none"} for _ in range(count)]).encode()


def tool_call(run: int, at: int, tool: str, conversation: str | None = None) -> bytes:
    message = one_span(run, at + 1)
    span = message.resource_spans[0].scope_spans[0].spans[0]
    span.attributes.add(key="gen_ai.operation.name").value.string_value = "execute_tool"
    span.attributes.add(key="gen_ai.tool.name").value.string_value = tool
    if conversation is not None:
        span.attributes.add(key="gen_ai.conversation.id").value.string_value = conversation
    return message.SerializeToString()


def new_tools() -> bytes:
    """A run with a thousand tools that nobody has seen."""
    run, message = next(COUNTER), one_span(1, 1)
    spans = message.resource_spans[0].scope_spans[0].spans
    del spans[:]
    for at in range(1_000):
        span = spans.add(trace_id=run.to_bytes(16, "big"), span_id=(at + 1).to_bytes(8, "big"), name="n")
        span.attributes.add(key="gen_ai.operation.name").value.string_value = "execute_tool"
        span.attributes.add(key="gen_ai.tool.name").value.string_value = f"{os.urandom(12).hex()}{'t' * 400}"
    return message.SerializeToString()


def one_by_one(bodies: object) -> Attack:
    """A new body with each request."""

    def attack(port: int, seconds: float) -> str:
        end = time.monotonic() + seconds

        def work(tally: Tally) -> None:
            http_ = connection(port)
            while time.monotonic() < end:
                tally.add(ask(http_, "POST", "/v1/traces", bodies(), {"content-type": PROTOBUF}))  # type: ignore[operator]
            http_.close()

        return in_threads(32, work)

    return attack


NEVER_ENDING, SHARED = random.randrange(1 << 100), f"conversation {random.random()}"


def unread(request: bytes, *, connections: int, times: int) -> Attack:
    """Many requests over each connection, and no answer is ever read."""

    def attack(port: int, seconds: float) -> str:
        tally, end, opened = Tally(), time.monotonic() + seconds, []
        for _ in range(connections):
            try:
                one = socket.create_connection(("127.0.0.1", port), 5, source_address=(HERE, 0))
                one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                one.setblocking(False)
                opened.append(one)
            except OSError as failure:
                tally.add(type(failure).__name__)
        left = dict.fromkeys(opened, request * times)
        while time.monotonic() < end:
            for one, rest in [*left.items()]:
                try:
                    left[one] = rest[one.send(rest[: 1 << 16]) :]
                except BlockingIOError:
                    continue
                except OSError:
                    tally.add("closed")
                    del left[one]
            time.sleep(0.05)
        for one in opened:
            one.close()
        tally.add(f"{len(left)} still open")
        return str(tally)

    return attack


def tiny_chunks(port: int, seconds: float) -> str:
    """Bodies in chunks of a byte, each with an extension."""
    head = (
        b"POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-protobuf\r\n"
        b"transfer-encoding: chunked\r\n\r\n"
    )
    body = head + b"1;a=b\r\n\x0a\r\n" * 200_000 + b"0\r\n\r\n"
    end = time.monotonic() + seconds

    def work(tally: Tally) -> None:
        while time.monotonic() < end:
            try:
                with socket.create_connection(("127.0.0.1", port), 30, source_address=(HERE, 0)) as one:
                    one.sendall(body)
                    tally.add(one.recv(12)[9:].decode() or "closed")
            except OSError as failure:
                tally.add(type(failure).__name__)

    return in_threads(16, work)


def fat_heads(port: int, seconds: float) -> str:
    """Requests with 60 kB of headers."""
    head = {f"x-{at}": "v" * 600 for at in range(95)}
    end = time.monotonic() + seconds

    def work(tally: Tally) -> None:
        http_ = connection(port)
        while time.monotonic() < end:
            tally.add(ask(http_, "GET", "/healthz", b"", head))
        http_.close()

    return in_threads(32, work)


def over_grpc(body: bytes, *, channels: int, silent: int = 0) -> Attack:
    """Calls over many channels, beside connections that say nothing; the port is that of HTTP and one."""

    def attack(port: int, seconds: float) -> str:
        import grpc

        end, target, opened = time.monotonic() + seconds, f"127.0.0.1:{port + 1}", []
        for _ in range(silent):
            with suppress(OSError):
                opened.append(socket.create_connection(("127.0.0.1", port + 1), 2, source_address=(HERE, 0)))

        def work(tally: Tally) -> None:
            options = [("grpc.use_local_subchannel_pool", 1)]
            with grpc.insecure_channel(target, options=options) as channel:
                export = channel.unary_unary("/opentelemetry.proto.collector.trace.v1.TraceService/Export")
                while time.monotonic() < end:
                    try:
                        export(body, timeout=30)
                        tally.add("OK")
                    except grpc.RpcError as failure:
                        tally.add(failure.code().name)
                        time.sleep(0.01)

        said = in_threads(channels, work)
        for one in opened:
            one.close()
        return f"{said}; {len(opened)} silent"

    return attack


def at_once(*attacks: Attack) -> Attack:
    """At once."""

    def attack(port: int, seconds: float) -> str:
        said: list[str] = []
        threads = [
            threading.Thread(target=lambda one=one: said.append(one(port, seconds))) for one in attacks
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return " | ".join(said)

    return attack


def _dense_for_grpc() -> bytes:
    from attack_load import dense

    return dense(3, 9_000) * 8


ask_for = "GET {} HTTP/1.1\r\nhost: localhost\r\n\r\n".format
NUMBERS = itertools.count()
HEAVY = (
    "dense spans of one run", "check, 60,000 calls", "JSON containers", "huge strings",
    "readers of the dense run", "a span of a million elements",
)  # fmt: skip
"""One for each process that takes much memory: checker, judge on demand, decoder, receiver."""
ODD: dict[str, Attack] = {
    "odd: cases of empty lists": posting(
        lambda: case_lists(19 * MIB), path="/api/v1/cases", kind=JSON, packed=False, distinct=1
    ),
    "odd: cases of texts": posting(
        lambda: case_texts(19 * MIB), path="/api/v1/cases", kind=JSON, packed=False, distinct=1
    ),
    "odd: YAML of sequences": posting(
        lambda: yaml_sequences(2 * MIB - 99), path="/api/v1/policies/x", method="PUT", kind=YAML,
        packed=False, threads=4, distinct=1,
    ),
    "odd: YAML, 64 kB": posting(
        lambda: yaml_sequences(65_536), path="/api/v1/policies/x", method="PUT", kind=YAML, packed=False,
        threads=32, distinct=1,
    ),
    "odd: 100,000 bindings": posting(
        lambda: bindings(100_000), path="/api/v1/bindings", kind=JSON, packed=False, threads=4, distinct=2
    ),
    "odd: answers unread": unread(ask_for("/openapi.json").encode(), connections=100, times=2_000),
    "odd: pages unread": unread(ask_for("/api/v1/runs?limit=1000").encode(), connections=200, times=50),
    "odd: chunks of a byte": tiny_chunks,
    "odd: heads of 60 kB": fat_heads,
    "odd: a run that never ends": one_by_one(
        lambda: tool_call(NEVER_ENDING, next(NUMBERS) % (1 << 60), "again")
    ),
    "odd: one conversation of all": one_by_one(lambda: tool_call(next(COUNTER), 1, "talk", SHARED)),
    "odd: new names of tools": posting(new_tools, threads=8, distinct=32),
    "odd: gRPC, dense": over_grpc(_dense_for_grpc(), channels=32),
    "odd: gRPC, silent and many": over_grpc(one_span(5, 5).SerializeToString(), channels=64, silent=1_200),
    "odd: all that is heavy": at_once(*(ATTACKS[name] for name in HEAVY)),
    "odd: login with 1 MiB": posting(
        lambda: b"key=" + b"x" * MIB, path="/login", kind="application/x-www-form-urlencoded", packed=False,
        threads=32, distinct=1,
    ),
}  # fmt: skip
