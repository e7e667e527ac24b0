"""Agents of the user: `module:callable`, sync or async, given what its parameters ask for by name."""

from __future__ import annotations

import asyncio
import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from synth.agents.mock_tools import as_callable, as_langchain, as_openai_chat, as_openai_responses, run_tool
from synth.agents.model import Job, Outcome, Run, Unreachable
from synth.agents.tracer import traced
from synth.errors import BadInput


@dataclass(frozen=True, slots=True)
class Given:
    """A parameter name that a callable may have, and what it is given."""

    name: str
    about: str
    value: Callable[[Job], Any]


GIVEN: tuple[Given, ...] = (
    Given("query", "the task, a text", lambda job: job.query),
    Given(
        "tools",
        "plain callables with name and docstring",
        lambda job: traced([as_callable(tool) for tool in job.tools]),
    ),
    Given("langchain_tools", "LangChain tools", lambda job: [as_langchain(t) for t in job.tools]),
    Given(
        "openai_tools", "Chat Completions specifications", lambda job: [as_openai_chat(t) for t in job.tools]
    ),
    Given(
        "responses_tools", "Responses specifications", lambda job: [as_openai_responses(t) for t in job.tools]
    ),
    Given(
        "call_tool",
        "function (name, arguments as JSON text) -> result text",
        lambda job: lambda name, arguments: run_tool(job.tools, name, arguments),
    ),
    Given("user", "function (what the agent says) -> what the user answers, or None", lambda job: job.user),
    Given("model", "the model's name", lambda job: job.settings.model),
    Given("base_url", "where the model is, or None", lambda job: job.settings.base_url),
    Given("api_key", "its key, or None", lambda job: job.settings.api_key),
    Given("temperature", "a number or None", lambda job: job.settings.temperature),
    Given("params", "further parameters of each request", lambda job: dict(job.settings.params)),
    Given("system", "the system prompt, or None", lambda job: job.settings.system),
    Given("max_iterations", "model answers allowed", lambda job: job.settings.max_iterations),
)
POSITIONAL = GIVEN[:2]
"""What two positional parameters of other names are given: query and tools."""


def load_callable(name: str) -> Run:
    """The agent `module:callable`; names are dotted, as in `my_agents.planner:Planner.run`."""
    module_name, _, attribute = name.partition(":")
    try:
        target: Any = importlib.import_module(module_name)
    except ImportError as error:
        raise BadInput(
            f"cannot import {module_name!r}: {error}; is its folder on PYTHONPATH?", field="agent"
        ) from error
    for part in attribute.split("."):
        if not hasattr(target, part):
            raise BadInput(f"{module_name!r} has no {attribute!r}", field="agent")
        target = getattr(target, part)
    if not callable(target):
        raise BadInput(f"{name!r} is not callable but {type(target).__name__}", field="agent")
    return as_agent(target)


def as_agent(target: Callable[..., Any]) -> Run:
    """A callable as an agent: called anew for each case, and awaited if it is async."""
    choose = _wanted(target)

    def run(job: Job) -> Outcome:
        positional, named = choose(job)
        if job.settings.system is not None and "system" not in named:
            raise Unreachable("the agent has no parameter named `system` that could take the system prompt")
        made = target(*positional, **named)
        if inspect.isawaitable(made):
            made = asyncio.run(_awaited(made))
        return made if isinstance(made, Outcome) else Outcome("" if made is None else str(made), 0)

    return run


async def _awaited(made: Any) -> Any:
    return await made


def _wanted(target: Callable[..., Any]) -> Callable[[Job], tuple[list[Any], Mapping[str, Any]]]:
    """Which values the callable asks for."""
    parameters = inspect.signature(target).parameters.values()
    known = {given.name: given for given in GIVEN}
    needed = [
        p for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    unknown = [p.name for p in needed if p.name not in known]
    if not unknown:
        wanted = [known[p.name] for p in parameters if p.name in known]
        return lambda job: ([], {given.name: given.value(job) for given in wanted})
    if len(needed) <= len(POSITIONAL) and all(p.kind is not p.KEYWORD_ONLY for p in needed):
        return lambda job: ([given.value(job) for given in POSITIONAL[: len(needed)]], {})
    names = ", ".join(known)
    raise BadInput(
        f"cannot fill parameter {unknown[0]!r}; an agent's parameters are named {names}", field="agent"
    )
