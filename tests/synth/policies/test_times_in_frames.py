"""Nobody does it, no sooner and no later than something, and what failed: each part in each frame."""

from __future__ import annotations

from itertools import product

import pytest

from synth.errors import BadInput
from synth.policies.names import Names, Tools
from tests.support.readings import demanded, unlike

ACTIONS = (
    "quote price", "charge card", "issue ticket", "void ticket", "page supervisor", "check seats",
    "pay compensation", "waive fee", "roll back",
)  # fmt: skip
NAMES = Names({phrase: Tools(phrase, (phrase.replace(" ", "_"),)) for phrase in ACTIONS})
NOBODY = (
    "nobody issues a ticket {}", "no one ever issues tickets {}", "{}, nobody issues a ticket",
    "nobody may issue a ticket {}", "we do not issue tickets {}", "the agent never issues a ticket {}",
    "{}, we don't issue tickets",
)  # fmt: skip
WHEN = (
    ("on Sundays", "issue ticket must never happen on Sunday"),
    ("after 20:00", "issue ticket must happen before 20:00"),
    ("while a charge is running", "issue ticket must not overlap charge card"),
    ("within 5 minutes after a charge", "issue ticket must never happen within 5 minutes after charge card"),
)
NO_SOONER = (
    "a ticket may be issued 2 minutes after {} at the earliest",
    "a ticket may be issued 2 minutes or more after {}",
)
DONE = ("the card was charged", "a charge", "charging the card")
NO_LATER = (
    "tickets may be issued at most 2 minutes after {}",
    "a ticket may be issued 2 minutes after {} at the latest",
    "only issue tickets at most 2 minutes after {}",
)
LATELY = (
    "check the seats at most 5 minutes before {}",
    "the seats must be checked no more than 5 minutes before {}",
    "the seats must have been checked no more than 5 minutes before {}",
)  # fmt: skip
LATELY_NEEDED = (
    "before a charge, the seats must have been checked within the last 5 minutes",
    "a charge needs a check of seats from the last 5 minutes",
    "a charge requires a check of seats that is at most 5 minutes old",
)
FAILED = ("a failed charge", "a charge that failed", "any charge that fails")
NEITHER = (
    "after {} neither ticket issues nor fee waivers are allowed for the rest of the run",
    "once {}, neither ticket issues nor fee waivers may happen in that run",
)
ONE_FAILED = (
    "as soon as one charge has failed, no ticket may be issued for the rest of the run",
    "after a single charge has failed, no ticket may be issued for the rest of the run",
    "once one charge fails, nobody issues a ticket",
)


@pytest.mark.parametrize(("when", "rule"), WHEN)
def test_what_nobody_does_is_forbidden_at_each_time(when: str, rule: str) -> None:
    assert unlike((frame.format(when) for frame in NOBODY), rule, NAMES) == []


def test_what_may_happen_no_sooner_is_forbidden_until_then() -> None:
    rule = "issue ticket must never happen within 2 minutes after charge card"
    assert unlike((frame.format(done) for frame, done in product(NO_SOONER, DONE)), rule, NAMES) == []


def test_what_may_happen_no_later_starts_in_that_time() -> None:
    rule = "issue ticket must start within 2 minutes after charge card"
    assert unlike((frame.format(done) for frame, done in product(NO_LATER, DONE)), rule, NAMES) == []


def test_how_lately_something_must_have_been_done() -> None:
    rule = "charge card must start within 5 minutes after check seats"
    assert unlike((frame.format("a charge") for frame in LATELY), rule, NAMES) == []
    assert unlike(LATELY_NEEDED, rule, NAMES) == []


def test_one_failure_forbids_what_must_not_follow() -> None:
    rule = "If charge card fails, issue ticket must never happen afterwards"
    assert (
        unlike((f"{failed} must never be followed by a ticket issue" for failed in FAILED), rule, NAMES) == []
    )
    assert unlike(ONE_FAILED, rule, NAMES) == []
    both = "If charge card fails, issue ticket and waive fee must never happen afterwards"
    assert (
        unlike((NEITHER[0].format("a failed charge"), NEITHER[1].format("a charge fails")), both, NAMES) == []
    )


def test_that_check_is_the_call_and_no_thing() -> None:
    rule = "If check seats fails, charge card must never happen until check seats succeeds"
    said = (
        "no charge after a failed seats check, until that check succeeds",
        "after a failed check of seats, no card may be charged until that check has succeeded",
    )
    assert unlike(said, rule, NAMES) == []


def test_a_failure_is_answered_by_what_is_done_to_it() -> None:
    rule = "If issue ticket fails, void ticket must follow within 5 minutes with the same ticket"
    said = ("a failed ticket issue must be voided within 5 minutes",)
    assert unlike(said, rule, NAMES) == []


def test_a_field_of_two_words_is_the_same_one() -> None:
    rule = "If charge card fails 2 times for one trip_id, page supervisor must follow"
    said = (
        "if charging the card fails twice for a trip id, page a supervisor",
        "if charge card fails twice for a trip id, page supervisor",
        "after two failed charges on a trip id, page a supervisor",
        "two failed charges on a trip_id: page a supervisor",
    )
    assert unlike(said, rule, NAMES) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "after a failed charge only check seats and page supervisor are allowed",
        "if a charge fails, only check seats and page supervisor may happen",
        "once a charge has failed, nothing but check seats and page supervisor is allowed",
    ],
)
def test_what_alone_is_allowed_after_a_failure(sentence: str) -> None:
    rule = "If charge card fails, any tool but check seats or page supervisor must never happen afterwards"
    assert unlike([sentence], rule, NAMES) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "charge card and void ticket never in the same run",
        "a run either charges cards or voids tickets, never both",
        "one conversation either charges cards or voids tickets, but not both",
        "charging cards and voiding tickets never in one run",
        "either charge cards or void tickets in a run, not both",
    ],
)
def test_of_two_deeds_a_run_does_one(sentence: str) -> None:
    assert unlike([sentence], "charge card and void ticket must never both happen", NAMES) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "charges one at a time", "tickets must not be issued concurrently", "tickets one by one",
        "issue tickets one after the other, never in parallel", "do not issue tickets at the same time",
        "tickets must be issued one at a time",
    ],
)  # fmt: skip
def test_calls_of_one_action_come_one_by_one(sentence: str) -> None:
    one = "charge card" if "charges" in sentence else "issue ticket"
    assert unlike([sentence], f"{one} must not overlap each other", NAMES) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "issue tickets within 5 minutes of a charge",
        "tickets must be issued at least 2 minutes after the charge for the same trip id",
    ],
)
def test_what_leaves_open_what_is_meant_is_refused(sentence: str) -> None:
    with pytest.raises(BadInput):
        demanded(sentence, NAMES)
