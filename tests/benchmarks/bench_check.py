"""Cost of a verdict on one core, against targets and against a yardstick measured in the same run.

The yardstick is one `json.dumps` of the run record with 20 calls: what any service pays just to store
it. CPU time, medians of rounds. `python tests/benchmarks/bench_check.py [--checks 100000]`
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from synth.cases.case import Case
from synth.formal import solver
from synth.formal.constraints import Before, Constraint, EndsBy, StartsFrom
from synth.formal.dead_end import DayPlan
from synth.formal.model import Spec
from synth.formal.monitor import shipped
from synth.formal.repair import repair_order, repair_schedule
from synth.judge import Rules, judge
from synth.observed.run import Run, read_runs
from synth.policies import judge_policies, load_policies
from tests.support.building import call, case, run

ROOT = Path(__file__).parents[2]
SIZE, SENTENCES = 20, 40


def order_case(r: random.Random) -> tuple[Case, Run, Run]:
    """A case of 20 actions, a run that keeps it and one with two actions swapped."""
    names = [f"x{i:02d}" for i in range(SIZE)]
    rules = [f"{a}<{b}" for a, b in (sorted(r.sample(names, 2)) for _ in range(SENTENCES))]
    good = [call(name, 10 + i, 10.5 + i) for i, name in enumerate(names)]
    swapped = list(names)
    swapped[3], swapped[9] = swapped[9], swapped[3]
    bad = [call(name, 10 + i, 10.5 + i) for i, name in enumerate(swapped)]
    return case(*rules, extra=" ".join(names)), run(good), run(bad)


def day(r: random.Random) -> tuple[Spec, list[tuple[str, int, int]]]:
    """A timed spec of 20 actions with windows on both sides, and a schedule that keeps it."""
    names = [f"x{i:02d}" for i in range(SIZE)]
    durations = {name: r.choice((15, 20, 30)) for name in names}
    placed, clock = [], 400
    for name in names:
        clock += r.choice((0, 0, 10))
        placed.append((name, clock, clock + durations[name]))
        clock += durations[name]
    rules: list[Constraint] = [Before(*sorted(r.sample(names, 2))) for _ in range(SIZE)]
    rules += [EndsBy(name, end + 30) for name, _, end in r.sample(placed, 6)]
    rules += [StartsFrom(name, start - 15) for name, start, _ in r.sample(placed, 5)]
    return Spec(tuple(names), tuple(rules), durations, (400, clock + 30)), placed


def cost(work: Callable[[], object], rounds: int, batch: int = 1) -> float:
    """Median CPU seconds of one call."""
    work()
    found = []
    for _ in range(rounds):
        began = time.process_time()
        for _ in range(batch):
            work()
        found.append((time.process_time() - began) / batch)
    return statistics.median(found)


def rows() -> list[tuple[str, float, float | None]]:
    """(what, seconds, target)."""
    r = random.Random(7)
    the_case, good, bad = order_case(r)
    spec, placed = day(r)
    plan = DayPlan(spec, spec.durations or {})
    declared = {name: start for name, start, _ in placed}
    late = {**declared, "x05": declared["x05"] + 25}
    crowd = {f"x{i}": 45 for i in range(12)}
    full = Spec(tuple(crowd), (), crowd, (0, sum(crowd.values()) - 15))
    sequence = r.sample(the_case.spec.actions, SIZE)
    airline = load_policies(ROOT / "tests" / "real_data" / "tau_airline.yaml")
    recorded = list(read_runs(ROOT / "tests" / "real_data" / "tau_airline" / "runs.jsonl"))
    off, on = Rules(z3="off"), Rules(z3="all")
    events = ["question", "thought", "action", "action_input", "observation", "thought", "final_answer"]
    react = shipped("react")
    record = good.to_json()
    return [
        ("yardstick: json.dumps of a run, 20 calls", cost(lambda: json.dumps(record), 30, 50), None),
        ("verdict, direct, n=20, passing", cost(lambda: judge(the_case, good, rules=off), 30, 50), 50e-6),
        (
            "verdict, direct, n=20, failing, explained, repaired",
            cost(lambda: judge(the_case, bad, rules=off), 20, 20),
            None,
        ),
        ("verdict with Z3, n=20, passing", cost(lambda: judge(the_case, good, rules=on), 30), 5e-3),
        ("verdict with Z3, n=20, failing", cost(lambda: judge(the_case, bad, rules=on), 30), 5e-3),
        ("point of no return, timed, n=20, per step", cost(lambda: plan.dead_at(placed), 20) / SIZE, 1e-3),
        (
            "over-full day of 12 free tasks, decided",
            cost(lambda: DayPlan(full, crowd).alive(set(), 0), 20),
            1e-3,
        ),
        ("the same by Z3", cost(lambda: solver.satisfiable(full), 10), None),
        ("repair, order, n=20", cost(lambda: repair_order(the_case.spec, sequence), 20), 60e-3),
        ("repair, timed, n=20", cost(lambda: repair_schedule(spec, late, spec.durations or {}), 3), 60e-3),
        (
            "19 airline policies, one recorded run",
            cost(lambda: [judge_policies(airline, one, rules=off) for one in recorded], 5) / len(recorded),
            None,
        ),
        ("behaviour monitor, per event", cost(lambda: react.follow(events), 20, 100) / len(events), None),
    ]


def resident_kib() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4


def growth(checks: int) -> tuple[int, int]:
    """KiB of resident memory gained over the second half of `checks` verdicts; every 20th asks Z3."""
    r = random.Random(9)
    cases = [order_case(r) for _ in range(40)]

    def some(count: int) -> int:
        for i in range(count):
            the_case, good, bad = cases[i % len(cases)]
            judge(the_case, bad if i % 2 else good, rules=Rules(z3="all" if i % 20 == 0 else "off"))
        return resident_kib()

    warm = some(checks // 2)
    return warm, some(checks // 2) - warm


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checks", type=int, default=20_000, help="verdicts of the memory test")
    checks = parser.parse_args().checks
    found = rows()
    yardstick = found[0][1]
    missed = 0
    print(f"{'':54}{'CPU us':>10}{'x json':>9}{'target us':>11}")
    for what, seconds, target in found:
        verdict = "" if target is None else ("  ok" if seconds <= target else "  MISSED")
        missed += verdict.endswith("MISSED")
        limit = "" if target is None else f"{target * 1e6:,.0f}"
        print(f"{what:54}{seconds * 1e6:>10,.1f}{seconds / yardstick:>9.2f}{limit:>11}{verdict}")
    warm, more = growth(checks)
    print(f"memory after {checks // 2:,} verdicts: {warm / 1024:.0f} MiB; {more:+,} KiB over as many again")
    return 1 if missed or more > 4096 else 0


if __name__ == "__main__":
    raise SystemExit(main())
