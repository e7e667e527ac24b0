"""Timed mode: whoever halts at once can still pass, whatever the first call was."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from synth.cases.case import Case
from synth.cases.generate import Options, generate
from synth.formal.constraints import clock, outline_of
from synth.formal.model import Verdict
from synth.judge import judge
from synth.judge.rules import Rules
from synth.language.query import query_text
from synth.observed.run import ToolCall
from tests.support.building import case, summary, task
from tests.support.building import run as run_of

DIRECT = Rules(z3="off")
DAY = case("a<b", "b<=900", durations={"a": 120, "b": 60, "c": 30}, horizon=(480, 1200))


def verdict(calls: list[ToolCall], spec: Case = DAY, status: str = "ok") -> Verdict:
    return judge(spec, run_of(calls, status=status), rules=DIRECT)


def test_after_a_dead_plan_any_call_before_the_clock_opens_a_new_attempt() -> None:
    calls = [task("c", "13:30"), task("a", "08:00"), task("b", "10:00"), task("c", "11:00")]
    assert summary(verdict(calls)) == ("pass", None, [("note", "replanned", (0,))])


def test_a_call_at_the_clock_or_later_goes_on() -> None:
    found = verdict([task("c", "13:30"), task("a", "14:00"), task("b", "16:00")])
    assert found.error_type == "order_error"
    assert "replanned" not in {f.code for f in found.findings}


def test_while_the_plan_can_still_work_a_call_before_the_clock_is_an_error() -> None:
    found = verdict([task("c", "09:00"), task("a", "09:10"), task("b", "12:00")])
    assert found.error_type == "parameter_error"


def test_starts_that_ignore_the_clock_one_after_the_other_are_no_new_plans() -> None:
    found = verdict([task("a", "08:00"), task("b", "08:01"), task("c", "08:02")])
    assert found.error_type == "parameter_error"
    assert "replanned" not in {f.code for f in found.findings}


def test_after_such_starts_going_back_to_the_first_of_them_is_a_new_plan() -> None:
    calls = [task("a", "08:00"), task("b", "08:01")]
    anew = [task("c", "08:00"), task("a", "08:30"), task("b", "10:30")]
    assert summary(verdict([*calls, *anew])) == ("pass", None, [("note", "replanned", (0, 1))])


def test_the_query_asks_for_no_activity_that_was_carried_out() -> None:
    text = query_text("A must precede B.", "a baker", 2, (540, 1080))
    assert "and start over from the beginning of the day; only the last attempt counts." in text
    assert "already carried out" not in text


def first_calls(spec: Case) -> Iterator[tuple[str, int]]:
    """Every legal first call: an action with nothing before it, as early as it may start."""
    ids = [action.id for action in spec.actions]
    outline = outline_of(ids, spec.constraints, spec.horizon or (0, 0))
    for position, action in enumerate(ids):
        if not outline.order.before[position]:
            yield action, outline.earliest[position]


def trapped(spec: Case) -> Iterator[str]:
    """First calls after which the witness, played from the beginning of the day, does not pass."""
    assert spec.witness is not None
    assert spec.durations is not None
    planned = sorted(spec.witness, key=spec.witness.__getitem__)
    for first, start in first_calls(spec):
        plan = [(first, start), *((action, spec.witness[action]) for action in planned)]
        tools = {action.id: action.tool for action in spec.actions}
        calls = [
            replace(task(action, clock(at), spec.durations[action]), tool=tools[action])
            for action, at in plan
        ]
        alive = verdict(calls[:1], spec, "running").dead_at is None
        if not alive and verdict(calls, spec).outcome != "pass":
            yield first


@pytest.mark.parametrize(
    ("count", "replans"),
    [
        pytest.param(15, None, id="a few"),
        pytest.param(400, None, id="many", marks=pytest.mark.heavy),
        pytest.param(100, (1, 3), id="with re-plans", marks=pytest.mark.heavy),
    ],
)
def test_no_legal_first_call_makes_a_case_impossible(count: int, replans: tuple[int, int] | None) -> None:
    options = Options(actions=(3, 6), mode="timed", replans=replans)
    dead = {case.id: list(trapped(case)) for case in generate(count, 31, options, confirm=False)}
    assert {name: calls for name, calls in dead.items() if calls} == {}
