"""Planners with one known fault, which heed what they are told always, half of the time or never.

A planner knows the gold plan of its task and spoils one part of it; what it says is a function of the
messages and of its seed. Where a plan has nothing to spoil (no connection in a single step) it is right.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Literal, get_args

from synth.plans.graph import ToolGraph
from synth.plans.model import REFERENCE, Plan, PlanStep, plan_to_json
from synth.plans.planning import AGAIN, DONE, NEXT, Design, Message, Reply
from synth.plans.python_plan import plan_to_python
from synth.plans.tasks import PlanTask

Fault = Literal["none", "tool", "argument", "value", "connection", "json", "code"]
"""Wrong tool, argument name, argument value, broken connection, malformed JSON, malformed Python."""
Heeds = Literal["always", "half", "never"]
FAULTS: tuple[Fault, ...] = get_args(Fault)
HEEDS: tuple[Heeds, ...] = get_args(Heeds)

LOWERS: Mapping[Fault, frozenset[str]] = {
    "none": frozenset(),
    "tool": frozenset({"tool", "edge", "argname", "argvalue"}),
    "argument": frozenset({"argname", "argvalue"}),
    "value": frozenset({"argvalue"}),
    "connection": frozenset({"argvalue"}),
    "json": frozenset({"tool", "edge", "argname", "argvalue"}),
    "code": frozenset({"tool", "edge", "argname", "argvalue"}),
}
"""Which F1 scores a fault lowers; all others stay 1. An edge is two neighbouring tools, so that a broken
reference shows in the argument's value."""


@dataclass(frozen=True, slots=True)
class SimulatedPlanner:
    """One planner at one task; called with the messages so far."""

    task: PlanTask
    graph: ToolGraph
    design: Design
    fault: Fault = "none"
    heeds: Heeds = "never"
    seed: int = 0

    def __call__(self, messages: Sequence[Message]) -> Reply:
        said = [message["content"] for message in messages if message["role"] == "user"]
        step = sum(text.endswith(NEXT) for text in said)
        complaints = 0
        for text in reversed(said):
            if not text.endswith(AGAIN):
                break
            complaints += 1
        text = self._text(step, right=self._has_heeded(step, complaints))
        return Reply(text, len(text) // 4 + 1)

    @property
    def spoilt(self) -> tuple[Plan, int | None]:
        """The plan with its fault, and the position of the step that has it; None = no fault was planted."""
        random = self._random("fault")
        order = list(range(len(self.task.plan)))
        random.shuffle(order)
        for at in order:
            step = _SPOIL[self.fault](self.task.plan[at], self.graph, random)
            if step is not None:
                return (*self.task.plan[:at], step, *self.task.plan[at + 1 :]), at
        return self.task.plan, None

    def _has_heeded(self, step: int, complaints: int) -> bool:
        if self.heeds == "half":
            return any(self._random("heeds", step, at).random() < 0.5 for at in range(complaints))
        return self.heeds == "always" and complaints > 0

    def _text(self, step: int, right: bool) -> str:
        plan, at = (self.task.plan, None) if right else self.spoilt
        if self.design.strategy == "step-by-step":
            if step >= len(plan):
                return DONE
            at = at if at == step else None
        broken = at is not None and self.fault == self.design.form
        text = self._written(plan, step)
        return text[:-1].rstrip("'\"]})") if broken else text

    def _written(self, plan: Plan, step: int) -> str:
        one = self.design.strategy == "step-by-step"
        if self.design.form == "json":
            return json.dumps(plan_to_json(plan[step : step + 1] if one else plan))
        lines = [line.strip() for line in plan_to_python(plan).splitlines()[1:-1]]
        return "\n".join(lines[step : step + 1] if one else lines)

    def _random(self, *what: object) -> Random:
        return Random(repr((self.seed, self.task.id, self.fault, *what)))


Spoil = Callable[[PlanStep, ToolGraph, Random], PlanStep | None]
"""The step with a fault; None where it has nothing to spoil."""


def _tool(step: PlanStep, graph: ToolGraph, random: Random) -> PlanStep | None:
    own = graph.tools[step.tool]
    others = [tool.name for tool in graph.tools.values() if tool.inputs.keys() != own.inputs.keys()]
    return replace(step, tool=random.choice(others)) if others else None


def _argument(step: PlanStep, graph: ToolGraph, random: Random) -> PlanStep | None:
    if not step.arguments:
        return None
    wrong = random.choice(list(step.arguments))
    renamed = {f"the_{name}" if name == wrong else name: value for name, value in step.arguments.items()}
    return replace(step, arguments=renamed)


def _value(step: PlanStep, graph: ToolGraph, random: Random) -> PlanStep | None:
    plain = [name for name, value in step.arguments.items() if not REFERENCE.search(str(value))]
    return _with(step, random.choice(plain), lambda value: f"wrong_{value}") if plain else None


def _connection(step: PlanStep, graph: ToolGraph, random: Random) -> PlanStep | None:
    linked = [name for name, value in step.arguments.items() if REFERENCE.search(str(value))]
    return _with(step, random.choice(linked), lambda value: f"{value}_elsewhere") if linked else None


def _with(step: PlanStep, name: str, change: Callable[[object], str]) -> PlanStep:
    return replace(step, arguments={**step.arguments, name: change(step.arguments[name])})


_SPOIL: Mapping[Fault, Spoil] = {
    "none": lambda step, graph, random: None,
    "tool": _tool,
    "argument": _argument,
    "value": _value,
    "connection": _connection,
    "json": lambda step, graph, random: step,
    "code": lambda step, graph, random: step,
}
