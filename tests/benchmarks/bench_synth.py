"""How fast cases are made, beside the 70 ms per case of the paper (2,753 cases of 3 to 5 actions, 30 ms Z3).

CPU time, the least of rounds, in turns with what it is compared with: a busy machine only ever adds to both.
`python tests/benchmarks/bench_synth.py`
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Iterator, Sequence

import z3

from synth.cases.case import Case
from synth.cases.confirm import confirm
from synth.cases.generate import Options, generate
from synth.cases.mutate import mutants
from synth.formal.constraints import Before
from synth.language.parse import parse

PAPER_MS = 69.5
ROUNDS = 12
Work = Callable[[], object]


def cpu_ms(work: Work, per: int) -> float:
    """CPU milliseconds per item."""
    gc.collect()
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1000 / per


def beside(unit: tuple[Work, int], work: Work, per: int) -> tuple[float, float]:
    """(CPU milliseconds of one unit, of one item), the least of each over rounds in turns."""
    pairs = [(cpu_ms(*unit), cpu_ms(work, per)) for _ in range(ROUNDS)]
    return min(u for u, _ in pairs), min(w for _, w in pairs)


def words() -> None:
    """A thousand times what any program does with words: about 9 us each where synthesis was measured."""
    dice = random.Random(1)
    for _ in range(1000):
        found: dict[str, list[list[str]]] = {}
        for word in sorted(f"{dice.random():.6f} {n}" for n in range(12)):
            found.setdefault(word[2:4], []).append(word.split())
        " ".join(found)


def cases(count: int, size: int | tuple[int, int], options: Options | None = None) -> list[Case]:
    low, high = (size, size) if isinstance(size, int) else size
    return list(generate(count, 1, options or Options(actions=(low, high)), confirm=False))


def one_fresh_z3_check(case: Case) -> None:
    """What confirming costs at the least: a new solver, one variable per action, one question."""
    start = {action.id: z3.Int(action.id) for action in case.actions}
    solver = z3.Solver()
    solver.add([start[c.first] < start[c.then] for c in case.constraints if isinstance(c, Before)])
    if solver.check() != z3.sat:
        raise AssertionError("a generated case has no plan")


def each(work: Callable[[Case], object], over: Sequence[Case]) -> None:
    for case in over:
        work(case)


def rows() -> Iterator[tuple[str, float, float, str, float | None]]:
    """(what, CPU ms per case, in units, the unit, most units allowed)"""
    unit, ms = beside((words, 1000), lambda: cases(1_000, (3, 5)), 1_000)
    yield "synthesis and rendering, n = 3..5", ms, ms / unit, "words", 27  # 0.25 ms at 9 us
    for size in (3, 5, 8, 20):
        count = 200 if size < 10 else 60
        made = cases(count, size)
        check = (lambda made=made: each(one_fresh_z3_check, made), count)
        unit, ms = beside(check, lambda size=size, count=count: each(confirm, cases(count, size)), count)
        yield f"with parse-back and Z3 confirmation, n = {size}", ms, ms / unit, "Z3 checks", 1.6
    unit, ms = beside((words, 1000), lambda: cases(60, 50), 60)
    yield "synthesis and rendering, n = 50", ms, ms / unit, "words", 560  # 5 ms at 9 us
    made = cases(300, (3, 5))
    unit, ms = beside((words, 1000), lambda: each(lambda c: parse(c.paragraph, c.actions), made), 300)
    yield "parsing back, n = 3..5", ms, ms / unit, "words", None
    unit, ms = beside((words, 1000), lambda: cases(300, (3, 5), Options(mode="timed")), 300)
    yield "timed synthesis, n = 3..5", ms, ms / unit, "words", None
    unit, ms = beside((words, 1000), lambda: each(lambda c: mutants(c, "structure", 1), made[:100]), 100)
    yield "a proved structure mutant, n = 3..5", ms, ms / unit, "words", None


def main() -> int:
    missed = 0
    print(f"{'':46}{'CPU ms':>9}{'paper/ours':>12}{'units':>8}{'at most':>9}")
    for what, ms, units, unit, most in rows():
        verdict = "" if most is None else "  ok" if units <= most else "  MISSED"
        missed += verdict.endswith("MISSED")
        print(f"{what:46}{ms:>9.3f}{PAPER_MS / ms:>11,.0f}x{units:>8.2f}{most or '':>9} {unit}{verdict}")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
