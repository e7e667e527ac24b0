"""So many calls before another one, by different people or not; and `one` for what was named before."""

from __future__ import annotations

from itertools import product

import pytest

from synth.errors import BadInput
from synth.policies.names import Names, Tools
from tests.support.readings import demanded, unlike

ACTIONS = {
    "open claim": "open_claim",
    "approve claim": "approve_claim",
    "pay claim": "pay_claim",
    "order card": "order_card",
    "block card": "block_card",
    "take backup": "take_backup",
    "raise limit": "raise_limit",
}
NAMES = Names({phrase: Tools(phrase, (tool,)) for phrase, tool in ACTIONS.items()})
MANY = ("2 approvals", "two claim approvals", "at least two approvals")
BY = ("", " by different approvers", " from 2 different approvers", ", each by a different approver")
FRAMES = (
    "a claim payment needs {many}",
    "paying a claim requires {many} first",
    "{many} before any claim payment",
    "{many} are needed before a claim payment",
    "before a claim payment, {many} are required",
    "there must be {many} before the first claim payment",
    "no claim payment before {many}",
    "do not make a claim payment without {many}",
    "claim payments are allowed only after {many}",
    "only make claim payments with {many}",
)
OF_ONE = (
    "two different approvers must approve a claim before it is paid",
    "2 approvers have to approve a claim before it gets paid",
    "a claim must be approved by two different approvers before it is paid",
    "a claim may only be paid after it has been approved by two approvers",
    "never pay a claim unless it was approved by 2 different approvers",
    "never pay a claim before two approvers have approved it",
    "a claim needs two approvals by different approvers before it is paid",
)


@pytest.mark.parametrize("by", BY)
def test_so_many_are_needed_first_in_every_frame(by: str) -> None:
    different = " with different approver" if by else ""
    said = [frame.format(many=f"{many}{by}") for frame, many in product(FRAMES, MANY)]
    assert (
        unlike(said, f"Approve claim must happen at least 2 times before pay claim{different}", NAMES) == []
    )


@pytest.mark.parametrize("by", BY)
def test_of_one_and_the_same_wherever_that_is_said(by: str) -> None:
    different = " and different approver" if by else ""
    meant = f"Approve claim must happen at least 2 times before pay claim with the same claim_id{different}"
    said = [
        *(frame.format(many=f"{MANY[0]}{by}") + " with the same claim_id" for frame in FRAMES[:3]),
        *(frame.format(many=f"{MANY[0]} for the same claim_id{by}") for frame in FRAMES[:2]),
    ]
    assert unlike(said, meant, NAMES) == []


def test_who_does_it_is_the_subject_or_stands_behind_by() -> None:
    for said in OF_ONE:
        got = demanded(said, NAMES)
        assert got.startswith("Before each call of pay_claim, 2 successes of approve_claim"), said
        assert "with different approver" in got, said


@pytest.mark.parametrize(
    "said",
    [
        "Two approvals after any claim payment.",
        "A claim can be approved twice before it is paid.",
        "Two different approvers may approve a claim before it is paid.",
        "Two failed approvals before a claim payment.",
        "Two different approvers must approve a claim.",
        "A claim payment needs 2 approvals by 3 different approvers.",
        "No claim payment after two approvals by different approvers, before that only openings.",
    ],
)
def test_what_says_otherwise_is_no_such_rule(said: str) -> None:
    with pytest.raises(BadInput):
        demanded(said, NAMES)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("Block the card before you order one", "block card must happen before order card"),
        ("Block the card before ordering a new one", "block card must happen before order card"),
        (
            "Between blocking a card and ordering a new one, limits must not be raised",
            "raise limit must never happen between block card and order card",
        ),
    ],
)
def test_one_stands_for_what_was_named_before_it(said: str, meant: str) -> None:
    assert demanded(said, NAMES).startswith(demanded(meant, NAMES).rstrip("."))
