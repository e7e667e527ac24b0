"""Agents `plan-STRATEGY-FORMAT-FEEDBACK`: m&m's planning agents over the bare OpenAI SDK.

The model writes plans as text, all steps at once or one at a time, as JSON or as Python; a parser, the
verifier and the execution answer it, each where the name has its letter. The tools run through the tracer,
which no framework would do for them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from synth.agents.mock_tools import MockTool, as_callable
from synth.agents.model import Job, Outcome, OutOfIterations
from synth.agents.openai_client import client_of
from synth.agents.tracer import traced
from synth.plans.execute import CannotRun, execute
from synth.plans.graph import PlanTool, ToolGraph
from synth.plans.planning import Design, Message, Reply, plan_task

RESULT = "result"
"""The output of every tool: what it said."""


def run(job: Job, design: Design) -> Outcome:
    """Plan and, where execution gave no feedback, carry the plan out at the end."""
    settings = job.settings
    tools = _Tools(job.tools)
    client = client_of(settings)

    def ask(messages: Sequence[Message]) -> Reply:
        if sum(message["role"] == "assistant" for message in messages) >= settings.max_iterations:
            raise OutOfIterations(settings.max_iterations)
        sent: Any = [*settings.opening, *messages]
        completion = client.chat.completions.create(
            model=settings.model, messages=sent, **settings.sampling()
        )
        job.answers.told(completion)
        text = completion.choices[0].message.content if completion.choices else None
        return Reply(text or "", completion.usage.total_tokens if completion.usage else 0)

    planned = plan_task(job.query, graph_of(job.tools), design, ask, tools.call)
    if planned.plan and "E" not in design.feedback:
        execute(planned.plan, tools.call)
    return Outcome(planned.text, planned.turns)


def graph_of(tools: Sequence[MockTool]) -> ToolGraph:
    """The tools of a job: any may follow any."""
    return ToolGraph({tool.name: _planned_tool(tool) for tool in tools})


def _planned_tool(tool: MockTool) -> PlanTool:
    inputs: dict[str, str | None] = dict.fromkeys(tool.parameters.get("properties", {}))
    optional = frozenset(inputs) - frozenset(tool.parameters.get("required", ()))
    return PlanTool(tool.name, inputs, {RESULT: None}, optional, tool.description)


class _Tools:
    """The tools of a job by name; one that there is not is asked for and refuses, for all to see."""

    def __init__(self, tools: Sequence[MockTool]) -> None:
        calls = traced([as_callable(tool) for tool in tools])
        self._known = {tool.name: call for tool, call in zip(tools, calls, strict=True)}

    def call(self, name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        tool = self._known.get(name) or traced([_missing(name)])[0]
        said = tool(**arguments)
        return {**_fields(said), RESULT: said}


def _missing(name: str) -> Any:
    def call(**arguments: Any) -> str:
        raise CannotRun(f"there is no tool named {name}")

    call.__name__ = call.__qualname__ = name
    return call


def _fields(said: str) -> Mapping[str, Any]:
    try:
        found = json.loads(said)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
