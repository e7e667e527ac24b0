"""Contracts: facts that calls require, provide and clear."""

from __future__ import annotations

import pytest

from synth.errors import BadInput
from synth.formal.contracts import fact, facts_in
from synth.observed.run import Run, ToolCall
from tests.support.building import call
from tests.support.policing import brief, judged, policy


def contract(tools: str, **fields: str) -> object:
    head = "".join(f"  {name}: {value}\n" for name, value in fields.items())
    return policy(f"contract:\n{head}  tools:\n" + "".join(f"    {line}\n" for line in tools.splitlines()))


LOGIN = "do_a: {provides: session}\ndo_b: {requires: session}\ndo_c: {clears: session}"


@pytest.mark.parametrize(
    ("calls", "on_violation", "expected"),
    [
        ("a b b c", "stop", ("ok", ())),
        ("b a b b", "stop", ("violated", (0,))),
        ("b a c b", "skip", ("violated", (0, 3))),
        ("a! b", "stop", ("violated", (1,))),
        ("b!", "stop", ("violated", (0,))),
        ("", "stop", ("not_applicable", ())),
        ("d", "stop", ("ok", ())),
    ],
)
def test_sessions(calls: str, on_violation: str, expected: tuple[str, tuple[int, ...]]) -> None:
    assert brief(contract(LOGIN, on_violation=on_violation), calls) == expected  # type: ignore[arg-type]


def test_what_a_bad_call_changes_depends_on_the_mode() -> None:
    tools = "do_a: {requires: p, provides: q}\ndo_b: {requires: q}"
    assert brief(contract(tools, on_violation="apply"), "a b") == ("violated", (0,))  # type: ignore[arg-type]
    assert brief(contract(tools, on_violation="skip"), "a b") == ("violated", (0, 1))  # type: ignore[arg-type]
    assert brief(contract(tools, on_violation="stop"), "a b") == ("violated", (0,))  # type: ignore[arg-type]


def details(policies: object, calls: list[ToolCall], **fields: object) -> tuple[object, ...]:
    result = judged(policies, Run("run", tuple(calls), **fields))  # type: ignore[arg-type]
    return tuple(result.details[name] for name in ("valid", "first_bad", "unmet", "goal_reached"))


MOVE = contract(
    'do_a:\n  args: [x, y]\n  requires: ["at {x}", "not at {y}"]\n'
    '  clears: ["at {x}"]\n  provides: ["at {y}"]',
    initial="[at home]",
    goal="[at work]",
    objects="[home, work, pub]",
)


def go(x: object, y: object, **more: object) -> ToolCall:
    return call("a", arguments={"x": x, "y": y, **more})


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([go("home", "work")], (True, None, [], True)),
        ([go("home", "pub")], (False, None, [], False)),
        ([], (False, None, [], False)),
        ([go("pub", "work")], (False, 0, ["at pub"], False)),
        ([go("home", "home")], (False, 0, ["not at home"], False)),
        ([go("home", "moon")], (False, 0, ["<unknown action, object or argument count>"], False)),
        ([go("home", "work", z=1)], (False, 0, ["<unknown action, object or argument count>"], False)),
        ([call("a", arguments=None)], (None, None, [], None)),
        ([call("a", arguments="{x")], (False, 0, ["<unknown action, object or argument count>"], False)),
    ],
)
def test_moves_and_goals(calls: list[ToolCall], expected: tuple[object, ...]) -> None:
    assert details(MOVE, calls) == expected


@pytest.mark.parametrize(
    ("tools", "verdict"),
    [
        ("do_a: {args: [x]}", "unsupported"),
        ("do_a: {args: []}", "ok"),
        ("do_a: {provides: p}", "ok"),
        ("do_a: {requires: p}", "violated"),
        ("do_a: {requires: 'p {x}'}", "unsupported"),
        ("do_a: {effects: [{clears: 'p {x}'}]}", "unsupported"),
        ("do_a: {check: args.x > 1}", "unsupported"),
        ("do_a: {provides: p, when: args.x > 1}", "unsupported"),
        ("do_b: {args: [x]}", "ok"),
    ],
)
def test_arguments_that_were_not_recorded_are_unsupported_where_they_matter(tools: str, verdict: str) -> None:
    assert brief(contract(tools), [call("a", arguments=None)])[0] == verdict  # type: ignore[arg-type]
    broken = contract(f"{tools}\ndo_c: {{requires: q}}")
    assert brief(broken, [call("c"), call("a", arguments=None)]) == ("violated", (0,))  # type: ignore[arg-type]


def test_a_tool_that_was_not_offered_is_unknown() -> None:
    calls = [call("z")]
    assert details(MOVE, calls, tools=("do_a",))[2] == ["<unknown action, object or argument count>"]
    assert details(MOVE, calls, tools=("do_a", "do_z"))[:2] == (False, None)
    closed = contract("do_a: {provides: p}", closed="true")
    assert details(closed, calls, tools=("do_z",))[1] == 0


