"""What is said in brief: runs that keep and break it, and sentences that are not read so."""

from __future__ import annotations

import pytest

from synth.errors import BadInput
from synth.policies import load_policies
from tests.support.policing import brief
from tests.synth.policies.test_hundred_sentences import run

FILE = """
actions:
  book slot: book
  load truck: load
  weigh truck: weigh
  release truck: release
  take snapshot: snapshot
  restore volume: restore
  deploy service: deploy
  charge card: charge
  refund order: refund
  ship parcel: ship
  return parcel: return
  notify customer: notify
  open account: open
  close account: close
  run test: test
policies:
  - {id: P0, rule: "%s"}
"""
QUOTA = "one slot booking per dock per calendar day"
SNAPSHOT = "no restore without a snapshot of that volume"
EITHER = "Each weighed truck must be loaded or released later on, same truck"
FAILED = "Once a deploy has failed in a region, no further deploys there"
NEXT = "If a charge fails, wait 2 minutes before charging the next one"
BOTH = "Refund order and ship parcel may not both happen in a single run"
RIGHT = "Right after loading a truck, your next call is weigh truck"
HIM = "Notify the customer within 5 minutes after charging a card for him"
SAME = "Don't deploy the same version to the same region more than 2 times"
RETURNED = "No re-shipping a parcel that the customer returned"
ONE = "After a failed weighing: no loading or release until one succeeds"
SAID = "closed is closed: no charging of an account after it was closed"


@pytest.mark.parametrize(
    ("rule", "calls", "found"),
    [
        (QUOTA, "book(dock=1)@10:00 book(dock=2)@11:00", ("ok", ())),
        (QUOTA, "book(dock=1)@10:00 book(dock=1)@23:00", ("violated", (1,))),
        (SNAPSHOT, "snapshot(volume=1) restore(volume=1)", ("ok", ())),
        (SNAPSHOT, "snapshot(volume=2) restore(volume=1)", ("violated", (1,))),
        (SNAPSHOT, "restore(volume=1) snapshot(volume=1)", ("violated", (0,))),
        (EITHER, "weigh(truck=1) release(truck=1)", ("ok", ())),
        (EITHER, "weigh(truck=1) load(truck=1)", ("ok", ())),
        (EITHER, "weigh(truck=1) load(truck=2)", ("violated", (0,))),
        (FAILED, "deploy(region=1)! deploy(region=2)", ("ok", ())),
        (FAILED, "deploy(region=1) deploy(region=1)", ("not_applicable", ())),
        (FAILED, "deploy(region=1)! deploy(region=1)", ("violated", (1,))),
        (NEXT, "charge(card=1)@10:00! charge(card=1)@10:03", ("ok", ())),
        (NEXT, "charge(card=1)@10:00! charge(card=1)@10:01", ("violated", (1,))),
        (BOTH, "ship ship", ("ok", ())),
        (BOTH, "ship refund", ("violated", (1,))),
        (RIGHT, "load(truck=1) weigh(truck=1) ship", ("ok", ())),
        (RIGHT, "load(truck=1) ship weigh(truck=1)", ("violated", (0,))),
        (HIM, "charge(customer=1)@10:00 notify(customer=1)@10:04", ("ok", ())),
        (HIM, "charge(customer=1)@10:00 notify(customer=2)@10:04", ("violated", (0,))),
        (
            SAME,
            "deploy(version=1,region=1) deploy(version=1,region=1) deploy(version=2,region=1)",
            ("ok", ()),
        ),
        (SAME, "deploy(version=1,region=1) " * 3, ("violated", (2,))),
        (RETURNED, "return(parcel=1,customer=1) ship(parcel=2,customer=1)", ("ok", ())),
        (RETURNED, "return(parcel=1,customer=1) ship(parcel=1,customer=1)", ("violated", (1,))),
        (ONE, "weigh! weigh load", ("ok", ())),
        (ONE, "weigh! release", ("violated", (1,))),
        ("Nothing at all after 18:00", "ship@17:00", ("ok", ())),
        ("Nothing at all after 18:00", "ship@19:00", ("violated", (0,))),
    ],
)
def test_what_is_meant_is_judged(rule: str, calls: str, found: tuple[str, tuple[int, ...]]) -> None:
    assert brief(load_policies(FILE % rule), run(calls)) == found


def test_how_all_conversations_begin() -> None:
    policies = load_policies(FILE % "Conversations start with open account or weigh truck")
    assert brief(policies, run("weigh ship")) == ("ok", ())
    assert brief(policies, run("ship weigh")) == ("violated", (0,))


@pytest.mark.parametrize(
    "sentence",
    [
        "one test per service per calendar day",
        "one snapshot per volume per calendar day",
        "Refund order and ship parcel must not happen in the same run",
        "Each opened account must be closed and charged",
        "Each opened account must be shipped or closed",
        "Once a deploy has failed in a region, no further deploys",
        "Once deploys or loads have failed in a region, no further loads there",
        "Notify the customer within 5 minutes after shipping a parcel to the guest for him",
        "Nothing at all",
        "No refund until one succeeds",
        "the next call is weigh truck",
        "Conversations start or end with weigh truck",
        "opened is closed: no charging of an account after it was closed",
    ],
)
def test_what_is_not_read(sentence: str) -> None:
    with pytest.raises(BadInput):
        load_policies(FILE % sentence)
