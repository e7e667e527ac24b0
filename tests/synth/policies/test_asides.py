"""What stands beside a rule: courtesies, reasons, the scope of the file, what must be the same."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import cycle
from typing import Any

import pytest

from synth.errors import BadInput
from synth.policies import load_policies
from synth.policies.meanings import demands_of

HEAD = """
actions:
  weigh parcel: weigh
  load truck: load
  print label: label
policies:
"""
RULES = (
    "Parcels must be weighed before a truck is loaded",
    "weigh parcel must happen at least 2 times before load truck",
    "Never load a truck after printing a label",
    "Once a label was printed, no truck may be loaded",
    "Loading a truck must be followed by printing a label within 5 minutes",
    "If load truck fails, print label must follow",
    "After two failed weighings, no truck may be loaded",
    "No label may be printed between weighing a parcel and loading a truck",
    "At most two labels may be printed",
    "Print at most 3 labels an hour",
    "Never load a truck while a label is being printed",
    "Never load a truck within 10 minutes after printing a label",
    "Printing labels and loading trucks exclude each other",
)
AROUND = (
    "Remember: {s}", "As a rule, {s}", "Our policy: {s}", "{s} at all times", "{s} (no exceptions)",
    "{s} - no exceptions", "{s}. No exceptions.", "{s}, full stop", "{s}, no matter what",
    "No matter what, {s}", "We require that {s}", "Keep in mind that {s}", "Dear agent, {s}",
    "Policy #4: {s}",
    "R1: {s}", "[R1] {s}", "(3) {s}", "a) {s}", "\u2022 {s}", "> {s}", "Safety rule: {s}", "Important! {s}",
    "**{s}**", "\u201c{s}\u201d", "({s})", "{s} \u2026", "Under all circumstances, {s}", "{s}, ok?",
    # reasons
    "{s} in order to prevent fraud", "{s}, to avoid fraud", "{s} (to avoid fraud)", "{s} (legal requirement)",
    "{s}, so that nobody complains", "{s}, otherwise customers complain",
    "{s}. Otherwise customers complain.",
    "Due to regulations, {s}", "By law, {s}", "{s} by law", "{s} as required by law",
    "According to policy, {s}",
    "Under GDPR, {s}", "{s} (GDPR)", "{s} (see handbook 4.2)", "{s}, see handbook 4.2",
    "{s}, for fraud prevention", "{s} for the sake of safety", "The auditors insist: {s}",
    "{s} - the auditors insist on it",
    "{s} (policy 4.2)", "{s} [SEC-12]", "{s}, ever", "{s}, even in an emergency", "{s}, not even at night",
    "Always: {s}",
    # what a file of this scope means anyway
    "In a run, {s}", "Within a run, {s}", "{s} in a run", "{s} during a run", "Throughout the run, {s}",
    "In one and the same run, {s}", "{s} within a single run", "{s} (per run)",
)  # fmt: skip
BANS = ("{s} in order to prevent fraud",)
SAME = (
    "{s} (per dock)", "{s} - per dock", "Within one dock, {s}", "On the same dock, {s}", "{s} on one dock",
    "{s} within the same dock", "{s} where the dock is the same", "{s} if the dock is the same",
    "{s}, counted per dock", "{s}, dock by dock", "dock by dock, {s}", "Each dock: {s}",
    "{s} for a single dock",
    "{s} when the dock matches", "{s} with matching dock", "{s} for a given dock", "Of one dock, {s}",
    "{s} (by dock)", "In one and the same dock, {s}", "Per dock: {s}", "{s}, all with the same dock",
)  # fmt: skip


def rule(sentence: str, scope: str = "run") -> Any:
    """The rule of a sentence without what only says how it was written."""
    text = f"scope: {scope}{HEAD}  - id: P\n    rule: {json.dumps(sentence)}\n"
    found = load_policies(text).policies[0].rule
    same = {"clauses": (), "per": None}
    return replace(found, **{name: value for name, value in same.items() if getattr(found, name, None)})


def composed(wraps: tuple[str, ...]) -> list[tuple[str, str, str]]:
    """Each way with two of the rules, so that each rule meets many of them."""
    rules = cycle(RULES)
    return [(wrap, said, wrap.format(s=said)) for wrap in wraps for said in (next(rules), next(rules))]


def test_what_is_said_around_a_rule_changes_nothing() -> None:
    for wrap, said, whole in composed(AROUND):
        if wrap in BANS and said.startswith(("Never", "No ", "After two", "Once")):
            continue
        assert rule(whole) == rule(said), whole


def test_what_must_be_the_same_may_stand_beside_any_rule() -> None:
    for _, said, whole in composed(SAME):
        assert rule(whole) == rule(f"{said} with the same dock"), whole


@pytest.mark.parametrize(
    "said",
    [
        "Weekend rule: no labels",
        "EU policy: no labels",
        "P1: print a label before loading a truck",
        "Never load a truck to avoid fraud",
        "Parcels must be weighed before a truck is loaded, otherwise escalate to a manager",
        "Parcels must be weighed before a truck is loaded (EU only)",
        "Every truck must be loaded by the same driver",
        "Labels and loadings must not happen in the same run",
        "Load no more than 20 (per dock)",
        "Never load a truck for a single dock",
        "A label must be printed at least once for each dock",
        "Every label must be followed by a weighing in every dock",
    ],
)
def test_what_may_say_more_is_not_left_out(said: str) -> None:
    with pytest.raises(BadInput):
        rule(said)


def test_a_scope_beside_a_rule_is_that_of_its_file() -> None:
    said = "In a conversation, parcels must be weighed before a truck is loaded"
    assert rule(said, "session") == rule(RULES[0])
    with pytest.raises(BadInput, match="per conversation"):
        rule(said)
    with pytest.raises(BadInput, match="per run"):
        rule("Within a run, parcels must be weighed before a truck is loaded", "session")


LIMITED = "with amount over 100"
CONDITIONS = (
    "For amounts above 100: {s}", "With amounts over 100, {s}", "Over 100, {s}",
    "Amount over 100: {s}", "amount > 100: {s}", "amount > 100 -> {s}", "If amount>100: {s}",
    "Above an amount of 100, {s}", "For an amount over 100, {s}",
    "Whenever the amount is more than 100, {s}", "When the amount exceeds 100: {s}",
    "{s} for amounts over 100",
    "{s} (if the amount is over 100)", "{s} (amount > 100)", "{s} (for amounts over 100)",
    "{s}, if the amount exceeds 100", "{s} once the amount exceeds 100",
    "{s} as long as the amount is over 100",
    "{s}, but only if the amount is over 100", "For amounts over 100, {s}", "{s} above an amount of 100",
)  # fmt: skip
ON_SMS = (
    "For channel sms: {s}", "Channel sms: {s}", "On the sms channel, {s}", "{s} (channel sms)",
    "{s} (channel: sms)",
    "{s} if channel=sms", "{s} over channel sms", "channel = sms: {s}",
)  # fmt: skip


@pytest.mark.parametrize(
    ("said", "whole"),
    [
        (
            "no truck may be loaded unless a parcel was weighed before",
            "weigh parcel must happen before load truck {c}",
        ),
        ("at most two labels may be printed", "print label {c} must happen at most 2 times"),
        ("never print a label", "print label {c} must never happen"),
        ("no truck may be loaded on Fridays", "load truck {c} must not happen on Fridays"),
        ("every label must be followed by a load truck", "print label {c} must be followed by load truck"),
        (
            "a failed load truck must be followed by print label",
            "If load truck {c} fails, print label must follow",
        ),
    ],
)
def test_a_condition_may_stand_beside_any_rule(said: str, whole: str) -> None:
    for ways, where in ((CONDITIONS, LIMITED), (ON_SMS, 'with channel "sms"')):
        for wrap in ways[:: 3 if said.startswith(("no", "every")) else 2]:
            one = wrap.format(s=said)
            found = demands_of(rule(one)).replace("with amounts", "with amount")
            assert found == demands_of(rule(whole.format(c=where))), one
