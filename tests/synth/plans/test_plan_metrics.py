"""Scores of plans part by part: example plans by hand, stated values for the edges, hostile plans."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.errors import BadInput
from synth.plans import (
    Pair,
    Plan,
    PlanStep,
    Score,
    corpus_scores,
    corpus_with_alternatives,
    edit_distance,
    plan_from_json,
    plan_from_text,
    plan_scores,
    plan_to_json,
    readable_plan,
    taskbench,
)

ONE = Score(1, 1, 1)
NOTHING = Score(0, 0, 0)


def plan(*steps: tuple[str, dict[str, Any]]) -> Plan:
    return tuple(PlanStep(at, tool, arguments) for at, (tool, arguments) in enumerate(steps))


CAPTION = plan(
    ("image captioning", {"image": "a.jpg"}),
    ("wikipedia search", {"text": "<node-0>.text"}),
    ("text summarization", {"text": "<node-1>.text"}),
)


def wrong(at: int, tool: str | None = None, **arguments: Any) -> Plan:
    """CAPTION with another tool, or other arguments, in one step."""
    changed = PlanStep(at, tool or CAPTION[at].tool, arguments or CAPTION[at].arguments)
    return tuple(changed if step.id == at else step for step in CAPTION)


def test_an_example_plan_part_by_part() -> None:
    two = Score(2 / 3, 2 / 3, 2 / 3)
    half = Score(1 / 2, 1 / 2, 1 / 2)
    tool = plan_scores(CAPTION, wrong(1, "image classification"))
    assert (tool.tool, tool.argname, tool.argvalue, tool.edge) == (two, two, two, NOTHING)
    assert tool.normalized_edit_distance == pytest.approx(1 / 3)
    assert (tool.tool_accuracy, tool.argname_accuracy, tool.argvalue_accuracy) == (False, False, False)
    name = plan_scores(CAPTION, wrong(1, query="<node-0>.text"))
    assert (name.tool, name.argname, name.argvalue, name.edge) == (ONE, two, two, ONE)
    assert (name.tool_accuracy, name.argname_accuracy, name.argvalue_accuracy) == (True, False, False)
    value = plan_scores(CAPTION, wrong(1, text="<node-0>.label"))
    assert (value.tool, value.argname, value.argvalue, value.edge) == (ONE, ONE, two, ONE)
    assert (value.tool_accuracy, value.argname_accuracy, value.argvalue_accuracy) == (True, True, False)
    cut = plan_scores(CAPTION, CAPTION[:2])
    assert (cut.tool.precision, cut.tool.recall, cut.edge.recall) == (1, 2 / 3, half.recall)
    assert cut.normalized_edit_distance == pytest.approx(1 / 5)


def test_order_is_seen_by_edges_distance_and_accuracy_alone() -> None:
    found = plan_scores(CAPTION, tuple(reversed(CAPTION)))
    assert (found.tool, found.argname, found.argvalue, found.edge) == (ONE, ONE, ONE, NOTHING)
    assert (found.normalized_edit_distance, found.tool_accuracy) == (pytest.approx(2 / 3), False)


def test_both_empty_is_one_and_one_empty_is_none() -> None:
    both = plan_scores((), ())
    assert (both.tool, both.argname, both.argvalue, both.edge) == (ONE, ONE, ONE, ONE)
    assert (both.normalized_edit_distance, both.argvalue_accuracy) == (0, True)
    for gold, said in ((CAPTION, ()), ((), CAPTION), (CAPTION, None)):
        found = plan_scores(gold, said)
        assert (found.tool, found.argname, found.argvalue, found.edge) == (NOTHING,) * 4
        assert (found.normalized_edit_distance, found.tool_accuracy) == (1, False)
    assert plan_scores((), None).tool == ONE


def test_the_same_edges_of_whole_corpora() -> None:
    both = corpus_scores([Pair((), ())], ["a", "b"])
    assert (
        both["tool_macro_f1"] == both["argvalue_f1"] == both["edge_f1"] == both["plan_tool_accuracy"] == 100
    )
    assert corpus_scores([]) == both
    none = corpus_scores([Pair(CAPTION, None)])
    assert none["invalid_predictions"] == 1
    assert (none["tool_macro_f1"], none["edge_f1"], none["tool_normalized_edit_distance"]) == (0, 0, 100)
    single = corpus_scores([Pair(CAPTION[:1], CAPTION[:1])])
    assert single["edge_f1"] == 100


def test_an_unknown_tool_is_wrong_but_not_among_all_tools() -> None:
    said = wrong(2, "teleport")
    assert plan_scores(CAPTION, said).tool.f1 == pytest.approx(2 / 3)
    listed = [step.tool for step in CAPTION]
    assert corpus_scores([Pair(CAPTION, said)], listed)["tool_macro_f1"] == pytest.approx(200 / 3)
    assert corpus_scores([Pair(CAPTION, said)])["tool_macro_f1"] == pytest.approx(200 / 4)


def test_duplicate_nodes_count_once_but_for_order() -> None:
    found = plan_scores(CAPTION, (*CAPTION, CAPTION[2]))
    assert (found.tool, found.argvalue, found.tool_accuracy) == (ONE, ONE, False)
    assert (found.edge.precision, found.edge.recall) == (2 / 3, 1)
    assert found.normalized_edit_distance == pytest.approx(1 / 7)


def test_circles_are_compared_like_other_plans() -> None:
    circle = plan(("a", {"x": "<node-1>.y"}), ("b", {"x": "<node-0>.y"}))
    assert plan_scores(circle, circle).argvalue == ONE


def test_values_are_compared_as_lower_case_text() -> None:
    for one, other in (
        (42, "42"),
        ("PHOTO.JPG", "photo.jpg"),
        (True, "true"),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ):
        assert plan_scores(plan(("t", {"x": one})), plan(("t", {"x": other}))).argvalue == ONE
    assert plan_scores(plan(("t", {"x": "a"})), plan(("t", {"x": "b"}))).argvalue == NOTHING


def test_parts_of_names_do_not_run_together() -> None:
    found = plan_scores(plan(("t", {"a": "b", "c": ""})), plan(("t", {"a": "b,c"})))
    assert (found.argname, found.argvalue) == (NOTHING, NOTHING)


def test_another_right_plan_counts_where_alternatives_do() -> None:
    other = wrong(2, "text classification")
    said = Pair(CAPTION, other, (CAPTION[:1], other))
    assert plan_scores(CAPTION, other, (other,)).argvalue_accuracy
    assert corpus_scores([said])["plan_tool_accuracy"] == 0
    assert corpus_with_alternatives([said])["plan_argvalue_accuracy"] == 100


def test_the_order_of_values_tells_the_nearest_right_plan() -> None:
    one, other = plan(("t", {"x": 1}), ("t", {"x": 2})), plan(("t", {"x": 2}), ("t", {"x": 1}))
    assert not plan_scores(one, other).argvalue_accuracy
    assert plan_scores(one, other, (other,)).argvalue_accuracy


def test_the_nearest_alternative_is_taken_of_none_that_is_right() -> None:
    found = plan_scores(CAPTION, wrong(1, "b"), (plan(("x", {})), wrong(1, "c"), wrong(1, "b", text="?")))
    assert found.tool == ONE
    assert not found.argvalue_accuracy


NO_PLANS: dict[str, Any] = {
    "none": None,
    "text": "I can not",
    "object": {},
    "number": 1,
    "numbers": [1],
    "nothing": [{}],
    "no-args": [{"name": "a"}],
    "name": [{"name": 1, "args": {}}],
    "args": [{"name": "a", "args": []}],
    "negative": [{"name": "a", "args": {}, "id": -1}],
    "word": [{"name": "a", "args": {}, "id": "x"}],
    "flag": [{"name": "a", "args": {}, "id": True}],
    "deep": [{"name": "a", "args": {"x": json.loads("[" * 60 + "]" * 60)}}],
}


@pytest.mark.parametrize("said", NO_PLANS.values(), ids=NO_PLANS.keys())
def test_what_is_no_plan_is_refused_by_its_place(said: Any) -> None:
    with pytest.raises(BadInput, match="plan"):
        plan_from_json(said)
    assert readable_plan(said) is None


def test_plans_are_read_and_written_in_either_spelling() -> None:
    said = plan_to_json(CAPTION)
    assert (
        plan_from_json(said) == plan_from_json({"nodes": said}) == plan_from_json({"plan": said}) == CAPTION
    )
    assert plan_from_json([{"name": "a", "args": {}}, {"id": "7", "name": "a", "args": {}}])[1].id == 7
    assert plan_from_text('Sure:\n```json\n[{"name": "a", "args": {}}]\n```\nDone.') == plan(("a", {}))
    assert plan_from_text(' [{"name": "a", "args": {}}]') == plan(("a", {}))


@pytest.mark.parametrize(
    "text", ["", "[", "x" * 1_000_001, "[" * 100_000], ids=["none", "cut", "long", "deep"]
)
def test_text_that_is_no_plan_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="plan"):
        plan_from_text(text)


NAMES = st.sampled_from(["a", "b", "", "\ud800", "<node-0>.x", "a b"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=5,
)
STEPS = st.builds(PlanStep, st.integers(0, 3), NAMES, st.dictionaries(NAMES, VALUES, max_size=3))
PLANS = st.lists(STEPS, max_size=6).map(tuple)


@settings(max_examples=30)
@given(PLANS, PLANS, st.lists(PLANS, max_size=2))
def test_every_pair_of_plans_has_scores(gold: Plan, said: Plan, others: list[Plan]) -> None:
    found = plan_scores(gold, said).to_json()
    assert all(0 <= value <= 1 for value in found.values())
    same = plan_scores(said, said)
    assert (same.tool, same.argvalue, same.edge, same.argvalue_accuracy) == (ONE, ONE, ONE, True)
    for part in ("tool", "argname", "argvalue"):
        assert not found[f"plan_{part}_accuracy"] or found[f"{part}_f1"] == 1
    better = plan_scores(gold, said, others)
    assert better.argvalue.f1 >= found["argvalue_f1"] or better.argvalue_accuracy
    assert all(0 <= value <= 100 for value in corpus_scores([Pair(gold, said, tuple(others))]).values())


@settings(max_examples=30)
@given(PLANS, PLANS)
def test_precision_and_recall_change_places_with_the_sides(gold: Plan, said: Plan) -> None:
    here, there = plan_scores(gold, said), plan_scores(said, gold)
    assert (here.tool.precision, here.edge.recall) == (there.tool.recall, there.edge.precision)
    assert here.normalized_edit_distance == there.normalized_edit_distance


def test_ten_thousand_nodes() -> None:
    long = tuple(PlanStep(at, f"tool {at % 97}", {"x": f"<node-{max(0, at - 1)}>.y"}) for at in range(10_000))
    assert plan_scores(long, long).argvalue_accuracy
    found = plan_scores(long, long[::2])
    assert found.tool == ONE
    assert found.normalized_edit_distance == pytest.approx(1 / 3)


def test_the_edit_distance_is_of_insertions_and_deletions() -> None:
    assert edit_distance("abc", "axc") == pytest.approx(1 / 3)
    assert edit_distance([], []) == 0
    assert edit_distance([1], []) == 1


HOSTILE = st.recursive(
    st.none()
    | st.integers()
    | st.text(max_size=4)
    | st.sampled_from(["<node-0>", "<node-9>", "x.jpg", "Image_A"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["task", "arguments", "task_nodes", "task_links", "source", "target", "name", "value"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=30)
@given(HOSTILE, HOSTILE, st.sampled_from(["temporal", "resource"]))
def test_every_sample_has_taskbench_scores(gold: Any, said: Any, dependency: taskbench.Dependency) -> None:
    tools = taskbench.tools_from_json([{"id": "Image A", "output-type": ["image"]}])
    pair = [taskbench.sample_of(one, dependency, tools) for one in (gold, said)]
    found = taskbench.corpus_scores([(pair[0], pair[1])], tools.names)
    assert all(0 <= value <= 1 for value in found.values())


def test_taskbench_edges() -> None:
    tools = taskbench.tools_from_json([{"id": "a", "output-type": []}, {"id": "b"}])
    node = {"task": "a", "arguments": ["<node-0>", "<node-1>", "<node-7>", "x.png"]}
    sample = taskbench.sample_of({"task_nodes": [node, {"task": "z"}]}, "resource", tools)
    assert sample == taskbench.Sample(
        ("a", "z"),
        frozenset({("a", "other"), ("a", "image")}),
        frozenset({("a", "other", "z"), ("a", "image", "x.png")}),
        frozenset({("z", "a")}),
    )
    empty = taskbench.sample_of({}, "temporal", tools)
    assert taskbench.corpus_scores([(empty, empty)], tools.names)["link_binary_f1"] == 1
    assert taskbench.corpus_scores([(sample, empty)], tools.names)["node_micro_f1_no_matching"] == 0
    assert taskbench.corpus_scores([], tools.names)["edit_distance"] == 0
