"""What a run of an agent is given and gives back, and what the table of agents says of one.

Nothing here loads an agent: every agent imports this module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from synth.agents.mock_tools import MockTool

CASE_ID = "pdoctor.case.id"
"""Baggage key of the case id (wire contract)."""
REPLAY = "replay"
"""Agent name under which recorded runs are made again."""
EXEC = "exec:"
"""Prefix of agents that are programs."""
SPEC = "spec:"
"""Prefix of agents that are behaviour specifications."""


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
    params: Mapping[str, Any] = field(default_factory=dict)
    """Further parameters of each request, by their names in the provider's API."""

    def sampling(self) -> dict[str, Any]:
        """The arguments of an SDK's method that say what else to send."""
        said: dict[str, Any] = {} if self.temperature is None else {"temperature": self.temperature}
        return {**said, "extra_body": dict(self.params)} if self.params else said


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


class Unreachable(Exception):
    """The agent itself, a service or a program, is not there."""


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
