"""Servers under load: start them, send to them, read what they cost from /proc (Linux)."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ingest_load import Request

TICK = os.sysconf("SC_CLK_TCK")
PROTOBUF = {"content-type": "application/x-protobuf"}

NULL_SERVER = """
import uvicorn, sys
async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})
uvicorn.run(app, port=int(sys.argv[1]), log_level="error", lifespan="off", http="httptools", loop="uvloop")
"""

COLLECTOR = """
import sys
from pathlib import Path
from collector.server import serve
from collector.settings import Settings
folder = Path(sys.argv[1])
serve(Settings(http_port=0, grpc_port=None, store_url=f"sqlite:///{folder / 'store.db'}",
               policies=folder / "policies.yaml", z3_check_policies=sys.argv[2], workers=int(sys.argv[3])))
"""


def tree(pid: int) -> list[int]:
    """A process and its descendants."""
    found = [pid]
    for at in found:
        for children in Path(f"/proc/{at}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                found += map(int, children.read_text().split())
    return found


def cpu_seconds(pid: int, *, alone: bool = False) -> float:
    """CPU time, user and system, of a process and its descendants, or of it `alone`."""
    total = 0
    for one in [pid] if alone else tree(pid):
        with contextlib.suppress(OSError):
            field = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            total += int(field[11]) + int(field[12])
    return total / TICK


def memory_mib(pid: int) -> float:
    """Proportional set size: pages that processes share count once."""
    total = 0
    for one in tree(pid):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{one}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1])
    return total / 1024


class Watch:
    """Highest memory of a process and its descendants while the block runs."""

    def __init__(self, pid: int, seconds: float = 0.5) -> None:
        self.peak_mib = memory_mib(pid)
        self._pid, self._seconds, self._stop = pid, seconds, threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._stop.wait(self._seconds):
            self.peak_mib = max(self.peak_mib, memory_mib(self._pid))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int, seconds: float = 20.0) -> None:
    """Until something listens there."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"nothing listens on {port}")


def send(
    port: int,
    load: Sequence[Request],
    packed: bool = False,
    *,
    connections: int = 2,
    headers: Mapping[str, str] = PROTOBUF,
    seconds: float = 0.0,
) -> list[float]:
    """Post every request once, evenly over `seconds`; returns how long each took."""
    waiting, took = list(enumerate(load))[::-1], []
    lock = threading.Lock()
    sent = {**headers, "content-encoding": "gzip"} if packed else dict(headers)
    pause, start = seconds / max(1, len(load)), time.perf_counter()

    def work() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        while True:
            with lock:
                if not waiting:
                    connection.close()
                    return
                number, item = waiting.pop()
            body = item.packed if packed else item.body
            time.sleep(max(0.0, start + number * pause - time.perf_counter()))
            began = time.perf_counter()
            while post(connection, body, sent) != 200:
                time.sleep(0.1)
            took.append(time.perf_counter() - began)

    with ThreadPoolExecutor(connections) as pool:
        for done in [pool.submit(work) for _ in range(connections)]:
            done.result()
    return took


def post(connection: http.client.HTTPConnection, body: bytes, headers: Mapping[str, str]) -> int:
    """The status: 200, or one after which the client shall send again."""
    connection.request("POST", "/v1/traces", body, dict(headers))
    answer = connection.getresponse()
    said = answer.read()
    if answer.status not in (200, 429, 502, 503):
        raise SystemExit(f"status {answer.status}: {said[:200]!r}")
    return answer.status


def get(port: int, path: str) -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path)
    answer = connection.getresponse()
    found = json.loads(answer.read())
    connection.close()
    if answer.status != 200:
        raise SystemExit(f"status {answer.status} of {path}: {found}")
    return found


def percentile(values: Sequence[float], share: float) -> float:
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(len(ranked) * share))]


def null_server(load: Sequence[Request]) -> float:
    """CPU seconds of a server that reads and forgets the same requests."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-c", NULL_SERVER, str(port)])
    try:
        wait_for(port)
        send(port, load[:2])
        before = cpu_seconds(process.pid)
        for _ in range(5):
            send(port, load)
        return (cpu_seconds(process.pid) - before) / 5
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def collector(folder: Path, policy: str, z3: str = "off", workers: int = 1) -> Iterator[tuple[int, int]]:
    """Our collector as a process of its own: (process id, port); its store is `folder`/store.db."""
    (folder / "policies.yaml").write_text(policy)
    command = [sys.executable, "-c", COLLECTOR, str(folder), z3, str(workers)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.pid, int(process.stdout.readline().rpartition(":")[2])
    finally:
        process.terminate()
        process.wait()


def judged(port: int, runs: int, seconds: float = 300.0, *, ended: bool = False) -> Any:
    """The statistics once every one of `runs` runs has its verdict, that on the `ended` run if asked for."""
    until = time.monotonic() + seconds
    while True:
        stats = get(port, "/api/v1/stats")
        outcomes = stats["outcomes"]
        found = sum(outcomes.values()) - (outcomes.get("open", 0) if ended else 0)
        if stats["runs"] >= runs and stats["unchecked"] == 0 and found >= runs:
            return stats
        if time.monotonic() > until:
            raise SystemExit(f"{runs} runs are not judged after {seconds:g} s: {stats}")
        time.sleep(0.2)
