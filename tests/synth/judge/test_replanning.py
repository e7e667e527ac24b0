"""Timed mode: whoever halts at once can still pass, whatever the first call was."""

from __future__ import annotations

from collections import Counter
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
from tests.support.soak import new_seed, tell, tries

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


def test_a_call_at_the_very_clock_goes_on_whatever_is_done_again_later() -> None:
    calls = [task("c", "13:30"), task("a", "14:00"), task("b", "16:00"), task("c", "18:00")]
    assert summary(verdict(calls))[2] == [
        ("action_lost", "never_called", ()),
        ("action_lost", "never_called", ()),
        ("note", "replanned", (0, 1, 2)),
    ]
    earlier = [task("c", "13:30"), task("a", "13:59"), *calls[2:]]
    assert ("note", "replanned", (0,)) in summary(verdict(earlier))[2]


def test_a_new_attempt_does_again_all_that_the_dead_one_did() -> None:
    """Else what goes back is only a start that is too early; while the run lasts nobody can know."""
    calls = [task("c", "13:30"), task("a", "08:00"), task("b", "10:00")]
    ended = {finding.code for finding in verdict(calls).findings}
    assert "overlaps_previous" in ended
    assert "replanned" not in ended
    assert ("note", "replanned", (0,)) in summary(verdict(calls, status="running"))[2]


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
    """Every legal first call: an action with nothing before it, as early as it may start and as late."""
    assert spec.durations is not None
    ids = [action.id for action in spec.actions]
    outline = outline_of(ids, spec.constraints, spec.horizon or (0, 0))
    for position, action in enumerate(ids):
        if not outline.order.before[position]:
            yield action, outline.earliest[position]
            yield action, outline.latest[position] - spec.durations[action]


def after_a_halt(spec: Case) -> Iterator[tuple[str, bool, str]]:
    """Each legal first call, whether the plan can still work, and the outcome of the witness played anew."""
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
        yield first, alive, verdict(calls, spec).outcome


@pytest.mark.parametrize(
    ("soaked", "replans"), [pytest.param(400, None, id="any"), pytest.param(100, (1, 3), id="with re-plans")]
)
def test_no_legal_first_call_makes_a_case_impossible(soaked: int, replans: tuple[int, int] | None) -> None:
    seed, count = new_seed(), tries(soaked)
    options = Options(actions=(3, 6), mode="timed", replans=replans)
    tried: Counter[str] = Counter(cases=count)
    for spec in generate(count, seed, options, confirm=False):
        for first, alive, outcome in after_a_halt(spec):
            tried["first calls"] += 1
            tried["dead"] += not alive
            assert alive or outcome == "pass", f"{first} of {spec.id}, PDOCTOR_SEED={seed}"
    tell(f"first calls that trap, re-plans {replans}", tried)
