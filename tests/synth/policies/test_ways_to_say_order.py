"""Orders, first calls and next calls as they are typed: each frame with each way to name an action."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from synth.errors import BadInput
from synth.policies.names import Names, Tools
from synth.policies.refused import read_rule
from synth.policies.sentences import OURS
from tests.support.readings import demanded, unlike

ACTIONS = {
    "check ticket": "check_ticket",
    "seat guest": "seat_guest",
    "serve meal": "serve_meal",
    "notify kitchen": "notify_kitchen",
    "write bill": "write_bill",
    "call waiter": "call_waiter",
    "any tool": "*",
}
NAMES = Names({phrase: Tools(phrase, (tool,)) for phrase, tool in ACTIONS.items()})
CHECKS = ("checking the ticket", "a ticket check", "check ticket")
SEATS = ("seating a guest", "seat guest")
NONE_BEFORE = (
    "no {b} before {a}",
    "{b} must never happen before {a}",
    "{b} is not allowed before {a}",
    "{b} not allowed before {a}",
    "there must be no {b} before {a}",
    "no {b} may come before {a}",
    "no {b} may precede {a}",
    "{b} must not precede {a}",
    "block {b} until {a}",
    "hold off on {b} until {a}",
    "{b} stays blocked until {a}",
    "{b} forbidden until {a}",
)
NEEDED = (
    "{a} is a must before {b}",
    "a prerequisite for {b} is {a}",
    "a prior {a} is needed for {b}",
    "{b} always comes after {a}",
    "{b} allowed only if {a} succeeded earlier",
    "we need {a} before any {b}",
    "{b} is only valid if {a} has succeeded earlier",
    "in order to seat a guest, the agent must first check the ticket",
    "to seat a guest, check the ticket first",
    "if the agent wants to seat a guest, it must check the ticket first",
    "if a guest is to be seated, the ticket must have been checked",
    "whenever a guest is seated, the ticket must have been checked earlier",
    "the ticket must already have been checked when a guest is seated",
    "check the ticket and only then seat a guest",
)
BOTH = (
    "checking the ticket and writing a bill must both come before seating a guest",
    "check ticket and write bill are both required before seat guest",
    "checking the ticket and writing a bill both precede seating a guest",
    "check ticket as well as write bill must happen before seat guest",
    "no guest may be seated before both checking the ticket and writing a bill",
    "seating a guest has two prerequisites: checking the ticket and writing a bill",
    "make sure check ticket and write bill both happen before seat guest",
    "guests may only be seated once both checking the ticket and writing a bill are done",
)
FIRST = (
    "{a} must come first",
    "{a} must always come first",
    "{a} comes first in every run",
    "{a} always first",
    "{a} opens every run",
    "{a} precedes everything else",
    "no call may come before {a}",
    "nothing may precede {a}",
    "anything before {a} is forbidden",
    "make {a} the first call",
    "in every run the first call must be {a}",
    "in every run, {a} must come first",
)
FIRST_DEED = (
    "first of all, check the ticket",
    "before any other call, check the ticket",
    "before any other tool is called, the agent must check the ticket",
    "as a first step, check the ticket",
    "in every run, check the ticket first",
    "the agent must check the ticket before it calls any other tool",
)
LAST = (
    "{a} must always come last",
    "{a} closes every run",
    "in every run the last call must be {a}",
)
SERVED = ("serving a meal", "serve meal")
NEXT = (
    "{b} must be the very next call after {a}",
    "{b} is always the next call after {a}",
    "the first call after {a} must be {b}",
    "after {a}, {b} must be the next call",
    "after {a}, nothing may happen before {b}",
    "after {a}, no other call may come before {b}",
    "once a meal has been served, {b} must come next",
    "after {a}, notify the kitchen before anything else",
    "after {a}, the agent must notify the kitchen before it does anything else",
    "whenever a meal has been served, notify the kitchen as the very next call",
)
NEXT_OF_A_TOPIC = (
    "serve meal: next call must be notify kitchen",
    "serve meal: notify kitchen must come next",
    "serve meal: immediately followed by notify kitchen",
)
NEVER_AFTER = (
    "no {b} may follow {a}",
    "no {b} may ever come after {a}",
    "{b} not allowed after {a}",
    "forbid {b} after {a}",
    "block {b} after {a}",
    "{a} blocks any further {b}",
    "{a} rules out {b} afterwards",
    "make sure {b} never happens after {a}",
    "ensure that {b} does not happen after {a}",
    "make sure no {b} follows {a}",
)
UNTIL = (
    "no seating of a guest from serve meal until write bill",
    "never seat a guest from serving a meal until writing a bill",
)
ALONE = (
    "after serve meal: only call waiter",
    "serve meal: only call waiter afterwards",
    "serve meal: nothing but call waiter afterwards",
    "serve meal may only be followed by call waiter",
    "only call waiter may follow serve meal",
    "nothing but call waiter may follow serve meal",
    "any call other than call waiter after serve meal is forbidden",
    "there must be no calls after serve meal except call waiter",
    "the agent may only call a waiter after it has served a meal, nothing else",
    "after serving a meal, the only permitted action is to call a waiter",
    "forbid everything but call waiter after serve meal",
)
SOON = (
    "after each serving of a meal the agent has 20 minutes to notify the kitchen",
    "the agent has 20 minutes to notify the kitchen after serving a meal",
    "the agent has 20 minutes after serving a meal to notify the kitchen",
    "serving a meal must be followed, within 20 minutes, by notifying the kitchen",
    "do not wait longer than 20 minutes after serving a meal before notifying the kitchen",
    "20 minutes after serving a meal at the latest, the kitchen must be notified",
    "notifying the kitchen must follow each serving of a meal within 20 minutes at most",
)


def _each(frames: tuple[str, ...], firsts: tuple[str, ...], thens: tuple[str, ...] = ("",)) -> Iterator[str]:
    for frame, a, b in product(frames, firsts, thens):
        yield frame.format(a=a, b=b)


MEANINGS: dict[str, tuple[str, Iterator[str]]] = {
    "none before": ("Check ticket must happen before seat guest.", _each(NONE_BEFORE, CHECKS, SEATS)),
    "needed": ("Check ticket must happen before seat guest.", _each(NEEDED, CHECKS[1:], SEATS)),
    "both": ("Check ticket and write bill must happen before seat guest.", _each(BOTH, ("",))),
    "first": ("The first call must be check ticket.", _each(FIRST, CHECKS)),
    "first deed": ("The first call must be check ticket.", _each(FIRST_DEED, ("",))),
    "last": ("The last call must be check ticket.", _each(LAST, CHECKS)),
    "next": ("Serve meal must be immediately followed by notify kitchen.",
             _each(NEXT, SERVED, ("notify kitchen", "notifying the kitchen"))),
    "next of a topic": ("Serve meal must be immediately followed by notify kitchen.",
                        _each(NEXT_OF_A_TOPIC, ("",))),
    "never after": ("Seat guest must never happen after serve meal.", _each(NEVER_AFTER, SERVED, SEATS)),
    "until": ("Seat guest must never happen after serve meal until write bill.", _each(UNTIL, ("",))),
    "alone": ("Any tool but call waiter must never happen after serve meal.", _each(ALONE, ("",))),
    "soon": ("Serve meal must be followed by notify kitchen within 20 minutes.", _each(SOON, ("",))),
}  # fmt: skip


@pytest.mark.parametrize(("rule", "said"), MEANINGS.values(), ids=MEANINGS)
def test_each_frame_says_its_order_of_whatever_it_names(rule: str, said: Iterator[str]) -> None:
    assert unlike(said, rule, NAMES) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "First check the ticket, then seat the guest.",
        "Check ticket, then seat guest.",
        "Do not serve the meal before the seating.",
        "Check the ticket beforehand.",
        "The agent must check the ticket first.",
        "The ticket must be checked first.",
        "The ticket must be checked beforehand.",
        "Only check ticket may be called after serve meal.",
        "Serve a meal after seating a guest.",
        "Serving a meal requires notifying the kitchen.",
        "Serve meal: no notify kitchen.",
        "Serve meal: only call waiter.",
        "Notify the kitchen immediately.",
        "Check ticket must not come first.",
        "Do not check the ticket first.",
        "The ticket must not be checked first.",
        "No seating, no serving.",
        "Hold off seating a guest after serving a meal.",
        "The first call after serve meal may be notify kitchen.",
        "Check ticket must come first or last.",
        "Check ticket comes last.",
        "Serve meal: only call waiter within 5 minutes.",
        "To seat a guest, check the ticket afterwards.",
        "If a guest has been seated, a bill must be written first.",
        "Once a meal is served, immediately notify the kitchen.",
    ],
)
def test_what_may_be_another_order_is_refused(sentence: str) -> None:
    with pytest.raises(BadInput):
        demanded(sentence, NAMES)


def test_who_has_an_action_to_block_something_blocks_with_it() -> None:
    actions = {**ACTIONS, "block table": "block_table", "reserve table": "reserve_table"}
    names = Names({phrase: Tools(phrase, (tool,)) for phrase, tool in actions.items()})
    said = read_rule("Block the table after each check ticket that fails.", names, OURS)
    assert said.kind == "response"


def test_a_field_that_matches_is_the_same_one() -> None:
    said = "Every serving of a meal needs an earlier ticket check with a matching guest_id."
    assert demanded(said, NAMES) == demanded(
        "Check ticket must happen before serve meal with the same guest_id.", NAMES
    )
