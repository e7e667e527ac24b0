"""What may begin, beside what real runs and random prefixes show."""

from __future__ import annotations

import pytest

from synth.observed.run import ToolCall
from synth.policies import load_policies
from synth.policies.happened import MOST_TOOLS
from synth.policies.online import Prefix
from synth.policies.watched import CompiledRules

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


@pytest.mark.parametrize("applies", ["{calls: refund}", "{tools: [refund]}"])
@pytest.mark.parametrize(
    ("rule", "forbidden"),
    [
        ("rule: Verify must happen at most once.", "verify"),
        ("rule: Look must happen before verify.", ""),
        ("guard: {calls: verify, check: args.amount < 3}", ""),
        ("rule: Verify must happen between 08:00 and 09:00.", ""),
    ],
)
def test_a_call_that_makes_a_broken_rule_one_for_the_run_is_refused(
    rule: str, forbidden: str, applies: str
) -> None:
    policies = load_policies(HEAD + f"  - {{id: R, {rule}, applies: {applies}}}\n")
    for before, allowed in (((), True), (("verify", *filter(None, [forbidden])), False)):
        course = Prefix(policies)
        for at, tool in enumerate(before, 1):
            _, place = course.propose(ToolCall(None, tool, {"amount": 5}), at * 10**9)
            assert place is not None
            course.ended(place, {}, at=at * 10**9 + 1)
        assert course.would(ToolCall(None, "refund", {}), 10**10).refused is not allowed
        course.began(ToolCall(None, "refund", {}), 10**10)
        assert not course.would(ToolCall(None, "refund", {}), 2 * 10**10).refused  # it made nothing worse


@pytest.mark.parametrize(
    "rule", ["rule: Verify must happen between 08:00 and 09:00.", "guard: {calls: verify, check: args.x < 3}"]
)
@pytest.mark.parametrize("applies", ["{calls: refund}", "{tools: [refund]}", "{agent: b}"])
def test_a_rule_that_becomes_one_for_the_run_is_heeded_at_once(rule: str, applies: str) -> None:
    policies = load_policies(HEAD + f"  - {{id: R, {rule}, applies: {applies}}}\n")
    course, verify = Prefix(policies, agent="a"), ToolCall(None, "verify", {"x": 5})
    assert not course.would(verify, 10**9).refused
    course.told(agent="b")
    course.ended(course.began(ToolCall(None, "refund", {}), 2 * 10**9), {}, at=3 * 10**9)
    assert course.would(verify, 4 * 10**9).refused


def test_names_that_nobody_knows_do_not_fill_the_memory() -> None:
    course = prefix("rule: Verify must happen before refund.")
    for number in range(3 * MOST_TOOLS):
        course.would(ToolCall(None, f"invented_{number}", {}))
    rules = CompiledRules.of(course.policies)
    assert max(map(len, (rules._breaking, rules._hearing, rules.each[0]._concerns))) <= MOST_TOOLS
    assert refused(course, "refund")


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


NINE = 9 * 3600 * 10**9
MINUTE = 60 * 10**9


@pytest.mark.parametrize(
    "rule",
    [
        "Refund must happen before 09:00.",
        "Refund must happen after 09:00.",
        "Refund must never happen before 09:00.",
        "Refund must never happen after 09:00.",
        "Refund must happen between 09:00 and 10:00.",
    ],
)
def test_what_is_remembered_of_a_minute_is_what_the_judge_says(rule: str) -> None:
    asked_before = prefix(f"rule: {rule}")
    edges = [0, 1, MINUTE - 1, MINUTE, MINUTE + 1, 2 * MINUTE]
    for first in [NINE + sign * edge for edge in edges for sign in (1, -1)]:
        for then in [NINE + sign * edge for edge in edges for sign in (1, -1)]:
            call = ToolCall(None, "refund", {})
            asked_before.would(call, first)
            fresh = prefix(f"rule: {rule}").would(call, then)
            assert asked_before.would(call, then).refused is fresh.refused, (first - NINE, then - NINE)


@pytest.mark.parametrize("side", ["look", "refund", "both"])
def test_equal_beginnings_of_values_that_were_cut_are_not_equal_values(side: str) -> None:
    course = prefix("rule: Look must happen before refund with the same order.")
    cut, whole = {"order": "A-1… (+7 characters)"}, {"order": "A-12345678"}
    look, refund = (
        ToolCall(None, tool, cut, partly={"arguments": "cut"})
        if side in (tool, "both")
        else ToolCall(None, tool, whole)
        for tool in ("look", "refund")
    )
    _, place = course.propose(look)
    assert place is not None
    course.ended(place, {})
    decision = course.would(refund)
    assert (decision.refused, len(decision.doubts)) == (False, 1)


TOOLS = ("look", "verify", "refund")


@pytest.mark.parametrize(
    ("rule", "shut"),
    [
        ("rule: Refund must never happen.", ["refund"]),
        ("rule: Verify must happen before refund.", []),
        ("rule: Verify and look must happen before refund.", []),
        ("rule: Refund must happen at most 1 time.", []),
        ("rule: Refund must never happen after look.", []),
        ("guard: {calls: refund, check: args.amount < 3}", []),
    ],
)
def test_a_tool_is_shut_where_nothing_else_opens_it(rule: str, shut: list[str]) -> None:
    assert prefix(rule).shut(TOOLS) == shut


def test_a_tool_is_shut_once_what_was_called_shuts_it() -> None:
    course = prefix("rule: Refund must happen at most 1 time.", "rule: Look must never happen after verify.")
    refused(course, "refund")
    assert course.shut(TOOLS) == ["refund"]
    refused(course, "verify")
    assert course.shut(TOOLS) == ["look", "refund"]
    assert course.shut(TOOLS, lambda policy: policy.id == "R0") == ["refund"]


def test_what_runs_may_open_a_tool() -> None:
    course = prefix("rule: Verify must happen before refund.")
    course.propose(ToolCall(None, "verify", {}))
    assert course.shut(("verify", "refund")) == []
