"""`limits:` at the head of a policy file."""

from __future__ import annotations

from typing import Any

import pytest

from synth.errors import BadInput
from synth.observed.run import Run, ToolCall
from synth.policies import judge_policies, load_policies
from synth.policies.online import Prefix

CALLS = [
    ("look", {"id": 1}),
    ("look", {"id": 1}),
    ("pay", {"id": 1}),
    ("look", {"id": 1}),
    ("look", {"id": 2}),
    ("pay", {}),
]


def broken(limits: str, *calls: tuple[str, Any], more: str = "") -> dict[str, tuple[int, ...]]:
    """The calls that each limit blames, where it does."""
    made = tuple(ToolCall(None, tool, arguments) for tool, arguments in calls or CALLS)
    found = judge_policies(load_policies(f"limits: {limits}\n{more}"), Run("r", made))
    return {one.policy.removeprefix("limits."): one.violations for one in found if one.verdict == "violated"}


@pytest.mark.parametrize(
    ("limits", "found"),
    [
        ("{calls: 6, same_call: 3, per_tool: 4}", {}),
        ("{calls: 4}", {"calls": (4, 5)}),
        ("{same_call: 2}", {"same_call": (3,)}),
        ("{per_tool: 3}", {"per_tool": (4,)}),
        ("{per_tool: {pay: 1, look: 3}}", {"per_tool.pay": (5,), "per_tool.look": (4,)}),
        ("{calls: 5, same_call: 1}", {"calls": (5,), "same_call": (1, 3)}),
    ],
)
def test_what_goes_beyond_a_limit_is_a_violation(limits: str, found: dict[str, tuple[int, ...]]) -> None:
    assert broken(limits) == found


def test_failed_calls_count_and_the_same_call_is_the_same_tool_with_equal_arguments() -> None:
    same = [("look", {"a": 1, "b": [2.0]}), ("pay", {"a": 1, "b": [2]}), ("look", {"b": [2], "a": 1})]
    assert broken("{same_call: 1}", *same) == {"same_call": (2,)}


@pytest.mark.parametrize("arguments", [None, {"id": 1}])
def test_calls_whose_arguments_nobody_knows_are_not_the_same_call(arguments: Any) -> None:
    made = ToolCall(None, "look", arguments, partly={"arguments": "absent"} if arguments else None)
    (found,) = judge_policies(load_policies("limits: {same_call: 1}\n"), Run("r", (made, made)))
    assert found.verdict == "undecided"
    assert "argument" in found.explanation.lower()


def test_actions_of_the_file_are_what_per_tool_names() -> None:
    more = "actions: {refunding: [refund, pay_back]}\n"
    calls = [("refund", {}), ("pay_back", {})]
    assert broken("{per_tool: {refunding: 1}}", *calls, more=more) == {"per_tool.refunding": (1,)}


def test_limits_stand_beside_policies_and_say_what_is_done_about_a_call() -> None:
    rules = load_policies(
        "limits: {calls: 2, on_break: block, severity: warning, owner: ops}\n"
        "policies: [{id: FIRST, rule: Any tool must happen at most 9 times.}]\n"
    )
    first, calls = rules.policies
    assert (first.id, calls.id, calls.text) == ("FIRST", "limits.calls", "At most 2 calls in all")
    assert (calls.on_break, calls.severity, calls.owner, calls.line) == ("block", "warning", "ops", 1)


def test_the_guard_refuses_the_call_that_goes_beyond() -> None:
    course = Prefix(load_policies("limits: {calls: 5, same_call: 2, per_tool: 3}\n"))
    refused = []
    for at, (tool, arguments) in enumerate([*CALLS, ("verify", {}), ("verify", {})]):
        decision, _ = course.propose(ToolCall(None, tool, arguments))
        refused += [(at, breach.policy.id) for breach in decision.breaches]
    assert refused == [(3, "limits.same_call"), (6, "limits.calls"), (7, "limits.calls")]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("limits: {calls: 0}\n", "1, field limits.calls: expected a whole number from 1 to 999,999, got 0"),
        ("limits: {same_call: true}\n", "limits.same_call: expected a whole number"),
        ("limits: {per_tool: {pay: many}}\n", r"limits.per_tool.pay: expected a whole number .* got 'many'"),
        ("limits: {call: 5}\n", "limits.call: no such field .expected one of calls, same_call, per_tool"),
        ("limits: {on_break: block}\n", "limits: expected at least one of calls, same_call, per_tool"),
        ("limits: 7\n", "limits: expected named fields, got 7"),
        ("limits: {calls: 5, on_break: stop}\n", "limits.on_break: expected one of"),
        (
            "limits: {calls: 5}\npolicies: [{id: limits.calls, rule: Any tool must never happen.}]\n",
            "'limits.calls' has the id of a policy",
        ),
        ("timezone: UTC\n", "the field 'policies' is missing"),
    ],
)
def test_errors_name_the_field(text: str, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        load_policies(text)
