"""The first call, the last one, and what lies directly beside another: each frame with each opening."""

from __future__ import annotations

from itertools import product

import pytest

from synth.errors import BadInput
from synth.policies.names import Names, Tools
from tests.support.readings import demanded

ACTIONS = {
    "verify rider": "verify_rider",
    "book ride": "book_ride",
    "cancel ride": "cancel_ride",
    "check price": "check_price",
    "send receipt": "send_receipt",
    "any tool": "*",
}
NAMES = Names({phrase: Tools(phrase, (tool,)) for phrase, tool in ACTIONS.items()})
SUCH_RUNS = (
    "if a ride is cancelled, {}",
    "if cancel ride was called, {}",
    "once a ride has been cancelled, {}",
    "whenever a ride was cancelled, {}",
    "in a run with a ride cancellation, {}",
    "in every run that cancels a ride, {}",
    "if a run contains a ride cancellation, {}",
)
LAST = (
    "the run must end with send receipt",
    "the last call must be send receipt",
    "send receipt has to be the final step",
    "send receipt comes last",
    "the receipt must be sent last",
)
NOT_FIRST = (
    "the run must not start with cancel ride",
    "never start with a ride cancellation",
    "no run may begin by cancelling a ride",
    "the first call must not be cancel ride",
    "cancel ride may never be the first call",
    "cancel ride must not come first in any run",
)
BESIDE = (
    "check price {} immediately before every booking of a ride",
    "check price {} directly before book ride, nothing in between",
    "check price {} right before book ride",
)
STANDS = ("goes", "comes", "is called", "must come", "must be called", "must always happen", "runs")
TILL = ("until the rider has been verified", "before verify rider", "as long as the rider is not verified")
ALONE = (
    "only check price may be called",
    "only check price is allowed",
    "the only allowed call is check price",
    "nothing but check price may be called",
    "the agent may only check the price",
    "check price is allowed, nothing else",
    "the agent may check the price, nothing else",
)


@pytest.mark.parametrize("end", LAST)
def test_how_a_run_ends_is_said_of_such_runs(end: str) -> None:
    rule = demanded("If cancel ride happens, the last call must be send receipt.", NAMES)
    for opening in SUCH_RUNS:
        assert demanded(f"{opening.format(end)}.", NAMES) == rule, opening


@pytest.mark.parametrize("sentence", NOT_FIRST)
def test_what_no_run_begins_with_is_any_other_first(sentence: str) -> None:
    rule = demanded("The first call must be any tool but cancel ride.", NAMES)
    assert demanded(f"{sentence}.", NAMES) == rule


@pytest.mark.parametrize(("frame", "stands"), [*product(BESIDE, STANDS)])
def test_what_stands_directly_before_is_said_by_any_verb(frame: str, stands: str) -> None:
    rule = demanded("Check price must happen immediately before book ride.", NAMES)
    assert demanded(f"{frame.format(stands)}.", NAMES) == rule
    same = demanded("Check price must happen immediately before book ride with the same ride_id.", NAMES)
    assert demanded(f"{frame.format(stands)}, same ride_id.", NAMES) == same


@pytest.mark.parametrize(("till", "alone"), [*product(TILL, ALONE)])
def test_what_alone_is_allowed_until_something_is_done(till: str, alone: str) -> None:
    rule = demanded("Verify rider must happen before any tool but check price.", NAMES)
    assert demanded(f"{till}, {alone}.", NAMES) == rule


@pytest.mark.parametrize(
    ("sentence", "rule"),
    [
        ("Before book ride, check price, with nothing in between",
         "Check price must happen immediately before book ride"),
        ("First of all verify the rider, before any other call", "The first call must be verify rider"),
        ("Start with verify rider, before anything else", "The first call must be verify rider"),
        ("Always verify the rider first in every run", "The first call must be verify rider"),
        ("Send receipt always comes last", "The last call must be send receipt"),
        ("Always send the receipt last", "The last call must be send receipt"),
        ("Send receipt is the last thing a run does", "The last call must be send receipt"),
        ("Apart from check price, no tool may be called before verify rider",
         "Verify rider must happen before any tool but check price"),
        ("After cancel ride the agent may send a receipt, nothing else",
         "Any tool but send receipt must never happen after cancel ride"),
        ("If cancel ride happens, it is the last call",
         "If cancel ride happens, the last call must be cancel ride"),
        ("Cancel ride is always the last call, if it happens",
         "If cancel ride happens, the last call must be cancel ride"),
        ("If a ride was cancelled, the next thing the agent does must be send receipt",
         "Cancel ride must be immediately followed by send receipt"),
        ("Send receipt follows cancel ride immediately",
         "Cancel ride must be immediately followed by send receipt"),
        ("Once a ride is cancelled, the run is over", "Any tool must never happen after cancel ride"),
    ],
)  # fmt: skip
def test_it_is_said_in_other_words(sentence: str, rule: str) -> None:
    assert demanded(f"{sentence}.", NAMES) == demanded(f"{rule}.", NAMES)


@pytest.mark.parametrize(
    "sentence",
    [
        "Send receipt comes last.",
        "Always verify the rider first.",
        "The run must not end with cancel ride.",
        "If no ride was cancelled, the last call must be send receipt.",
        "If a ride cancellation fails, send receipt comes last.",
        "After cancel ride the agent may send a receipt.",
        "The agent may check the price until the rider is verified.",
        "The agent may only check the price before verifying the rider.",
    ],
)
def test_what_may_mean_something_else_is_refused(sentence: str) -> None:
    with pytest.raises(BadInput):
        demanded(sentence, NAMES)


def test_a_verb_of_one_word_in_a_name_may_be_typed_as_two() -> None:
    names = Names({phrase: Tools(phrase, (phrase,)) for phrase in ("rollback service", "deploy service")})
    rule = demanded("Deploy service must never happen after rollback service with the same service.", names)
    for sentence in (
        "A service that was rolled back must not be deployed again.",
        "After rolling back a service no deploy for the same service.",
    ):
        assert demanded(sentence, names) == rule


def test_a_new_one_is_another_one() -> None:
    names = Names({phrase: Tools(phrase, (phrase,)) for phrase in ("block card", "issue card")})
    followed = demanded("Block card must be followed by issue card.", names)
    assert demanded("Whenever a card is blocked, issue a new one afterwards.", names) == followed
    assert demanded("If a card is blocked, a new one must be issued later.", names) == followed
    first = demanded("Block card must happen before issue card.", names)
    assert demanded("Block the card before you issue a new one.", names) == first
