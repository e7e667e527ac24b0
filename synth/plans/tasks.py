"""Tasks for planners: sampled from a tool graph with their gold plans, or read from the user's own files.

As m&m's makes them (section 3.2): a sub-graph of the tool graph, inputs for it, a query in words, and the
gold plan by rule. Tools with the same typed inputs and outputs stand for each other in alternative plans.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from random import Random
from typing import Any

from synth.cases.case import Action, Case
from synth.errors import BadInput
from synth.formal.constraints import Before
from synth.plans.graph import PlanTool, ToolGraph
from synth.plans.model import Plan, PlanStep, plan_from_json, plan_to_json, references

Words = Callable[[Plan, ToolGraph], str]
"""Makes the query of a plan: a template, or a model."""

MOST_ALTERNATIVES = 64
FILES = {"image": "jpg", "audio": "wav", "video": "mp4"}
"""Types whose values are files, with their endings."""


@dataclass(frozen=True, slots=True)
class PlanTask:
    """A query, and the plans that answer it."""

    id: str
    query: str
    plan: Plan
    """The gold plan."""
    alternatives: tuple[Plan, ...] = ()
    """Other right ones."""
    code: str | None = None
    """The gold plan as Python, where the data has it."""

    @property
    def files(self) -> frozenset[str]:
        """Every text that the gold plan gives to a tool."""
        values = (value for step in self.plan for value in step.arguments.values())
        return frozenset(value for value in values if isinstance(value, str))

    def to_json(self) -> dict[str, Any]:
        said: dict[str, Any] = {"id": self.id, "query": self.query, "plan": plan_to_json(self.plan)}
        if self.alternatives:
            said["alternatives"] = [plan_to_json(one) for one in self.alternatives]
        return said | ({"code": self.code} if self.code is not None else {})


def sample_tasks(
    graph: ToolGraph, count: int, *, seed: int = 0, sizes: Sequence[int] = (1, 2, 3),
    words: Words | None = None,
) -> Iterator[PlanTask]:  # fmt: skip
    """`count` tasks, each a chain of as many tools as one of `sizes` says; the same for the same seed.

    BadInput where the graph has no chain of that many tools.
    """
    if not graph.tools:
        raise BadInput("there are no tools to draw tasks from", field="tools")
    random = Random(seed)
    for at in range(count):
        plan = _drawn(graph, random, random.choice(sizes))
        query = (words or template)(plan, graph)
        yield PlanTask(f"task-{seed}-{at}", query, plan, alternatives(plan, graph))


def template(plan: Plan, graph: ToolGraph) -> str:
    """The plan in words, one sentence a step."""
    return "I need this: " + " ".join(_sentence(step, at) for at, step in enumerate(plan))


def alternatives(plan: Plan, graph: ToolGraph) -> tuple[Plan, ...]:
    """The plan with other tools of the same typed inputs and outputs, at most `MOST_ALTERNATIVES`."""
    choices = [[step.tool, *_interchangeable(step.tool, graph)] for step in plan]
    chosen = islice(product(*choices), 1, MOST_ALTERNATIVES + 1)
    return tuple(
        tuple(PlanStep(step.id, tool, step.arguments) for step, tool in zip(plan, tools, strict=True))
        for tools in chosen
    )


def task_from_json(said: Any, at: int = 0) -> PlanTask:
    """A task from an object, of ours or of a user's copy of m&m's data set.

    The query is `query` or `user_request`; the gold plan `plan` or `plan_str` (JSON, also as text); others
    `alternatives` or `alt_plans_str`; Python `code` or `code_str`. BadInput where the plan is missing.
    """
    if not isinstance(said, Mapping):
        raise BadInput("a task is an object", field="task")
    query = next((said[name] for name in ("query", "user_request") if isinstance(said.get(name), str)), None)
    plan = _parsed(next((said[name] for name in ("plan", "plan_str") if said.get(name)), None))
    if query is None or plan is None:
        raise BadInput('a task has a "query" or "user_request", and a "plan" or "plan_str"', field="task")
    others = _parsed(next((said[name] for name in ("alternatives", "alt_plans_str") if said.get(name)), []))
    if not isinstance(others, list):
        raise BadInput("the alternatives are a list of plans", field="alternatives")
    code = next((said[name] for name in ("code", "code_str") if isinstance(said.get(name), str)), None)
    id = said.get("id", at)
    return PlanTask(str(id), query, plan_from_json(plan), tuple(map(plan_from_json, others)), code)


def case_of(task: PlanTask, graph: ToolGraph) -> Case:
    """The task as a test case, whose runs are then scored beside its gold plan.

    Its actions are the tools of the plan; what uses the output of another comes after it.
    """
    tools = list(dict.fromkeys(step.tool for step in task.plan))
    ids = {tool: f"a{at}" for at, tool in enumerate(tools, 1)}
    by_id = {step.id: step.tool for step in task.plan}
    uses = dict.fromkeys(
        (by_id[one.node], step.tool) for step in task.plan for one in references(step) if one.node in by_id
    )
    first = {tool: at for at, tool in enumerate(tools)}
    return Case(
        task.id, 0, "order", task.query, task.query, "",
        tuple(Action(ids[tool], tool, tool, _about(tool, graph)) for tool in tools),
        tuple(Before(ids[a], ids[b]) for a, b in uses if first[a] < first[b]),
        gold_plan=tuple(plan_to_json(task.plan)),
        alternative_plans=tuple(tuple(plan_to_json(plan)) for plan in task.alternatives),
    )  # fmt: skip


def _about(tool: str, graph: ToolGraph) -> str:
    return graph.tools[tool].description if tool in graph.tools else ""


def _parsed(said: Any) -> Any:
    if not isinstance(said, str):
        return said
    try:
        return json.loads(said)
    except (ValueError, RecursionError) as problem:
        raise BadInput(f"the plan is no JSON: {problem}", field="plan") from None


def _drawn(graph: ToolGraph, random: Random, size: int) -> Plan:
    """A chain: each step uses the one before where it may; the other arguments are inputs."""
    starts = list(graph.tools.values())
    random.shuffle(starts)
    for start in starts:
        chain = _chain([start], graph, random, size)
        if chain is not None:
            return _plan(chain, graph, random)
    raise BadInput(f"no {size} tools follow each other in this graph", field="sizes")


def _chain(chain: list[PlanTool], graph: ToolGraph, random: Random, size: int) -> list[PlanTool] | None:
    if len(chain) == size:
        return chain
    following = [tool for tool in graph.tools.values() if any(_links(chain[-1], tool, graph))]
    random.shuffle(following)
    found = (_chain([*chain, tool], graph, random, size) for tool in following)
    return next((one for one in found if one is not None), None)


def _links(source: PlanTool, target: PlanTool, graph: ToolGraph) -> Iterator[tuple[str, str]]:
    """(argument of the target, output of the source) of each connection that is allowed."""
    for argument, takes in target.inputs.items():
        for key, gives in (source.outputs or {}).items():
            fits = takes == gives if takes and gives else key == argument
            if fits and graph.connects(source.name, key, target.name, argument):
                yield argument, key


def _plan(chain: Sequence[PlanTool], graph: ToolGraph, random: Random) -> Plan:
    steps: list[PlanStep] = []
    for at, tool in enumerate(chain):
        given = {name: _input(name, type, random) for name, type in tool.inputs.items()}
        if at:
            argument, key = random.choice(list(_links(chain[at - 1], tool, graph)))
            given[argument] = f"<node-{at - 1}>.{key}"
        steps.append(PlanStep(at, tool.name, given))
    return tuple(steps)


def _input(name: str, type: str | None, random: Random) -> str:
    kind = type or name
    number = random.randrange(1000)
    return f"{kind}{number}.{FILES[kind]}" if kind in FILES else f"{kind} {number}"


def _interchangeable(tool: str, graph: ToolGraph) -> list[str]:
    known = graph.tools.get(tool)
    if known is None or not known.outputs or None in (*known.inputs.values(), *known.outputs.values()):
        return []
    return [
        other.name
        for other in graph.tools.values()
        if other.name != tool and other.signature == known.signature
    ]


def _sentence(step: PlanStep, at: int) -> str:
    given = ", ".join(f"{name} {_words(value)}" for name, value in step.arguments.items())
    return f"{'First' if at == 0 else 'Then'} {step.tool}, with {given or 'nothing'}."


def _words(value: Any) -> str:
    if isinstance(value, str) and value.startswith("<node-"):
        return f"from the {value.rpartition('.')[2]} just made"
    return f'"{value}"' if isinstance(value, str) else str(value)
