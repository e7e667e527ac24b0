"""Agents under test: what ships, and what a run of one is given and gives back (paper, Table 1).

Frameworks are imported when an agent is loaded, inside the worker process, never here.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from synth.errors import BadInput, MissingExtra
from synth.tools import MockTool


@dataclass(frozen=True, slots=True)
class Settings:
    """How an agent reaches its model, and when it must stop."""

    model: str
    base_url: str | None = None
    """None: what the SDK takes from its environment (OPENAI_BASE_URL, else OpenAI itself)."""
    api_key: str | None = field(default=None, repr=False)
    """None: what the SDK takes from its environment (OPENAI_API_KEY)."""
    temperature: float | None = 0.0
    """None: not sent, for models that refuse it."""
    max_iterations: int = 50
    """Model answers per run."""

    def sampling(self) -> dict[str, Any]:
        """The sampling arguments to send."""
        return {} if self.temperature is None else {"temperature": self.temperature}


@dataclass(frozen=True, slots=True)
class Job:
    """One case for one agent."""

    query: str
    tools: tuple[MockTool, ...]
    settings: Settings


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it, as far as the agent itself can tell."""

    answer: str
    iterations: int
    """Model answers used."""
    tokens: int = 0
    """As the provider reports them; 0 where it does not."""


class OutOfIterations(Exception):
    """The agent wanted to go on after `max_iterations`; the run counts as a timeout."""

    def __init__(self, iterations: int) -> None:
        super().__init__(f"not done after {iterations} model answers")
        self.iterations = iterations


EXEC = "exec:"
"""Prefix of agents that are programs."""

Run = Callable[[Job], Outcome]
"""Builds a new agent, runs it on the job, and returns. Blocking."""


@dataclass(frozen=True, slots=True)
class AgentUnderTest:
    """A line of the table of agents."""

    name: str
    module: str
    """Has `run(job) -> Outcome`; imported only when the agent is asked for."""
    loop: str
    """Who drives model and tools."""
    model: str
    """How it talks to the model."""
    tools: str
    """How it talks to the tools."""
    adjustable: str
    """What can be customised."""


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
        "Action / Action Input lines, run as LangChain tools", _ALL,
    ),
    AgentUnderTest(
        "responses", "synth.agents.responses_loop", "a bare loop over the OpenAI SDK",
        "Responses, conversation held by the server", "structured tool calls, run by the loop", _ALL,
    ),
    AgentUnderTest(
        "assistants", "synth.agents.assistants_loop", "the server's run, polled over the OpenAI SDK",
        "Assistants (deprecated), conversation held by the server", "structured tool calls, run by the loop",
        "model, base URL, temperature, iterations",
    ),
)  # fmt: skip


def load(name: str) -> Run:
    """The run function of a built-in agent, `module:callable`, `http://...` or `exec:COMMAND`."""
    agent = next((agent for agent in AGENTS if agent.name == name), None)
    if is_external(name):
        return _external(name)
    if agent is None and ":" in name:
        return _callable(name)
    if agent is None:
        known = ", ".join(agent.name for agent in AGENTS)
        others = "module:callable, http://... or exec:COMMAND"
        raise BadInput(f"unknown agent {name!r}; expected one of {known}, {others}", field="agent")
    run: Run = _imported(agent.name, agent.module).run
    return run


def is_external(name: str) -> bool:
    """Whether the agent is a service or a program, which traces itself."""
    return name.startswith(("http://", "https://", EXEC))


def _external(name: str) -> Run:
    from synth.agents.external import load_external

    return load_external(name)


def _callable(name: str) -> Run:
    from synth.agents.user_callable import load_callable

    return load_callable(name)


def load_replay() -> Callable[..., Outcome]:
    """The function that makes a recorded run again: `(record, settings, log) -> Outcome`."""
    run: Callable[..., Outcome] = _imported("replay", "synth.agents.replay").run_record
    return run


def _imported(agent: str, module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(f"agent {agent!r} ({error})", "agents") from error


def run_tool(tools: Sequence[MockTool], name: str, arguments: str) -> str:
    """What a careful hand-written loop answers to a requested call: the result, or what was wrong."""
    tool = next((tool for tool in tools if tool.name == name), None)
    if tool is None:
        return f"Error: there is no tool named {name}."
    try:
        given = json.loads(arguments or "{}")
    except ValueError as error:
        return f"Error: the arguments of {name} are not JSON: {error}."
    if not isinstance(given, dict):
        return f"Error: the arguments of {name} are not a JSON object."
    return tool(**given)


__all__ = [
    "AGENTS",
    "AgentUnderTest",
    "Job",
    "OutOfIterations",
    "Outcome",
    "Run",
    "Settings",
    "load",
    "load_replay",
    "run_tool",
]
