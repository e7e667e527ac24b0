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
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from bench_million import renamed
from ingest_load import POLICY, Request, requests
from servers import PROTOBUF, collector, get, judged, memory_mib, post

SLICES = 12
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
    """Requests that were sent late, because earlier ones took too long."""


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
    """Sends the load under new names, at a steady rate."""

    def __init__(self, port: int, load: Sequence[Request], spans_per_second: float) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._load, self._rate = load, spans_per_second
        self.sent = 0
        self.runs = 0
        self.errors = 0

    def during(self, seconds: float) -> int:
        """Send for so long; returns how many requests were more than a second late."""
        began, spans, late = time.monotonic(), 0, 0
        while (due := began + spans / self._rate) < began + seconds:
            late += time.monotonic() > due + 1
            time.sleep(max(0.0, due - time.monotonic()))
            turn, place = divmod(self.sent, len(self._load))
            item = renamed(self._load[place], turn + 1)
            self.errors += post(self._connection, item.body, PROTOBUF) != 200
            self.sent += 1
            self.runs += len(item.runs)
            spans += item.spans
        return late


def measured_rate(port: int, load: Sequence[Request]) -> float:
    """Spans per second that are stored and judged when they come as fast as one sender can."""
    sender = Sender(port, load, 1e9)
    began = time.monotonic()
    for _ in load:
        sender.during(1e-9)
    judged(port, sender.runs)
    return sum(item.spans for item in load) / (time.monotonic() - began)


def soak(port: int, pid: int, sender: Sender, before: int, seconds: float) -> list[Slice]:
    visitor, began, found = Visitor(port), time.monotonic(), []
    visitor.start()
    for _ in range(SLICES):
        behind = sender.during(seconds / SLICES)
        ended = time.monotonic()
        judged(port, before + sender.runs)
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
        rate = chosen.rate or measured_rate(port, load) / 2
        before = get(port, "/api/v1/stats")["runs"]
        sender = Sender(port, load, rate)
        sender.sent = len(load)  # these names were used while the rate was measured
        slices = soak(port, pid, sender, before, chosen.minutes * 60)
        runs = before + sender.runs
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
