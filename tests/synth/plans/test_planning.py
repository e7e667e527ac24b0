"""Planning agents, simulated planners with planted faults, tasks drawn from a tool graph, and execution."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from synth.errors import BadInput
from synth.experiments.planning import (
    Row,
    attempts,
    built_in_tools,
    model_planner,
    model_words,
    rows,
    simulated_planners,
)
from synth.plans import PlanStep, graph_from_json, plan_from_json, verify
from synth.plans.execute import SimulatedTools, execute
from synth.plans.planning import DESIGNS, FEEDBACKS, Design, Message, Reply, plan_task
from synth.plans.simulated import FAULTS, HEEDS, LOWERS, SimulatedPlanner
from synth.plans.tasks import PlanTask, alternatives, sample_tasks, task_from_json

GRAPH = built_in_tools()
TASKS = list(sample_tasks(GRAPH, 12, seed=3, sizes=(2, 3)))
F1 = {"tool": "tool_macro_f1", "edge": "edge_f1", "argname": "argname_f1", "argvalue": "argvalue_f1"}
FINDS = {
    "tool": {"PV", "PE", "PVE"}, "argument": {"PV", "PE", "PVE"}, "connection": {"PV", "PE", "PVE"},
    "value": {"PE", "PVE"}, "json": {"P", "PV", "PE", "PVE"}, "code": {"P", "PV", "PE", "PVE"},
}  # fmt: skip
"""Fault -> the feedbacks that notice it."""


def table(planners: Sequence[str], designs: Sequence[Design]) -> dict[tuple[str, str], Row]:
    chosen = {name: planner for name, planner in simulated_planners(GRAPH).items() if name in planners}
    found = rows(list(attempts(TASKS, GRAPH, designs, chosen)), GRAPH)
    return {(row.planner, row.design.name): row for row in found}


def form_of(fault: str) -> str:
    return "code" if fault == "code" else "json"


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_lowers_the_metrics_of_its_part_and_no_other(fault: str) -> None:
    design = Design("multi-step", form_of(fault), "none")  # type: ignore[arg-type]
    (row,) = table([f"simulated-{fault}-never"], [design]).values()
    assert {part for part, name in F1.items() if row.scores[name] < 100} == LOWERS[fault]  # type: ignore[index]
    assert (row.pass_rate < 1) == (fault != "none")
    assert (row.scores["plan_argvalue_accuracy"] < 100) == (fault != "none")
    assert row.execution_accuracy == (fault == "none") or fault == "connection"
    assert (row.execution_accuracy < row.pass_rate) == (fault == "value")


@pytest.mark.parametrize("strategy", ["multi-step", "step-by-step"])
@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault != "none"])
def test_feedback_helps_the_planner_that_heeds_it_and_not_the_deaf_one(fault: str, strategy: Any) -> None:
    designs = [Design(strategy, form_of(fault), feedback) for feedback in FEEDBACKS]  # type: ignore[arg-type]
    found = table([f"simulated-{fault}-{heeds}" for heeds in HEEDS], designs)
    for design in designs:
        always, half, never = (found[f"simulated-{fault}-{heeds}", design.name] for heeds in HEEDS)
        alone = found[f"simulated-{fault}-never", designs[0].name]
        if design.feedback in FINDS[fault]:
            assert always.pass_rate == 1 > never.pass_rate
            assert alone.pass_rate < half.pass_rate
            assert always.turns < half.turns < never.turns or strategy == "step-by-step"
        else:
            assert always.pass_rate == half.pass_rate == never.pass_rate == alone.pass_rate
        assert never.pass_rate == alone.pass_rate


def test_a_right_planner_is_right_in_every_design() -> None:
    for row in table(["simulated-none-never"], DESIGNS).values():
        assert all(value == 100 for name, value in row.scores.items() if name.endswith(("f1", "accuracy")))
        assert (row.pass_rate, row.execution_accuracy) == (1, 1)
        sizes = [len(task.plan) for task in TASKS]
        single = row.design.strategy == "multi-step"
        assert row.turns == pytest.approx(1 if single else sum(sizes) / len(sizes) + 1)


def scripted(*texts: str) -> Any:
    """A model that says one text after another, and remembers what it was told."""
    seen: list[list[Message]] = []

    def ask(messages: Sequence[Message]) -> Reply:
        seen.append([dict(message) for message in messages])
        return Reply(texts[min(len(seen), len(texts)) - 1], tokens=7)

    ask.seen = seen  # type: ignore[attr-defined]
    return ask


def said(tool: str = "image captioning", id: int = 0, **arguments: Any) -> str:
    return json.dumps([{"id": id, "name": tool, "args": arguments or {"image": "a.jpg"}}])


TOOLS = SimulatedTools(GRAPH, {"a.jpg"})


def test_each_feedback_says_what_it_found() -> None:
    for wrong, feedback, words in (
        ("Sorry!", "P", "Parsing error"),
        (said("teleport"), "PV", "Verification error: step 0: there is no tool named 'teleport'"),
        (
            said(image="b.jpg"),
            "PE",
            "Execution error: step 0 (image captioning): image: there is no file b.jpg",
        ),
    ):
        ask = scripted(wrong, said())
        found = plan_task("What is it?", GRAPH, Design("multi-step", "json", feedback), ask, TOOLS)
        assert found.plan == plan_from_json(json.loads(said()))
        assert (found.turns, found.tokens, len(found.complaints)) == (2, 14, 1)
        assert found.complaints[0].startswith(words)
        assert ask.seen[1][-1] == {"role": "user", "content": found.complaints[0]}
        assert ask.seen[0][1] == {"role": "user", "content": "What is it?"}


def test_without_feedback_the_first_answer_counts() -> None:
    found = plan_task("?", GRAPH, Design("multi-step", "json", "none"), scripted("Sorry!", said()), TOOLS)
    assert (found.plan, found.turns, found.text) == (None, 1, "Sorry!")


def test_a_planner_that_never_gets_it_right_has_ten_turns() -> None:
    found = plan_task("?", GRAPH, Design(), scripted(said("teleport")), TOOLS)
    assert (found.turns, len(found.complaints)) == (10, 9)
    assert found.plan == (PlanStep(0, "teleport", {"image": "a.jpg"}),)


@pytest.mark.parametrize("form", ["json", "code"])
def test_step_by_step_a_planner_sees_what_its_step_gave(form: Any) -> None:
    first, then = said(), said("text summarization", 1, text="<node-0>.text")
    if form == "code":
        first, then = (
            "output0 = image_captioning(image='a.jpg')",
            "output1 = text_summarization(text=output0['text'])",
        )
    ask = scripted(first, then, "DONE.")
    found = plan_task("?", GRAPH, Design("step-by-step", form, "PE"), ask, TOOLS)
    assert found.plan is not None
    assert [step.arguments for step in found.plan] == [{"image": "a.jpg"}, {"text": "<node-0>.text"}]
    assert ask.seen[1][-1]["content"].startswith('Result: {"text": "text#')
    plain = scripted(first, "DONE")
    assert len(plan_task("?", GRAPH, Design("step-by-step", form, "P"), plain, TOOLS).plan or ()) == 1
    assert plain.seen[1][-1]["content"] == "Next step."


def test_step_by_step_a_step_is_not_blamed_for_those_before() -> None:
    wrong, right = said("teleport", x=1), said("text summarization", 1, text="a")
    ask = scripted(*[wrong] * 10, right, "DONE")
    found = plan_task("?", GRAPH, Design("step-by-step", "json", "PV"), ask, TOOLS)
    assert [step.tool for step in found.plan or ()] == ["teleport", "text summarization"]
    assert (found.turns, len(found.complaints)) == (12, 9)


def test_a_step_by_step_planner_that_never_ends_is_stopped() -> None:
    found = plan_task("?", GRAPH, Design("step-by-step", "json", "none"), scripted(said()), TOOLS)
    assert len(found.plan or ()) == 10


@pytest.mark.parametrize(
    "given", [("both", "json", "P"), ("multi-step", "xml", "P"), ("multi-step", "json", "V")]
)
def test_an_unknown_design_is_refused(given: Any) -> None:
    with pytest.raises(BadInput, match="is none of"):
        Design(*given)


def test_a_planner_of_half_an_ear_answers_the_same_to_the_same() -> None:
    planner = SimulatedPlanner(TASKS[0], GRAPH, Design(), "tool", "half")
    start = [{"role": "user", "content": "?"}, {"role": "user", "content": "No. Answer again."}]
    assert len({planner(start).text for _ in range(5)}) == 1


def test_a_fault_that_a_plan_has_no_room_for_is_not_planted() -> None:
    single = next(sample_tasks(GRAPH, 1, sizes=(1,)))
    assert SimulatedPlanner(single, GRAPH, Design(), "connection").spoilt == (single.plan, None)


# ---------------------------------------------------------------- tasks


def test_drawn_tasks_can_be_carried_out_and_their_alternatives_too() -> None:
    drawn = list(sample_tasks(GRAPH, 40, seed=1))
    assert {len(task.plan) for task in drawn} == {1, 2, 3}
    assert len({task.query for task in drawn}) > 35
    assert sum(bool(task.alternatives) for task in drawn) > 5
    for task in drawn:
        for plan in (task.plan, *task.alternatives):
            assert verify(plan, GRAPH) == ()
            assert execute(plan, SimulatedTools(GRAPH, task.files)).passed
        assert all("<node-" in json.dumps(dict(step.arguments)) for step in task.plan[1:])
    assert drawn == list(sample_tasks(GRAPH, 40, seed=1)) != list(sample_tasks(GRAPH, 40, seed=2))


def test_tools_of_the_same_types_stand_for_each_other() -> None:
    plan = (PlanStep(0, "image captioning", {"image": "a.jpg"}),)
    assert alternatives(plan, GRAPH) == ((PlanStep(0, "sign reading", {"image": "a.jpg"}),),)
    untyped = graph_from_json(
        [{"name": "a", "inputs": ["x"], "outputs": ["y"]}, {"name": "b", "inputs": ["x"], "outputs": ["y"]}]
    )
    assert alternatives((PlanStep(0, "a", {"x": 1}),), untyped) == ()


def test_a_model_may_word_the_query() -> None:
    (task,) = sample_tasks(GRAPH, 1, words=lambda plan, graph: f"{len(plan)} steps")
    assert task.query == f"{len(task.plan)} steps"


def test_a_graph_without_such_a_chain_is_refused() -> None:
    with pytest.raises(BadInput, match="no 2 tools follow"):
        list(sample_tasks(graph_from_json([{"name": "a", "inputs": ["x"], "outputs": ["y"]}]), 1, sizes=(2,)))
    with pytest.raises(BadInput, match="no tools"):
        list(sample_tasks(graph_from_json([]), 1))


def test_a_users_copy_of_the_data_set_is_read() -> None:
    plan = [{"id": 0, "name": "image captioning", "args": {"image": "1.jpg"}}]
    row = {"id": 7, "user_request": "What is in 1.jpg?", "plan_str": json.dumps(plan), "code_str": "x()",
           "alt_plans_str": json.dumps([plan])}  # fmt: skip
    task = task_from_json(row)
    assert task == PlanTask("7", "What is in 1.jpg?", plan_from_json(plan), (plan_from_json(plan),), "x()")
    assert task_from_json(task.to_json()) == task
    assert task_from_json({"query": "?", "plan": plan}, 3).id == "3"


@pytest.mark.parametrize(
    "row",
    [1, {}, {"query": "?"}, {"plan": [{}]}, {"query": "?", "plan": "["}, {"query": "?", "plan": [{}]},
     {"query": "?", "plan": [{"name": "a", "args": {}}], "alternatives": {"a": 1}}],
    ids=["number", "nothing", "no-plan", "no-query", "no-json", "no-step", "alternatives"],
)  # fmt: skip
def test_what_is_no_task_is_refused(row: Any) -> None:
    with pytest.raises(BadInput):
        task_from_json(row)


# ---------------------------------------------------------------- execution


def test_references_are_replaced_by_what_steps_gave_in_any_order() -> None:
    asked = []

    def call(tool: str, arguments: Any) -> Any:
        asked.append((tool, dict(arguments)))
        return {"y": tool.upper(), "n": 5}

    plan = (
        PlanStep(1, "b", {"x": "<node-0>.n", "l": ["<node-0>.y", {"k": "see <node-0>.y!"}], "o": "<node-0>"}),
        PlanStep(0, "a", {}),
    )
    done = execute(plan, call)
    assert asked == [("a", {}), ("b", {"x": 5, "l": ["A", {"k": "see A!"}], "o": {"y": "A", "n": 5}})]
    assert (done.passed, done.answer, list(done.results)) == (True, {"y": "B", "n": 5}, [0, 1])


@pytest.mark.parametrize(
    ("plan", "failed", "words"),
    [
        ([PlanStep(0, "a", {"x": "<node-1>.y"})], 0, "no result of step 1"),
        ([PlanStep(0, "a", {"x": "<node-0>.y"})], None, "wait for each other"),
        ([PlanStep(0, "a", {}), PlanStep(1, "a", {"x": "<node-0>.z"})], 1, "gives no 'z'"),
        ([PlanStep(0, "boom", {})], 0, "no such"),
    ],
    ids=["missing", "circle", "key", "tool"],
)
def test_a_plan_stops_at_the_step_that_fails(plan: list[PlanStep], failed: int | None, words: str) -> None:
    def call(tool: str, arguments: Any) -> Any:
        if tool == "boom":
            raise KeyError("no such")
        return {"y": 1}

    done = execute(tuple(plan), call)
    assert (done.passed, done.answer, done.failed) == (False, None, failed)
    assert words in (done.error or "")


def test_simulated_tools_give_the_same_for_the_same() -> None:
    one, other = (TOOLS("image captioning", {"image": "a.jpg"}) for _ in range(2))
    assert one == other
    cropped = TOOLS("image crop", {"image": "a.jpg", "object": "dog"})["image"]
    assert TOOLS("image captioning", {"image": cropped})
    assert TOOLS("image crop", {"image": "a.jpg", "object": "cat"})["image"] != cropped
    for arguments in ({"image": one["text"]}, {"image": "b.jpg"}, {}, {"image": "a.jpg", "x": 1}):
        with pytest.raises(Exception, match="image"):
            TOOLS("image captioning", arguments)


def test_a_model_plans_over_the_chat_interface() -> None:
    class Client:
        """The part of `openai.OpenAI` that is used."""

        def __init__(self) -> None:
            self.chat = self.completions = self
            self.sent: list[Any] = []

        def create(self, **sent: Any) -> Any:
            self.sent.append(sent)
            return json.loads(
                json.dumps({"choices": [{"message": {"content": said()}}], "usage": {"total_tokens": 5}}),
                object_hook=lambda found: type("Object", (), found)(),
            )

    client = Client()
    (worded,) = sample_tasks(GRAPH, 1, words=model_words(client, "w"))
    assert worded.query == said()
    assert client.sent.pop()["messages"][0]["content"].endswith(next(sample_tasks(GRAPH, 1)).query)
    ask = model_planner(client, "m", 0.5)(TASKS[0], Design())
    assert ask([{"role": "user", "content": "?"}]) == Reply(said(), 5)
    assert client.sent == [{"model": "m", "messages": [{"role": "user", "content": "?"}], "temperature": 0.5}]
