"""Memory from 100,000 spans to 1,000,000, and how long look-ups take then.

    python tests/benchmarks/bench_million.py [--spans 1000000]

The load is made once and sent again and again under new trace ids. Look-ups are timed as the store
answers a process that opens it (CPU time, which the gates are about, since other programs disturb the
clock; and the clock), and by the clock over the HTTP API of the collector. Prints one JSON document;
exits 1 where a gate is missed.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ingest_load import POLICY, Request, requests
from servers import Watch, collector, cpu_seconds, get, judged, memory_mib, percentile, send

from collector.otlp.spans import spans_of
from collector.store import open_store, reads
from collector.store.reads import Filter

FIRST = 100_000
GATES = {
    "rss_mib_at_100k": 200.0,
    "rss_growth_mib": 20.0,
    "one_run_cpu_ms_p95": 2.0,
    "newest_50_cpu_ms_p95": 2.0,
    "counts_cpu_ms_p95": 50.0,
}
FILTERS: tuple[dict[str, Any], ...] = (
    {}, {"outcome": "fail"}, {"agent": "agent-3"}, {"outcome": "fail", "agent": "agent-3"},
    {"tool": "sql_query"}, {"policy": "search-first"}, {"service": "bench"},
    {"agent": "agent-3", "tool": "send_email"}, {"agent": "nobody"}, {"tool": "nothing"},
    {"service": "none"}, {"outcome": "undecided"}, {"outcome": "unbound"},
    {"until": "early"}, {"since": "early", "until": "middle"}, {"since": "middle", "outcome": "fail"},
    {"until": "early", "agent": "agent-3"}, {"tool": "sql_query", "agent": "nobody"},
    {"outcome": "fail", "agent": "agent-3", "service": "bench"},
)  # fmt: skip
API_PATHS = ("/api/v1/runs?limit=50&outcome=fail", "/api/v1/stats")


def renamed(item: Request, turn: int) -> Request:
    """The same spans under other trace ids (the same bytes otherwise)."""
    body, runs = item.body, []
    for run in item.runs:
        new = f"{turn:08x}{run[8:]}"
        body = body.replace(bytes.fromhex(run), bytes.fromhex(new))
        runs.append(new)
    return Request(body, tuple(runs), item.spans)


def turns(load: Sequence[Request], spans: int) -> Iterator[list[Request]]:
    """The load again and again until so many spans came together."""
    sent, turn = 0, 1
    while sent < spans:
        part = [renamed(item, turn) for item in load]
        sent += sum(item.spans for item in part)
        turn += 1
        yield part


def timed(ask: Callable[[], Any], times: int, clock: Callable[[], float]) -> float:
    """95th percentile of so many calls, in ms."""
    took = []
    for _ in range(times):
        began = clock()
        ask()
        took.append(clock() - began)
    return percentile(took, 0.95) * 1e3


def store_times(folder: Path, keys: Sequence[str]) -> dict[str, float]:
    store = open_store(f"sqlite:///{folder / 'store.db'}")
    dice = random.Random(1)
    with store.read() as connection:
        arrived = [reads.one_run(connection, 1, keys[len(keys) * part // 10]) for part in (1, 5)]
    times = dict(zip(("early", "middle"), (row["first_seen"] for row in arrived if row), strict=True))

    def one_run() -> None:
        with store.read() as connection:
            row = reads.one_run(connection, 1, dice.choice(keys))
            assert row is not None
            assert list(spans_of(reads.stored_spans(connection, row["id"]).payloads))
            assert reads.history(connection, row["id"])

    def newest(chosen: dict[str, Any]) -> None:
        wanted = {
            name: times[value] if name in ("since", "until") else value for name, value in chosen.items()
        }
        with store.read() as connection:
            reads.list_runs(connection, 1, Filter(**wanted), limit=50)

    def counts() -> None:
        with store.read() as connection:
            reads.stats(connection, 1)

    asks: dict[str, Callable[[], None]] = {"one_run": one_run, "counts": counts}
    asks |= {f"newest_50 {json.dumps(chosen)}": lambda chosen=chosen: newest(chosen) for chosen in FILTERS}
    found: dict[str, float] = {}
    for name, ask in asks.items():
        timed(ask, 3, time.process_time)
        found[f"{name}_cpu_ms_p95"] = timed(ask, 100, time.process_time)
        found[f"{name}_clock_ms_p95"] = timed(ask, 100, time.perf_counter)
    found["newest_50_cpu_ms_p95"] = max(
        took for name, took in found.items() if name.startswith("newest_50") and "cpu" in name
    )
    store.close()
    return found


def api_times(port: int, keys: Sequence[str]) -> dict[str, float]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def ask(path: str) -> None:
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, (path, answer.status)

    paths = (f"/api/v1/runs/{keys[len(keys) // 2]}", *API_PATHS)
    return {
        f"api_clock_ms_p95 {path}": timed(lambda path=path: ask(path), 60, time.perf_counter)
        for path in paths
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--spans", type=int, default=1_000_000)
    chosen = options.parse_args()
    load = list(requests(2800))
    with tempfile.TemporaryDirectory() as place, collector(Path(place), POLICY) as (pid, port):
        folder, spans, runs = Path(place), 0, 0
        keys: list[str] = []
        report: dict[str, Any] = {}
        began, cpu = time.perf_counter(), cpu_seconds(pid)
        for part in turns(load, chosen.spans):
            with Watch(pid) as watch:
                send(port, part)
                runs += sum(len(item.runs) for item in part)
                judged(port, runs)
            spans += sum(item.spans for item in part)
            keys += [run for item in part for run in item.runs[:1]]
            print(f"{spans:>9,} spans, {watch.peak_mib:.0f} MiB", file=sys.stderr, flush=True)
            if "rss_mib_at_100k" not in report and spans >= min(FIRST, chosen.spans):
                report["spans_at_first"] = spans
                report["rss_mib_at_100k"] = max(watch.peak_mib, report.pop("peak", 0.0))
            report["peak"] = max(report.get("peak", 0.0), watch.peak_mib)
        report |= {
            "spans": spans,
            "spans_per_cpu_second": round(spans / (cpu_seconds(pid) - cpu)),
            "spans_per_second": round(spans / (time.perf_counter() - began)),
            "rss_mib": report.pop("peak"),
            "rss_mib_idle": memory_mib(pid),
            "disk_bytes_per_span": sum(file.stat().st_size for file in folder.glob("store.db*")) / spans,
            **store_times(folder, keys),
            **api_times(port, keys),
        }
        report["rss_growth_mib"] = report["rss_mib"] - report["rss_mib_at_100k"]
        assert get(port, "/api/v1/stats")["spans"] == spans
    missed = [
        f"{name} is {report[name]:.1f}, the gate is {limit}"
        for name, limit in GATES.items()
        if report[name] > limit
    ]
    rounded = {name: round(value, 2) for name, value in report.items()}
    print(json.dumps({**rounded, "missed": missed}, indent=1))
    raise SystemExit(1 if missed else 0)


if __name__ == "__main__":
    main()
