"""`limits:` at the head of a policy file."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from synth.errors import BadInput
from synth.observed.run import Run, ToolCall, Unseen
from synth.policies import Rules, judge_policies, load_policies
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
        (
            "limits: {call: 5}\n",
            "limits.call: no such field .expected one of calls, same_call, per_tool, minutes, tokens, cost",
        ),
        ("limits: {on_break: block}\n", "limits: expected at least one of calls, same_call, per_tool"),
        ("limits: 7\n", "limits: expected named fields, got 7"),
        ("limits: {calls: 5, on_break: stop}\n", "limits.on_break: expected one of"),
        ("limits: {minutes: 0}\n", "limits.minutes: expected a number above 0"),
        ("limits: {minutes: .nan}\n", "limits.minutes: expected a number from 0"),
        ("limits: {tokens: 1.5}\n", "limits.tokens: expected a whole number"),
        ("limits: {cost: 2}\n", "limits.cost: needs the prices of the models; say them as 'prices'"),
        ("limits: {cost: 2}\nprices: {currency: EUR}\n", "prices: expected a price for at least one model"),
        (
            "limits: {cost: 2}\nprices: {m: {input: 1, output: 2}}\n",
            "field prices: the field 'currency' is missing",
        ),
        (
            "limits: {cost: 2}\nprices: {currency: EUR, m: {input: -1, output: 2}}\n",
            "prices.m.input: expected",
        ),
        ("limits: {tokens: 2}\nscope: session\n", "the rule is per run, and those of this file are per conv"),
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


# ---------------------------------------------------------------- minutes, tokens, cost

MINUTE = 60 * 10**9
PRICES = "prices: {currency: EUR, small: {input: 0.5, output: 2}, big: {input: 2.5, output: 10}}\n"


def at(*starts: int | tuple[int, int]) -> tuple[ToolCall, ...]:
    """Calls that begin at these instants, or between two of them."""
    spans = [one if isinstance(one, tuple) else (one, one) for one in starts]
    return tuple(ToolCall(None, "look", {}, start=span, end=(span[1] + 1,) * 2) for span in spans)


def reply(end: int, given: Any = 0, written: Any = 0, model: Any = "small") -> dict[str, Any]:
    return {"model": model, "input_tokens": given, "output_tokens": written, "end_ns": end}


def verdict(limits: str, run: Run, more: str = "") -> tuple[str, tuple[int, ...]]:
    (found,) = judge_policies(load_policies(f"limits: {limits}\n{more}"), run, rules=Rules(z3="off"))
    return found.verdict, found.violations


@pytest.mark.parametrize(
    ("calls", "found"),
    [
        (at(5, 5 + MINUTE), ("ok", ())),
        (at(5, 6 + MINUTE, 7 + MINUTE), ("violated", (1, 2))),
        (at(5, (MINUTE, 9 * MINUTE)), ("undecided", ())),
        (at((0, 9), 9 + MINUTE), ("undecided", ())),
        (at((0, 9), 10 + MINUTE), ("violated", (1,))),
        ((ToolCall(None, "look", {}),), ("unsupported", ())),
        ((), ("not_applicable", ())),
    ],
)
def test_minutes_run_from_the_first_call_on(calls: tuple[ToolCall, ...], found: Any) -> None:
    assert verdict("{minutes: 1}", Run("r", calls)) == found


def test_a_call_that_nobody_saw_may_have_been_the_first_and_takes_back_no_violation() -> None:
    unseen = {"problems": ("lost",), "unseen": (Unseen("lost"),)}
    assert verdict("{minutes: 1}", Run("r", at(0, 1), **unseen)) == ("undecided", ())
    assert verdict("{minutes: 1}", Run("r", at(0, 2 * MINUTE), **unseen)) == ("violated", (1,))


@pytest.mark.parametrize(
    ("used", "found"),
    [
        ([reply(1, 60, 40)], ("ok", ())),
        ([reply(1, 60, 41)], ("violated", (1, 2))),
        ([reply(1, 60, 40), reply(25, 1)], ("violated", (2,))),
        ([reply(31, 101)], ("ok", ())),
        ([reply(25, None, 5)], ("undecided", ())),
        ([reply(31, None, 5)], ("ok", ())),
        ([reply(1, None, 101)], ("violated", (1, 2))),
        ([reply(1, True, -7)], ("undecided", ())),
        ([reply(1, "9", 9.5)], ("undecided", ())),
        (["used"], ("undecided", ())),
        ([], ("unsupported", ())),
        (None, ("unsupported", ())),
        ({"tokens": 7}, ("unsupported", ())),
    ],
)
def test_no_call_begins_once_so_many_tokens_are_used(used: Any, found: Any) -> None:
    run = Run("r", at(0, 20, 30), extra={} if used is None else {"usage": used})
    assert verdict("{tokens: 100}", run) == found


def test_usage_whose_order_with_a_call_nobody_knows_decides_nothing() -> None:
    run = Run("r", at(0, (10, 30)), extra={"usage": [reply(20, 101)]})
    assert verdict("{tokens: 100}", run) == ("undecided", ())
    clocks = tuple(replace(call, extra={"clock": str(k)}) for k, call in enumerate(at(0, 30)))
    near = Run("r", clocks, extra={"usage": [reply(29, 101)]})
    assert verdict("{tokens: 100}", near)[0] == "undecided"


@pytest.mark.parametrize(
    ("used", "found"),
    [
        ([reply(1, 1_000_000, 250_000)], "ok"),
        ([reply(1, 1_000_000, 250_001)], "violated"),
        ([reply(1, 400_000, 0, "big")], "ok"),
        ([reply(1, 400_000, 0, "big"), reply(2, 1)], "violated"),
        ([reply(1, 400_001, 0, "big-2026-08-06")], "violated"),
        ([reply(1, 1, 1, "other")], "undecided"),
        ([reply(1, 1, 1, None)], "undecided"),
    ],
)
def test_cost_is_counted_exactly_by_the_prices_of_the_file(used: Any, found: str) -> None:
    run = Run("r", at(10), extra={"usage": used})
    assert verdict("{cost: 1}", run, PRICES)[0] == found


def test_ids_and_words() -> None:
    rules = load_policies(f"limits: {{minutes: 0.5, tokens: 200000, cost: 2.50, on_break: block}}\n{PRICES}")
    assert [(one.id, one.text, one.on_break) for one in rules.policies] == [
        ("limits.minutes", "No call later than 0.5 minutes after the first", "block"),
        ("limits.tokens", "No call once 200,000 tokens are used", "block"),
        ("limits.cost", "No call once 2.5 EUR are spent", "block"),
    ]


def test_a_guard_and_the_judge_say_the_same_of_random_runs() -> None:
    """A call is refused exactly where the verdict blames it; unknown usage never refuses."""
    rules = load_policies(f"limits: {{minutes: 1, tokens: 100, cost: 0.0001}}\n{PRICES}")
    refused = doubts = 0
    for seed in range(300):
        dice = random.Random(seed)
        course, now, calls, used = Prefix(rules), 0, list[ToolCall](), list[dict[str, Any]]()
        for _ in range(8):
            now += dice.randint(1, MINUTE // 2)
            if dice.random() < 0.6:
                tokens = [
                    dice.choice([None, 0, 5, 40]) if dice.random() < 0.3 else dice.randint(0, 30)
                    for _ in "ab"
                ]
                model = dice.choice(["small", "big", "other"])
                course.used(model, *tokens, at=now)
                used.append(reply(now, *tokens, model))
                continue
            (made,) = at(now)
            decision, _ = course.propose(ToolCall(None, "look", {}), now, heeds=lambda decision: True)
            run = Run("r", (*calls, made), extra={"usage": used} if used else {})
            found = {one.policy: one for one in judge_policies(rules, run, rules=Rules(z3="off"))}
            blamed = {name for name, one in found.items() if len(calls) in one.violations}
            assert {breach.policy.id for breach in decision.breaches} == blamed
            assert {doubt.policy.id for doubt in decision.doubts}.isdisjoint(blamed)
            refused, doubts = refused + len(blamed), doubts + len(decision.doubts)
            calls.append(made)
    assert refused > 100 < doubts


def test_what_a_guard_keeps_of_replies_is_bounded() -> None:
    course = Prefix(load_policies("limits: {tokens: 5000}\n"))
    for at_ in range(4_000):
        course.used(f"model-{at_ % 1500}", 1, 1, at=at_)
    assert len(course.fields["extra"]["usage"]) <= 2_000
    assert course.would(ToolCall(None, "look", {})).refused
