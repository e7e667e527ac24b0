"""Agent `openai-tools`: LangChain's `create_agent` with structured tool calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from langchain_core.outputs import LLMResult
from langchain_core.tools import BaseTool
from langchain_openai import ChatOpenAI
from langgraph.errors import GraphRecursionError
from pydantic import SecretStr

from synth.agents.mock_tools import as_langchain
from synth.agents.model import Job, Outcome, OutOfIterations, Settings
from synth.agents.usage import Answers


def run(job: Job) -> Outcome:
    return run_agent(job.query, [as_langchain(tool) for tool in job.tools], job.settings, job.answers)


class _Telling(BaseCallbackHandler):
    """Tells of each answer of the model."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    def on_llm_end(self, response: LLMResult, **_: Any) -> None:
        for first, *_others in response.generations:
            self._answers.told_by_langchain(getattr(first, "message", None))


def run_agent(query: str, tools: Sequence[BaseTool], settings: Settings, answers: Answers) -> Outcome:
    """A new agent over these tools, run once."""
    agent = create_agent(
        chat_model(settings, [_Telling(answers)]), list(tools), system_prompt=settings.system
    )
    # One iteration is two steps of the graph: the model, then its tools.
    limits: Any = {"recursion_limit": 2 * settings.max_iterations}
    try:
        state = agent.invoke({"messages": [{"role": "user", "content": query}]}, limits)
    except GraphRecursionError:
        raise OutOfIterations(settings.max_iterations) from None
    said = [message for message in state["messages"] if isinstance(message, AIMessage)]
    return Outcome(str(said[-1].content), len(said))


def chat_model(settings: Settings, callbacks: Sequence[BaseCallbackHandler] = ()) -> ChatOpenAI:
    key = None if settings.api_key is None else SecretStr(settings.api_key)
    return ChatOpenAI(
        model=settings.model, base_url=settings.base_url, api_key=key, temperature=settings.temperature,
        extra_body=dict(settings.params) or None, callbacks=list(callbacks) or None,
    )  # fmt: skip
