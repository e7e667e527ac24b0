"""How rules begin: who does it, a condition without its comma, when and where as a heading."""

from __future__ import annotations

import json
from typing import Any

import pytest

from synth.errors import BadInput
from synth.policies import load_policies

HEAD = """
actions:
  refund ticket: refund
  issue voucher: voucher
  page lead: page
policies:
"""


def rule_of(sentence: str) -> Any:
    return load_policies(f"{HEAD}  - {{id: P, rule: {json.dumps(sentence)}}}\n").policies[0].rule


ORDERS = (
    ("{} refund{} tickets after 18:00", "Never refund tickets after 18:00"),
    ("{} refund{} more than 2 tickets", "Never refund more than 2 tickets"),
    ("{} refund{} a ticket without paging a lead first", "Never refund a ticket without paging a lead first"),
    ("On Sundays {} refund{} tickets", "On Sundays, never refund tickets"),
)


@pytest.mark.parametrize("who", ["nobody", "no one", "no agent"])
def test_what_nobody_does_is_forbidden(who: str) -> None:
    for said, order in ORDERS:
        spoken = said.format(who, "s")
        assert rule_of(f"{spoken[:1].upper()}{spoken[1:]}") == rule_of(order), spoken


@pytest.mark.parametrize(("who", "s"), [("we", ""), ("the agent", "s"), ("every agent", "s"), ("agents", "")])
def test_who_does_it_is_the_agent(who: str, s: str) -> None:
    for said, order in (
        (f"{who} page{s} a lead after each refund", "Page a lead after each refund"),
        (f"{who} refund{s} no tickets on Fridays", "Never refund tickets on Fridays"),
        (f"after each refund {who} page{s} a lead", "After each refund, page a lead"),
        (f"{who} issue{s} vouchers only on weekdays", "Issue vouchers only on weekdays"),
    ):
        assert rule_of(f"{said[:1].upper()}{said[1:]}") == rule_of(order), said


def test_a_condition_needs_no_comma_and_a_heading_is_one() -> None:
    wanted = rule_of("For vouchers over 100, page a lead first")
    assert rule_of("For vouchers over 100 page a lead first") == wanted
    assert rule_of("For vouchers over 100 we page a lead first") == wanted
    assert rule_of("Fridays: no refunds") == rule_of("No refunds on Fridays")
    assert rule_of("Prod: no refunds") == rule_of("In Prod, no refunds")
    assert rule_of("Refunds over 300 in one run: at most 2") == rule_of("Refunds over 300: at most 2")


@pytest.mark.parametrize(
    "said",
    [
        "KYC: at most 2 refunds",
        "Gold: at most 2 refunds",
        "A guest refunds no tickets",
        "Nobody refunds a ticket that the lead pages",
    ],
)
def test_what_is_no_such_beginning_is_refused(said: str) -> None:
    with pytest.raises(BadInput):
        rule_of(said)


def test_several_are_called_by_the_argument_of_one() -> None:
    for said in (
        "Issue vouchers for at most 2 different room numbers",
        "Vouchers go to at most 2 different room numbers per run",
        "Vouchers may use at most 2 different room numbers",
    ):
        assert rule_of(said).different == ("room_number",), said


def test_what_is_in_front_is_said_of_what_needs_something() -> None:
    for said in (
        "For country US a lead must be paged before a refund",
        "In country US, page a lead before a refund",
        "If country is US, page lead must happen before refund ticket",
    ):
        lead, refund = rule_of(said).tools
        assert (lead.names, lead.where, refund.names) == (("page",), None, ("refund",)), said
        assert [(one.path, one.values) for one in refund.where.every] == [(("country",), ("US",))], said
