"""Sentences that say more than any rule which a reader makes of them."""

from __future__ import annotations

import pytest

from synth.errors import BadInput
from synth.policies import load_policies

ACTIONS = """
actions:
  wash tank: wash_tank
  test water: test_water
  fill tank: fill_tank
  restart pump: restart_pump
  widen pipe: widen_pipe
policies:
  - id: P
    rule: "{}"
"""


@pytest.mark.parametrize(
    ("sentence", "hint"),
    [
        (
            "After every tank wash, test the water before filling any tank.",
            "after wash tank until test water",
        ),
        ("After the tank has been washed, the water must be tested before the tank is filled.", "until"),
        ("No widening of pipes where inlet equals outlet.", "equal to its outlet"),
        ("If inlet equals outlet, the pipe must not be widened.", "equal to its outlet"),
        (
            "If less than half an hour has passed since the last failed restart, no pump may be restarted.",
            "after ACTION fails",
        ),
    ],
)
def test_what_no_rule_holds_is_refused_with_what_to_say(sentence: str, hint: str) -> None:
    with pytest.raises(BadInput) as refused:
        load_policies(ACTIONS.format(sentence))
    assert hint in str(refused.value)


@pytest.mark.parametrize(
    ("sentence", "meant"),
    [
        (
            "Restarts of any given pump must not exceed two per rolling hour.",
            "Restart pump must happen at most 2 times within 1 hour with the same pump.",
        ),
        (
            "Cumulative widening of any single pipe cannot be more than 500.",
            "The sum of amount of widen pipe must be at most 500 with the same pipe.",
        ),
        (
            "Every run must restart one pump, no more and no less.",
            "Restart pump must happen exactly 1 times per run.",
        ),
    ],
)
def test_what_the_grammar_holds_in_full_is_read_so(sentence: str, meant: str) -> None:
    said, told = (load_policies(ACTIONS.format(one)).policies[0].rule for one in (sentence, meant))
    assert said == told


@pytest.mark.parametrize(
    "sentence",
    [
        "Wash tank must happen before test water, and test water must happen before fill tank.",
        "Restart pump must happen at most 2 times with the same pump.",
        "In any single run, pumps are restarted at most twice.",
        "Restart pump must happen exactly once.",
        "Never restart a pump after washing any single tank.",
    ],
)
def test_what_a_rule_holds_is_read(sentence: str) -> None:
    load_policies(ACTIONS.format(sentence))
