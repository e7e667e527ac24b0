"""Rules as busy people type them: the words of the file as nouns, `same x` behind a comma, conversations."""

from __future__ import annotations

import pytest

from synth.errors import BadInput
from synth.policies import load_policies
from synth.policies.clausal import read

ACTIONS = (
    "verify identity",
    "search flights",
    "cancel booking",
    "refund payment",
    "check health",
    "run tests",
)
HEAD = "actions:\n" + "".join(f"  {phrase}: {phrase.replace(' ', '_')}\n" for phrase in ACTIONS)


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("Verify identity before refunding a payment, same customer id",
         "verify identity must happen before refund payment with the same customer_id"),
        ("Verify identity must happen before refund payment (same customer)",
         "verify identity must happen before refund payment with the same customer"),
        ("Run tests must pass before check health", "run tests must happen before check health"),
        ("Run tests must pass", None),
        ("Check health must not follow run tests", "check health must never happen after run tests"),
        ("A failed check health must be followed by run tests",
         "If check health fails, run tests must follow"),
        ("A failed check health must be followed by run tests within 5 minutes",
         "If check health fails, run tests must follow within 5 minutes"),
        ("A failed check health must not be followed by run tests",
         "If check health fails, run tests must never happen afterwards"),
        ("Max 3 flight searches per run", "search flights must happen at most 3 times per run"),
        ("Only one refund payment per customer",
         "refund payment must happen at most 1 times with the same customer"),
        ("Only one refund payment or cancel booking per customer", None),
        ("Never do both refund payment and cancel booking",
         "refund payment and cancel booking must never both happen"),
        ("You may do both refund payment and cancel booking", None),
        ("If verify identity fails, no refund payment until verify identity succeeds again",
         "If verify identity fails, refund payment must never happen until verify identity"),
        ("A refund payment must not start while another refund payment is still running",
         "refund payment must not overlap each other"),
        ("A refund payment must not start while cancel booking is still running",
         "refund payment must not start while cancel booking runs"),
        ("Two cancel bookings are the maximum", "cancel booking must happen at most 2 times"),
    ],
)  # fmt: skip
def test_short_words_are_read_as_they_are_meant(sentence: str, said: str | None) -> None:
    assert read(sentence, ACTIONS) == (() if said is None else (said,))


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("Verify identity exactly once per conversation.", "count"),
        ("The first call of every conversation must be verify identity.", "first_call"),
        ("A conversation must end with check health.", "last_call"),
        ("Never do both refund payment and cancel booking in the same conversation.", None),
        ("In a conversation, no refund payment without an earlier verify identity.", "precedence"),
    ],
)
def test_what_is_said_of_conversations_is_judged_over_them(sentence: str, kind: str | None) -> None:
    policies = load_policies(f"{HEAD}policies: [{{id: P, rule: '{sentence}'}}]")
    assert policies.scope == "session"
    assert kind in (None, policies.policies[0].rule.kind)


def test_a_file_is_of_conversations_only_where_all_its_rules_are() -> None:
    two = f"{HEAD}policies: [{{id: P, rule: Run tests must happen at most 1 time per conversation.}}, "
    two += "{id: Q, rule: Run tests must happen before check health.}]"
    with pytest.raises(BadInput, match="the rule is per conversation, and those of this file are per run"):
        load_policies(two)
    assert load_policies(f"scope: session\n{two}").scope == "session"
    with pytest.raises(BadInput, match="per conversation"):
        load_policies(f"scope: run\n{two}")


@pytest.mark.parametrize(
    "sentence",
    ["Open a conversation window must never happen.", "Run tests must happen before check health."],
)
def test_what_names_a_conversation_is_not_yet_said_of_conversations(sentence: str) -> None:
    named = "actions: {open a conversation window: o, run tests: r, check health: c}"
    policies = load_policies(f"{named}\npolicies: [{{id: P, rule: '{sentence}'}}]")
    assert policies.scope == "run"
