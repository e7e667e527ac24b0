"""Order as it is typed in passing, and what must be the same said behind it: runs that keep and break it."""

from __future__ import annotations

import pytest

from synth.errors import BadInput
from synth.policies import load_policies
from tests.support.policing import brief, judged
from tests.synth.policies.test_hundred_sentences import run

FILE = """
actions:
  scan parcel: scan
  load truck: load
  print label: label
  weigh parcel: weigh
  dispatch truck: dispatch
  mark delivered: delivered
  notify customer: notify
  file claim: claim
  close desk: close
policies:
  - {id: P0, rule: "%s"}
"""
CLOSES = "A run that loads a truck or files a claim must end with close desk"
BUT = "After dispatching a truck, nothing but notify customer may be called"


LEFT = "whatever truck is loaded has to be dispatched in the end"
TAKES = "loading takes both: parcel weighed and its label printed beforehand"
IN_TIME = "No later than 15 minutes after a parcel is marked delivered, its customer must be notified"
NOTHING = "once a truck is dispatched nothing more is loaded on it"
FILED = "A claim is filed only for a parcel that was scanned or weighed before"


@pytest.mark.parametrize(
    ("rule", "calls", "found"),
    [
        ("Scan the parcel before loading it", "scan(parcel=1) load(truck=7,parcel=1)", ("ok", ())),
        ("Scan the parcel before loading it", "scan(parcel=2) load(truck=7,parcel=1)", ("violated", (1,))),
        ("Scan the parcel before loading it", "scan(parcel=1)! load(truck=7,parcel=1)", ("violated", (1,))),
        (LEFT, "load(truck=7) dispatch(truck=7)", ("ok", ())),
        (LEFT, "load(truck=7) dispatch(truck=8)", ("violated", (0,))),
        (TAKES, "label(parcel=1) weigh(parcel=1) load(truck=7,parcel=1)", ("ok", ())),
        (TAKES, "label(parcel=2) weigh(parcel=1) load(truck=7,parcel=1)", ("violated", (2,))),
        (IN_TIME, "delivered(parcel=1)@10:00 notify(parcel=1)@10:14", ("ok", ())),
        (IN_TIME, "delivered(parcel=1)@10:00 notify(parcel=2)@10:14", ("violated", (0,))),
        (NOTHING, "dispatch(truck=7) load(truck=8)", ("ok", ())),
        (NOTHING, "dispatch(truck=7) load(truck=7)", ("violated", (1,))),
        (FILED, "weigh(parcel=1) claim(parcel=1)", ("ok", ())),
        (FILED, "weigh(parcel=2) claim(parcel=1)", ("violated", (1,))),
    ],
)
def test_what_is_meant_is_judged(rule: str, calls: str, found: tuple[str, tuple[int, ...]]) -> None:
    assert brief(load_policies(FILE % rule), run(calls)) == found


@pytest.mark.parametrize(
    ("calls", "found"),
    [
        ("load close", ("ok", ())),
        ("claim scan close", ("ok", ())),
        ("scan", ("not_applicable", ())),
        ("load! scan", ("not_applicable", ())),
        ("load close scan", ("violated", (2,))),
        ("close load", ("violated", (1,))),
        ("load close!", ("violated", (1,))),
    ],
)
def test_how_a_run_ends_in_which_something_has_happened(
    calls: str, found: tuple[str, tuple[int, ...]]
) -> None:
    assert brief(load_policies(FILE % CLOSES), run(calls)) == found


@pytest.mark.parametrize(
    ("calls", "found"),
    [
        ("dispatch notify notify", ("ok", ())),
        ("scan load", ("not_applicable", ())),
        ("dispatch! scan", ("not_applicable", ())),
        ("dispatch notify scan", ("violated", (2,))),
        ("dispatch dispatch", ("violated", (1,))),
    ],
)
def test_what_alone_may_be_called_afterwards(calls: str, found: tuple[str, tuple[int, ...]]) -> None:
    assert brief(load_policies(FILE % BUT), run(calls)) == found


@pytest.mark.parametrize("field", ["same id", "the same id", "all for the same id", "same id and zone"])
@pytest.mark.parametrize(
    ("rule", "calls"),
    [
        ("A must happen before B", "do_a(id=1,zone=1) do_b(id=2,zone=1)"),
        ("A must be followed by B", "do_a(id=1,zone=1) do_b(id=2,zone=1)"),
        ("A must be immediately followed by B", "do_a(id=1,zone=1) do_b(id=2,zone=1)"),
        ("A must happen immediately before B", "do_a(id=1,zone=1) do_b(id=2,zone=1)"),
        ("If A fails, B must follow", "do_a(id=1,zone=1)! do_b(id=2,zone=1)"),
        ("B must start within 5 minutes after A", "do_a(id=1,zone=1)@10:00 do_b(id=2,zone=1)@10:01"),
        ("A must happen at least 1 time before B", "do_a(id=1,zone=1) do_b(id=2,zone=1)"),
        ("B must not happen more often than A", "do_a(id=1,zone=1) do_b(id=2,zone=1)"),
    ],
)
@pytest.mark.parametrize("how", [", {}", " ({})"])
def test_what_must_be_the_same_may_stand_behind_every_rule_that_compares(
    rule: str, calls: str, field: str, how: str
) -> None:
    result = judged(f"{rule}{how.format(field)}.", run(calls))
    assert result.verdict == "violated"
    assert judged(f"{rule}.", run(calls)).verdict == "ok"


@pytest.mark.parametrize("behind", ["same day", "same rule", "same here", "not the same id", "same run"])
def test_what_names_no_argument_compares_nothing(behind: str) -> None:
    with pytest.raises(BadInput):
        judged(f"A must happen before B, {behind}.", run("do_a do_b"))
