"""Whether a plan can be carried out, said before its first call: m&m's verifier (section 4).

A step must name a tool that exists, give exactly its arguments, and where it refers to another step, that
must be there, give that output, and be allowed before it. References go by the steps' ids, so the order of
the list is free. Which tool may come before is asked only of an argument that begins with the reference, as
the paper's program does; within a longer text an output of any tool will do.
"""

from __future__ import annotations

import graphlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from synth.errors import BadInput
from synth.plans.graph import PlanTool, ToolGraph
from synth.plans.model import Plan, PlanStep, Reference, plan_from_json, references

Kind = Literal["unreadable", "tool", "arguments", "missing_step", "output", "connection", "same_id", "circle"]


@dataclass(frozen=True, slots=True)
class Problem:
    """Something because of which a plan cannot be carried out."""

    kind: Kind
    step: int | None
    """Id of the step; None where it is no step's."""
    text: str

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "step": self.step, "text": self.text}


def verify(plan: Plan, graph: ToolGraph) -> tuple[Problem, ...]:
    """Everything that is wrong, in the order of the plan; nothing = it can be carried out."""
    by_id = {step.id: step for step in plan}
    found = [problem for step in plan for problem in _of_step(step, by_id, graph)]
    return (*_same_ids(plan), *found, *_circles(plan))


def verify_json(said: Any, graph: ToolGraph) -> tuple[Problem, ...]:
    """The same of a plan as JSON; one that cannot be read has one problem."""
    try:
        plan = plan_from_json(said)
    except BadInput as problem:
        return (Problem("unreadable", None, str(problem)),)
    return verify(plan, graph)


def _of_step(step: PlanStep, by_id: dict[int, PlanStep], graph: ToolGraph) -> Iterator[Problem]:
    tool = graph.tools.get(step.tool)
    if tool is None:
        yield Problem("tool", step.id, f"step {step.id}: there is no tool named {step.tool!r}")
    else:
        yield from _of_arguments(step, tool)
    for reference in references(step):
        yield from _of_reference(step, reference, by_id, graph)


def _of_arguments(step: PlanStep, tool: PlanTool) -> Iterator[Problem]:
    if missing := sorted(tool.inputs.keys() - tool.optional - step.arguments.keys()):
        yield Problem("arguments", step.id, f"step {step.id}: {step.tool} needs the argument {missing[0]!r}")
    if unknown := sorted(step.arguments.keys() - tool.inputs.keys()):
        known = ", ".join(tool.inputs) or "none"
        text = f"step {step.id}: {step.tool} has no argument {unknown[0]!r}; its arguments: {known}"
        yield Problem("arguments", step.id, text)


def _of_reference(
    step: PlanStep, reference: Reference, by_id: dict[int, PlanStep], graph: ToolGraph
) -> Iterator[Problem]:
    source = by_id.get(reference.node)
    where = f"step {step.id}: {reference.argument}"
    if source is None:
        text = f"{where} uses step {reference.node}, which is not in the plan"
        yield Problem("missing_step", step.id, text)
        return
    gives = graph.tools.get(source.tool)
    if gives is None:
        return  # told where that step is
    if gives.outputs is not None and reference.key not in gives.outputs:
        known = ", ".join(gives.outputs) or "none"
        named = "no output" if reference.key is None else repr(reference.key)
        text = f"{where} uses {named} of step {source.id}, but {source.tool} gives: {known}"
        yield Problem("output", step.id, text)
    if reference.leads and step.tool in graph.tools and not graph.connects(
        source.tool, reference.key, step.tool, reference.argument
    ):  # fmt: skip
        text = f"{where} cannot come from {source.tool} (step {source.id})"
        yield Problem("connection", step.id, text)


def _same_ids(plan: Plan) -> Iterator[Problem]:
    seen: set[int] = set()
    for step in plan:
        if step.id in seen:
            yield Problem("same_id", step.id, f"step {step.id}: an earlier step has the same id")
        seen.add(step.id)


def _circles(plan: Plan) -> Iterator[Problem]:
    uses = {step.id: {reference.node for reference in references(step)} for step in plan}
    try:
        graphlib.TopologicalSorter(uses).prepare()
    except graphlib.CycleError as circle:
        steps = list(reversed(circle.args[1]))
        shown = ", ".join(map(str, steps[:10])) + (", ..." if len(steps) > 10 else "")
        yield Problem("circle", steps[0], f"these steps wait for each other: {shown}")
