"""How long verdicts take: in an idle collector, and at half its load while 20 pages a second are read.

    python tests/benchmarks/bench_verdicts.py [--single 200] [--seconds 6]

Half the load is half of what this machine takes and judges, measured first, for `--seconds`. A run is sent in
one request of its own, among those of the load; the time ends when another reader of the store sees its
verdict (that on the open run where it does not announce its calls). Prints one JSON document; exits 1 where a
gate is missed.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench_ingest import verdict_waits
from bench_pages import readers
from bench_soak import Sender
from ingest_load import POLICY, Request, requests
from servers import collector, judged, percentile, send

GATES = {
    "idle": {"p50_ms": 6.0, "p99_ms": 40.0},
    "half_load": {"p99_ms": 100.0},
}
READERS = 2
"""Ten pages a second each."""


@contextmanager
def loaded(sender: Sender, rate: float) -> Iterator[None]:
    """The load goes on, so many spans a second."""
    ended = threading.Event()

    def work() -> None:
        while not ended.is_set():
            sender.during(1.0, rate)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def told(waits: Sequence[float]) -> dict[str, float]:
    return {
        "p50_ms": round(percentile(waits, 0.5) * 1e3, 1),
        "p99_ms": round(percentile(waits, 0.99) * 1e3, 1),
        "max_ms": round(max(waits) * 1e3, 1),
    }


def measured(folder: Path, single: Sequence[Request], seconds: float, *, announce: bool) -> dict[str, Any]:
    load = list(requests(400, spans=256, announce=announce))
    half = len(single) // 2
    with collector(folder, POLICY) as (_, port):
        send(port, list(requests(20, seed=1)))
        judged(port, 20)
        sender, began = Sender(port, load), time.monotonic()
        sender.during(seconds, 1e9)
        judged(port, 20 + sender.runs)
        rate = sender.spans / (time.monotonic() - began)
        time.sleep(2)
        idle = verdict_waits(port, folder / "store.db", single[:half])
        with readers(port, load[0].runs[0], READERS) as pages, loaded(sender, rate / 2):
            time.sleep(1)
            began, before, asked = time.monotonic(), sender.spans, pages.value
            busy = verdict_waits(port, folder / "store.db", single[half:])
            passed = time.monotonic() - began
            spans, looked = (sender.spans - before) / passed, (pages.value - asked) / passed
    return {
        "whole_load_spans_per_second": round(rate),
        "idle": told(idle),
        "half_load": {**told(busy), "spans_per_second": round(spans), "pages_per_second": round(looked, 1)},
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument(
        "--single", type=int, default=200, help="runs whose verdicts are waited for, each time"
    )
    options.add_argument("--seconds", type=float, default=6.0)
    chosen = options.parse_args()
    report: dict[str, Any] = {}
    for name, announce in (("announced", True), ("unannounced", False)):
        single = list(requests(2 * chosen.single, seed=3, spans=1, announce=announce))
        with tempfile.TemporaryDirectory() as folder:
            report[name] = measured(Path(folder), single, chosen.seconds, announce=announce)
    missed = [
        f"{name}, {when}: {gate} is {report[name][when][gate]}, the gate is {limit}"
        for name in report
        for when, gates in GATES.items()
        for gate, limit in gates.items()
        if report[name][when][gate] > limit
    ]
    print(json.dumps({**report, "missed": missed}, indent=1))
    raise SystemExit(1 if missed else 0)


if __name__ == "__main__":
    main()
