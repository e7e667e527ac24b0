"""Progress rate: milestones of cases and of one's own, states, edges."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.cases.generate import Options, generate
from synth.errors import BadInput
from synth.observed.run import Run, ToolCall, run_from_json
from synth.progress import (
    Milestone,
    action_text,
    case_milestones,
    milestones_from_json,
    progress,
    state_progress,
    steps_of,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(), max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


def ran(*tools: str) -> Run:
    """A run of successful calls; `-tool` failed, `?tool` never ran."""
    return Run(
        "r",
        tuple(
            ToolCall(None, tool.lstrip("-?"), error="no" if tool[0] == "-" else None, executed=tool[0] != "?")
            for tool in tools
        ),
    )


A_THEN_B = (Milestone("a", "a"), Milestone("b", "b", after=("a",)))


def test_two_of_four_digits_are_half_of_the_way() -> None:
    assert state_progress(["5698"], lambda guess: sum(map(str.__eq__, guess, "5618")) / 4) == (0.75,)
    assert state_progress(["1618", "5231"], lambda guess: sum(map(str.__eq__, guess, "5331")) / 4) == (
        0,
        0.75,
    )
    assert state_progress(["5634"], lambda guess: sum(map(str.__eq__, guess, "5618")) / 4) == (2 / 4,)


@pytest.mark.parametrize(
    ("tools", "wanted"),
    [
        ("a b", (0.5, 1)),
        ("b a", (0, 0.5)),
        ("b a b", (0, 0.5, 1)),
        ("-a a b a", (0, 0.5, 1, 1)),
        ("?a b x", (0, 0, 0)),
    ],
)
def test_a_milestone_needs_a_success_and_those_before_it(tools: str, wanted: tuple[float, ...]) -> None:
    assert progress(ran(*tools.split()), A_THEN_B) == wanted


def test_edges() -> None:
    assert progress(ran("a"), ()) is None
    assert progress(ran(), A_THEN_B) == ()
    assert state_progress([], lambda state: 1) == ()


def test_one_call_reaches_all_that_it_is_but_none_that_waits_for_them() -> None:
    both = (Milestone("1", "a"), Milestone("2", "a"), Milestone("3", "a", after=("1",)))
    assert progress(ran("a", "a"), both) == (2 / 3, 1)


def test_arguments_are_compared_as_json() -> None:
    def calls(*arguments: Any) -> Run:
        return Run("r", tuple(ToolCall(None, "t", each) for each in arguments))

    wanted = milestones_from_json([{"tool": "t", "arguments": {"x": 1, "y": [2]}}])
    run = calls({"x": 1}, "x", None, {"x": True, "y": [2]}, {"x": 1.0, "y": [2], "z": 0})
    assert progress(run, wanted) == (0, 0, 0, 0, 1)
    nan = (Milestone("n", "t", {"x": float("nan")}),)
    assert progress(calls({"x": 1.0}, {"x": float("nan")}), nan) == (0, 1)


def test_the_actions_of_a_case_in_any_valid_order_are_progress_at_each_call() -> None:
    for case in generate(5, 3, Options(actions=(4, 6)), confirm=False):
        milestones, run = case_milestones(case), []
        done: set[str] = set()
        while len(done) < len(milestones):
            ready = [m for m in milestones if m.name not in done and set(m.after) <= done]
            run.append(ready[-1].tool)
            done.add(ready[-1].name)
        size = len(milestones)
        assert progress(ran(*run), milestones) == tuple(i / size for i in range(1, size + 1))
        late = [m for m in milestones if m.after]
        assert late
        first = [m for m in milestones if m.name == late[0].name]
        assert progress(ran(first[0].tool), milestones) == (0,)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({}, "a list of objects"),
        ([1], r"milestones\[0\]: a milestone is an object"),
        ([{"tool": 1}], "names a tool"),
        ([{"tool": "a", "name": 2}], "names a tool"),
        ([{"tool": "a", "arguments": []}], "arguments of a milestone"),
        ([{"tool": "a", "after": "b"}], "list of names"),
        ([{"tool": "a", "then": "b"}], "no field 'then'"),
        ([{"tool": "a"}, {"tool": "a"}], "a name of its own"),
        ([{"tool": "a", "after": ["b"]}], "'b', which is no milestone"),
        ([{"tool": "a", "after": ["b"]}, {"tool": "b", "after": ["a"]}], "wait for each other"),
    ],
    ids=["object", "number", "tool", "name", "arguments", "after", "field", "twice", "unknown", "circle"],
)
def test_bad_milestones_are_named(said: Any, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        milestones_from_json(said)


@pytest.mark.parametrize("rate", [1.5, -0.1, float("nan"), None, True, "1"])
def test_a_function_of_state_gives_a_share(rate: Any) -> None:
    with pytest.raises(BadInput, match="after step 1 is a number from 0 to 1"):
        state_progress(["state"], lambda state: rate)


def test_steps_have_the_four_attributes_of_the_paper() -> None:
    run = run_from_json(
        {"run_id": "r", "calls": [
            {"id": None, "name": "guess", "arguments": {"b": 1, "a": [True]}, "result": "no",
             "state": {"goal": "12"}},
            {"id": None, "name": "guess", "arguments": {}, "error": "too long"},
        ]}
    )  # fmt: skip
    first, second = steps_of(run)
    assert (first.number, first.action) == (1, 'guess {"a":[true],"b":1}')
    assert (first.observation, first.state) == ("no", {"goal": "12"})
    assert (second.number, second.observation, second.state) == (2, "too long", None)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.text(st.characters(), min_size=1, max_size=3), VALUES), max_size=6))
def test_hostile_names_and_values_have_progress_and_texts(said: list[tuple[str, Any]]) -> None:
    run = Run("r", tuple(ToolCall(None, tool, value) for tool, value in said))
    milestones = tuple(Milestone(str(i), tool) for i, (tool, _) in enumerate(said))
    rates = progress(run, milestones)
    assert rates is None if not said else rates[-1] == 1 and list(rates) == sorted(rates)
    for call in run.calls:
        turned = (
            dict(reversed(call.arguments.items())) if isinstance(call.arguments, dict) else call.arguments
        )
        assert action_text(call) == action_text(ToolCall(None, call.tool, turned))


def test_what_is_no_json_has_a_text_too() -> None:
    big = 1 << 70
    assert action_text(ToolCall(None, "t", {"x": big, "a": "\ud800"})) == f't {{"a":"\ud800","x":{big}}}'
    assert action_text(ToolCall(None, "t", {1: "\ud800", "a": 2})) == "t {1: '\\ud800', 'a': 2}"
