"""Sentences on numbers of calls, ends, rows, durations and values, in other words than the language's."""

from __future__ import annotations

import pytest

from synth.errors import BadInput
from synth.policies.meanings import demands_of
from synth.policies.names import Names, Tools
from synth.policies.refused import read_rule
from synth.policies.sentences import OURS

ACTIONS = ("approval", "payment", "refund", "charge", "login", "issue a refund", "look up the order")
NAMES = Names({phrase: Tools(phrase, (phrase.replace(" ", "_"),)) for phrase in ACTIONS})
SAID = {
    "Two approvals are needed before any payment.": "Approval must happen at least 2 times before payment.",
    "A payment may only happen after two approvals.": "Approval must happen at least 2 times before payment.",
    "Before a refund is issued, the order must be looked up at least twice.": (
        "Look up the order must happen at least 2 times before issue a refund."
    ),
    "After 3 failed logins in a row, payment must never happen.": (
        "Payment must never happen after login fails 3 times in a row."
    ),
    "Every refund needs its own approval.": "Refund must not happen more often than approval.",
    "One approval covers one refund.": "Refund must not happen more often than approval.",
    "An approval is good for only one refund with the same order_id.": (
        "Refund must not happen more often than approval with the same order_id."
    ),
    "Every run has to start by looking up the order.": "The first call must be look up the order.",
    "The last call of a run must be looking up the order.": "The last call must be look up the order.",
    "Runs must end with charge or refund.": "The last call must be charge or refund.",
    "No more than 3 failed logins in a row.": "Login must fail at most 3 times in a row.",
    "Never look up the order more than twice in a row.": (
        "Look up the order must happen at most 2 times in a row."
    ),
    "At most 2 successful refunds.": "Refund must succeed at most 2 times.",
    "At most two refunds may fail.": "Refund must fail at most 2 times.",
    "Issuing a refund must not take longer than 20 seconds.": "Issue a refund must take at most 20 seconds.",
    "No call of charge may take longer than 1 minute.": "Charge must take at most 1 minute.",
    "Refund must be for at most 3 different customer_id.": (
        "Refund must happen with at most 3 different customer_id."
    ),
    "The amount of a refund must not exceed the amount of the charge with the same order_id.": (
        "The amount of refund must be at most the amount of charge with the same order_id."
    ),
}  # fmt: skip


def reading(sentence: str) -> str:
    return demands_of(read_rule(sentence, NAMES, OURS))


@pytest.mark.parametrize("sentence", SAID)
def test_it_says_the_same_as_the_language_does(sentence: str) -> None:
    assert reading(sentence) == reading(SAID[sentence])


@pytest.mark.parametrize(
    "sentence",
    [
        "A payment needs two approvals.",  # before it, or beside it
        "Each approval may be used only once.",  # for what
        "Rejections must not outnumber refunds.",  # in the end, or at every moment
    ],
)
def test_what_may_mean_two_things_is_refused(sentence: str) -> None:
    with pytest.raises(BadInput):
        reading(sentence)
