"""How sentences name actions of many words: with tails, particles, somebody who is given something."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from synth.policies.clausal import read
from synth.policies.clausal.matching import Found, Grammar
from synth.policies.clausal.reader import together

YARD = ("check in the truck", "weigh the truck", "assign a dock")
CARE = (
    "look up the account", "verify the customer's identity", "change the plan", "issue a credit",
    "replace the SIM", "send an SMS", "book a technician", "hand over to an agent",
)  # fmt: skip
CLAIMS = (
    "check the claim against policy", "ask for approval", "approve the claim", "pay the reimbursement",
    "flag the claim for audit", "close the claim", "post to the ledger", "reject the claim",
)  # fmt: skip
HOTEL = (
    "check in the guest", "check out the guest", "put the order on hold", "send the guest a confirmation",
    "upgrade the room", "refund the guest", "hand the key to the guest", "call a taxi for the guest",
    "take a snapshot", "deploy to production", "charge the card",
)  # fmt: skip


@pytest.mark.parametrize(
    ("actions", "sentence", "said"),
    [
        (YARD, "Check in the truck before assigning it a dock",
         "check in the truck must happen before assign a dock with the same truck"),
        (YARD, "Check the truck in before you weigh it",
         "check in the truck must happen before weigh the truck with the same truck"),
        (YARD, "Once the agent has checked in a truck, never assign it", None),
        (CARE, "The identity of the customer has to be verified before the SIM is replaced",
         "verify the customer's identity must happen before replace the SIM"),
        (CARE, "After handing the customer over to an agent, do not send an SMS",
         "send an SMS must never happen after hand over to an agent"),
        (CARE, "After booking a technician, send that customer an SMS",
         "book a technician must be followed by send an SMS with the same customer"),
        (CARE, "After booking a technician, send the customer an SMS",
         "book a technician must be followed by send an SMS"),
        (CARE, "After the plan is changed the customer must be sent an SMS afterwards",
         "change the plan must be followed by send an SMS"),
        (CARE, "After booking a technician, send the manager an SMS", None),
        (CARE, "Once a plan was changed, it must not be issued", None),
        (CLAIMS, "The claim must be checked against policy before it is approved",
         "check the claim against policy must happen before approve the claim with the same claim"),
        (CLAIMS, "A policy check is required before approval is asked for",
         "check the claim against policy must happen before ask for approval"),
        (CLAIMS, "A claim that has been flagged for audit must not be closed",
         "close the claim must never happen after flag the claim for audit with the same claim"),
        (CLAIMS, "After paying the reimbursement, post it to the ledger",
         "pay the reimbursement must be followed by post to the ledger with the same reimbursement"),
        (CLAIMS, "Every reimbursement must be followed by a ledger posting",
         "pay the reimbursement must be followed by post to the ledger"),
        (HOTEL, "The order must be put on hold before the guest is refunded",
         "put the order on hold must happen before refund the guest"),
        (HOTEL, "The order must be put before the guest is refunded", None),
        (HOTEL, "After check-out, call a taxi for the guest",
         "check out the guest must be followed by call a taxi for the guest"),
        (HOTEL, "The key may only be handed to the guest after check-in",
         "check in the guest must happen before hand the key to the guest"),
        (HOTEL, "Whenever the room has been upgraded, a confirmation must be sent to the guest afterwards",
         "upgrade the room must be followed by send the guest a confirmation"),
        (HOTEL, "After the agent took a snapshot, nothing may be deployed to production",
         "deploy to production must never happen after take a snapshot"),
        (HOTEL, "After sending a room a confirmation, charge the card", None),
    ],
)  # fmt: skip
def test_an_action_is_named_in_any_of_its_forms(
    actions: tuple[str, ...], sentence: str, said: str | None
) -> None:
    found = tuple(one.replace('"', "") for one in read(sentence, actions))
    assert found == (() if said is None else (said,))


def test_no_rule_of_the_grammar_replaces_another_one_of_its_name() -> None:
    """`of_one` of pauses stood for that of sums, and nothing said so."""
    patterns: list[Any] = [("a", lambda p: p)]

    def found(_grammar: Grammar, _at: int) -> Iterator[Found]:
        yield from ()

    assert together({"x": patterns}, {"x": patterns, "y": found}) == {"x": (*patterns, *patterns), "y": found}
    for first, then in ((patterns, found), (found, patterns), (found, found)):
        with pytest.raises(ValueError, match="two rules have the name 'x'"):
            together({"x": first}, {"x": then})
