"""What reading pages takes from receiving spans: requests stored per second alone, and beside 20 pages/s.

    python tests/benchmarks/bench_pages.py [--runs 3000] [--rounds 4] [--seconds 5]

One sender, one request after the other, in turns without and with readers of the list, a run and the counts.
Exits 1 where receiving falls below half.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from bench_million import renamed
from ingest_load import POLICY, Request, requests
from servers import PROTOBUF, collector, cpu_seconds, judged, percentile, post, send

SHARE = 0.5
PAGES = 20.0
"""Per second."""
SPAWN = get_context("spawn")


def reading(port: int, run: str, count: Any, end: Any) -> None:
    """Ask for a page every twentieth of a second; a slow one is not made up for."""
    paths = itertools.cycle(("/", f"/runs/{run}", "/?outcome=fail", "/api/v1/stats", "/api/v1/runs"))
    http_ = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    due = time.monotonic()
    while not end.is_set():
        http_.request("GET", next(paths))
        http_.getresponse().read()
        count.value += 1
        due = max(due + 2 / PAGES, time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))


@contextmanager
def readers(port: int, run: str, number: int) -> Iterator[Any]:
    count, end = SPAWN.Value("i", 0), SPAWN.Event()
    processes = [SPAWN.Process(target=reading, args=(port, run, count, end)) for _ in range(number)]
    for process in processes:
        process.start()
    while count.value < 5 * number:  # they have started, which takes a while of every core
        time.sleep(0.05)
    count.value = 0
    try:
        yield count
    finally:
        end.set()
        for process in processes:
            process.join()


def stored(port: int, load: Iterator[Request], seconds: float) -> tuple[float, float]:
    """(requests per second, p99 of how long one took in ms)."""
    http_ = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    took: list[float] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        item = next(load)
        began = time.perf_counter()
        while post(http_, item.body, PROTOBUF) != 200:
            time.sleep(0.1)
        took.append(time.perf_counter() - began)
    http_.close()
    return len(took) / seconds, percentile(took, 0.99) * 1e3


def endless(load: list[Request]) -> Iterator[Request]:
    for turn in itertools.count(1):
        for item in load:
            yield renamed(item, turn)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--runs", type=int, default=3000, help="in the store before")
    options.add_argument("--rounds", type=int, default=4)
    options.add_argument("--seconds", type=float, default=5.0)
    chosen = options.parse_args()
    first, load = list(requests(chosen.runs, seed=5)), list(requests(200, spans=64))
    alone, beside = [], []
    with tempfile.TemporaryDirectory() as place, collector(Path(place), POLICY) as (pid, port):
        send(port, first)
        judged(port, chosen.runs)
        following = endless(load)
        stored(port, following, 1.0)
        for _ in range(chosen.rounds):
            for found, number in ((alone, 0), (beside, 2)):
                with readers(port, first[0].runs[0], number) as count:
                    cpu = cpu_seconds(pid)
                    rate, slowest = stored(port, following, chosen.seconds)
                    used = (cpu_seconds(pid) - cpu) / chosen.seconds
                    pages = count.value / chosen.seconds
                found.append((rate, slowest, pages, used))
                print(
                    json.dumps({"pages/s": pages, "requests/s": rate, "p99_ms": slowest, "cores": used}),
                    flush=True,
                )
    best = max(one[0] for one in alone), max(one[0] for one in beside)
    share = best[1] / best[0]
    report = {
        "requests_per_second_alone": round(best[0], 1),
        "requests_per_second_beside": round(best[1], 1),
        "share": round(share, 2),
        "pages_per_second": round(max(one[2] for one in beside), 1),
        "p99_ms_alone": round(min(one[1] for one in alone), 1),
        "p99_ms_beside": round(min(one[1] for one in beside), 1),
    }
    print(json.dumps(report, indent=1))
    sys.exit(share < SHARE)


if __name__ == "__main__":
    main()
