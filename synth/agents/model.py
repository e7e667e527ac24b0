"""What a run of an agent is given and gives back, and what the table of agents says of one.

Nothing here loads an agent: every agent imports this module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from synth.agents.mock_tools import MockTool
from synth.agents.usage import Answers
from synth.language.query import role_of
from synth.questions.examples import Example

CASE_ID = "pdoctor.case.id"
"""Baggage key of the case id (wire contract)."""
REPLAY = "replay"
"""Agent name under which recorded runs are made again."""
EXEC = "exec:"
"""Prefix of agents that are programs."""
RECORDED = "recorded"
"""Agent name under which the agent of a recorded case does again what it did."""
SPEC = "spec:"
"""Prefix of agents that are behaviour specifications."""


def is_reference(name: str) -> bool:
    """`package.module:function`, as agents of one's own are named."""
    module, colon, function = name.partition(":")
    return bool(colon) and all(part.isidentifier() for part in (*module.split("."), *function.split(".")))


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
    system: str | None = None
    """What the model is told before the query; `{role}` in it stands for whom a case is about."""

    def told(self, query: str) -> Settings:
        """The same for one query, with its role in the system prompt."""
        if self.system is None:
            return self
        return replace(self, system=self.system.replace("{role}", role_of(query)))

    @property
    def opening(self) -> list[dict[str, str]]:
        """The messages that a chat begins with before its query."""
        return [] if self.system is None else [{"role": "system", "content": self.system}]

    @property
    def preface(self) -> str:
        """The same in front of a text."""
        return "" if self.system is None else f"{self.system}\n\n"

    def sampling(self) -> dict[str, Any]:
        """The arguments of an SDK's method that say what else to send."""
        said: dict[str, Any] = {} if self.temperature is None else {"temperature": self.temperature}
        return {**said, "extra_body": dict(self.params)} if self.params else said


def nobody(said: str = "") -> Any:
    """The user of a task that says all in its query."""
    return None


@dataclass(frozen=True, slots=True)
class Job:
    """One case for one agent."""

    query: str
    tools: tuple[MockTool, ...]
    settings: Settings
    user: Callable[..., Any] = nobody
    """What the agent says -> the user's answer, None where there is none."""
    answers: Answers = field(default_factory=Answers)
    """Told of each answer of a model, so that it is known what a run took that did not come to its end."""
    examples: tuple[Example, ...] = ()
    """Worked examples for the prompt; agents that are no specification do without."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it, as far as the agent itself can tell."""

    answer: str
    iterations: int
    """Model answers used."""


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
    template: bool = False
    """Whether its prompt is a template that one can write anew (paper, Table 1)."""
    in_depth: bool = True
    """Whether its loop runs here, so that it can be changed; else the server drives."""
