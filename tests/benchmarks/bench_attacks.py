"""A collector under attack: memory, the answers of /healthz, and what becomes of a well-behaved sender.

    python tests/benchmarks/bench_attacks.py [--seconds 6] [--only TEXT] [--elsewhere]

Attackers, the sender and who asks for /healthz are processes of their own. A server that answers at once and
is not attacked is asked beside it: its slowest answers say how long a process waits here for a core, and
what a second sender gets done there what the machine leaves to anybody while the attackers run on it.
Prints a line an attack and one JSON document; exits 1 where a gate is missed.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import attack_load
from attack_load import ATTACKS, run_attack
from attack_mixed import MIXED
from attack_more import MORE
from attack_odd import ODD
from attack_rare import RARE
from attack_wire import WIRE
from ingest_load import encoded, run_spans
from servers import NULL_SERVER, PROTOBUF, cpu_seconds, free_port, get, memory_mib, wait_for

ATTACKS.update(ODD | WIRE | MORE | RARE | MIXED)
MOST_MIB, AFTERWARDS_MIB, AFTER_SECONDS = 600.0, 300.0, 60.0
HEALTH_MS = 200.0
RATE = 0.5
PAUSE = 0.02
"""Of the well-behaved sender, and between two questions for /healthz."""
SPAWN = multiprocessing.get_context("spawn")


def hurry() -> None:
    """Measure, and do not compete: where that is allowed."""
    with suppress(OSError):
        os.nice(-10)


def probing(ports: tuple[int, ...], pipe: Any) -> None:
    """Ask each port for /healthz all the time, over one connection; tells the seconds when asked."""
    hurry()
    took: list[list[float]] = [[] for _ in ports]
    connections = [http.client.HTTPConnection("127.0.0.1", port, timeout=60) for port in ports]

    def ask(at: int) -> None:
        while True:
            began = time.perf_counter()
            try:
                connections[at].request("GET", "/healthz")
                connections[at].getresponse().read()
            except (OSError, http.client.HTTPException):
                connections[at].close()
                took[at].append(9.0)
            took[at].append(time.perf_counter() - began)
            time.sleep(PAUSE)

    for at in range(len(ports)):
        threading.Thread(target=ask, args=(at,), daemon=True).start()
    while True:
        pipe.recv()
        found, took[:] = [list(one) for one in took], [[] for _ in ports]
        pipe.send(found)


def sending(port: int, pipe: Any) -> None:
    """One run after the other, each sent until it is taken; tells (taken, refused, slowest) when asked."""
    import random

    dice = random.Random(os.urandom(8))
    http_ = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    taken: list[str] = []
    refused, slowest = 0, 0.0
    number = 0
    while True:
        trace = dice.randbytes(16)
        body = encoded([(trace, run_spans(dice, number))])
        number += 1
        while True:
            began = time.perf_counter()
            try:
                http_.request("POST", "/v1/traces", body, PROTOBUF)
                answer = http_.getresponse()
                answer.read()
                status = answer.status
            except (OSError, http.client.HTTPException):
                http_.close()
                status = 0
            slowest = max(slowest, time.perf_counter() - began)
            if pipe.poll():
                pipe.recv()
                pipe.send((taken, refused, slowest))
                taken, refused, slowest = [], 0, 0.0
            if status == 200:
                taken.append(trace.hex())
                break
            refused += 1
            time.sleep(0.2)
        time.sleep(PAUSE)


def attacking(name: str, port: int, seconds: float, pipe: Any) -> None:
    os.nice(5)  # an attacker is on another machine
    try:
        pipe.send(run_attack(name, port, seconds))
    except Exception as failure:
        pipe.send(f"the attack itself failed: {failure!r}")
        raise


class Asked:
    """A process that is asked for what it saw since it was asked last."""

    def __init__(self, work: Any, *arguments: Any) -> None:
        self._pipe, theirs = SPAWN.Pipe()
        self._process = SPAWN.Process(target=work, args=(*arguments, theirs), daemon=True)
        self._process.start()

    def said(self) -> Any:
        self._pipe.send(None)
        return self._pipe.recv()

    def end(self) -> None:
        self._process.kill()
        self._process.join()


@dataclass(frozen=True)
class Seen:
    """What happened in the time of one attack."""

    attack: str
    peak_mib: float
    health_ms_p50: float
    health_ms_max: float
    idle_server_ms_max: float
    good_per_second: float
    good_refused: int
    good_ms_max: float
    null_per_second: float
    cpu_seconds: float
    said: str


class Scene:
    """A collector, a server beside it, and who watches both."""

    def __init__(self, pid: int, port: int, beside: int) -> None:
        self.pid, self.port = pid, port
        self.probe = Asked(probing, (port, beside))
        self.sender, self.null_sender = Asked(sending, port), Asked(sending, beside)
        self.taken: list[str] = []
        self._peak = 0.0
        self._end = threading.Event()
        threading.Thread(target=self._look, daemon=True).start()

    def _look(self) -> None:
        while not self._end.wait(0.2):
            self._peak = max(self._peak, memory_mib(self.pid))

    def during(self, name: str, seconds: float) -> Seen:
        pipe, theirs = SPAWN.Pipe()
        if name in ATTACKS:
            process = SPAWN.Process(target=attacking, args=(name, self.port, seconds, theirs))
            process.start()
        else:
            process = None
        time.sleep(0.5)
        self._mark()
        began, cpu = time.monotonic(), cpu_seconds(self.pid)
        if process is None:
            time.sleep(seconds)
            said = ""
        else:
            said = pipe.recv()
            process.join()
        return self._seen(name, began, cpu, said)

    def _mark(self) -> None:
        self.probe.said()
        self.taken += self.sender.said()[0]
        self.null_sender.said()
        self._peak = 0.0

    def _seen(self, name: str, began: float, cpu: float, said: str) -> Seen:
        good, refused, slowest = self.sender.said()
        beside = len(self.null_sender.said()[0])
        seconds = time.monotonic() - began
        health, idle = (sorted(one) for one in self.probe.said())
        self.taken += good
        return Seen(
            name, round(self._peak, 1), round(health[len(health) // 2] * 1e3, 1), round(health[-1] * 1e3, 1),
            round(idle[-1] * 1e3, 1), round(len(good) / seconds, 1), refused, round(slowest * 1e3, 1),
            round(beside / seconds, 1), round((cpu_seconds(self.pid) - cpu) / seconds, 2), said,
        )  # fmt: skip

    def end(self) -> None:
        self._end.set()
        for one in (self.probe, self.sender, self.null_sender):
            one.end()


@contextmanager
def scene() -> Iterator[Scene]:
    beside = free_port()
    null = subprocess.Popen([sys.executable, "-c", NULL_SERVER, str(beside)])
    with tempfile.TemporaryDirectory() as folder:
        free = free_port()
        options = [
            "--http-port",
            str(free),
            "--grpc-port",
            str(free + 1),
            "--idle-seconds",
            "1",
            "--grace-seconds",
            "0",
        ]
        command = [sys.executable, "-m", "pdoctor_trace", "serve", *options]
        with Path(folder, "log").open("wb") as log:
            process = subprocess.Popen(
                [*command, "--store", f"sqlite:///{Path(folder) / 'store.db'}"],
                stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip
        assert process.stdout is not None
        port = int(process.stdout.readline().rpartition(":")[2])
        wait_for(beside)
        made = Scene(process.pid, port, beside)
        try:
            yield made
        finally:
            made.end()
            for one in (process, null):
                one.terminate()
                one.wait()
            lines = Path(folder, "log").read_text(errors="replace").splitlines()
            for line in lines[-12:]:
                print(line[:300], file=sys.stderr)


def missed(seen: Seen, alone: float) -> list[str]:
    found = []
    if seen.peak_mib > MOST_MIB:
        found.append(f"{seen.attack}: {seen.peak_mib} MiB")
    if seen.health_ms_max > HEALTH_MS + seen.idle_server_ms_max:
        found.append(f"{seen.attack}: /healthz took {seen.health_ms_max} ms")
    if seen.good_per_second < RATE * alone:
        found.append(f"{seen.attack}: {seen.good_per_second} good requests/s, {alone} alone")
    return found


def lost(port: int, taken: list[str], seconds: float = 60.0) -> int:
    """How many of the runs that were acknowledged are not there."""
    http_ = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    gone = 0
    for run in taken:
        http_.request("GET", f"/api/v1/runs/{run}/spans?limit=1")
        answer = http_.getresponse()
        answer.read()
        gone += answer.status != 200
    return gone


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--seconds", type=float, default=6.0)
    options.add_argument("--only", default="", help="attacks with this text in their name")
    options.add_argument(
        "--elsewhere", action="store_true", help="attackers have an address of their own, not the sender's"
    )
    chosen = options.parse_args()
    os.environ[attack_load.ADDRESS] = attack_load.ELSEWHERE if chosen.elsewhere else attack_load.SENDERS
    wanted = [name for name in ATTACKS if any(part in name for part in chosen.only.split("|"))]
    flaws, rows = [], []
    with scene() as made:
        time.sleep(3)
        alone = made.during("nobody", chosen.seconds)
        rows.append(alone)
        print(json.dumps(asdict(alone)), flush=True)
        for name in wanted:
            rows.append(made.during(name, chosen.seconds))
            found = missed(rows[-1], alone.good_per_second)
            flaws += found
            print(json.dumps(asdict(rows[-1])), *("  MISSED " + one for one in found), flush=True)
            time.sleep(0.5)
        made.sender.end()
        until = time.monotonic() + AFTER_SECONDS
        while (memory := memory_mib(made.pid)) > AFTERWARDS_MIB and time.monotonic() < until:
            time.sleep(1)
        if memory > AFTERWARDS_MIB:
            flaws.append(f"{memory:.0f} MiB a minute later")
        gone = lost(made.port, made.taken)
        if gone:
            flaws.append(f"{gone} of {len(made.taken)} acknowledged runs are lost")
        waiting = get(made.port, "/api/v1/stats")["unchecked"]
    report = {
        "peak_mib": max(one.peak_mib for one in rows),
        "afterwards_mib": round(memory, 1),
        "health_ms_max": max(one.health_ms_max for one in rows),
        "good_rate_least": round(min(one.good_per_second for one in rows) / alone.good_per_second, 2),
        "acknowledged": len(made.taken),
        "lost": gone,
        "not_judged_yet": waiting,
        "missed": flaws,
    }
    print(json.dumps(report, indent=1))
    raise SystemExit(1 if flaws else 0)


if __name__ == "__main__":
    main()
