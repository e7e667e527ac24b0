"""Guards: CEL conditions over arguments, earlier results and the last user message."""

from __future__ import annotations

from dataclasses import replace

import pytest

from synth.errors import BadInput
from synth.formal.cel import CannotEvaluate, condition, normal
from synth.observed.run import Run, ToolCall
from tests.support.building import call
from tests.support.policing import brief, judged, policy


def guard(check: str, **parts: str) -> object:
    lines = "".join(f"  {name}: {value}\n" for name, value in parts.items())
    return policy(f"guard:\n  calls: {parts.pop('calls', 'B')}\n  check: {check!r}\n{lines}")


def b(**arguments: object) -> ToolCall:
    return call("b", arguments=arguments)


@pytest.mark.parametrize(
    ("check", "arguments", "verdict"),
    [
        ("args.n <= 3", {"n": 3}, "ok"),
        ("args.n <= 3", {"n": 3.0}, "ok"),
        ("args.n <= 3", {"n": 4}, "violated"),
        ("args.n == 4", {"n": 4.0}, "ok"),
        ("args.n < 2.5", {"n": 2}, "ok"),
        ("args.n > 0", {"n": 10**30}, "ok"),
        ("args.n > 0", {}, "unsupported"),
        ("!has(args.n) || args.n > 0", {}, "ok"),
        ("args.n > 0", {"n": "x"}, "undecided"),
        ("args.n", {"n": 1}, "undecided"),
        ("size(args.l.filter(x, x.p.startsWith('c'))) <= 1", {"l": [{"p": "c1"}, {"p": "c2"}]}, "violated"),
        ("double(args.a) * 0.5 == 1.5", {"a": 3}, "ok"),
        ("call.name == 'do_b' && call.index == 0", {}, "ok"),
        ("1 / int(args.n) == 1", {"n": 0}, "undecided"),
    ],
)
def test_conditions_over_arguments(check: str, arguments: dict[str, object], verdict: str) -> None:
    assert brief(guard(check), [b(**arguments)])[0] == verdict  # type: ignore[arg-type]


def test_a_guard_names_the_calls_that_break_it_and_says_why() -> None:
    result = judged(guard("args.n < 3", message="too many"), [b(n=1), b(n=5), b(n=9)])  # type: ignore[arg-type]
    assert (result.verdict, result.violations) == ("violated", (1, 2))
    assert result.explanation == "do_b (call 1) (and 1 more): too many."


def test_calls_that_are_not_meant_do_not_count() -> None:
    only_big = guard("args.ok", when="args.n > 3")
    assert brief(only_big, [b(n=1, ok=False)])[0] == "not_applicable"  # type: ignore[arg-type]
    assert brief(only_big, [b(n=1, ok=False), b(n=4, ok=False)]) == ("violated", (1,))  # type: ignore[arg-type]
    assert brief(only_big, "a")[0] == "not_applicable"  # type: ignore[arg-type]


STOCK = [
    call("a", arguments={"id": 1}, result={"id": 1, "left": 5}),
    call("a", arguments={"id": 2}, result='{"id": 2, "left": 0}'),
    call("a", arguments={"id": 1}, result={"id": 1, "left": 2}),
    call("a", arguments={"id": 1}, result={"id": 1, "left": 9}, error="late"),
]


@pytest.mark.parametrize(
    ("check", "verdict"),
    [
        ("last('do_a').left == 2", "ok"),
        ("last('do_a', 5).id == 1", "ok"),
        ("last('do_a', 'id', args.id).left == 2", "ok"),
        ("last(['do_z', 'do_a'], 'id', 2).left == 0", "ok"),
        ("last('*', 'left', 5).id == 1", "ok"),
        ("last('do_z') == null", "ok"),
        ("last('do_a', 'id', 7) == null", "ok"),
        ("last('do_a', 'left', 1) == null", "ok"),
        ("last_call('do_a', 'left', 5).index == 0", "ok"),
        ("last_call('do_a').args.id == 1 && last_call('do_a').name == 'do_a'", "ok"),
        ("size(earlier('do_a')) == 3", "ok"),
        ("earlier('*').map(c, c.result.left) == [5, 0, 2]", "ok"),
        ("last('do_a').left == 9", "violated"),
        ("last(3) == null", "undecided"),
    ],
)
def test_conditions_over_earlier_results(check: str, verdict: str) -> None:
    if check == "last(3) == null":
        with pytest.raises(BadInput, match="no matching overload"):
            guard(check)
        return
    assert brief(guard(check), [*STOCK, b(id=1)])[0] == verdict  # type: ignore[arg-type]


