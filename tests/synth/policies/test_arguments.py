"""Arguments that a rule asks for and calls do not have: a slip of the pen is named, the rest is open."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from synth.observed.run import Run, ToolCall
from synth.policies import PolicySet
from tests.support.building import call
from tests.support.gapped_runs import complete_run
from tests.support.policing import judged, policy, rules_file

BEFORE = "A must happen before B with the same {}."
ANSWER = "A must be followed by B with the same {}."
NO_CALL = "No call of {} has the argument {!r}"


def a(**arguments: object) -> ToolCall:
    return call("a", arguments=arguments)


def b(**arguments: object) -> ToolCall:
    return call("b", arguments=arguments)


def found(policies: PolicySet | str, *calls: ToolCall) -> tuple[str, tuple[int, ...], str]:
    result = judged(policies, calls)
    return result.verdict, result.violations, result.explanation


@pytest.mark.parametrize(
    ("field", "meant"),
    [
        ("ordr_id", "order_id"), ("orderId", "order_id"), ("ORDER-ID", "order_id"), ("id_order", "order_id"),
        ("in.pth", "in.path"), ("amuont", "amount"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("sentence", [BEFORE, ANSWER])
def test_a_misspelt_field_is_named_and_judges_no_run(sentence: str, field: str, meant: str) -> None:
    given = {"order_id": 1, "amount": 2, "in": {"path": "p"}}
    tool = "do_b" if sentence == BEFORE else "do_a"
    said = f"{NO_CALL.format(tool, field)}; did you mean {meant!r}?"
    rule = sentence.format(field)
    assert found(rule, a(**given), b(**given)) == ("unsupported", (), said)
    assert found(rule, b(**given), a(**given)) == ("unsupported", (), said)


def test_a_field_that_only_the_other_tool_has_names_the_tool_that_lacks_it() -> None:
    said = f"{NO_CALL.format('do_a', 'path')}; there are: file, mode."
    rule = BEFORE.format("path")
    assert found(rule, a(file="f", mode="r"), b(path="f")) == ("unsupported", (), said)
    assert found(rule, b(path="f"), a(file="f", mode="r")) == (
        "violated", (0,), "B (call 0) needs an earlier success of A with the same path.",
    )  # fmt: skip
    assert found(rule, a(), b(path="f")) == ("unsupported", (), f"{NO_CALL.format('do_a', 'path')}.")


@pytest.mark.parametrize(
    ("sentence", "calls", "verdict", "violations", "lacking"),
    [
        (BEFORE, [a(id=1), b(id=1), b()], "undecided", (), "do_b (call 2)"),
        (BEFORE, [a(id=1), b(), b(id=1)], "undecided", (), "do_b (call 1)"),
        (BEFORE, [a(id=1), b(), b(id=2)], "violated", (2,), None),
        (BEFORE, [a(id=1), a(), b(id=1)], "ok", (), None),
        (BEFORE, [a(id=1), a(), b(id=2)], "undecided", (), "do_a (call 1)"),
        (BEFORE, [a(id=1), b(id=2), a()], "violated", (1,), None),
        (BEFORE, [a(), a(id=1), b(id=1), b(id=1)], "ok", (), None),
        (BEFORE, [a(), a(id=1)], "not_applicable", (), None),
        (ANSWER, [a(id=1), a(), b(id=1)], "undecided", (), "do_a (call 1)"),
        (ANSWER, [a(id=1), b(), b(id=1)], "ok", (), None),
        (ANSWER, [a(id=1), b(id=2), b()], "undecided", (), "do_b (call 2)"),
        (ANSWER, [b(), a(id=1), b(id=2)], "violated", (1,), None),
        (ANSWER, [a(id=1), a(), b(id=2)], "violated", (0,), None),
        (ANSWER, [b(), b(id=1)], "not_applicable", (), None),
    ],
)  # fmt: skip
def test_one_call_that_lacks_the_field_is_open(
    sentence: str, calls: list[ToolCall], verdict: str, violations: tuple[int, ...], lacking: str | None
) -> None:
    said = found(sentence.format("id"), *calls)
    assert said[:2] == (verdict, violations)
    if lacking is not None:
        assert said[2] == f"{lacking} has no argument 'id' to compare."


def test_a_late_answer_that_lacks_the_field_is_none() -> None:
    rule = "A must be followed by B within 5 seconds with the same id."
    first, other = call("a", 0, 1, arguments={"id": 1}), call("b", 90, 91, arguments={"id": 2})
    assert found(rule, first, call("b", 20, 21, arguments={}), other)[:2] == ("violated", (0,))
    assert found(rule, first, call("b", 3, 4, arguments={}), other)[:2] == ("undecided", ())


@pytest.mark.heavy
def test_whatever_the_missing_arguments_were_the_verdict_stays() -> None:
    r = random.Random(11)
    rules = [
        rules_file("A must happen before B with the same id.").policies[0],
        rules_file("A must be followed by B with the same id.").policies[0],
        rules_file("A must be followed by B within 4 seconds with the same id.").policies[0],
    ]
    base = rules_file("A must happen before B with the same id.")
    kept = decided = 0
    for _ in range(500):
        run = _of_two_tools(complete_run(r))
        for rule in rules:
            policies = replace(base, policies=(rule,))
            verdict = judged(policies, run).verdict
            if verdict in ("undecided", "unsupported"):
                kept += 1
                continue
            decided += 1
            for _ in range(3):
                assert judged(policies, _filled(run, r)).verdict == verdict, (rule, run)
    assert kept > 100
    assert decided > 330


def _of_two_tools(run: Run) -> Run:
    tools = {"pay": "do_a", "verify": "do_b"}
    return replace(run, calls=tuple(replace(c, tool=tools.get(c.tool, c.tool)) for c in run.calls))


def _filled(run: Run, r: random.Random) -> Run:
    calls = (replace(c, arguments={"id": r.randint(1, 3), **c.arguments}) for c in run.calls)
    return replace(run, calls=tuple(calls))


@pytest.mark.parametrize(
    ("check", "given", "said"),
    [
        ("args.amout < 3", {"amount": 5}, "'amout'; did you mean 'amount'?"),
        ("args['amout'] < 3", {"amount": 5}, "'amout'; did you mean 'amount'?"),
        ('args["a-mount"] < 3', {"amount": 5}, "'a-mount'; did you mean 'amount'?"),
        ("args.order.totl < 3", {"order": {"total": 5}}, "'order.totl'; did you mean 'order.total'?"),
        ("args.listt.all(x, x < 3)", {"list": [1]}, "'listt'; did you mean 'list'?"),
        ("size(args.idd) > 0 && args.id < 3", {"id": 1}, "'idd'; did you mean 'id'?"),
        ("args.other < 3", {"amount": 5}, "'other'; there are: amount."),
    ],
)  # fmt: skip
def test_a_guard_over_an_argument_that_no_call_has(check: str, given: dict[str, object], said: str) -> None:
    guard = policy(f"guard: {{calls: B, check: {check!r}}}")
    assert found(guard, b(**given), b()) == ("unsupported", (), f"No call of do_b has the argument {said}")


@pytest.mark.parametrize(
    ("check", "calls", "verdict"),
    [
        ("args.amount < 3", [b(amount=1), b()], "undecided"),
        ("args.amount < 3", [b(amount=9), b()], "violated"),
        ("args.note == '' || args.amount < 3", [b(amount=9)], "unsupported"),
        ("args.note == '' || args.amount < 3", [b(amount=1)], "ok"),
        ("has(args.amout) && args.amout < 3", [b(amount=9)], "violated"),
        ("last('do_a').amount > 3", [b(amount=9)], "undecided"),
        ("last('do_a').amount > args.amount", [b(amount=9)], "undecided"),
        ("args.list.all(x, x.prize < 3)", [b(list=[{"price": 9}])], "undecided"),
    ],
)
def test_a_guard_over_an_argument_that_may_be_missing(
    check: str, calls: list[ToolCall], verdict: str
) -> None:
    assert found(policy(f"guard: {{calls: B, check: {check!r}}}"), *calls)[0] == verdict


def test_a_guard_of_two_tools_looks_at_the_calls_of_both() -> None:
    guard = policy("guard: {calls: [A, B], check: args.amount < 3}")
    assert found(guard, a(amount=1), b())[0] == "undecided"
    said = "No call of do_a, do_b has the argument 'amount'; did you mean 'Amount'?"
    assert found(guard, a(Amount=1), b()) == ("unsupported", (), said)


def test_a_slip_at_a_later_call_is_named_too() -> None:
    guard = policy("guard: {calls: B, check: 'call.index == 0 ? int(args.id) < 3 : args.idd < 3'}")
    said = "No call of do_b has the argument 'idd'; did you mean 'id'?"
    assert found(guard, b(id="x"), b(id=1)) == ("unsupported", (), said)


def test_a_call_that_found_its_partner_is_not_the_reason() -> None:
    said = found(BEFORE.format("id"), a(), a(id=1), b(id=1), b())
    assert said == ("undecided", (), "do_b (call 3) has no argument 'id' to compare.")
