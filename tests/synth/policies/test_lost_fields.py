"""Fields of a run that were lost, cut or hashed: what they said is open, and so is what asks for them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.building import call
from tests.support.policing import brief, judged, policy

LOST = {"extra": {"fields_lost": True}}
NEVER = "rule: B must never happen.\n"


@pytest.mark.parametrize(
    ("applies", "fields", "verdict"),
    [
        ("{tier: gold}", {}, "not_applicable"),
        ("{tier: gold}", LOST, "undecided"),
        ("{tier: gold}", {"extra": {"tier": "gold", "fields_lost": True}}, "violated"),
        ("{tier: gold}", {"extra": {"tier": "silver", "fields_lost": True}}, "not_applicable"),
        ("{tier: gold}", {"extra": {"tier": "go… (+2 characters)"}}, "undecided"),
        ("{tier: gold}", {"extra": {"tier": "si… (+4 characters)"}}, "not_applicable"),
        ("{tier: 'g*'}", {"extra": {"tier": "go… (+2 characters)"}}, "undecided"),
        ("{tier: 's*'}", {"extra": {"tier": "go… (+2 characters)"}}, "not_applicable"),
        ("{tier: gold, agent: x}", {"agent": "y", **LOST}, "not_applicable"),
        ("{tools: do_c}", {}, "not_applicable"),
        ("{tools: do_c}", LOST, "undecided"),
        ("{tools: do_c}", {"tools": ("do_b",), **LOST}, "not_applicable"),
        ("{calls: C}", LOST, "not_applicable"),
    ],
)
def test_a_policy_for_runs_that_have_a_field_is_open_where_the_field_may_have_been_lost(
    applies: str, fields: dict[str, Any], verdict: str
) -> None:
    assert judged(policy(f"{NEVER}applies: {applies}"), "b", **fields).verdict == verdict


def test_the_reason_names_the_field() -> None:
    found = judged(policy(f"{NEVER}applies: {{tier: gold}}"), "b", **LOST)
    assert found.explanation == "The policy may be one for this run: run.tier was not kept."
    found = judged(policy(f"{NEVER}applies: {{tools: do_c}}"), "b", **LOST)
    assert found.explanation == "The policy may be one for this run: what it said of its tools was lost."


def test_what_would_not_apply_anyway_stays_so() -> None:
    precedence = policy("rule: A must happen before B.\napplies: {tier: gold}")
    assert brief(precedence, "a", **LOST) == ("not_applicable", ())
    assert brief(precedence, "a b", **LOST) == ("undecided", ())


def test_a_hashed_request_may_be_the_one_that_a_policy_is_for() -> None:
    asked = policy(f"{NEVER}applies: {{query: 'book *'}}")
    hashed = [call("b", arguments={"x": "str:1:0123456789abcdef"}, partly={"arguments": "hashed"})]
    assert judged(asked, hashed, query="str:9:0123456789abcdef").verdict == "undecided"
    assert judged(asked, "b", query="str:9:0123456789abcdef").verdict == "not_applicable"


@pytest.mark.parametrize(
    "body",
    [
        "guard: {calls: B, check: 'args.x == run.limit'}",
        "contract: {initial: start, tools: {do_b: {requires: [on b]}}}",
        "contract: {goal: problem.goal, tools: {do_b: {provides: [on b]}}}",
        "contract: {objects: things, tools: {do_b: {args: [x]}}}",
    ],
)
def test_what_needs_a_field_that_may_have_been_lost_is_undecided(body: str) -> None:
    calls = [call("b", arguments={"x": 1})]
    lost = judged(policy(body), calls, **LOST)
    assert (lost.verdict, "may have been lost" in lost.explanation) == ("undecided", True)
    assert judged(policy(body), calls).verdict == "unsupported"