def test_only_what_happened_before_the_call_is_known() -> None:
    known = guard("last('do_a') != null")
    assert brief(known, [b(), *STOCK, b()]) == ("violated", (0,))  # type: ignore[arg-type]
    overlapping = [call("a", 0, 5, result={}), call("b", 3, 4)]
    assert brief(known, overlapping) == ("violated", (1,))  # type: ignore[arg-type]


def test_named_parts_are_computed_in_order() -> None:
    body = """
guard:
  calls: B
  let: {stock: "last('do_a', 'id', args.id)", left: "stock.left"}
  when: stock != null
  check: args.n <= left
"""
    assert brief(policy(body), [*STOCK, b(id=1, n=2), b(id=1, n=3)]) == ("violated", (5,))
    assert brief(policy(body), [*STOCK, b(id=7, n=2)])[0] == "undecided"
    late = body.replace(', left: "stock.left"', "").replace("<= left", "<= stock.left")
    assert brief(policy(late), [*STOCK, b(id=1, n=2), b(id=7, n=9)]) == ("ok", ())


def talk(*said: tuple[str, str, int]) -> dict[str, object]:
    return {"messages": [{"role": r, "content": c, "before_call": k} for r, c, k in said]}


def test_the_last_user_message_before_the_call() -> None:
    yes = guard(r"user.matches('(?i)\\byes\\b')")
    talked = talk(
        ("user", "YES, go", 0), ("assistant", "no?", 1), ("user", "no yesterday", 1), ("user", "yes", 3)
    )
    run = Run("run", (b(), b(), b(), b()), extra=talked)
    assert brief(yes, run) == ("violated", (1, 2))  # type: ignore[arg-type]
    assert brief(yes, [b()])[0] == "unsupported"  # type: ignore[arg-type]
    parts = {"messages": [{"role": "user", "content": [{"type": "text", "text": "yes"}], "before_call": 0}]}
    assert brief(yes, Run("run", (b(),), extra=parts))[0] == "ok"  # type: ignore[arg-type]


def test_fields_of_the_run() -> None:
    vip = guard("run.customer.vip == true")
    assert brief(vip, [b()])[0] == "unsupported"  # type: ignore[arg-type]
    assert brief(vip, Run("run", (b(),), extra={"customer": {"vip": True}}))[0] == "ok"  # type: ignore[arg-type]
    assert brief(guard("!has(run.customer)"), [b()])[0] == "ok"  # type: ignore[arg-type]


def test_arguments_that_were_not_recorded_are_unsupported() -> None:
    assert brief(guard("args.n > 0"), [call("b", arguments=None)])[0] == "unsupported"  # type: ignore[arg-type]


def test_one_call_whose_arguments_were_not_recorded_is_not_called_ok() -> None:
    lost = call("b", arguments=None)
    small = guard("!has(args.n) || args.n < 3")
    assert brief(small, [b(n=1), lost])[0] == "unsupported"  # type: ignore[arg-type]
    assert brief(small, [b(n=5), lost]) == ("violated", (0,))  # type: ignore[arg-type]
    first = guard("args.n < 3", when="call.index == 0")
    assert brief(first, [b(n=1), lost]) == ("ok", ())  # type: ignore[arg-type]


def between(made: ToolCall, start: tuple[int, int], end: tuple[int, int]) -> ToolCall:
    return replace(made, start=start, end=end)