def test_effects_may_depend_on_arguments_and_results() -> None:
    login = contract(
        "do_a:\n  provides: in\n  when: result.ok == true\n"
        "do_b:\n  effects:\n    - {when: args.open == true, provides: 'open {doors}'}\n"
        "    - {when: args.open == false, clears: 'open {doors}'}\n"
        "do_c: {requires: [in, open left, 'not open right']}"
    )
    yes, no = call("a", result={"ok": True}), call("a", result='{"ok": false}')
    both = call("b", arguments={"open": True, "doors": ["left", "right"]})
    shut = call("b", arguments={"open": False, "doors": ["right"]})
    assert brief(login, [yes, both, shut, call("c")]) == ("ok", ())  # type: ignore[arg-type]
    assert details(login, [no, both, call("c")])[2] == ["in", "not open right"]
    unclear = judged(login, [call("a", result="text")])  # type: ignore[arg-type]
    assert unclear.verdict == "undecided"
    assert unclear.explanation.startswith("the condition needs a value that the call or")


def test_wild_words_come_from_the_contract_and_never_from_arguments() -> None:
    tools = (
        'do_a: {provides: "on {x} {y}"}\n'
        'do_b: {requires: "not on !{x} {y}"}\n'
        'do_c: {clears: "on * {y}"}\n'
        'do_d: {requires: "on {x} {y}"}\n'
        'do_e: {requires: "on * {y}"}'
    )
    spec = contract(tools, on_violation="skip")

    def on(name: str, x: str, y: str) -> ToolCall:
        return call(name, arguments={"x": x, "y": y})

    assert brief(spec, [on("a", "1", "2"), on("b", "1", "2"), on("b", "3", "2")]) == ("violated", (2,))  # type: ignore[arg-type]
    assert brief(spec, [on("a", "1", "2"), on("c", "9", "2"), on("e", "", "2")]) == ("violated", (2,))  # type: ignore[arg-type]
    assert brief(spec, [on("a", "1", "2"), on("d", "*", "2"), on("d", "!9", "2")]) == ("violated", (1, 2))  # type: ignore[arg-type]


def test_numbers_and_flags_become_words() -> None:
    spec = contract('do_a: {provides: "has {x}"}\ndo_b: {requires: "has {x}"}')
    pairs = [(4, 4.0, "ok"), (True, True, "ok"), ("true", True, "ok"), (4, 5, "violated")]
    for first, then, verdict in pairs:
        calls = [call("a", arguments={"x": first}), call("b", arguments={"x": then})]
        assert brief(spec, calls)[0] == verdict  # type: ignore[arg-type]


def test_a_check_is_one_more_condition() -> None:
    spec = contract("do_a: {check: args.x != args.y}")
    assert brief(spec, [go(1, 2)]) == ("ok", ())  # type: ignore[arg-type]
    assert details(spec, [go(1, 1)])[2] == ["args.x != args.y"]


def test_facts_come_from_fields_of_the_run() -> None:
    spec = contract("do_a: {requires: door left}", initial="setup.start")
    assert brief(spec, "a")[0] == "unsupported"  # type: ignore[arg-type]
    known = Run("run", (call("a"),), extra={"setup": {"start": {"door": ["left"]}}})
    assert brief(spec, known) == ("ok", ())  # type: ignore[arg-type]
    assert facts_in({"a": True, "b": False, "c": ["x", "y z"], "d": {"e": 4.0}}) == {
        fact("a"), fact("c x"), fact("c y z"), fact("d e 4"),
    }  # fmt: skip


def test_a_blocked_call_does_not_break_a_contract() -> None:
    blocked = call("b", executed=False, error="refused", extra={"blocked": True})
    assert brief(contract(LOGIN), [blocked, call("a"), call("b")]) == ("ok", ())  # type: ignore[arg-type]
    invented = call("b", executed=False, error="unknown tool")
    assert brief(contract(LOGIN), [invented]) == ("violated", (0,))  # type: ignore[arg-type]


def test_a_goal_of_an_open_run_is_pending() -> None:
    assert judged(MOVE, Run("run", (), status="running")).verdict == "undecided"  # type: ignore[arg-type]


def test_long_lists_do_not_explode() -> None:
    spec = contract('do_a: {provides: "p {x} {y} {z}"}')
    wide = {name: list(range(200)) for name in "xyz"}
    assert brief(spec, [call("a", arguments=wide)])[0] == "undecided"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ("do_a: {args: [x], requires: 'on {y}'}", "no argument 'y'"),
        ("do_a: {provides: 'on *'}", "cannot be provided"),
        ("do_a: {clears: 'not on'}", "belongs into `requires`"),
        ("do_a: {requires: 'not'}", "at least one word"),
        ("do_a: {when: 'args.'}", "not a CEL expression"),
        ("do_a: {needs: x}", "no such field"),
    ],
)
def test_bad_contracts_are_refused(tools: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        contract(tools)
