"""What calls are given, said in passing: runs that keep and break it, and sentences that are not read so."""

from __future__ import annotations

import pytest

from synth.errors import BadInput
from synth.observed import run_from_json
from synth.policies import judge_policies, load_policies

FILE = """
actions:
  book room: book
  refund order: refund
  approve claim: approve
  suspend user: suspend
  reset device: reset
  assign role: assign
  rate course: rate
  contact guest: contact
  lend book: lend
policies:
  - {id: P0, rule: "%s"}
"""
NOT_AS = "Contact guest must never use fax or letter as channel"
ALWAYS_AS = "Refund order may only use card or transfer as method"
BY = "A refund over 500 must be authorized by finance"
FOR = "Users are suspended for 3 to 30 days"
LONGEST = "Books may be lent for 28 days at the longest"
FROM = "From 1000 upwards a refund needs reason = fraud"
THESE = "Roles we assign: viewer or editor, nothing else"
ON = "For region emea the only roles we assign are viewer and editor"
NEEDS = "Refunding needs a currency, it must be EUR or USD"
SELF = "In refund order the requester must not be the approver himself"


@pytest.mark.parametrize(
    ("rule", "tool", "given", "kept"),
    [
        (NOT_AS, "contact", {"channel": "sms"}, True),
        (NOT_AS, "contact", {"channel": "letter"}, False),
        (ALWAYS_AS, "refund", {"method": "card"}, True),
        (ALWAYS_AS, "refund", {"method": "cash"}, False),
        (BY, "refund", {"amount": 500, "authorized_by": "sales"}, True),
        (BY, "refund", {"amount": 501, "authorized_by": "sales"}, False),
        (FOR, "suspend", {"days": 30}, True),
        (FOR, "suspend", {"days": 31}, False),
        (LONGEST, "lend", {"days": 28}, True),
        (LONGEST, "lend", {"days": 29}, False),
        (FROM, "refund", {"amount": 999}, True),
        (FROM, "refund", {"amount": 1000, "reason": "late"}, False),
        (FROM, "refund", {"amount": 1000}, False),
        (THESE, "assign", {"role": "viewer"}, True),
        (THESE, "assign", {"role": "admin"}, False),
        ("Grades we rate: A, B or C", "rate", {"grade": "A"}, True),
        ("Grades we rate: A, B or C", "rate", {"grade": "D"}, False),
        (ON, "assign", {"role": "admin", "region": "apac"}, True),
        (ON, "assign", {"role": "admin", "region": "emea"}, False),
        (NEEDS, "refund", {"currency": "EUR"}, True),
        (NEEDS, "refund", {"currency": "GBP"}, False),
        (NEEDS, "refund", {}, False),
        (SELF, "refund", {"requester": "a", "approver": "b"}, True),
        (SELF, "refund", {"requester": "a", "approver": "a"}, False),
    ],
)
def test_what_is_meant_is_judged(rule: str, tool: str, given: dict[str, object], kept: bool) -> None:
    call = {"id": "1", "name": tool, "arguments": given, "result": "done"}
    run = run_from_json({"run_id": "r", "calls": [call], "status": "ok"})
    [found] = judge_policies(load_policies(FILE % rule), run)
    assert (found.verdict in ("ok", "not_applicable")) == kept
    assert kept or found.verdict == "violated"


@pytest.mark.parametrize(
    "sentence",
    [
        "A claim is approved by manager",
        "A refund is authorized by anyone",
        "A refund is authorized by email",
        "A refund is authorized by two managers",
        "A refund is authorized by us",
        "Refunds are authorized by Friday",
        "Books may be lent for at least 2 weeks",
        "A book must be lent for at least 2 weeks",
        "Users are suspended for 5 minutes",
        "Rooms are booked for 3 nights",
        "Never reset a device with care",
        "Refund order may use card as method",
        "The roles we like are viewer and editor",
        "The rooms we book are small",
        "Refunding needs a reason, it is important",
        "Refunding needs approval, it may not be empty",
        "From 9:00 a refund must have a reason",
        "Over 500 a refund must be paid",
        "In refund order the requester must be himself",
        "On Fridays the only roles we assign are viewer and editor",
    ],
)
def test_what_is_not_read(sentence: str) -> None:
    with pytest.raises(BadInput):
        load_policies(FILE % sentence)


@pytest.mark.parametrize("said", ["with force", "with the force flag", "using force"])
def test_a_flag_is_not_set(said: str) -> None:
    [policy] = load_policies(FILE % f"Never reset a device {said}").policies
    [tools] = policy.rule.tools
    assert tools.phrase == "reset device with force true"