@pytest.mark.parametrize(
    ("check", "ended", "verdict"),
    [
        ("last('do_a') != null", (5, 15), "undecided"),
        ("last('do_a', 'id', args.id).id == 'x'", (5, 15), "undecided"),
        ("size(earlier('do_a')) == 1", (5, 15), "undecided"),
        ("last_call('do_a').index == 0", (5, 15), "undecided"),
        ("args.id == 'x' || last('do_a') != null", (5, 15), "ok"),
        ("last('do_a', 'id', 'y') == null", (5, 15), "ok"),
        ("last('do_a') != null", (5, 8), "ok"),
        ("last('do_a') != null", (13, 15), "violated"),
    ],
)
def test_what_depends_on_a_result_that_may_have_come_later_is_undecided(
    check: str, ended: tuple[int, int], verdict: str
) -> None:
    for started in ((0, 0), (0, 9)):
        found = between(call("a", result={"id": "x"}), started, ended)
        result = judged(guard(check), [found, between(b(id="x"), (8, 12), (20, 20))])  # type: ignore[arg-type]
        assert result.verdict == verdict
        if verdict == "undecided":
            said = "do_b (call 1): do_a (call 0) may have ended only after this call began."
            assert result.explanation == said
    late = [between(b(id="x"), (8, 12), (20, 20)), between(call("a", result={}), (9, 9), (10, 10))]
    assert brief(guard("last('do_a') != null"), late)[0] == "undecided"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (
            "{'a': 1}.b > 0",
            "the condition needs a value that the call or the earlier results do not have (CEL: Key",
        ),
        (
            "last('do_a').n > 0",
            "the condition needs a value that the call or the earlier results do not have (",
        ),
        ("args.id > 0", "the condition compares or computes with values that are missing or of another type"),
        (
            "1 / size(last('do_a', 'x') == null ? '' : 'x') == 1",
            "the condition cannot be computed from these ",
        ),
        ("args.id", "expected true or false, got 'x'."),
    ],
)
def test_what_cannot_be_evaluated_is_said_in_plain_words(check: str, said: str) -> None:
    explanation = judged(guard(check), [b(id="x")]).explanation  # type: ignore[arg-type]
    assert explanation.startswith(f"do_b (call 0): {said}")
    assert "NOT_FOUND" not in explanation
    assert "INVALID_ARGUMENT" not in explanation


def test_a_gap_leaves_open_what_depends_on_earlier_calls() -> None:
    holes = {"problems": ("dropped",)}
    assert brief(guard("last('do_a') != null"), [b()], **holes)[0] == "undecided"  # type: ignore[arg-type]
    assert brief(guard("args.n > 0"), [b(n=0)], **holes)[0] == "violated"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("check", "parts", "said"),
    [
        ("args.n >", {}, "not a CEL expression"),
        ("nothing == 1", {}, "undeclared reference to 'nothing'"),
        ("1 + 1", {}, r"expected a condition \(true or false\), got one of type INT"),
        ("true", {"let": "{args: '1'}"}, "cannot be the name of a part"),
        ("true", {"let": "{'a b': '1'}"}, "cannot be the name of a part"),
        ("true", {"unless": "x"}, "no such field"),
        ("x" * 20_000, {}, "at most 10000"),
    ],
)
def test_bad_guards_are_refused(check: str, parts: dict[str, str], said: str) -> None:
    with pytest.raises(BadInput, match=said) as caught:
        guard(check, **parts)
    assert caught.value.line is not None


def test_values_are_normalised() -> None:
    assert normal({"a": [4.0, 2**70, True, None, 1.5]}) == {"a": [4, float(2**70), True, None, 1.5]}
    same = condition("x == y", ("x", "y"))
    assert same.holds({"x": normal(4.0), "y": 4}) is True
    with pytest.raises(CannotEvaluate, match="expected true or false"):
        condition("x", ("x",)).holds({"x": 3})
