"""What judging runs by policies costs where runs are hostile: growth from n to 2n calls, and CPU time.

Growth is the median of several pairs, in turns, within one run of this program, so that a busy machine does
not matter; it must stay below 2.6. Garbage is collected as in the collector's checkers: else a walk over all
that is loaded, which has nothing to do with the run, falls into the longer one and not into the shorter.
CPU seconds are shown beside the goals of the design, with ten policies of all kinds (sentences, guard,
provenance, contract, behaviour) and with a hundred. `python tests/benchmarks/bench_policies.py`
"""

from __future__ import annotations

import argparse
import gc
import time
import tracemalloc
from collections.abc import Callable
from itertools import cycle, islice
from operator import itemgetter
from statistics import median

from collector.pipeline.garbage import calm_garbage_collection
from synth.formal import solver
from synth.observed.run import Run
from synth.policies import PolicyResult, PolicySet, Rules, judge_policies, load_policies
from tests.support.hostile_runs import (
    ACTIONS,
    big_results,
    exact,
    one_message,
    parallel,
    staircase,
    two_clocks,
    unfinished,
)

MOST_GROWTH = 2.6
PAIRS = 9
ALL_KINDS = (
    "rule: B must never happen.",
    "rule: C must happen before B.",
    "rule: A must be followed by B within 2 seconds.",
    "rule: A must happen immediately before B.",
    "rule: B must start within 2 seconds of A.",
    "rule: A must not overlap B.",
    "guard: {calls: [A], check: \"earlier('b').size() < 3\"}",
    "provenance: {calls: [A], argument: id, from: [B]}",
    "contract: {on_violation: apply, tools: {a: {provides: 'at {id}'}, b: {requires: 'at *'}}}",
    "behaviour: (until (or a b c) b)",
)
SENTENCES = (
    *(said for said in ALL_KINDS if said.startswith("rule")),
    "rule: C must happen before B with the same id.",
    "rule: B must never happen after A.",
    "rule: A must happen at most twice.",
    "rule: B must start at least 2 seconds after A.",
)  # fmt: skip
EACH = (
    "B must happen at most 3 times within 2 seconds.",
    "B must happen at most 3 times with the same id.",
    "The sum of args.id of B must be at most 1000 within 2 seconds.",
    "The sum of args.id of B must be at most 1000 with the same id.",
    "B must never happen between A and C.",
    "B must never happen after A until C.",
    "B must never happen within 2 seconds after A.",
    "B must not happen on Fridays.",
    "A or C must happen before B.",
)
"""Each judged alone: sums, windows, `or`, days, stretches."""
OFF = Rules(z3="off")


def policies(said: list[str]) -> PolicySet:
    lines = "".join(f"  - {{id: P{k}, {one}}}\n" for k, one in enumerate(said))
    return load_policies(f"{ACTIONS}policies:\n{lines}")


def once(run: Run, found: PolicySet, rules: Rules) -> tuple[float, tuple[PolicyResult, ...]]:
    """CPU seconds and the results; what was left before is collected before."""
    gc.collect()
    began = time.process_time()
    results = judge_policies(found, run, rules=rules)
    return time.process_time() - began, results


def cpu(run: Run, found: PolicySet, rules: Rules) -> tuple[float, tuple[PolicyResult, ...]]:
    """The same with the least CPU seconds of three."""
    return min((once(run, found, rules) for _ in range(3)), key=itemgetter(0))


def peak(run: Run, found: PolicySet, rules: Rules) -> int:
    """Bytes that judging holds at once, beside the run."""
    tracemalloc.start()
    judge_policies(found, run, rules=rules)
    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return held


def growth(found: PolicySet, n: int, shape: Callable[[int], Run]) -> float:
    """The cost of 2n calls in costs of n, without Z3."""
    short, long = shape(n), shape(2 * n)
    once(long, found, OFF)
    return median(once(long, found, OFF)[0] / once(short, found, OFF)[0] for _ in range(PAIRS))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=2_000, help="n of the growth")
    n = parser.parse_args().calls
    solver.z3()
    calm_garbage_collection()
    missed = 0
    print(f"{'ten sentences':24}{'2n to n':>10}")
    sentences = policies(list(SENTENCES))
    for shape in (exact, parallel, unfinished, one_message, staircase):
        ratio = growth(sentences, n, shape)
        missed += ratio > MOST_GROWTH
        print(f"{shape.__name__:24}{ratio:>10.2f}{'  MISSED' if ratio > MOST_GROWTH else ''}")
    ten, hundred = policies(list(ALL_KINDS)), policies(list(islice(cycle(SENTENCES), 100)))
    rows: tuple[tuple[str, Run, PolicySet, Rules, float], ...] = (
        ("one message, 500 calls", one_message(500), ten, Rules(z3="failing"), 2),
        ("staircase, 500 calls", staircase(500), ten, Rules(z3="failing"), 2),
        ("unfinished, 5,000 calls", unfinished(5_000), ten, Rules(z3="failing"), 2),
        ("parallel, 5,000 calls", parallel(5_000), ten, Rules(z3="failing"), 2),
        ("two clocks, 5,000 calls", two_clocks(5_000), ten, Rules(z3="failing"), 4),
        ("64 KiB results, 1,000 calls", big_results(1_000), ten, Rules(z3="failing"), 4),
        ("100 sentences, 5,000 calls", exact(5_000), hundred, OFF, 3),
    )
    print(f"\n{'':30}{'CPU s':>8}{'goal':>6}{'decided':>10}")
    for name, run, found, rules, goal in rows:
        seconds, results = cpu(run, found, rules)
        decided = sum(result.verdict not in ("undecided", "unsupported") for result in results)
        lost = results[0].verdict != "violated"
        missed += seconds > goal or lost
        note = "  LOST" if lost else ("  MISSED" if seconds > goal else "")
        print(f"{name:30}{seconds:>8.2f}{goal:>6}{decided:>6}/{len(results)}{note}")
    print(f"\n{'alone, worst of all runs above':64}{'CPU s':>8}{'MB':>6}")
    for sentence in EACH:
        alone = policies([f"rule: '{sentence}'"])
        seconds = max(cpu(run, alone, rules)[0] for _, run, _, rules, _ in rows)
        memory = max(peak(run, alone, rules) for _, run, _, rules, _ in rows)
        missed += seconds > 2
        print(f"{sentence:64}{seconds:>8.2f}{memory / 1e6:>6.0f}{'  MISSED' if seconds > 2 else ''}")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
