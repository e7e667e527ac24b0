"""kill -9 of the whole collector: what it acknowledged is there afterwards, once, and is judged."""

from __future__ import annotations

import contextlib
import http.client
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.soak import soaks
from tests.support.traces import Client, agent_request, agent_spans, case_json, new_id, request

Runs = list[tuple[str, list[bytes]]]
"""(run id, its pieces as request bodies) each."""
READY = "pdoctor collector ready at "


class Collector:
    """`pdoctor serve` as a process of its own."""

    def __init__(self, store: Path, port: int = 0) -> None:
        program = shutil.which("pdoctor", path=str(Path(sys.executable).parent))
        assert program, "the pdoctor command is not installed beside this Python"
        command = [
            program,
            "serve",
            "--http-port",
            str(port),
            "--grpc-port",
            "off",
            "--store",
            f"sqlite:///{store}",
        ]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith(READY), line
        self.url = line.removeprefix(READY).strip()
        self.port = int(self.url.rpartition(":")[2])

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(60)
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextlib.contextmanager
def collector(store: Path, port: int = 0) -> Iterator[Collector]:
    started = Collector(store, port)
    try:
        yield started
    finally:
        if started.process.poll() is None:
            started.kill()


def test_acknowledged_spans_survive_a_kill_and_a_retry_adds_none(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    case, runs = new_id(), [new_id() for _ in range(30)]
    bodies = [agent_request(run, ["do_b", "do_a"], case=case) for run in runs]
    with collector(store) as first:
        with Client(first.url) as client:
            assert client.post("/cases", case_json(case, "a < b")).status_code == 201
            for body in bodies:
                assert client.send(body).status_code == 200
        first.kill()
    with sqlite3.connect(store) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("SELECT sum(spans) FROM segments").fetchone() == (90,)
    connection.close()
    with collector(store) as second, Client(second.url) as client:
        assert client.send(bodies[-1]).status_code == 200
        for run in runs:
            found = client.judged(run)
            assert (found["spans"], found["error_type"]) == (3, "order_error")
        assert client.get("/stats")["spans"] == 90


class Sender(threading.Thread):
    """Sends its runs in pieces and repeats a piece until it is acknowledged, as exporters do."""

    def __init__(self, port: int, runs: Runs) -> None:
        super().__init__(daemon=True)
        self.port, self.runs, self.stopping = port, runs, False

    def run(self) -> None:
        for _, pieces in self.runs:
            for piece in pieces:
                while not self.stopping and not self.acknowledged(piece):
                    time.sleep(0.05)

    def acknowledged(self, piece: bytes) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("POST", "/v1/traces", piece, {"content-type": "application/x-protobuf"})
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


def seeded_runs(seed: int, case: str, count: int) -> tuple[Runs, dict[str, str | None]]:
    """Runs in random order of calls, cut into pieces, with the error type each must be given."""
    dice = random.Random(seed)
    runs: Runs = []
    expected: dict[str, str | None] = {}
    for _ in range(count):
        run = dice.randbytes(16).hex()
        calls = ["do_a", "do_b", "do_c"]
        kind = dice.choice(["right", "swapped", "lost"])
        if kind == "swapped":
            calls = ["do_b", "do_a", "do_c"]
        elif kind == "lost":
            calls = ["do_a", "do_b"]
        expected[run] = {"right": None, "swapped": "order_error", "lost": "action_lost"}[kind]
        spans = agent_spans(run, calls, case=case)
        cut = dice.randrange(1, len(spans))
        runs.append((run, [request(*part).SerializeToString() for part in (spans[:cut], spans[cut:])]))
    return runs, expected


def crash_loop(folder: Path, *, kills: int, seed: int) -> None:
    """Kill at random moments under load; at the end every run is there, whole, once and rightly judged."""
    store, case = folder / "store.db", "case-1"
    runs, expected = seeded_runs(seed, case, 40 * kills)
    dice = random.Random(seed)
    with collector(store) as first:
        port = first.port
        with Client(first.url) as client:
            client.post("/cases", case_json(case, "a < b", "a < c", actions=("a", "b", "c")))
        senders = [Sender(port, runs[at::2]) for at in range(2)]
        for sender in senders:
            sender.start()
        current = first
        for _ in range(kills):
            time.sleep(dice.uniform(0.05, 0.6))
            current.kill()
            current = Collector(store, port)
        try:
            for sender in senders:
                sender.join(120)
                assert not sender.is_alive(), "the clients were not acknowledged in time"
            with Client(current.url) as client:
                wrong = {
                    run: {
                        key: found.get(key)
                        for key in ("outcome", "spans", "calls_count", "problems", "verdict")
                    }
                    for run in expected
                    if (found := client.judged(run))["error_type"] != expected[run]
                    or found["spans"] != found["calls_count"] + 1
                }
                assert wrong == {}
                assert client.get("/stats")["runs"] == len(runs)
        finally:
            for sender in senders:
                sender.stopping = True
            current.kill()


@pytest.mark.heavy
def test_kills_at_random_moments_lose_and_double_nothing(tmp_path: Path) -> None:
    crash_loop(tmp_path, kills=3, seed=1)


@pytest.mark.heavy
def test_many_kills_at_random_moments_lose_and_double_nothing(tmp_path: Path) -> None:
    crash_loop(tmp_path, kills=50 if soaks() else 12, seed=2)


def test_checkers_end_with_their_collector(tmp_path: Path) -> None:
    with collector(tmp_path / "store.db") as started:
        threads = Path(f"/proc/{started.process.pid}/task").glob("*/children")
        children = [int(child) for thread in threads for child in thread.read_text().split()]
        assert children
        started.kill()
        for _ in range(100):
            if not any(alive(pid) for pid in children):
                break
            time.sleep(0.05)
        assert not any(alive(pid) for pid in children)


def alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
