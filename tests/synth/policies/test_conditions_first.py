"""What must be done first, wherever its words stand; what lies between two calls of one action."""

from __future__ import annotations

from itertools import product

import pytest

from synth.errors import BadInput
from synth.policies.names import Names, Tools
from tests.support.readings import demanded, unlike

ACTIONS = {
    "verify customer": "verify_customer",
    "check otp": "check_otp",
    "transfer money": "transfer_money",
    "issue refund": "issue_refund",
    "confirm with guest": "confirm_with_guest",
    "run tests": "run_tests",
    "merge branch": "merge_branch",
    "delete volume": "delete_volume",
    "rotate key": "rotate_key",
    "deploy service": "deploy_service",
    "any tool": "*",
}
NAMES = Names({phrase: Tools(phrase, (tool,)) for phrase, tool in ACTIONS.items()})
FOR = ("for", "with", "in case of")
FIRST = (
    "the otp must be checked first",
    "check the otp first",
    "I require an otp check first",
    "an otp check must come first",
    "an otp check comes first",
)
WITH = ("the otp checked", "the otp checked beforehand", "an otp check from the last 10 minutes")
BETWEEN = (
    "between two refunds there has to be an otp check",
    "between one refund and the next there must always be an otp check",
    "there must be an otp check between any two refunds",
    "between each refund and the next the otp must be checked",
)
LATELY = (
    "check the otp at most 10 minutes before issuing a refund",
    "an otp check must have happened within the 10 minutes before a refund",
    "a refund needs an otp check from the last 10 minutes",
    "only issue a refund within 10 minutes of an otp check",
)
ONE_RUN = (
    "a run that rotates a key must not delete a volume",
    "a run in which a key is rotated must not delete volumes",
    "a run with a key rotation must never contain a volume deletion",
)
CONFIRMED = (
    "unless the guest has confirmed, do not issue a refund",
    "no refund until the guest has confirmed",
    "refunds may only be issued after the guest has already confirmed",
    "the guest must confirm first before a refund is issued",
)


def meant(sentence: str) -> str:
    return demanded(sentence, NAMES)


def test_what_needs_it_stands_in_front() -> None:
    said = [f"{for_} refunds{comma} {first}" for for_, comma, first in product(FOR, ("", ","), FIRST)]
    assert unlike(said, "check otp must happen before issue refund", NAMES) == []


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        (BETWEEN, "issue refund must never happen after issue refund until check otp"),
        (LATELY, "issue refund must start within 10 minutes after check otp"),
        (ONE_RUN, "rotate key and delete volume must never both happen"),
        (CONFIRMED, "confirm with guest must happen before issue refund"),
    ],
)
def test_one_rule_in_all_its_ways(said: tuple[str, ...], rule: str) -> None:
    assert unlike(said, rule, NAMES) == []


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ("issue refunds only with the otp checked", "check otp must happen before issue refund"),
        ("transfer nothing until the otp is checked", "check otp must happen before transfer money"),
        ("no merge until the tests have run", "run tests must happen before merge branch"),
        ("rotate a key only once something was merged", "merge branch must happen before rotate key"),
        ("refunds? only after an otp check", "check otp must happen before issue refund"),
        (
            "after a refund, transfer nothing until a new otp check succeeded",
            "transfer money must never happen after issue refund until check otp",
        ),
    ],
)
def test_its_parts_stand_in_other_places(said: str, rule: str) -> None:
    assert meant(said) == meant(rule)


def test_what_is_the_same_stands_before_what_a_call_is_given() -> None:
    said = 'deploy service to env "prod" needs an earlier deploy of the same version to env "staging"'
    rule = (
        'deploy service with env "staging" must happen before deploy service with env "prod" with the same '
        "version"
    )
    assert meant(said) == meant(rule)


@pytest.mark.parametrize(
    "said",
    [
        "for refunds the otp must be checked",
        "for refunds, check the otp",
        "between two refunds no otp check",
        "between two failed refunds there must be an otp check",
        "issue a refund with the otp checked",
        "a run that rotates a key must delete a volume",
        "check the otp at most 10 minutes before",
        "refunds? no",
        "after a refund the guest must confirm first",
    ],
)
def test_what_may_mean_something_else_is_refused(said: str) -> None:
    with pytest.raises(BadInput):
        meant(said)
