"""Frozen suites: their cases do not change, other seeds draw others, and their chance level is known."""

from __future__ import annotations

from itertools import permutations
from math import factorial

import pytest

from synth.errors import BadInput
from synth.experiments import suites
from synth.experiments.suites import (
    FEWEST_ACTIONS,
    SUITES,
    Suite,
    chance_of,
    hash_of,
    order_of_mention,
    passes_in,
    suite_named,
)

each_suite = pytest.mark.parametrize("suite", SUITES, ids=[suite.name for suite in SUITES])


@each_suite
def test_the_cases_of_a_suite_are_those_it_was_made_with(suite: Suite) -> None:
    cases = suite.cases()
    assert hash_of(cases) == suite.hash
    assert min(len(case.actions) for case in cases) >= FEWEST_ACTIONS
    assert len({case.id for case in cases}) == suites.CASES
    assert all(case.valid_plans for case in cases)
    assert max(vars_of(chance_of(cases))) <= 0.2


def vars_of(chance: suites.Chance) -> tuple[float, float]:
    return chance.random_order, chance.order_of_mention


@each_suite
def test_another_seed_draws_other_cases(suite: Suite) -> None:
    assert {case.paragraph for case in suite.cases(7)}.isdisjoint(case.paragraph for case in suite.cases())


def test_a_suite_whose_cases_changed_is_refused() -> None:
    changed = Suite("changed", "", suite_named("airline-policies").draw, 2027, "0" * 16, 1)
    with pytest.raises(BadInput, match="this version draws other cases"):
        changed.cases()
    assert changed.cases(2027)
    with pytest.raises(BadInput, match="expected one of order-small"):
        suite_named("order")


@pytest.mark.parametrize("name", ["order-small", "timed", "airline-policies"])
def test_the_chance_of_a_blind_order_is_the_share_of_orders_that_pass(name: str) -> None:
    cases = [case for case in suite_named(name).cases() if len(case.actions) <= 5][:3]
    for case in cases:
        ids = [action.id for action in case.actions]
        passing = sum(passes_in(case, order) for order in permutations(ids))
        assert passing == case.valid_plans
        assert chance_of([case]).random_order == passing / factorial(len(ids))


def test_the_order_of_mention_is_that_of_the_text() -> None:
    case = suite_named("airline-policies").cases()[0]
    text = case.paragraph.lower()
    phrases = {action.id: action.phrase for action in case.actions}
    places = [text.index(phrases[action]) for action in order_of_mention(case)]
    assert places == sorted(places)
    assert len(places) == len(case.actions)
