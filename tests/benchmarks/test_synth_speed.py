"""How fast cases are made, beside the paper's 70 ms per case. `pytest -m heavy -s` shows the table."""

from __future__ import annotations

import gc
import math
import random
import time
from collections.abc import Callable, Sequence

import pytest

from synth.cases.case import Case
from synth.cases.confirm import confirm
from synth.cases.generate import Options, generate
from synth.cases.mutate import mutants
from synth.formal.constraints import Before
from synth.language.parse import parse

pytestmark = pytest.mark.heavy

PAPER_MS = 69.5
"""Per case of 3 to 5 actions, 29.6 ms of it Z3 (paper, 2,753 cases)."""
ROUNDS = 12


def cpu_ms(work: Callable[[], object], per: int, repeats: int = 5) -> float:
    """CPU milliseconds per item; the least of several, because a busy machine only ever adds to it."""
    times = []
    gc.collect()
    for _ in range(repeats):
        began = time.process_time()
        work()
        times.append((time.process_time() - began) * 1000 / per)
    return min(times)


def yardstick() -> None:
    """A thousand times what any program does with words: about 9 us each where synthesis was measured."""
    dice = random.Random(1)
    for _ in range(1000):
        found: dict[str, list[list[str]]] = {}
        for word in sorted(f"{dice.random():.6f} {n}" for n in range(12)):
            found.setdefault(word[2:4], []).append(word.split())
        " ".join(found)


def yardsticks(work: Callable[[], object], per: int, goal: float) -> tuple[float, float]:
    """(CPU milliseconds per item, the same in yardsticks measured in turns with it), the least of each.

    A machine that is slow today is slow for both. Tried until the goal, in yardsticks, is met.
    """
    least = unit = math.inf
    for _ in range(ROUNDS):
        unit = min(unit, cpu_ms(yardstick, 1000, 1))
        least = min(least, cpu_ms(work, per, 1))
        if least / unit <= goal:
            break
    return least, least / unit


def cases(count: int, size: int | tuple[int, int], seed: int = 1) -> list[Case]:
    low, high = (size, size) if isinstance(size, int) else size
    return list(generate(count, seed, Options(actions=(low, high)), confirm=False))


def one_fresh_z3_check(case: Case) -> None:
    """What confirming costs at the least: a new solver, one variable per action, one question."""
    import z3

    start = {action.id: z3.Int(action.id) for action in case.actions}
    solver = z3.Solver()
    solver.add([start[c.first] < start[c.then] for c in case.constraints if isinstance(c, Before)])
    assert solver.check() == z3.sat


def each(work: Callable[[Case], object], over: Sequence[Case]) -> None:
    for case in over:
        work(case)


def report(name: str, ms: float, extra: str = "") -> None:
    print(
        f"\n{name}: {ms:.3f} ms per case, {1000 / ms:,.0f} cases/s, paper/ours {PAPER_MS / ms:,.0f}x {extra}"
    )


def test_synthesis_and_rendering_of_four_thousand_cases_a_second():
    cases(50, (3, 5))
    ms, units = yardsticks(lambda: cases(1_000, (3, 5)), 1_000, goal=27)
    report("synthesis + rendering, n = 3..5", ms, f"{units:.0f} yardsticks")
    assert units <= 27  # 0.25 ms where a yardstick takes 9 us


@pytest.mark.parametrize("size", [3, 5, 8, 20])
def test_everything_together_costs_at_most_1_6_fresh_z3_checks(size: int):
    count = 200 if size < 10 else 60
    made = cases(count, size)
    each(one_fresh_z3_check, made[:20])
    z3_ms = all_ms = math.inf
    for _ in range(ROUNDS):  # in turns: what disturbs one disturbs the other
        z3_ms = min(z3_ms, cpu_ms(lambda: each(one_fresh_z3_check, made), count, 1))
        all_ms = min(all_ms, cpu_ms(lambda: each(confirm, cases(count, size)), count, 1))
        if all_ms / z3_ms <= 1.5:
            break
    report(
        f"with parse-back and Z3 confirmation, n = {size}",
        all_ms,
        f"ratio to one Z3 check {all_ms / z3_ms:.2f}",
    )
    assert all_ms / z3_ms <= 1.6


def test_fifty_actions_in_five_milliseconds():
    cases(5, 50)
    ms, units = yardsticks(lambda: cases(60, 50), 60, goal=560)
    report("synthesis + rendering, n = 50", ms, f"{units:.0f} yardsticks")
    assert units <= 700  # 5 ms are 560 where a yardstick takes 9 us; the rest is what other programs disturb


def test_what_else_it_takes():
    made = cases(300, (3, 5))
    report("parsing back, n = 3..5", cpu_ms(lambda: each(lambda c: parse(c.paragraph, c.actions), made), 300))
    timed = Options(mode="timed")
    report("timed synthesis, n = 3..5", cpu_ms(lambda: list(generate(300, 1, timed, confirm=False)), 300))
    ms = cpu_ms(lambda: each(lambda c: mutants(c, "structure", 1), made[:100]), 100)
    report("a proved structure mutant, n = 3..5", ms)
    assert ms < PAPER_MS
