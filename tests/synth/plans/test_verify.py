"""The verifier: each kind of problem, and a second reading of the same rules on random plans."""

from __future__ import annotations

import random
from typing import Any

import pytest

from synth.errors import BadInput
from synth.plans import Plan, PlanStep, ToolGraph, graph_from_json, verify, verify_json
from tests.support.soak import tries

TOOLS = [
    {"name": "find city", "inputs": ["query"], "outputs": ["city", "country"]},
    {"name": "weather", "inputs": ["city", "date"], "outputs": ["text"], "optional": ["date"]},
    {"name": "read aloud", "inputs": ["text"], "outputs": ["audio"]},
]
EDGES = [["find city", "weather"], ["weather", "read aloud"]]
GRAPH = graph_from_json(TOOLS, EDGES)
GOOD = [
    {"id": 0, "name": "find city", "args": {"query": "Rome"}},
    {"id": 1, "name": "weather", "args": {"city": "<node-0>.city", "date": "today"}},
    {"id": 2, "name": "read aloud", "args": {"text": "In <node-0>.city: <node-1>.text"}},
]


def changed(at: int, **fields: Any) -> list[dict[str, Any]]:
    return [step | fields if step["id"] == at else step for step in GOOD]


def kinds(said: Any, graph: ToolGraph = GRAPH) -> list[str]:
    return [problem.kind for problem in verify_json(said, graph)]


def test_a_right_plan_has_no_problem_in_any_order() -> None:
    assert kinds(GOOD) == kinds(GOOD[::-1]) == kinds([]) == []
    assert kinds(changed(1, args={"city": "<node-0>.city"})) == []


@pytest.mark.parametrize(
    ("said", "problems"),
    [
        ("I can not", ["unreadable"]),
        ([{"name": "weather"}], ["unreadable"]),
        (changed(0, name="teleport"), ["tool"]),
        (changed(1, args={"date": "today"}), ["arguments"]),
        (changed(0, args={"query": "Rome", "bogus": 1}), ["arguments"]),
        (changed(1, args={"city": "<node-0>.town", "date": ""}), ["output"]),
        (changed(1, args={"city": "<node-0>", "date": ""}), ["output"]),
        (changed(1, args={"city": "<node-12>.city", "date": ""}), ["missing_step"]),
        (changed(2, args={"text": "<node-0>.city"}), ["connection"]),
        (changed(2, args={"text": ["<node-0>.city"]}), ["connection"]),
        (changed(0, args={"query": "of <node-0>.city"}), ["circle"]),
        (changed(0, args={"query": "of <node-1>.text"}), ["circle"]),
        ([*GOOD, GOOD[0]], ["same_id"]),
    ],
    ids=["text", "no-args", "tool", "missing", "bogus", "key", "no-key", "node", "edge", "in-list", "self",
         "circle", "twice"],
)  # fmt: skip
def test_each_problem_has_its_kind(said: Any, problems: list[str]) -> None:
    assert kinds(said) == problems


def test_types_decide_where_no_edges_are_declared() -> None:
    typed = graph_from_json(
        [
            {"name": "look", "inputs": {"image": "image"}, "outputs": {"text": "text", "any": None}},
            {"name": "say", "inputs": {"text": "text", "to": None}, "outputs": {"audio": "audio"}},
        ]
    )

    def say(text: str, to: str = "") -> list[dict[str, Any]]:
        return [{"name": "look", "args": {"image": "x"}}, {"name": "say", "args": {"text": text, "to": to}}]

    assert kinds(say("<node-0>.text", "<node-0>.text"), typed) == kinds(say("<node-0>.any"), typed) == []
    pictures = [*say("a"), {"id": 2, "name": "look", "args": {"image": "<node-1>.audio"}}]
    assert kinds(pictures, typed) == ["connection"]


