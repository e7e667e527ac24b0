"""Attackers on loopback: however they go about it, memory stays bounded and others are served.

What is sent is bounded in number and time; figures are printed (`-s`).
"""

from __future__ import annotations

import contextlib
import gzip
import os
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.support.traces import JSON, PROTOBUF, agent_request, any_value, new_id

MIB = 1024 * 1024
MOST, AFTERWARDS = 600, 300
"""MiB of all processes together: at any time, and a minute after the last attack."""

pytestmark = pytest.mark.heavy


class Target:
    """A collector in processes of its own, and what is seen of it meanwhile."""

    def __init__(self, folder: Path) -> None:
        options = ["--http-port", "0", "--grpc-port", "off", "--idle-seconds", "1", "--grace-seconds", "0"]
        command = [sys.executable, "-m", "pdoctor_trace", "serve", *options]
        self.process = subprocess.Popen(
            [*command, "--store", f"sqlite:///{folder / 'store.db'}"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().split()[-1]
        self.port = urlsplit(self.url).port or 0
        self.http = httpx.Client(base_url=self.url, timeout=60, trust_env=False)
        self.peak, self.health, self.stored, self.refused = 0, [0.0], 0, 0
        self._end = threading.Event()
        for watch in (self._look, self._knock, self._send):
            threading.Thread(target=watch, daemon=True).start()

    def memory(self) -> int:
        """MiB of all processes together."""
        return sum(map(resident, tree(self.process.pid))) // MIB

    def _look(self) -> None:
        while not self._end.wait(0.05):
            self.peak = max(self.peak, self.memory())

    def _knock(self) -> None:
        with httpx.Client(base_url=self.url, timeout=60, trust_env=False) as http:
            while not self._end.wait(0.05):
                began = time.perf_counter()
                assert http.get("/healthz").status_code == 200
                self.health.append(time.perf_counter() - began)

    def _send(self) -> None:
        """A well-behaved sender, one request after the other."""
        with httpx.Client(base_url=self.url, timeout=60, trust_env=False) as http:
            while not self._end.is_set():
                answer = http.post(
                    "/v1/traces", content=agent_request(new_id(), ["a"] * 20), headers=dict(PROTOBUF)
                )
                self.stored += answer.status_code == 200
                self.refused += answer.status_code != 200
                time.sleep(0.02)

    def during(self, name: str, attack: Callable[[], object]) -> float:
        """Requests of the good sender per second while something is done; prints what was seen."""
        self.peak, self.health, before, began = 0, [0.0], self.stored, time.monotonic()
        said = attack()
        rate = (self.stored - before) / (time.monotonic() - began)
        print(  # noqa: T201
            f"{name}: peak {self.peak} MiB, /healthz median {statistics.median(self.health) * 1e3:.0f} ms, "
            f"worst {max(self.health) * 1e3:.0f} ms; {rate:.1f} good requests/s; {said}"
        )
        assert self.peak < MOST, name
        return rate

    def post(self, body: bytes, kind: dict[str, str] = PROTOBUF, *, times: int = 1) -> list[int]:
        """The answers to a body that is sent so often at once."""
        packed, headers = gzip.compress(body, 1), {**kind, "content-encoding": "gzip"}
        return at_once(
            times, lambda: self.http.post("/v1/traces", content=packed, headers=headers).status_code
        )

    def close(self) -> None:
        self._end.set()
        self.process.terminate()
        self.process.communicate(timeout=20)
        self.http.close()


def tree(process: int) -> Iterator[int]:
    """A process and all below it."""
    yield process
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{process}/task"):
            for child in Path(f"/proc/{process}/task/{thread}/children").read_text().split():
                yield from tree(int(child))


def resident(process: int) -> int:
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    opened = Target(tmp_path_factory.mktemp("attacked"))
    yield opened
    opened.close()


def fleet(runs: int, pad: int, first: int) -> bytes:
    """One-span runs under one resource of so many bytes."""
    message = ExportTraceServiceRequest()
    part = message.resource_spans.add()
    any_value(part.resource.attributes.add(key="pad").value, "p" * pad)
    spans = part.scope_spans.add().spans
    for number in range(first, first + runs):
        spans.add(trace_id=(number << 64 | 1).to_bytes(16, "big"), span_id=number.to_bytes(8, "big"))
    return message.SerializeToString()


def dense(run: str, first: int, spans: int, elements: int) -> bytes:
    """Spans of one run, each with a list of so many empty values."""
    message = ExportTraceServiceRequest()
    scope = message.resource_spans.add().scope_spans.add()
    for number in range(first, first + spans):
        span = scope.spans.add(trace_id=bytes.fromhex(run), span_id=number.to_bytes(8, "big"), name="n")
        any_value(span.attributes.add(key="k").value, [None] * elements)
    return message.SerializeToString()


def at_once(times: int, what: Callable[[], int]) -> list[int]:
    """The answers of so many threads."""
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(what())) for _ in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(found)


def unfinished(target: Target, connections: int, seconds: float) -> None:
    """Bodies of 19 MiB whose end never comes."""
    with contextlib.ExitStack() as opened:
        for _ in range(connections):
            connection = opened.enter_context(socket.create_connection(("127.0.0.1", target.port)))
            head = b"POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-protobuf\r\n"
            connection.sendall(head + b"content-length: 19999999\r\n\r\n")
            threading.Thread(target=pour, args=(connection,), daemon=True).start()
        time.sleep(seconds)


def pour(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.sendall(bytes(19_900_000))


def silent(target: Target, connections: int, seconds: float) -> None:
    with contextlib.ExitStack() as opened:
        for _ in range(connections):
            with contextlib.suppress(OSError):
                opened.enter_context(socket.create_connection(("127.0.0.1", target.port), timeout=5))
        time.sleep(seconds)


def test_memory_stays_bounded_and_others_are_served(target: Target) -> None:
    alone = target.during("nobody", lambda: time.sleep(5))
    run = new_id()

    def readers() -> list[int]:
        paths = [f"/api/v1/runs/{run}", f"/runs/{run}", f"/api/v1/runs/{run}/spans"]
        return [code for path in paths for code in at_once(4, lambda: target.http.get(path).status_code)]  # noqa: B023

    attacks: dict[str, Callable[[], object]] = {
        "big resource": lambda: [target.post(fleet(5_000, MIB, 1 + 5_000 * at)) for at in range(3)],
        "one run dense": lambda: [target.post(dense(run, 1 + 900 * at, 900, 9_900)) for at in range(4)],
        "readers of it": readers,
        "dense spans": lambda: [target.post(dense(new_id(), 1, 1, MIB)) for _ in range(5)],
        "JSON": lambda: target.post(b"[" + b"{}," * 6 * MIB + b"0]", JSON, times=6),
        "empty parts": lambda: target.post(b"\x0a\x00" * (10 * MIB - 9), times=6),
        "bombs": lambda: target.post(bytes(19 * MIB), times=30),
        "many runs": lambda: target.post(fleet(50_000, 300, 10**6)),
        "silent": lambda: silent(target, 1_200, 4),
    }
    for name, attack in attacks.items():
        target.during(name, attack)
    assert target.during("unfinished", lambda: unfinished(target, 60, 10)) > alone / 2
    for _ in range(12):
        time.sleep(5)
        if target.memory() < AFTERWARDS:
            break
    target.during("afterwards", lambda: time.sleep(1))
    assert target.memory() < AFTERWARDS
    assert target.refused <= 2, "a good sender was kept out"
