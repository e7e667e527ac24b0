"""What counts and the overview cost with 1,000 and with 1,000,000 runs in the store.

    python tests/benchmarks/bench_counts.py [--runs 1000000]

Rows are written straight into SQLite. CPU time, the least of many rounds in turns; exits 1 where the big
store takes more than 1.5x of the small one.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from sqlalchemy import insert
from sqlalchemy.engine import Connection

from collector.store import Store, counts, open_store, reads, schema

SMALL = 1_000
ROUNDS = 60
TIMES = 1.5
OUTCOMES = (("pass", None), ("fail", "order"), ("fail", "missing"), ("undecided", None), (None, None))


def rows(count: int) -> Iterator[dict[str, object]]:
    dice = random.Random(7)
    for number in range(count):
        outcome, error = dice.choice(OUTCOMES)
        yield {
            "project": 1, "key": f"{dice.getrandbits(128):032x}", "first_seen": float(number),
            "last_seen": float(number), "version": 1, "checked": 1, "agent": f"agent-{number % 17}",
            "outcome": outcome, "error_type": error, "complete": True, "listed": True, "spans": 7, "calls": 5,
        }  # fmt: skip


def filled(file: Path, count: int) -> Store:
    store = open_store(f"sqlite:///{file}", durable=False)
    made = list(rows(count))
    for at in range(0, count, 50_000):
        with store.write() as connection:
            connection.execute(insert(schema.runs), made[at : at + 50_000])
    counts.set_right(store)
    return store


def overview(connection: Connection) -> object:
    """What the page of runs asks for, but for names of policies."""
    found = reads.list_runs(connection, 1, reads.Filter(), limit=50)
    return found, reads.stats(connection, 1), reads.distinct(connection, 1, "agent")


ASKED: dict[str, Callable[[Connection], object]] = {
    "counts": lambda connection: reads.stats(connection, 1),
    "overview": overview,
    "newest fails": lambda connection: reads.list_runs(connection, 1, reads.Filter(outcome="fail"), limit=50),
    "metrics": lambda connection: (reads.waiting(connection, None), reads.backlog(connection, 0.0, None)),
}


def seconds(store: Store, ask: Callable[[Connection], object]) -> float:
    with store.read() as connection:
        began = time.process_time()
        for _ in range(5):
            ask(connection)
        return (time.process_time() - began) / 5


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--runs", type=int, default=1_000_000)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        small, big = (filled(Path(folder, f"{n}.db"), n) for n in (SMALL, chosen.runs))
        report: dict[str, dict[str, float]] = {}
        for name, ask in ASKED.items():
            took = [(seconds(small, ask), seconds(big, ask)) for _ in range(ROUNDS)]
            least = [min(one) for one in zip(*took, strict=True)]
            report[name] = {
                "small_us": round(least[0] * 1e6), "big_us": round(least[1] * 1e6),
                "times": round(least[1] / least[0], 2),
            }  # fmt: skip
        small.close()
        big.close()
    print(json.dumps(report, indent=1))
    sys.exit(any(one["times"] > TIMES for one in report.values()))


if __name__ == "__main__":
    main()
