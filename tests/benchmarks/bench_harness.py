"""What driving agents adds to the agents' own time: a campaign's wall time x workers over that time.

The agent's own time is taken inside its worker, from the moment it gets the case until it has ended; what
the campaign takes beyond it is handing over, tracing to the end, judging what is judged last, and
waiting for a worker that is still busy (fixed costs: the shorter the campaign, the more they weigh). The
agent is the shipped `raw-loop` on the simulated model, which thinks for as long as makes a run of the
wanted length. Starting processes is left out (workers are warm), as is making cases. Also given: CPU time
of harness and simulated model for each run. What counts is the round that was disturbed least, since a
busy machine only ever adds. Exit code 1 when that adds more than 5 %.

    python tests/benchmarks/bench_harness.py [--rounds 3] [--seconds 8]
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from collector.cli.embedded import collector_process
from synth.cases.generate import Options as CaseOptions
from synth.cases.generate import generate
from synth.experiments.harness import Harness, Options
from synth.experiments.trial import Trial
from synth.simulated_model import SimulatedModel

TARGET = 0.05
LENGTHS = (0.09, 0.3, 1.2)
"""Seconds that a run takes, about."""
WORKERS = (1, 2)
ANSWERS = 5
"""Model answers in a run of four actions."""
AGENT, MODEL = "raw-loop", "simulated-perfect"


@dataclass
class Round:
    """One campaign."""

    runs: int
    own: float
    """Seconds that agents took, summed."""
    wall: float
    workers: int
    cpu: float
    """CPU seconds of this process, which holds the simulated model too."""

    @property
    def added(self) -> float:
        return self.wall * self.workers / self.own - 1


class Campaigns:
    """Runs campaigns of fresh trials on warm workers."""

    def __init__(self, harness: Harness, model: SimulatedModel) -> None:
        self._harness, self._model = harness, model
        self._cases = list(generate(40, 5, CaseOptions(actions=(4, 4))))
        self._made = 0

    def trials(self, count: int) -> Iterator[Trial]:
        for _ in range(count):
            self._made += 1
            case = self._cases[self._made % len(self._cases)]
            yield Trial(AGENT, MODEL, case=case, repeat=self._made)

    def tune(self, seconds: float) -> None:
        """Let the model think so long that a run takes about so many seconds."""
        self._model.thinking = 0.0
        bare = statistics.median(r.wall_seconds for r in self._harness.run(self.trials(12)))
        self._model.thinking = max(0.0, (seconds - bare) / ANSWERS)

    def round(self, runs: int, workers: int) -> Round:
        began, cpu = time.perf_counter(), time.process_time()
        results = list(self._harness.run(self.trials(runs)))
        wall = time.perf_counter() - began
        wrong = [r for r in results if r.outcome != "pass"]
        if wrong:
            raise SystemExit(f"{len(wrong)} runs did not pass, such as {wrong[0]}")
        own = sum(r.wall_seconds for r in results)
        return Round(runs, own, wall, workers, time.process_time() - cpu)


@contextmanager
def campaigns(workers: int) -> Iterator[Campaigns]:
    with (
        tempfile.TemporaryDirectory() as folder,
        collector_process(Path(folder) / "runs.db") as url,
        SimulatedModel() as model,
        Harness(url, Options(parallel=workers), model) as harness,
    ):
        made = Campaigns(harness, model)
        list(harness.run(made.trials(4 * workers)))
        yield made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10.0, help="of agent time per worker and round")
    options = parser.parse_args()
    print(f"{'workers':>7}{'run, ms':>9}{'runs':>6}{'added':>8}{'median':>8}{'CPU ms a run':>14}")
    missed = 0
    for workers in WORKERS:
        with campaigns(workers) as made:
            for seconds in LENGTHS:
                made.tune(seconds)
                runs = max(6, round(options.seconds / seconds)) * workers
                rounds = [made.round(runs, workers) for _ in range(options.rounds)]
                added = min(one.added for one in rounds)
                own = statistics.median(one.own / one.runs for one in rounds)
                cpu = statistics.median(one.cpu / one.runs for one in rounds)
                middle = statistics.median(one.added for one in rounds)
                missed += added > TARGET
                verdict = "" if added <= TARGET else "  MISSED"
                print(
                    f"{workers:>7}{own * 1e3:>9.0f}{runs:>6}{added:>8.1%}{middle:>8.1%}{cpu * 1e3:>14.1f}"
                    f"{verdict}",
                    flush=True,
                )
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"CPU of all other processes: {ended.ru_utime + ended.ru_stime:.0f} s; goal: at most {TARGET:.0%}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
