"""What may begin, beside what real runs and random prefixes show."""

from __future__ import annotations

import pytest

from synth.observed.run import ToolCall
from synth.policies import load_policies
from synth.policies.online import Prefix

HEAD = "actions: {look: look, verify: verify, refund: refund}\npolicies:\n"


def prefix(*rules: str) -> Prefix:
    lines = (f"  - {{id: R{k}, {rule}}}\n" for k, rule in enumerate(rules))
    return Prefix(load_policies(HEAD + "".join(lines)), tools=("look", "verify", "refund"))


def refused(course: Prefix, tool: str, error: str | None = None) -> bool:
    """Is a call refused? If not, it has run and ended."""
    decision, place = course.propose(ToolCall(None, tool, {}))
    if place is not None:
        course.ended(place, {}, error)
    return decision.refused


@pytest.mark.parametrize("within", ["", "within 3 hours "])
def test_a_failure_that_forbids_is_heeded(within: str) -> None:
    course = prefix(f"rule: Refund must never happen {within}after verify fails.")
    assert [refused(course, "refund"), refused(course, "verify"), refused(course, "refund")] == [False] * 3
    refused(course, "verify", error="no")
    assert refused(course, "refund")


def test_what_the_user_said_last_counts_whatever_was_called_since() -> None:
    course = prefix("guard: {calls: refund, check: user == 'yes'}")
    course.said("user", "hello")
    assert not refused(course, "look")
    assert refused(course, "refund")
    assert not refused(course, "look")
    course.said("user", "yes")
    assert not refused(course, "look")
    assert not refused(course, "refund")
    course.said("user", "no")
    assert refused(course, "refund")
