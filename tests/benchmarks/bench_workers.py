"""What `--workers 2` costs and brings: CPU per judged span, and spans a second, against one worker.

    python tests/benchmarks/bench_workers.py [--runs 3000] [--rounds 3] [--connections 8]

The bodies are prepared; whoever sends them costs the rest of the machine `sender_share` of a core. Every run
is judged, none announces how many calls it has. One and two workers take turns; of each the best round
counts. The wall figure needs a machine that does nothing else, with a core for each process that receives or
judges: on fewer than `CORES` it is told and no gate. Prints one JSON document; exits 1 where one is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ingest_load import POLICY, Request, requests
from servers import PROTOBUF, collector, cpu_seconds, judged, send

WARM_RUNS = 40
CORES = 4
GATES = {"cpu_ratio": (None, 1.15), "wall_ratio": (1.5 if (os.cpu_count() or 1) >= CORES else None, None)}


def measured(load: Sequence[Request], workers: int, connections: int) -> dict[str, float]:
    with (
        tempfile.TemporaryDirectory() as folder,
        collector(Path(folder), POLICY, "off", workers) as (pid, port),
    ):
        send(port, list(requests(WARM_RUNS, seed=1, spans=64)), connections=connections)
        judged(port, WARM_RUNS)
        time.sleep(2)
        cpu, own, began = cpu_seconds(pid), time.process_time(), time.perf_counter()
        send(port, load, connections=connections, headers=PROTOBUF)
        runs = sum(len(item.runs) for item in load)
        judged(port, runs + WARM_RUNS)
        wall, used = time.perf_counter() - began, cpu_seconds(pid) - cpu
        share = (time.process_time() - own) / wall
    spans = sum(item.spans for item in load)
    return {
        "cpu_us_per_span": round(used / spans * 1e6, 1),
        "spans_per_second": round(spans / wall),
        "sender_share": round(share, 2),
        "cores": round(used / wall, 2),
    }


def best(rounds: Sequence[dict[str, float]]) -> dict[str, float]:
    """The least CPU and the most spans a second; the shares are those of the fastest round."""
    fastest = max(rounds, key=lambda one: one["spans_per_second"])
    return {**fastest, "cpu_us_per_span": min(one["cpu_us_per_span"] for one in rounds)}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=3000)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--connections", type=int, default=8)
    chosen = options.parse_args()
    load = list(requests(chosen.runs, announce=False))
    found: dict[int, list[dict[str, float]]] = {1: [], 2: []}
    for _ in range(chosen.rounds):
        for workers, rounds in found.items():
            rounds.append(measured(load, workers, chosen.connections))
    one, two = best(found[1]), best(found[2])
    report: dict[str, Any] = {"one": one, "two": two}
    report["cpu_ratio"] = round(two["cpu_us_per_span"] / one["cpu_us_per_span"], 3)
    report["wall_ratio"] = round(two["spans_per_second"] / one["spans_per_second"], 2)
    missed = [
        f"{name} is {report[name]}, the gate is {least or most}"
        for name, (least, most) in GATES.items()
        if (least is not None and report[name] < least) or (most is not None and report[name] > most)
    ]
    print(json.dumps({**report, "missed": missed}, indent=1))
    raise SystemExit(1 if missed else 0)


if __name__ == "__main__":
    main()
