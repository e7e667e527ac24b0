"""How much the processes of a campaign grow with its runs: the harness and a worker.

One worker runs a shipped agent on the simulated model, which lives in the harness's process. What libraries
load and caches fill at first is left out: growth is counted from the end of a warm-up. Given are resident
bytes that a process has for itself (`Private_*` of /proc/PID/smaps_rollup; Linux). Exit code 1 when the
harness or the worker grows by more than 2 MB in 1,600 runs.

    python tests/benchmarks/bench_memory.py [--agent raw-loop] [--runs 1600] [--warm-up 1000]
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tempfile
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from collector.cli.embedded import collector_process
from synth.cases.generate import Options as CaseOptions
from synth.cases.generate import generate
from synth.experiments.harness import Harness, Options
from synth.experiments.trial import Trial
from synth.simulated_model import SimulatedModel

TARGET = 2_000_000
"""Bytes in `RUNS` runs."""
RUNS = 1600
PARTS = 4
MODEL = "simulated-perfect"


def trials(agent: str) -> Iterator[Trial]:
    cases = list(generate(40, 5, CaseOptions(actions=(4, 4))))
    for at in range(10**9):
        yield Trial(agent, MODEL, case=cases[at % len(cases)], repeat=at)


def unique(pid: int) -> int:
    """Resident bytes that this process alone has."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))


def run(harness: Harness, made: Iterator[Trial], count: int) -> None:
    """So many runs; results are dropped."""
    deque(harness.run(next(made) for _ in range(count)), maxlen=0)
    gc.collect()


def processes(harness: Harness) -> dict[str, int]:
    """What the harness and its only worker hold."""
    (worker,) = harness._workers._all
    assert worker.pid is not None
    return {"harness": unique(os.getpid()), "worker": unique(worker.pid)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agent", default="raw-loop")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--warm-up", type=int, default=1000)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        collector_process(Path(folder) / "runs.db") as url,
        SimulatedModel() as model,
        Harness(url, Options(), model) as harness,
    ):
        made = trials(options.agent)
        run(harness, made, options.warm_up)
        before = processes(harness)
        for part in range(1, PARTS + 1):
            run(harness, made, options.runs // PARTS)
            now = processes(harness)
            grown = {name: now[name] - before[name] for name in now}
            told = (f"{name} {now[name] / 1e6:.1f} MB ({grown[name] / 1e6:+.2f})" for name in now)
            print(f"{options.agent:>12}{part * options.runs // PARTS:>6} runs: {', '.join(told)}", flush=True)
    return 1 if max(grown.values()) > TARGET * options.runs / RUNS else 0


if __name__ == "__main__":
    sys.exit(main())
