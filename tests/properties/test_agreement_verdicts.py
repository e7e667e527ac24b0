"""Whole verdicts of random runs against the tables of the semantics, written down once more and naively."""

from __future__ import annotations

import random

import pytest

from synth.cases.case import Case
from synth.formal.constraints import Before, EndsBy, StartsFrom
from synth.judge import Rules, judge
from synth.observed.run import Run
from tests.support.random_runs import random_case, random_day, random_run

PRIORITY = ("timeout", "act_error", "action_lost", "parameter_error", "order_error")


def naive(the_case: Case, run: Run, rules: Rules) -> tuple[str, str | None, set[tuple[str, str]]]:
    """(outcome, primary type, broken orders) by the tables, one line each."""
    order = sorted(range(len(run.calls)), key=lambda i: (run.calls[i].start or (0, 0))[0])
    made = [run.calls[i] for i in order]
    names = [a.id for a in the_case.actions]
    good = {n: [k for k, c in enumerate(made) if c.tool == f"do_{n}" and c.succeeded] for n in names}
    types = set()
    if run.status == "timeout" or (run.iterations or 0) > 50:
        types.add("timeout")
    strange = [c for c in made if c.tool == "do_z"]
    if run.status == "crash" or (strange and (run.tools is None or rules.closed)):
        types.add("act_error")
    if any(c.error is not None and not good[n] for n in names for c in made if c.tool == f"do_{n}"):
        types.add("act_error")
    if any(not good[n] for n in names):
        types.add("action_lost")
    if rules.once and any(len(places) > 1 for places in good.values()):
        types.add("order_error")
    broken = {
        (c.first, c.then)
        for c in the_case.constraints
        if isinstance(c, Before) and good[c.first] and good[c.then] and good[c.first][0] > good[c.then][0]
    }
    if broken:
        types.add("order_error")
    primary = next((name for name in PRIORITY if name in types), None)
    return ("fail" if types else "pass"), primary, broken


def check_orders(count: int, z3: str) -> None:
    r = random.Random(11)
    seen: dict[str | None, int] = {}
    for _ in range(count):
        the_case = random_case(r)
        run = random_run(r, [a.id for a in the_case.actions])
        rules = Rules(z3=z3, once=r.random() < 0.7, closed=r.random() < 0.3)
        found = judge(the_case, run, rules=rules)
        broken = {c.actions for f in found.findings if f.type == "order_error" and (c := f.constraint)}
        assert (found.outcome, found.error_type, broken) == naive(the_case, run, rules), run
        seen[found.error_type] = seen.get(found.error_type, 0) + 1
    assert set(seen) == {None, "timeout", "act_error", "action_lost", "order_error"}


def test_verdicts_in_order_mode_are_those_of_the_tables() -> None:
    check_orders(1500, "off")


@pytest.mark.heavy
def test_verdicts_in_order_mode_are_those_of_the_tables_with_z3() -> None:
    check_orders(3000, "all")


def naive_day(the_case: Case, run: Run) -> set[tuple[str, str]]:
    """(type, code) of every error by the tables."""
    placed: dict[str, tuple[int, int]] = {}
    found = set()
    largest = None
    for call in run.calls:
        name = call.tool[3:]
        shown = call.arguments.get("start_time")
        if isinstance(shown, str) and ":" in shown:
            start = int(shown[:2]) * 60 + int(shown[3:])
        elif isinstance(shown, int):
            start = shown
        else:
            found.add(("parameter_error", "start_missing" if shown is None else "start_malformed"))
            continue
        took = (the_case.durations or {})[name]
        if call.result:
            took = int(call.result.split()[3])
        end = start + took
        placed[name] = (start, end)
        if start < 540:
            found.add(("parameter_error", "before_day"))
        if end > 630:
            found.add(("parameter_error", "after_day"))
        if largest is not None and start < largest:
            found.add(("parameter_error", "overlaps_previous"))
        largest = end if largest is None else max(largest, end)
    rank = {call.tool[3:]: k for k, call in enumerate(run.calls)}
    for c in the_case.constraints:
        if not all(name in placed for name in c.actions):
            continue
        if isinstance(c, Before):
            late, early = placed[c.first][1], placed[c.then][0]
            if late > early or (late == early and rank[c.first] > rank[c.then]):
                found.add(("order_error", "order"))
        elif isinstance(c, EndsBy) and placed[c.action][1] > c.time:
            found.add(("order_error", "too_late"))
        elif isinstance(c, StartsFrom) and placed[c.action][0] < c.time:
            found.add(("order_error", "too_early"))
    return found


def check_days(count: int, z3: str) -> None:
    r = random.Random(12)
    passed = 0
    for _ in range(count):
        day, run = random_day(r)
        found = judge(day, run, rules=Rules(z3=z3))
        errors = {(f.type, f.code) for f in found.findings if f.type != "note"}
        assert errors == naive_day(day, run), (day.constraints, run)
        assert found.outcome == ("fail" if errors else "pass")
        passed += not errors
    assert count // 20 < passed < count


def test_verdicts_in_timed_mode_are_those_of_the_tables() -> None:
    check_days(1000, "off")


@pytest.mark.heavy
def test_verdicts_in_timed_mode_are_those_of_the_tables_with_z3() -> None:
    check_days(600, "all")
