"""What a guard remembers of a run that goes on is what the judge finds in it."""

from __future__ import annotations

import random

import pytest

from synth.judge import Rules
from synth.observed.run import Run, ToolCall
from synth.policies import judge_policies, load_policies
from synth.policies.online import Prefix
from synth.policies.recalled import MOST, Recalled

OFF = Rules(z3="off", repair=False)
SECOND = 10**9
CONDITIONS = (
    "args.amount <= 2",
    "last('look') == null || last('look').id == args.id",
    "last('look', args.id) != null",
    "last('look', 'id', args.id) == null",
    "last_call('look').args.amount < 3",
    "earlier('look').exists(c, c.args.id == args.id)",
    "size(earlier(['look', 'pay'])) < 3",
    "earlier('*', 'id', args.id).all(c, c.name != 'pay')",
    "call.name == 'pay' && call.step >= 0",
    "double(args.amount) / 2.0 < 1.6",
)


def policies(condition: str, more: str = "") -> str:
    return f'policies:\n  - {{id: R, guard: {{calls: pay, check: "{condition}"{more}}}}}\n'


@pytest.mark.parametrize("more", ["", ", when: 'args.amount > 1'", ", let: {seen: \"last('look')\"}"])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_what_it_lets_pass_keeps_the_rule(condition: str, more: str) -> None:
    rules = load_policies(policies(condition, more))
    rule = rules.policies[0].rule
    r, passed, answers = random.Random(f"{condition} {more}"), 0, set()
    for _ in range(60):
        recalled, calls, at = Recalled(rule), list[ToolCall](), 10**18  # type: ignore[arg-type]
        for place in range(r.randint(0, 6)):
            at += SECOND
            call = some_call(r, r.choice(("look", "look", "pay", "verify")), at)
            calls.append(call)
            if call.succeeded:
                recalled.take(place, call)
        made = some_call(r, "pay", at + SECOND)
        (found,) = judge_policies(rules, Run("r", (*calls, made)), rules=OFF)
        at_the_end = found.verdict == "violated" and len(calls) in found.violations
        answers.add(at_the_end)
        if recalled.allows(made):
            passed += 1
            assert not at_the_end, (calls, made, found)
        else:
            alone = judge_policies(rules, Run("r", (*calls, made)), rules=OFF)[0].verdict
            assert alone in ("violated", "undecided", "unsupported"), (calls, made)
    assert passed


def some_call(r: random.Random, tool: str, at: int) -> ToolCall:
    arguments = {"id": r.choice((1, 2, "b")), "amount": r.randint(1, 4), "deep": {"id": 9}}
    error = r.choice((None, None, None, "no"))
    result = r.choice(({"id": r.choice((1, 2, 2.0)), "lines": [1]}, '{"id": 1}', "plain", None, [1, 2]))
    end = (at + 5, at + 5)
    return ToolCall(None, tool, arguments, None if error else result, error, (at, at), end, True, step=1)


@pytest.mark.parametrize("hidden", ["arguments", "result"])
def test_what_is_known_in_part_is_left_to_the_judge(hidden: str) -> None:
    course = Prefix(load_policies(policies("earlier('look').exists(c, c.args.id == args.id)")))
    _, place = course.propose(ToolCall(None, "look", {"id": 1}, partly={hidden: "absent"}))
    assert place is not None
    course.ended(place, {"id": 1})
    assert bool(course.would(ToolCall(None, "pay", {"id": 1})).doubts) is (hidden == "arguments")


def test_of_many_calls_the_judge_is_asked() -> None:
    course = Prefix(load_policies(policies("size(earlier('look')) > 0")))
    for _ in range(MOST + 5):
        _, place = course.propose(ToolCall(None, "look", {}))
        assert place is not None
        course.ended(place, {})
    assert course.would(ToolCall(None, "pay", {})) == course.would(ToolCall(None, "verify", {}))


def test_what_was_refused_is_not_taken_for_what_was_called_in_its_place() -> None:
    course = Prefix(load_policies(policies("last_call('look').args.amount < args.amount")))
    for tool, amount, allowed in (("look", 3, True), ("pay", 1, False), ("look", 3, True), ("pay", 2, False)):
        decision, place = course.propose(ToolCall(None, tool, {"amount": amount}))
        assert decision.refused is not allowed
        if place is not None:
            course.ended(place, {})
