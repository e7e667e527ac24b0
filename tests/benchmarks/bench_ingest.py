"""Spans per CPU second of the whole collector, beside a server that only reads the same bytes.

    python tests/benchmarks/bench_ingest.py [--runs 2000] [--tiny 5000]

Every run is judged by one policy: directly (twice, the second time with gzip), then with Z3 on each run; then
runs as other vendors tell them, that do not announce how many calls there were (twice, the second time with
Z3), and tiny ones of three spans. Clock and CPU end when every run has ended and has its verdict, read over
the API. Then single runs are sent to the idle collector, and the time until the verdict can be read is taken.
Disk is what the store takes a moment later, with what is left of its log; the log as it was at the end of the
load is told beside it. Ratios of one run on one machine are what counts; rates depend on the machine. Prints
one JSON document; exits 1 where a gate is missed.
"""

from __future__ import annotations

import argparse
import http.client
import json
import sqlite3
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ingest_load import BAD_EVERY, POLICY, Request, requests
from servers import PROTOBUF, Watch, collector, cpu_seconds, judged, null_server, percentile, post, send

from collector.store.engine import LONG_LOG_BYTES

WARM_RUNS = 20
GATES: dict[str, dict[str, float]] = {
    "unannounced": {"times_null_server": 20.0, "rss_mib": 200.0, "disk_bytes_per_span": 450.0},
    "direct": {"times_null_server": 50.0, "rss_mib": 200.0, "disk_bytes_per_span": 450.0,
               "verdict_ms_p50": 10.0, "verdict_ms_p99": 100.0},
    "gzip": {"times_null_server": 50.0, "rss_mib": 200.0, "disk_bytes_per_span": 450.0},
    "z3": {"rss_mib": 200.0, "verdict_ms_p50": 30.0, "verdict_ms_p99": 100.0},
}  # fmt: skip
"""At most."""
RATES: dict[str, dict[str, float]] = {
    "unannounced": {"spans_per_cpu_second": 30_000.0},
    "unannounced_z3": {"spans_per_cpu_second": 12_000.0},
    "tiny": {"runs_per_cpu_second": 5_000.0},
}
"""At least."""


def measured(
    load: Sequence[Request], single: Sequence[Request], folder: Path, *, packed: bool = False, z3: str = "off"
) -> dict[str, float]:
    """What a collector costs that takes the load, then single runs while it is idle."""
    with collector(folder, POLICY, z3) as (pid, port):
        send(port, list(requests(WARM_RUNS, seed=1)), packed)
        judged(port, WARM_RUNS)
        time.sleep(2)
        cpu, began = cpu_seconds(pid), time.perf_counter()
        own = cpu_seconds(pid, alone=True)
        with Watch(pid) as watch:
            took = send(port, load, packed)
            runs = sum(len(item.runs) for item in load)
            stats = judged(port, runs + WARM_RUNS, ended=True)
        seconds, used = time.perf_counter() - began, cpu_seconds(pid) - cpu
        received = cpu_seconds(pid, alone=True) - own
        bad = len(range(0, runs, BAD_EVERY)) + len(range(0, WARM_RUNS, BAD_EVERY))
        assert stats["outcomes"] == {"fail": bad, "pass": runs + WARM_RUNS - bad}, stats
        spans = sum(item.spans for item in load)
        file, log = at_rest(folder / "store.db")
        waits = verdict_waits(port, folder / "store.db", single)
    return {
        "spans": spans,
        "spans_per_cpu_second": round(spans / used),
        "runs_per_cpu_second": round(runs / used),
        "cpu_us_per_span": round(used / spans * 1e6, 1),
        "receiver_us_per_span": round(received / spans * 1e6, 1),
        "spans_per_second": round(spans / seconds),
        "post_ms_p50": round(percentile(took, 0.5) * 1e3, 1),
        "post_ms_p99": round(percentile(took, 0.99) * 1e3, 1),
        "rss_mib": round(watch.peak_mib, 1),
        "disk_bytes_per_span": round(file / spans),
        "busy_log_bytes_per_span": round(log / spans),
        "verdict_ms_p50": round(percentile(waits, 0.5) * 1e3, 1),
        "verdict_ms_p99": round(percentile(waits, 0.99) * 1e3, 1),
    }


def at_rest(store: Path, seconds: float = 20.0) -> tuple[int, int]:
    """Bytes of the store once its log is emptied into it, and those of the log before, which is bounded."""
    log = Path(f"{store}-wal")
    before, until = log.stat().st_size, time.monotonic() + seconds
    while log.stat().st_size > LONG_LOG_BYTES and time.monotonic() < until:
        time.sleep(0.1)
    return store.stat().st_size + log.stat().st_size, before


def verdict_waits(port: int, store: Path, single: Sequence[Request]) -> list[float]:
    """Seconds from the last byte of each run until another reader of the store sees its verdict."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    reader = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    ready = "SELECT 1 FROM runs WHERE project = 1 AND key = ? AND checked = version AND outcome IS NOT NULL"
    waits = []
    for item in single:
        began = time.perf_counter()
        assert post(connection, item.body, PROTOBUF) == 200
        while reader.execute(ready, item.runs).fetchone() is None:
            time.sleep(0.0005)
        waits.append(time.perf_counter() - began)
        time.sleep(0.02)
    reader.close()
    connection.close()
    return waits[len(waits) // 10 :]  # the first ones warm it up


def missed_gates(report: dict[str, Any]) -> list[str]:
    return [
        f"{name}.{gate} is {report[name][gate]}, the gate is {limit}"
        for wanted, sign in ((GATES, 1), (RATES, -1))
        for name, gates in wanted.items()
        if name in report
        for gate, limit in gates.items()
        if (report[name][gate] - limit) * sign > 0
    ]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=2000)
    options.add_argument("--tiny", type=int, default=5000)
    options.add_argument("--single", type=int, default=220)
    options.add_argument("--only", nargs="*", help="names of measurements")
    chosen = options.parse_args()
    announced = list(requests(chosen.runs))
    unannounced = list(requests(chosen.runs, announce=False))
    tiny = list(requests(chosen.tiny, tiny=True))
    single = list(requests(chosen.single, seed=3, spans=1))
    floor = null_server(announced) / sum(item.spans for item in announced)
    report: dict[str, Any] = {"null_server_cpu_us_per_span": round(floor * 1e6, 2)}
    for name, load, how in (
        ("direct", announced, {}),
        ("gzip", announced, {"packed": True}),
        ("z3", announced, {"z3": "all"}),
        ("unannounced", unannounced, {}),
        ("unannounced_z3", unannounced, {"z3": "all"}),
        ("tiny", tiny, {}),
    ):
        if chosen.only and name not in chosen.only:
            continue
        with tempfile.TemporaryDirectory() as folder:
            report[name] = measured(load, single, Path(folder), **how)
            report[name]["times_null_server"] = round(report[name]["cpu_us_per_span"] / floor / 1e6, 1)
    missed = missed_gates(report)
    print(json.dumps({**report, "missed": missed}, indent=1))
    raise SystemExit(1 if missed else 0)


if __name__ == "__main__":
    main()
