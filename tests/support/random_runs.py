"""Small random cases, and runs that keep them or not."""

from __future__ import annotations

import random

from synth.cases.case import Case
from synth.observed.run import Run, ToolCall
from tests.support.building import case, task

SECOND = 10**9


def random_case(r: random.Random) -> Case:
    names = "abcde"[: r.randint(1, 5)]
    rules = [
        f"{a}<{b}" for a, b in ((r.choice(names), r.choice(names)) for _ in range(r.randint(0, 5))) if a < b
    ]
    return case(*rules, extra=" ".join(names))


def random_run(r: random.Random, names: list[str]) -> Run:
    calls = []
    plan = r.sample(names, len(names)) + r.choices([*names, "z"], k=r.choice((0, 0, 1, 2)))
    if r.random() < 0.3:
        plan.pop()
    timed = r.random() < 0.5
    for name in plan:
        start = r.randint(0, 5) * SECOND
        calls.append(
            ToolCall(
                None,
                f"do_{name}",
                {},
                error="no" if r.random() < 0.1 else None,
                start=(start, start) if timed else None,
                end=(start + r.choice((0, 1, 2)) * SECOND,) * 2 if timed else None,
                finished=r.random() < 0.95,
                executed=r.random() < 0.97,
            )
        )
    return Run(
        "run",
        tuple(calls),
        tools=None if r.random() < 0.5 else ("do_z",),
        status=r.choice(("ok",) * 12 + ("timeout", "crash")),
        iterations=r.choice((None, 50, 51)) if r.random() < 0.1 else None,
    )


def random_day(r: random.Random) -> tuple[Case, Run]:
    names = "abcd"[: r.randint(1, 4)]
    durations = {n: r.choice((0, 15, 30)) for n in names}
    rules = [f"{a}<{b}" for a, b in ((r.choice(names), r.choice(names)) for _ in range(2)) if a < b]
    rules += [f"{r.choice(names)}<={r.choice((570, 585, 600))}" for _ in range(r.randint(0, 2))]
    rules += [f"{r.choice(names)}>={r.choice((540, 555))}" for _ in range(r.randint(0, 1))]
    day = case(*rules, durations=durations, horizon=(540, 630))
    clock, calls = 540, []
    for name in r.sample(names, len(names)):
        start = clock + r.choice((0, 0, 0, 15, -15))
        took = durations[name] if r.random() < 0.8 else 15
        shown: object = (
            f"{start // 60:02d}:{start % 60:02d}" if r.random() < 0.9 else r.choice((None, "x", start))
        )
        calls.append(task(name, shown, took if took != durations[name] else None))
        clock = start + took
    return day, Run("run", tuple(calls))
