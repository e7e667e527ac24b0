"""Refusals that fill in a guard, or the nearest rules; and sentences that say over what they hold."""

from __future__ import annotations

import re

import pytest

from synth.errors import BadInput
from synth.policies import load_policies
from synth.policies.kinds.guard import Guard
from synth.policies.meanings import demands_of
from synth.policies.model import PolicySet

ACTIONS = (
    "actions: {lend an item: lend, waive a fine: waive, ask the supervisor: ask, inspect an item: inspect, "
    "return an item: give_back, check a reader's card: check_card, block an account: block, notify the "
    "curator: tell}\n"
)


def policies(rule: str, head: str = "") -> PolicySet:
    return load_policies(f"{head}{ACTIONS}policies:\n  - id: P\n    rule: >-\n      {rule}\n")


def refused(rule: str, head: str = "") -> str:
    with pytest.raises(BadInput) as caught:
        policies(rule, head)
    return caught.value.message


def proposed(rule: str) -> Guard:
    """The guard that a refusal writes out, as a file of policies has it."""
    written = re.search(r"write `(guard: .+?})`", refused(rule))
    assert written is not None
    (policy,) = load_policies(f"{ACTIONS}policies:\n  - id: P\n    {written[1]}\n").policies
    assert isinstance(policy.rule, Guard)
    return policy.rule


@pytest.mark.parametrize(
    ("sentence", "calls", "when", "check"),
    [
        ("No item is lent for longer than 28 days unless the supervisor was asked.", "lend",
         "args.days > 28", "size(earlier('ask')) > 0"),
    ],
)  # fmt: skip
def test_a_condition_on_an_argument_is_written_out_as_a_guard(
    sentence: str, calls: str, when: str | None, check: str
) -> None:
    guard = proposed(sentence)
    assert [tools.names for tools in guard.what] == [(calls,)]
    assert (guard.when and guard.when.text, guard.check.text) == (when, check)


@pytest.mark.parametrize(
    ("sentence", "rule"),
    [
        ('Items from the collection "Rare Books" must never be lent.',
         'Lend an item with collection "Rare Books" must never happen.'),
        ("Lending an item for longer than 28 days is not permitted.",
         "Lend an item with days over 28 must never happen."),
        ("Waiving a fine with a severity above 3 is forbidden.",
         "Waive a fine with severity over 3 must never happen."),
        ("Waiving a fine without giving a reason is not acceptable.",
         "Waive a fine whose reason is missing must never happen."),
        ("A fine of more than 10 may be waived only after asking the supervisor.",
         "Ask the supervisor must happen before waive a fine with amount over 10."),
        ('Before an item from the collection "Manuscripts" is lent, the curator must have been notified '
         "about that item.",
         'Notify the curator must happen before lend an item with collection "Manuscripts" with the same '
         "item."),
    ],
)  # fmt: skip
def test_a_condition_on_an_argument_is_read(sentence: str, rule: str) -> None:
    (said,), (written,) = policies(sentence).policies, policies(rule).policies
    assert demands_of(said.rule) == demands_of(written.rule)


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("Before lending an item, either ask the supervisor or notify the curator, but not both.",
         "'Ask the supervisor or notify the curator must happen before lend an item' where one of them is "
         "needed"),
        ("For each item the order is always the same: return it, then inspect it, and only then lend it.",
         "2 policies: 'Return an item must happen before inspect an item with the same item' and 'Inspect an "
         "item "
         "must happen before lend an item with the same item'"),
    ],
)  # fmt: skip
def test_what_the_language_has_not_is_refused_with_what_is_nearest(sentence: str, said: str) -> None:
    assert said in refused(sentence)


def test_what_holds_for_the_rest_of_a_conversation_is_no_rule_of_a_file_per_run() -> None:
    said = "Once an account is blocked, no fine may be waived for the rest of the {}."
    assert policies(said.format("run")).policies
    assert policies(said.format("conversation"), "scope: session\n").policies
    assert policies(said.format("conversation")).scope == "session"
    assert "the rule is per conversation" in refused(said.format("conversation"), "scope: run\n")
    assert "the rule is per run" in refused(said.format("run"), "scope: session\n")