def test_function_specifications_are_tools() -> None:
    schema = {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a"]}
    function = {"name": "f", "parameters": schema}
    for said in (function, {"type": "function", "function": function}, {"name": "f", "inputSchema": schema}):
        graph = graph_from_json([said])
        assert kinds([{"name": "f", "args": {"a": 1}}], graph) == []
        assert kinds([{"name": "f", "args": {"b": 1}}], graph) == ["arguments"]
        assert (
            kinds([{"name": "f", "args": {"a": 1}}, {"name": "f", "args": {"a": "<node-0>.x"}}], graph) == []
        )


NO_GRAPHS: dict[str, tuple[Any, Any]] = {
    "object": ({}, None),
    "number": ([1], None),
    "name": ([{"name": 1}], None),
    "inputs": ([{"name": "a", "inputs": "x"}], None),
    "twice": ([{"name": "a"}, {"name": "a"}], None),
    "one": ([], [["a"]]),
    "edges": ([], {}),
    "type": ([{"name": "a", "inputs": {"x": 1}}], None),
    "optional": ([{"name": "a", "optional": [1]}], None),
}


@pytest.mark.parametrize(("tools", "edges"), NO_GRAPHS.values(), ids=NO_GRAPHS.keys())
def test_what_is_no_graph_is_refused(tools: Any, edges: Any) -> None:
    with pytest.raises(BadInput):
        graph_from_json(tools, edges)


# ---------------------------------------------------------------- a second reading


def can_run(plan: Plan) -> bool:
    """By carrying it out, step by step, in whatever order works; written from the rules alone."""
    gives = {tool["name"]: tool["outputs"] for tool in TOOLS}
    takes = {tool["name"]: set(tool["inputs"]) for tool in TOOLS}
    may = {tool["name"]: set(tool.get("optional", [])) for tool in TOOLS}
    if len({step.id for step in plan}) < len(plan) or any(step.tool not in gives for step in plan):
        return False
    tool_of = {step.id: step.tool for step in plan}
    waits: dict[int, set[int]] = {}
    for step in plan:
        given = set(step.arguments)
        if not (takes[step.tool] - may[step.tool] <= given <= takes[step.tool]):
            return False
        waits[step.id] = set()
        for value in step.arguments.values():
            for at, piece in enumerate(str(value).split("<node-")):
                if at == 0:
                    continue
                number, _, rest = piece.partition(">.")
                key = rest.split(" ")[0]
                if int(number) not in tool_of or key not in gives[tool_of[int(number)]]:
                    return False
                leads = at == 1 and str(value).startswith("<node-")
                if leads and [tool_of[int(number)], step.tool] not in EDGES:
                    return False
                waits[step.id].add(int(number))
    done: set[int] = set()
    while ready := [id for id in waits if id not in done and waits[id] <= done]:
        done.update(ready)
    return len(done) == len(plan)


def random_plan(r: random.Random) -> Plan:
    """Mostly right ones, with a slip here and there."""

    def value(at: int) -> str:
        other = r.randrange(at) if at and r.random() < 0.9 else r.randrange(5)
        key = r.choice(["city", "country", "text", "text", "audio", "nothing"])
        return r.choice(
            ["Rome", "Rome", f"<node-{other}>.{key}", f"<node-{other}>.{key}", f"near <node-{other}>.{key}"]
        )

    steps = []
    for at in range(r.randint(0, 4)):
        tool = r.choice(TOOLS)
        names = [name for name in tool["inputs"] if r.random() < 0.95] + ["bogus"] * (r.random() < 0.03)
        name = tool["name"] if r.random() < 0.97 else "teleport"
        id = at if r.random() < 0.97 else r.randrange(4)
        steps.append(PlanStep(id, name, {argument: value(at) for argument in names}))
    return tuple(steps)


def compare(seeds: range) -> None:
    found = {True: 0, False: 0}
    for seed in seeds:
        plan = random_plan(random.Random(seed))
        right = can_run(plan)
        assert (not verify(plan, GRAPH)) == right, plan
        found[right] += 1
    assert min(found.values()) > len(seeds) // 20, found


def test_a_second_reading_agrees_on_random_plans() -> None:
    compare(range(400))


@pytest.mark.heavy
def test_a_second_reading_agrees_on_many_random_plans() -> None:
    compare(range(tries(200_000)))
