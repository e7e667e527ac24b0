"""Calls of a case's run that nobody saw: the verdict on the rest is that on the whole run, or none."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from synth.cases.case import Case
from synth.formal.model import Verdict
from synth.judge import Rules, judge
from synth.observed.run import Run
from tests.support.building import task
from tests.support.gapped_runs import ran_only, unanswered, without
from tests.support.random_runs import random_case, random_day, random_run

Trial = tuple[Case, Run]


def some_order(r: random.Random) -> Trial:
    the_case = random_case(r)
    return the_case, random_run(r, [action.id for action in the_case.actions])


def some_day(r: random.Random) -> Trial:
    """A day, half the time with the attempt before it that was given up, at times an invented tool."""
    day, run = random_day(r)
    if r.random() < 0.3:
        run = replace(run, calls=(*run.calls, task("z", None, None)))
    if r.random() < 0.5:
        run = replace(run, calls=(*random_attempt(day, r), *run.calls))
    return day, run


def random_attempt(day: Case, r: random.Random) -> Iterator[object]:
    for action in r.sample(day.actions, r.randint(1, len(day.actions))):
        yield task(action.id, r.choice(("09:00", "09:15", "10:30")), r.choice((None, 90)))


MODES: dict[str, Callable[[random.Random], Trial]] = {"order": some_order, "timed": some_day}


def gapped(trial: Trial, r: random.Random, rules: Rules) -> tuple[Verdict, Verdict]:
    """The verdicts on the whole run and on the rest of it."""
    the_case, run = trial
    gone = r.sample(range(len(run.calls)), r.randint(1, len(run.calls)))
    return judge(the_case, run, rules=rules), judge(the_case, without(run, gone), rules=rules)


def says_no_more(whole: Verdict, rest: Verdict) -> bool:
    """The same outcome or none; of a failure, an error type that the whole run has."""
    if rest.outcome == "undecided":
        return rest.error_type is None
    types = {finding.type for finding in whole.findings}
    return rest.outcome == whole.outcome and (rest.error_type is None or rest.error_type in types)


@pytest.mark.parametrize("mode", MODES)
def test_with_calls_missing_the_outcome_is_that_of_the_whole_run_or_none(mode: str) -> None:
    r = random.Random(f"cases {mode}")
    failed = 0
    for _ in range(1500):
        trial = MODES[mode](r)
        if not trial[1].calls:
            continue
        rules = Rules(z3="off", once=r.random() < 0.7, closed=r.random() < 0.3)
        whole, rest = gapped(trial, r, rules)
        assert says_no_more(whole, rest), (trial, rest)
        failed += rest.outcome == "fail"
    assert failed > 100


@pytest.mark.parametrize("mode", MODES)
def test_calls_that_may_have_run_leave_the_outcome_or_take_it_away(mode: str) -> None:
    r = random.Random(f"unknown {mode}")
    failed = 0
    for _ in range(1000):
        the_case, run = MODES[mode](r)
        if not run.calls:
            continue
        rules = Rules(z3="off", once=r.random() < 0.7, closed=r.random() < 0.3)
        marked = r.sample(range(len(run.calls)), r.randint(1, len(run.calls)))
        never = ran_only(run, lambda i, marked=marked: i not in marked)  # type: ignore[misc]
        for truth in (run, never):
            asked = judge(the_case, unanswered(truth, marked, r), rules=rules)
            assert says_no_more(judge(the_case, truth, rules=rules), asked), (truth, marked)
            failed += asked.outcome == "fail"
    assert failed > 100


def test_a_passing_day_whose_first_call_was_not_seen_is_no_failure() -> None:
    """The lost call decides where an attempt begins."""
    r = random.Random(4)
    passing = 0
    while passing < 20:
        day, run = random_day(r)
        if len(run.calls) < 2 or judge(day, run, rules=Rules(z3="off")).outcome != "pass":
            continue
        passing += 1
        assert judge(day, without(run, [0]), rules=Rules(z3="off")).outcome == "undecided"


def test_without_its_mark_a_missing_call_makes_a_verdict_another_one() -> None:
    r = random.Random(9)
    wrong = 0
    for mode in MODES:
        for _ in range(100):
            the_case, run = MODES[mode](r)
            if not run.calls:
                continue
            rest = replace(without(run, [0]), problems=(), unseen=())
            rules = Rules(z3="off")
            wrong += not says_no_more(judge(the_case, run, rules=rules), judge(the_case, rest, rules=rules))
    assert wrong > 30


def test_a_call_that_may_have_run_can_only_have_been_what_was_asked_for() -> None:
    r = random.Random(2)
    the_case = next(one for one in iter(lambda: random_case(r), None) if len(one.actions) == 3)
    done = [task(action.id, None, None) for action in the_case.actions]
    rules = Rules(z3="off")
    look = replace(done[0], tool="look", executed=None)
    offered = tuple(action.tool for action in the_case.actions)
    lost = Run("r", (*done[:2], look), tools=(*offered, "look"))
    found = judge(the_case, lost, rules=rules)
    assert found.error_type == "action_lost" or found.outcome == "fail"
    asked = Run("r", (*done[:2], replace(done[2], executed=None)), tools=offered)
    assert judge(the_case, asked, rules=rules).outcome in ("undecided", "fail")
    kinds = {f.type for f in judge(the_case, asked, rules=rules).findings}
    assert "action_lost" not in kinds
    assert "action_lost" in {f.type for f in found.findings}


def test_more_lost_actions_than_unseen_calls_are_lost() -> None:
    r = random.Random(2)
    the_case = next(one for one in iter(lambda: random_case(r), None) if len(one.actions) == 4)
    run = Run("r", tuple(task(action.id, None, None) for action in the_case.actions[:1]))
    rest = replace(run, problems=("a hole",))
    hidden = replace(without(replace(run, calls=run.calls * 3), [1, 2]), tools=None)
    assert judge(the_case, rest, rules=Rules(z3="off")).outcome == "undecided"
    found = judge(the_case, hidden, rules=Rules(z3="off"))
    assert (found.outcome, found.error_type, found.dead_at) == ("fail", "action_lost", None)


def test_whether_a_call_of_another_tool_ran_changes_no_outcome() -> None:
    r = random.Random(5)
    rules = Rules(z3="off")
    passing = 0
    while passing < 10:
        day, run = random_day(r)
        if judge(day, run, rules=rules).outcome != "pass":
            continue
        passing += 1
        tools = (*(action.tool for action in day.actions), "look")
        look = replace(run.calls[0], tool="look", executed=None)
        assert judge(day, replace(run, calls=(*run.calls, look), tools=tools), rules=rules).outcome == "pass"
