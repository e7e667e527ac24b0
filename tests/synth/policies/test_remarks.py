"""What stands beside a rule and demands nothing more, beside rules of every kind."""

from __future__ import annotations

import json
from typing import Any

import pytest

from synth.errors import BadInput
from synth.policies import load_policies

HEAD = """
actions:
  approve: approve
  pay: pay
  refund: refund
  notify: notify
policies:
"""


def rule_of(sentence: str) -> Any:
    return load_policies(f"{HEAD}  - {{id: P, rule: {json.dumps(sentence)}}}\n").policies[0].rule


RULES = (
    "Every pay needs an approval first",
    "Every pay must be followed by notify",
    "Never pay after a refund",
    "Never both a refund and a pay",
    "Refunds in total at most 500",
    "At most 2 refunds in a row",
    "No refunds on Fridays",
    "Refunds only between 09:00 and 17:00",
    "Wait 5 minutes between two refunds",
    "After a failed refund, notify",
    "A refund must not exceed 500",
)
REMARKS = (
    "Compensation: {}",
    "Money safety - {}",
    "Four eyes: {}",
    "{}, whoever asks",
    "{}, even if the customer insists",
    "{}, no matter who asks",
    "{}, says compliance",
    "{}. This is a legal requirement",
    "{}, and that's it",
    "I want: {}",
)
LIMITS = (
    "At most 2 refunds",
    "refunds: max 2",
    "Never more than 2 refunds per id",
    "A third refund is forbidden",
)
OF_LIMITS = (
    "{}, that's the maximum",
    "{}, that is the limit",
    "{}, no more",
    "{}, not one more",
    "{}, a third is too many",
    "{} (failed ones count too)",
    "{}, failed refunds included",
)
SAME = (
    "{}, going by claim_id",
    "{}, matched by claim_id",
    "{} (claim_id)",
    "{}, claim_id must match",
    "{}; the claim_id has to be identical",
    "{}, for that same claim_id",
    "Same claim id: {}",
    "Same claim_id: {}, no matter who asks",
)
COMPARED = (
    "Every pay needs an approval first",
    "Every pay must be followed by notify",
    "Never pay after a refund",
    "At most 2 refunds",
    "Refunds in total at most 500",
    "Wait 5 minutes between two refunds",
)


@pytest.mark.parametrize("remark", REMARKS)
def test_a_remark_changes_no_rule(remark: str) -> None:
    for said in (*RULES, *LIMITS):
        begun = said if remark.startswith("{}") else f"{said[:1].lower()}{said[1:]}"
        assert rule_of(remark.format(begun)) == rule_of(said), remark.format(said)


@pytest.mark.parametrize("remark", OF_LIMITS)
def test_what_is_said_of_limits_stands_beside_limits_alone(remark: str) -> None:
    for said in LIMITS:
        assert rule_of(remark.format(said)) == rule_of(said), remark.format(said)
    for said in ("No refunds on Fridays", "Every pay needs an approval first"):
        with pytest.raises(BadInput):
            rule_of(remark.format(said))


@pytest.mark.parametrize(
    "said", ["At most 2 refunds, a fourth is too many", "At most 2 refunds, no second one"]
)
def test_a_number_that_does_not_follow_is_no_remark(said: str) -> None:
    with pytest.raises(BadInput):
        rule_of(said)


def test_a_remark_makes_a_number_a_limit() -> None:
    for said in (
        "Two refunds per id, that's the maximum",
        "Refunds: 2 per id, a third is too many",
        "two refunds per id, not one more",
        "Refund limits: 2 per id, a third is too many",
        "Refund limit: at most 2 per id",
    ):
        assert rule_of(said) == rule_of("At most 2 refunds per id"), said
    assert rule_of("Exactly one refund, no more, no less") == rule_of("Refund must happen exactly once")
    assert rule_of("One refund per id, failed ones don't count, no more") == rule_of(
        "Refund must succeed at most 1 time with the same id"
    )


@pytest.mark.parametrize("same", SAME)
def test_what_must_be_the_same_stands_beside_every_rule_that_compares(same: str) -> None:
    for said in COMPARED:
        begun = said if same.startswith("{}") else f"{said[:1].lower()}{said[1:]}"
        assert rule_of(same.format(begun)) == rule_of(f"{said} with the same claim_id"), same.format(said)


def test_two_arguments_may_have_to_be_the_same_and_one_a_month() -> None:
    wanted = rule_of("Approve must happen before pay with the same claim_id and month")
    for same in (", same claim_id and month", " (claim_id and month)", " for the same claim_id and month"):
        assert rule_of(f"Every pay needs an approval first{same}") == wanted


@pytest.mark.parametrize(
    "said",
    [
        "Fridays: at most 2 refunds",
        "At most 2 refunds per customer, regardless of the customer",
        "A refund over 500 must be approved first, whatever the amount",
        "Gold members: at most 2 refunds",
        "Approvals: no refunds on Fridays",
        "Every pay needs an approval first, even if it fails",
        "Never pay after a refund, even if an approval happened",
        "At most 2 refunds in the same month",
    ],
)
def test_what_may_change_a_rule_is_no_remark(said: str) -> None:
    with pytest.raises(BadInput):
        rule_of(said)
