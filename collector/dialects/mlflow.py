"""MLflow tracing: `mlflow.spanType`, inputs and outputs; every attribute is JSON text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from collector.dialects.openllmetry import query_of
from collector.dialects.reading import (
    Dialect,
    SeenAgent,
    SeenCall,
    SeenModel,
    count,
    json_value,
    last_user_text,
    loaded,
    messages_in,
    plain_call,
    requests_and_answers,
    said_in,
    text,
    tool_names,
)
from collector.model import Span

TYPE, INPUTS, OUTPUTS = "mlflow.spanType", "mlflow.spanInputs", "mlflow.spanOutputs"
AGENT_RUNNER = "mlflow.openai.agent_run_root"
"""On the span around a run of the OpenAI Agents SDK, which is named after MLflow's own function."""


def read_call(span: Span) -> SeenCall | None:
    """A span of type TOOL; LangChain's has the call id, and a tool message as its output."""
    attributes = loaded(span)
    if _said(attributes, TYPE) != "TOOL":
        return None
    result = _said(attributes, OUTPUTS)
    message = isinstance(result, Mapping) and result.get("type") == "tool" and "tool_call_id" in result
    return plain_call(
        span,
        id=text(_said(attributes, "tool_call_id")),
        tool=text(_said(attributes, "mlflow.spanFunctionName")) or span.name,
        arguments=_said(attributes, INPUTS),
        result=result["content"] if message else result,
    )


def read_agent(span: Span) -> SeenAgent | None:
    """A span of type AGENT, or the root (not where that is a bare model call: it may be one of many)."""
    attributes = loaded(span)
    kind = _said(attributes, TYPE)
    if kind is None or kind in ("CHAT_MODEL", "LLM") or (kind != "AGENT" and span.parent_id is not None):
        return None
    given = _said(attributes, INPUTS)
    if isinstance(given, Mapping):
        given = given.get("messages") or given.get("input") or given.get("query")
    return SeenAgent(
        span=span,
        agent=None if AGENT_RUNNER in attributes else span.name,
        query=query_of(given),
        source="mlflow",
    )


def read_model(span: Span) -> SeenModel | None:
    """A span of type CHAT_MODEL or LLM, with chat messages or the items of Responses."""
    attributes = loaded(span)
    if _said(attributes, TYPE) not in ("CHAT_MODEL", "LLM"):
        return None
    given, made = _said(attributes, INPUTS), _said(attributes, OUTPUTS)
    if isinstance(given, Mapping):
        given = given.get("messages") or given.get("input")
    messages = _messages(made)
    requests, _, with_text = requests_and_answers(messages)
    usage = _said(attributes, "mlflow.chat.tokenUsage")
    used = usage if isinstance(usage, Mapping) else {}
    return SeenModel(
        span=span,
        requests=tuple(requests),
        with_text=with_text,
        answers=requests_and_answers(given)[1],
        query=last_user_text(given),
        tools=tool_names(attributes.get("mlflow.chat.tools")) or tool_names(attributes.get("tools")),
        model=text(_said(attributes, "mlflow.llm.model")) or text(_said(attributes, "model")),
        input_tokens=count(used, ("input_tokens",)),
        output_tokens=count(used, ("output_tokens",)),
        given=messages_in(given),
        said=said_in(messages),
    )


def _messages(made: Any) -> Any:
    """The messages of a chat completion or of a response."""
    if not isinstance(made, Mapping):
        return made
    choices = made.get("choices")
    if isinstance(choices, list):
        return [choice.get("message") for choice in choices if isinstance(choice, Mapping)]
    return made.get("output")


def _said(attributes: Mapping[str, Any], name: str) -> Any:
    return json_value(attributes.get(name))


DIALECT = Dialect("mlflow", read_call, read_agent, read_model)
