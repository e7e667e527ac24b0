from __future__ import annotations

from collections.abc import Callable

import pytest

from synth.cases.case import Case, case_from_json
from synth.cases.generate import Options, generate
from synth.cases.shrink import MAX_RUNS, shrink, smaller
from synth.formal.constraints import Before
from synth.formal.order import Closure
from synth.formal.solver import satisfiable
from tests.support.bench_cases import order_case

CASES = list(generate(12, 4, Options(actions=(4, 7)))) + list(
    generate(6, 4, Options(actions=(4, 6), mode="timed"))
)


def closure_of(case: Case) -> set[tuple[str, str]]:
    """Every order between tools that the case implies."""
    tools = [action.tool for action in case.actions]
    at = {action.id: position for position, action in enumerate(case.actions)}
    stated = [(at[c.first], at[c.then]) for c in case.constraints if isinstance(c, Before)]
    return {(tools[a], tools[b]) for a, b in Closure(len(tools), stated).edges()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_every_smaller_case_is_smaller_satisfiable_and_asks_for_nothing_new(case: Case) -> None:
    for candidate in smaller(case):
        fewer_actions = len(candidate.actions) < len(case.actions)
        assert fewer_actions or len(candidate.paragraph) < len(case.paragraph)
        assert closure_of(candidate) <= closure_of(case)
        assert satisfiable(candidate.spec) is True
        assert case_from_json(candidate.to_json()) == candidate
        assert f"each of the {len(candidate.actions)} tools" in candidate.query


def wrong_order_of(first: str, then: str) -> Callable[[Case], bool]:
    """An agent that fails wherever this order is asked for."""
    return lambda case: (first, then) in closure_of(case)


def test_shrinking_keeps_what_makes_it_fail_and_little_else() -> None:
    case = order_case(
        "The task a must precede the task b. The task c must precede the task d. "
        "The task b must precede the task e. The task e must precede the task f. "
        "After the task a, the task c must happen.",
        [f"the task {letter}" for letter in "abcdef"],
    )
    small = shrink(case, wrong_order_of("task_a", "task_f"))
    assert [action.tool for action in small.actions] == ["task_a", "task_f"]
    assert small.id.startswith("case-1-small-")


def test_a_case_of_which_nothing_smaller_fails_stays_as_it_is() -> None:
    case = order_case()
    assert shrink(case, lambda smaller: False) is case


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_shrinking_ends_in_under_30_runs_and_never_runs_the_same_id_twice(case: Case) -> None:
    ran: list[str] = []

    def fails(smaller: Case) -> bool:
        ran.append(smaller.id)
        return len(smaller.actions) >= len(case.actions) - 2

    small = shrink(case, fails)
    assert len(ran) == len(set(ran)) <= MAX_RUNS < 30
    assert len(small.actions) >= len(case.actions) - 2


def test_shrinking_ends_when_its_time_is_over() -> None:
    ticks = iter(range(100))
    ran: list[str] = []

    def fails(smaller: Case) -> bool:
        ran.append(smaller.id)
        return False

    shrink(CASES[0], fails, max_seconds=3.0, clock=lambda: float(next(ticks)))
    assert len(ran) == 2
