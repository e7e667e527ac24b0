"""What a model is told of a refused call holds no value of an argument or a result."""

from __future__ import annotations

import random

import pytest

from synth.observed import run_from_json
from synth.observed.run import ToolCall
from synth.policies.online import Prefix
from synth.policies.proposed import VALUES, proposed
from tests.properties.test_guard_agreement import EARLY, RULES, SECOND, TOOLS, rules_of

SECRET = "hush"
IDS, AMOUNTS = (f"{SECRET}-1", f"{SECRET}-2"), (7391, 7392)


def shows_values(text: str) -> bool:
    return SECRET in text or "739" in text


def explanations(kind: str) -> set[tuple[str, str]]:
    """(kind of the rule, why it refuses a call) over runs whose every value is one of ours."""
    r, found = random.Random(f"values {kind}"), set()
    for _ in range(25):
        prefix, at = Prefix(rules_of(kind), tools=TOOLS), EARLY
        for turn in range(8):
            at += r.choice((1, SECOND))
            arguments = {"id": r.choice(IDS), "amount": r.choice(AMOUNTS)}
            decision, place = prefix.propose(
                ToolCall(None, r.choice(TOOLS), arguments, step=turn, with_text=False), at
            )
            found |= {(one.policy.rule.kind, one.explanation) for one in decision.breaches}
            if place is not None:
                at += 1
                prefix.ended(place, {"id": r.choice(IDS)}, None, at)
    return found


@pytest.mark.parametrize("kind", RULES)
def test_only_the_kinds_that_are_named_show_values_when_they_say_why(kind: str) -> None:
    showing = {rule for rule, said in explanations(kind) if shows_values(said)}
    assert showing <= set(VALUES)
    if kind == "provenance":
        assert showing, "else this test sees nothing"


def test_the_feedback_of_those_leaves_the_reason_out() -> None:
    policies = rules_of("provenance")
    run = run_from_json({"run_id": "r", "status": "running", "calls": [], "tools": list(TOOLS)})
    call = ToolCall(None, "pay", {"id": IDS[0], "amount": AMOUNTS[0]}, finished=False)
    said = proposed(policies, run, call, EARLY)
    assert any(shows_values(one.breach.explanation) for one in said.refused)
    feedback = said.feedback()
    assert feedback is not None
    assert feedback.startswith("Not run: ")
    assert not shows_values(feedback)


def test_of_an_allowed_call_no_tools_are_listed() -> None:
    run = run_from_json({"run_id": "r", "status": "running", "calls": [], "tools": list(TOOLS)})
    said = proposed(rules_of("precedence"), run, ToolCall(None, "verify", {}, finished=False), EARLY)
    assert (said.refused, said.allowed, said.feedback()) == ((), None, None)
