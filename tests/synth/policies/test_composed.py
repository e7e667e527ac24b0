"""Sentences that inflect their actions: those with one meaning are read, the others say what is not known."""

from __future__ import annotations

import pytest

from synth.errors import BadInput
from synth.policies import load_policies
from synth.policies.meanings import demands_of

ACTIONS = (
    "actions: {open claim: open, approve claim: approve, pay claim: pay, deny claim: deny, "
    "check in guest: check_in, give key: give_key, notify customer: notify}\n"
)


def reading(sentence: str, head: str = "") -> str:
    policies = load_policies(f"{head}{ACTIONS}policies:\n  - {{id: P, rule: {sentence!r}}}\n")
    return demands_of(policies.policies[0].rule)


@pytest.mark.parametrize(
    ("sentence", "same"),
    [
        ("Between opening and approving a claim, never pay it.",
         "Pay claim must never happen between open claim and approve claim with the same claim."),
        ("Every denied claim must be followed by a notification of the customer.",
         "Deny claim must be followed by notify customer."),
        ("Notify the customer whenever a claim is denied.",
         "Deny claim must be followed by notify customer."),
        ("A claim must be approved before it may be paid.",
         "Approve claim must happen before pay claim with the same claim."),
        ("Neither approve nor pay a claim after it has been denied.",
         "Approve claim and pay claim must never happen after deny claim with the same claim."),
        ("Claims can't be paid if they haven't been approved.",
         "Approve claim must happen before pay claim with the same claim."),
        ("Either approve or deny a claim before you notify the customer.",
         "Approve claim or deny claim must happen before notify customer."),
        ("Guests must be checked in before a key is given.",
         'Give key must never happen unless "check in guest" has happened.'),
        ("No more than twenty claims may be paid within an hour.",
         "Pay claim must happen at most 20 times within 1 hour."),
    ],
)  # fmt: skip
def test_actions_are_known_before_the_clauses_are_read(sentence: str, same: str) -> None:
    assert reading(sentence) == reading(same)


def test_a_count_per_conversation_is_one_of_files_of_that_scope() -> None:
    said = "Per conversation, at most two claims may be paid."
    assert reading(said, "scope: session\n") == (
        "At most 2 calls of pay in one conversation, failed ones included."
    )
    assert reading(said) == reading(said, "scope: session\n"), "where the file says nothing else"
    with pytest.raises(BadInput, match=r"the rule is per conversation.*write 'scope: session' at the head"):
        reading(said, "scope: run\n")
    with pytest.raises(BadInput, match=r"the rule is per run.*write 'scope: run'"):
        reading("Pay claim must happen at most 2 times per run with the same id.", "scope: session\n")


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("Pay claims swiftly.", "what this sentence says of 'pay claim'"),
        ("Do not pay a claim before approving it.", "'Approve claim must happen before pay claim' where"),
        ("Claims must not be paid while a claim is denied.", "Pay claim must not overlap deny claim"),
        ("The sum of the amounts of paid claims must not exceed 5.", "'The sum of amount of pay claim"),
    ],
)
def test_what_has_no_one_meaning_is_refused_with_what_is_known_of_it(sentence: str, said: str) -> None:
    with pytest.raises(BadInput) as refused:
        reading(sentence)
    assert said in refused.value.message
