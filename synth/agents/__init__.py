"""Agents under test: what ships, and how one is loaded (paper, Table 1).

Frameworks are imported when an agent is loaded, inside the worker process, never here.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

from synth.agents.mock_tools import run_tool
from synth.agents.model import (
    EXEC,
    REPLAY,
    SPEC,
    AgentUnderTest,
    Job,
    Outcome,
    OutOfIterations,
    Run,
    Settings,
)
from synth.agents.specifications import monitors_of
from synth.errors import BadInput, MissingExtra
from synth.plans.planning import DESIGNS

_ALL = "model, base URL, temperature, iterations"

AGENTS: tuple[AgentUnderTest, ...] = (
    AgentUnderTest(
        "openai-tools", "synth.agents.langchain_tools", "LangChain create_agent", "chat completions",
        "structured tool calls, run by LangGraph's ToolNode", _ALL,
    ),
    AgentUnderTest(
        "raw-loop", "synth.agents.raw_loop", "a bare loop over the OpenAI SDK", "chat completions",
        "structured tool calls, run by the loop", _ALL,
    ),
    AgentUnderTest(
        "react", "synth.agents.react", "a text ReAct loop", "text completions (chat for chat-only models)",
        "Action / Action Input lines, run as LangChain tools", _ALL, template=True,
    ),
    AgentUnderTest(
        "responses", "synth.agents.responses_loop", "a bare loop over the OpenAI SDK",
        "Responses, conversation held by the server", "structured tool calls, run by the loop", _ALL,
    ),
    AgentUnderTest(
        "assistants", "synth.agents.assistants_loop", "the server's run, polled over the OpenAI SDK",
        "Assistants (deprecated), conversation held by the server", "structured tool calls, run by the loop",
        "model, base URL, temperature, iterations", in_depth=False,
    ),
)  # fmt: skip


def load(name: str) -> Run:
    """The run function of a built-in agent, `module:callable`, a URL, `exec:COMMAND` or `spec:NAME`."""
    if name.startswith(SPEC):
        return _specified(name.removeprefix(SPEC))
    agent = next((agent for agent in AGENTS if agent.name == name), None)
    if is_external(name):
        return _external(name)
    if agent is None and ":" in name:
        return _callable(name)
    design = next((design for design in DESIGNS if design.name == name), None)
    if design is not None:
        return partial(_imported(name, "synth.agents.planning").run, design=design)
    if agent is None:
        known = ", ".join(agent.name for agent in AGENTS)
        others = "plan-STRATEGY-FORMAT-FEEDBACK, module:callable, http://... or exec:COMMAND"
        raise BadInput(f"unknown agent {name!r}; expected one of {known}, {others}", field="agent")
    run: Run = _imported(agent.name, agent.module).run
    return run


def is_external(name: str) -> bool:
    """Whether the agent is a service or a program, which traces itself."""
    return name.startswith(("http://", "https://", EXEC))


def is_ours(name: str) -> bool:
    """Whether we wrote the loop, which tells of every answer of its model."""
    return ":" not in name or name.startswith(SPEC)


def _specified(name: str) -> Run:
    monitors = monitors_of(name)
    module = _imported(SPEC + name, "synth.agents.specified")

    def run(job: Job) -> Outcome:
        outcome: Outcome = module.run_with(monitors, job)
        return outcome

    return run


def _external(name: str) -> Run:
    from synth.agents.external import load_external

    return load_external(name)


def _callable(name: str) -> Run:
    from synth.agents.user_callable import load_callable

    return load_callable(name)


def load_replay() -> Callable[..., Outcome]:
    """The function that makes a recorded run again: `(record, settings, log) -> Outcome`."""
    run: Callable[..., Outcome] = _imported(REPLAY, "synth.agents.replay").run_record
    return run


def _imported(agent: str, module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(f"agent {agent!r} ({error})", "agents") from error


__all__ = [
    "AGENTS",
    "AgentUnderTest",
    "Job",
    "OutOfIterations",
    "Outcome",
    "Run",
    "Settings",
    "is_external",
    "is_ours",
    "load",
    "load_replay",
    "run_tool",
]
