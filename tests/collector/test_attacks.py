"""Attackers on loopback: however they go about it, memory stays bounded and others are served.

Each attack is sent once or twice; `tests/benchmarks/bench_attacks.py` goes on for longer, and measures.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.otlp.raw import Traces
from collector.room import UNIT_MIB, UNITS
from tests.support.drills import quiet_port
from tests.support.http2 import CONTINUATION, HEADERS, Peer, frame, head, literal
from tests.support.traces import JSON, PROTOBUF, agent_request, any_value, eventually, new_id

MIB = 1024 * 1024
ELSEWHERE = "127.0.0.66"
"""The attackers' address; the good sender has another."""
MOST, AFTERWARDS = 600, 300
"""MiB of all processes together: at any time, and a minute after the last attack."""
BODIES = 24
"""Those of the mixed attack, as they come in."""

pytestmark = pytest.mark.heavy


class Target:
    """A collector in processes of its own, and what is seen of it meanwhile."""

    def __init__(self, folder: Path) -> None:
        self.grpc_port = quiet_port()
        ports = ["--http-port", "0", "--grpc-port", str(self.grpc_port)]
        options = [*ports, "--idle-seconds", "1", "--grace-seconds", "0"]
        command = [sys.executable, "-m", "pdoctor_trace", "serve", *options]
        self.process = subprocess.Popen(
            [*command, "--store", f"sqlite:///{folder / 'store.db'}"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().split()[-1]
        self.port = urlsplit(self.url).port or 0
        there = httpx.HTTPTransport(local_address=ELSEWHERE)
        self.http = httpx.Client(base_url=self.url, timeout=120, trust_env=False, transport=there)
        """The attackers'."""
        self.peak = self.answered = self.stored = self.refused = 0
        self._end = threading.Event()
        for watch in (self._look, self._knock, self._send):
            threading.Thread(target=watch, daemon=True).start()

    def memory(self) -> int:
        """MiB of all processes together."""
        return sum(map(resident, tree(self.process.pid))) // MIB

    def _look(self) -> None:
        while not self._end.wait(0.1):
            self.peak = max(self.peak, self.memory())

    def _knock(self) -> None:
        with httpx.Client(base_url=self.url, timeout=60, trust_env=False) as http:
            while not self._end.wait(0.05):
                assert http.get("/healthz").status_code == 200
                self.answered += 1

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

    def during(self, attack: Callable[[], object], goes_on: threading.Event) -> object:
        """What came of an attack, which goes on until others were served beside it."""
        self.peak, stored, answered = 0, self.stored, self.answered
        with ThreadPoolExecutor(1) as pool:
            attacking = pool.submit(attack)
            try:
                eventually(lambda: self.stored >= stored + 3 and self.answered >= answered + 3, 120)
            finally:
                goes_on.clear()
            return attacking.result()

    def post(self, body: bytes, kind: dict[str, str] = PROTOBUF, *, times: int = 1) -> list[int]:
        """The answers to a body that is sent so often at once."""
        packed, headers = gzip.compress(body, 1), {**kind, "content-encoding": "gzip"}
        return at_once(
            times, lambda: self.http.post("/v1/traces", content=packed, headers=headers).status_code
        )

    def close(self) -> None:
        self._end.set()
        self.process.terminate()
        self.process.communicate(timeout=60)
        self.http.close()


def tree(process: int) -> Iterator[int]:
    """A process and all below it."""
    yield process
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{process}/task"):
            for child in Path(f"/proc/{process}/task/{thread}/children").read_text().split():
                yield from tree(int(child))


def resident(process: int) -> int:
    """Bytes of memory of one process; what several share counts once, where the system tells."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
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
    same = Span(name="n")
    same.attributes.add(key="k").value.array_value.MergeFromString(b"\x0a\x00" * elements)
    rest, trace = same.SerializeToString(), bytes.fromhex(run)
    numbers = range(first, first + spans)
    parts = [Span(trace_id=trace, span_id=at.to_bytes(8, "big")).SerializeToString() + rest for at in numbers]
    body = Traces()
    body.parts.add().parts.add(parts=parts)
    return bytes(body.SerializeToString())


def at_once(times: int, what: Callable[[], int]) -> list[int]:
    """The answers of so many threads."""
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(what())) for _ in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(found)


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=30, source_address=(ELSEWHERE, 0))


def unfinished(target: Target, connections: int, goes_on: threading.Event) -> str:
    """Bodies of 19 MiB whose end never comes."""
    with contextlib.ExitStack() as opened:
        for _ in range(connections):
            connection = opened.enter_context(connect(target.port))
            head = b"POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-protobuf\r\n"
            connection.sendall(head + b"content-length: 19999999\r\n\r\n")
            threading.Thread(target=pour, args=(connection,), daemon=True).start()
        while goes_on.is_set():
            time.sleep(0.1)
    return "unfinished"


def pour(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.sendall(bytes(19_900_000))


def silent(target: Target, connections: int, goes_on: threading.Event) -> str:
    with contextlib.ExitStack() as opened:
        for _ in range(connections):
            with contextlib.suppress(OSError):
                opened.enter_context(connect(target.port))
        while goes_on.is_set():
            time.sleep(0.1)
    return "silent"


def heads_without_end(target: Target, connections: int, seconds: float) -> str:
    """Headers over gRPC that go on and on, over connection after connection."""
    end = time.monotonic() + seconds
    goes_on = frame(CONTINUATION, 0, 1, literal(b"x", b"y" * 100) * 150) * 100

    def work() -> int:
        while time.monotonic() < end:
            with contextlib.suppress(OSError), Peer(target.grpc_port, address=ELSEWHERE) as peer:
                peer.say(frame(HEADERS, 0, 1, head()))
                while time.monotonic() < end:
                    peer.say(goes_on)
        return 0

    at_once(connections, work)
    return "heads"


RUN = "a" * 32
"""The run that all dense spans are of."""


def readers(target: Target) -> list[int]:
    paths = (f"/api/v1/runs/{RUN}", f"/runs/{RUN}", f"/api/v1/runs/{RUN}/spans")
    return [code for path in paths for code in at_once(4, partial(status_of, target, path))]


def status_of(target: Target, path: str) -> int:
    return target.http.get(path).status_code


def wide_run(calls: int, values: int) -> bytes:
    """A run whose arguments take forty times their JSON."""
    call = {"name": "a", "arguments": {"x": [{}] * values}}
    rule = "actions: {A: a, B: b}\npolicies:\n  - {id: never, rule: B must never happen.}\n"
    return json.dumps({"run": {"run_id": "r", "calls": [call] * calls}, "policies": rule}).encode()


def use_all(target: Target) -> None:
    """Have every process started that an attack may use, with all that it loads."""
    little = new_id()
    assert target.post(dense(little, 1, 1, 9)) == [200]
    assert target.post(b"[" + b"{}," * 700_000 + b"0]", JSON) == [400]
    assert target.http.post("/api/v1/check", content=wide_run(1, 1), headers=JSON).status_code == 200
    for path in (f"/api/v1/runs/{little}", f"/runs/{little}", f"/api/v1/runs/{little}/spans"):
        eventually(partial(lambda path: status_of(target, path) == 200, path), 60)


def mixed(target: Target, seconds: float) -> list[int]:
    """Whatever is done in a process of its own, and the readers, at once and again and again."""
    end = time.monotonic() + seconds
    names = b'{"resourceSpans":[{' + b",".join(b'"%d":0' % number for number in range(700_000)) + b"}]}"
    asked, run = wide_run(100, 9_000), dense(RUN, 9_001, 900, 9_900)
    deeds: list[Callable[[], object]] = [
        lambda: target.post(names, JSON, times=2),
        lambda: target.http.post("/api/v1/check", content=asked, headers=JSON).status_code,
        lambda: target.post(run),
        lambda: readers(target),
    ]
    found: list[int] = []

    def again(deed: Callable[[], object]) -> None:
        while True:
            said = deed()
            found.extend(said if isinstance(said, list) else [said])
            if time.monotonic() > end:
                return

    with ThreadPoolExecutor(len(deeds)) as pool:
        for done in [pool.submit(again, deed) for deed in deeds]:
            done.result()
    return found


Attack = Callable[[Target, threading.Event], object]
ATTACKS: dict[str, Attack] = {
    "big resource": lambda target, _: target.post(fleet(5_000, MIB, 1)),
    "dense spans": lambda target, _: target.post(dense(new_id(), 1, 1, MIB), times=2),
    "JSON": lambda target, _: target.post(b"[" + b"{}," * 6 * MIB + b"0]", JSON, times=3),
    "JSON objects": lambda target, _: target.post(b'{"a":[' + b'{"a":1},' * 990_000 + b"1]}", JSON, times=2),
    "empty parts": lambda target, _: target.post(b"\x0a\x00" * (10 * MIB - 9), times=3),
    "small empty parts": lambda target, _: target.post(b"\x0a\x00" * 500_000, times=12),
    "bombs": lambda target, _: target.post(bytes(19 * MIB), times=20),
    "many runs": lambda target, _: target.post(fleet(20_000, 300, 10**6)),
    "one run dense": lambda target, _: [target.post(dense(RUN, 1 + 900 * at, 900, 9_900)) for at in (0, 1)],
    "readers of it": lambda target, _: readers(target),
    "silent": lambda target, goes_on: silent(target, 1_200, goes_on),
    "unfinished": lambda target, goes_on: unfinished(target, 60, goes_on),
}


def test_memory_stays_bounded_and_others_are_served(target: Target) -> None:
    for name, attack in ATTACKS.items():
        goes_on = threading.Event()
        goes_on.set()
        said = target.during(partial(attack, target, goes_on), goes_on)
        assert target.peak < MOST, name
        assert_known(name, said)
    eventually(lambda: target.memory() < AFTERWARDS, 60)


def assert_known(name: str, said: object) -> None:
    """Every answer is one that a collector under attack may give: none of them is an error of its own."""
    answers = said if isinstance(said, list) else []
    codes = [code for one in answers for code in (one if isinstance(one, list) else [one])]
    assert set(codes) <= {200, 400, 404, 413, 503}, (name, codes)


def test_heads_without_end_over_grpc_take_no_memory(target: Target) -> None:
    eventually(lambda: target.stored > 3, 120)
    before, goes_on = target.memory(), threading.Event()
    target.during(lambda: heads_without_end(target, 16, 3.0), goes_on)
    assert target.peak < before + 30


def test_all_that_takes_memory_at_once_takes_it_from_one_room(tmp_path: Path) -> None:
    target = Target(tmp_path)
    try:
        eventually(lambda: target.stored > 3, 120)
        use_all(target)
        before = target.memory()
        said = target.during(lambda: mixed(target, 15.0), threading.Event())
        assert target.peak < before + UNITS * UNIT_MIB + BODIES
        assert_known("mixed", said)
        eventually(lambda: target.memory() < AFTERWARDS, 60)
    finally:
        target.close()
