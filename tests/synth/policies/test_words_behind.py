"""Words behind a rule, or before an argument, that its rule would leave out: the sentence is refused."""

from __future__ import annotations

import pytest

from synth.errors import BadInput
from synth.policies.meanings import demands_of
from synth.policies.names import Names, Tools
from synth.policies.refused import read_rule
from synth.policies.sentences import OURS

ACTIONS = (
    "create payment", "approve payment", "release payment", "transfer money", "freeze card", "close account",
    "send letter", "verify customer", "run payroll",
)  # fmt: skip
NAMES = Names({phrase: Tools(phrase, (phrase.replace(" ", "_"),)) for phrase in ACTIONS})
LIMITS = (
    "At most 3 payments per account", "Transfers must not add up to more than 1000",
    "Payments: at most 2 an hour", "Create payment must fail at most 2 times",
    "Two payments must be at least 5 minutes apart",
    "No transfers after 17:00", "Release a payment only on Mondays",
)  # fmt: skip
THEN = (
    "before that",
    "after that",
    "afterwards",
    "later",
    "first",
    "whichever is later",
    "whichever comes first",
)


def read(sentence: str) -> str:
    return demands_of(read_rule(sentence, NAMES, OURS))


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("then", THEN)
def test_when_something_is_that_no_part_of_the_rule_says(limit: str, then: str) -> None:
    assert read(f"{limit}.")
    with pytest.raises(BadInput):
        read(f"{limit} {then}.")


@pytest.mark.parametrize(
    "sentence",
    [
        "Never close an account after a payment before that.",
        "The first call must be verify customer before that.",
        "Freeze the card immediately before closing the account first.",
        "At most 3 payments per account each time.",
        "Run payroll only once per employee and period.",
        "Never transfer money to region north only.",
        "No transfers to region north only.",
        "You must not transfer money to region north only.",
        "If a transfer fails, freeze the card no later.",
        "After every payment, send a letter no later.",
        "Release a payment only on Mondays otherwise.",
        "Release a payment only on Mondays yet.",
        "No transfers on new Sundays.",
        "Release a payment only on internal Mondays.",
        "Run payroll at most once per conversations.",
        "At most 2 payments per per hour.",
        "The last call must be send letter of another kind.",
        "Never transfer money of another kind.",
        "A transfer may not exceed 500 with approval.",
        "If every transfer fails, freeze the card.",
        "If another transfer fails, freeze the card.",
        "After another payment, send a letter.",
        "If another transfer fails, wait 5 minutes before the next one.",
        "No payment may take more than 3 attempts.",
        "A single transfer must not have more than 2 failures.",
        "If a transfer fails, freeze every card.",
        "If a transfer fails, freeze all cards.",
        "If a transfer fails, freeze another card.",
        "If a transfer fails, the next call must be freeze card of each card.",
    ],
)
def test_a_word_that_the_rule_would_leave_out(sentence: str) -> None:
    with pytest.raises(BadInput):
        read(sentence)


@pytest.mark.parametrize(
    ("sentence", "plain"),
    [
        (
            "If a payment fails 3 times in a row, never create a payment again from then on.",
            "If create payment fails 3 times in a row, create payment must never happen.",
        ),
        ("Once the account is closed, no money may be transferred after that.",
         "Transfer money must never happen after close account."),
        ("Transfers over 500 need an approval first.",
         "Approve payment must happen before transfer money with amount over 500."),
        ("A transfer may not exceed 500 without approval.",
         "Approve payment must happen before transfer money with amount over 500."),
        ("Release a payment only on Mondays.", "Release payment must happen on Mondays."),
        ("Transfer money to region north only.",
         "Transfer money with region other than north must never happen."),
    ],
)  # fmt: skip
def test_where_the_rule_says_it(sentence: str, plain: str) -> None:
    assert read(sentence) == read(plain)


def test_an_argument_with_its_value_may_be_an_action() -> None:
    names = Names({"page on-call": Tools("page on-call", ("page",)), "deploy": Tools("deploy", ("deploy",))})
    with pytest.raises(BadInput, match="must be followed by page on-call"):
        read_rule("If a deploy to production is done, page on-call.", names, OURS)
    failed = read_rule("If a deploy fails, page on-call.", names, OURS)
    assert demands_of(failed).startswith("After each failure of deploy, page must succeed")
