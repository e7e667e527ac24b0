"""Half the measured rate for a long time, with people looking at the runs meanwhile.

    python tests/benchmarks/bench_soak.py [--minutes 30] [--rate SPANS_PER_SECOND]

The rate is half of what the collector takes and judges on this machine, measured first. Every slice of the
time has the same load; queries of every kind run all along. Prints a line per slice and one JSON document;
exits 1 where an answer is an error, memory keeps growing, or verdicts fall behind.
"""

from __future__ import annotations

import argparse
import http.client
import json
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from bench_million import renamed
from ingest_load import POLICY, Request, requests
from servers import PROTOBUF, collector, get, judged, memory_mib, post

SLICES = 12
CONNECTIONS = 4
MEASURED_SECONDS = 15.0
GROWTH_MIB = 20.0
"""From the end of the first quarter to the last quarter."""
LAG_SECONDS = 5.0
"""From the end of a slice's load until its last verdict."""
QUERIES = (
    "/api/v1/runs?limit=50", "/api/v1/runs?limit=50&outcome=fail", "/api/v1/runs?tool=sql_query",
    "/api/v1/stats", "/api/v1/findings", "/healthz", "/metrics", "/",
)  # fmt: skip


@dataclass(frozen=True)
class Slice:
    """What one part of the time looked like at its end."""

    minute: float
    runs: int
    memory_mib: float
    lag_seconds: float
    """After the last request of the slice."""
    queries: int
    errors: int
    behind: int
    """Requests that were sent more than a second late, because earlier ones took too long."""


class Visitor(threading.Thread):
    """Asks for pages all the time, a little pause between two."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self._port, self._ended = port, threading.Event()
        self.asked, self.errors = 0, 0

    def run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        while not self._ended.wait(0.25):
            try:
                connection.request("GET", QUERIES[self.asked % len(QUERIES)])
                answer = connection.getresponse()
                answer.read()
                self.errors += answer.status >= 400
            except OSError:
                self.errors += 1
                connection.close()
            self.asked += 1

    def end(self) -> None:
        self._ended.set()
        self.join()


class Sender:
    """Sends the load under new names, at a steady rate, over a few connections."""

    def __init__(self, port: int, load: Sequence[Request]) -> None:
        self._port, self._load, self._lock = port, load, threading.Lock()
        self.sent = self.runs = self.spans = self.errors = self.late = 0

    def during(self, seconds: float, spans_per_second: float) -> int:
        """Send for so long; returns how many requests were more than a second late."""
        late, began, first = self.late, time.monotonic(), self.spans

        def work() -> None:
            connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
            while True:
                with self._lock:
                    due = began + (self.spans - first) / spans_per_second
                    if max(due, time.monotonic()) >= began + seconds:
                        connection.close()
                        return
                    item = self._next()
                time.sleep(max(0.0, due - time.monotonic()))
                overdue, status = time.monotonic() > due + 1, post(connection, item.body, PROTOBUF)
                with self._lock:
                    self.late += overdue
                    self.errors += status != 200

        with ThreadPoolExecutor(CONNECTIONS) as pool:
            for done in [pool.submit(work) for _ in range(CONNECTIONS)]:
                done.result()
        return self.late - late

    def _next(self) -> Request:
        turn, place = divmod(self.sent, len(self._load))
        item = renamed(self._load[place], turn + 1)
        self.sent += 1
        self.runs += len(item.runs)
        self.spans += item.spans
        return item


def measured_rate(port: int, sender: Sender) -> float:
    """Spans per second that are stored and judged when they come as fast as they can."""
    began = time.monotonic()
    sender.during(MEASURED_SECONDS, 1e9)
    judged(port, sender.runs)
    return sender.spans / (time.monotonic() - began)


def soak(port: int, pid: int, sender: Sender, rate: float, seconds: float) -> list[Slice]:
    visitor, began, found = Visitor(port), time.monotonic(), []
    visitor.start()
    for _ in range(SLICES):
        behind = sender.during(seconds / SLICES, rate)
        ended = time.monotonic()
        judged(port, sender.runs)
        lag, minutes = time.monotonic() - ended, (ended - began) / 60
        errors = sender.errors + visitor.errors
        found.append(Slice(minutes, sender.runs, memory_mib(pid), lag, visitor.asked, errors, behind))
        print(json.dumps(asdict(found[-1])), file=sys.stderr, flush=True)
    visitor.end()
    return found


def flaws(slices: Sequence[Slice], runs: int, outcomes: dict[str, int]) -> list[str]:
    quarter = len(slices) // 4
    first = max(one.memory_mib for one in slices[:quarter])
    last = max(one.memory_mib for one in slices[-quarter:])
    found = []
    if slices[-1].errors:
        found.append(f"{slices[-1].errors} answers were errors")
    if last - first > GROWTH_MIB:
        found.append(f"memory grew from {first:.0f} to {last:.0f} MiB, the gate is {GROWTH_MIB:.0f}")
    if max(one.lag_seconds for one in slices) > LAG_SECONDS:
        found.append(f"verdicts came {max(one.lag_seconds for one in slices):.1f} s after the load")
    if sum(outcomes.values()) != runs:
        found.append(f"{sum(outcomes.values())} verdicts of {runs} runs")
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--minutes", type=float, default=30.0)
    options.add_argument("--rate", type=float, help="spans per second; default: half of what is measured")
    chosen = options.parse_args()
    load = list(requests(1000, spans=256))
    with tempfile.TemporaryDirectory() as place, collector(Path(place), POLICY) as (pid, port):
        sender = Sender(port, load)
        rate = chosen.rate or measured_rate(port, sender) / 2
        slices = soak(port, pid, sender, rate, chosen.minutes * 60)
        runs = sender.runs
        found = flaws(slices, runs, get(port, "/api/v1/stats")["outcomes"])
        disk = sum(file.stat().st_size for file in Path(place).glob("store.db*")) / 2**20
    report = {
        "minutes": chosen.minutes,
        "spans_per_second": round(rate),
        "runs": runs,
        "memory_mib_first": round(slices[0].memory_mib, 1),
        "memory_mib_last": round(slices[-1].memory_mib, 1),
        "lag_seconds_worst": round(max(one.lag_seconds for one in slices), 2),
        "queries": slices[-1].queries,
        "store_mib": round(disk, 1),
        "flaws": found,
    }
    print(json.dumps(report, indent=1))
    raise SystemExit(1 if found else 0)


if __name__ == "__main__":
    main()
