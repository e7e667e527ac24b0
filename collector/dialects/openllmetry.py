"""OpenLLMetry (Traceloop): GenAI names, with LangChain's inputs and outputs wrapped in objects of its own."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from collector.dialects import names
from collector.dialects.reading import (
    Dialect,
    SeenAgent,
    SeenCall,
    json_value,
    last_user_text,
    loaded,
    plain_call,
    text,
)
from collector.model import Span

KIND = "traceloop.span.kind"
PROPERTIES = "traceloop.association.properties."


def read_call(span: Span) -> SeenCall | None:
    """A span of kind `tool`."""
    attributes = loaded(span)
    if attributes.get(KIND) != "tool":
        return None
    said = json_value(attributes.get(names.TOOL_ARGUMENTS) or attributes.get("traceloop.entity.input"))
    result, call_id = unwrapped(
        json_value(attributes.get(names.TOOL_RESULT) or attributes.get("traceloop.entity.output"))
    )
    return plain_call(
        span,
        id=text(attributes.get(names.TOOL_CALL_ID)) or call_id,
        tool=text(attributes.get(names.TOOL_NAME) or attributes.get("traceloop.entity.name")) or span.name,
        arguments=arguments_of(said),
        result=result,
    )


def arguments_of(said: Any) -> Any:
    """LangChain's `inputs`, or `input_str` (Python's spelling of a dict), else the value itself."""
    if not isinstance(said, Mapping) or "input_str" not in said:
        return said
    if isinstance(said.get("inputs"), Mapping):
        return said["inputs"]
    spelled = said["input_str"]
    try:
        return ast.literal_eval(spelled) if isinstance(spelled, str) and len(spelled) < 100_000 else spelled
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return json_value(spelled)


def unwrapped(output: Any) -> tuple[Any, str | None]:
    """(result, call id) of `{"output": ...}` around a plain value or a serialized tool message."""
    inner = output.get("output") if isinstance(output, Mapping) and "output" in output else output
    message = inner.get("kwargs", inner) if isinstance(inner, Mapping) else None
    if isinstance(message, Mapping) and message.get("type") == "tool" and "content" in message:
        return message["content"], text(message.get("tool_call_id"))
    return inner, None


def read_agent(span: Span) -> SeenAgent | None:
    """A workflow or an agent; the workflow around an agent has the query."""
    attributes = loaded(span)
    if attributes.get(KIND) not in ("workflow", "agent"):
        return None
    said = json_value(attributes.get("traceloop.entity.input"))
    inputs = said.get("inputs", said) if isinstance(said, Mapping) else said
    return SeenAgent(
        span=span,
        agent=text(attributes.get(names.AGENT_NAME)) or text(attributes.get("traceloop.entity.name")),
        query=query_of(inputs),
        session=text(attributes.get(f"{PROPERTIES}session_id") or attributes.get(f"{PROPERTIES}thread_id")),
        source="openllmetry",
    )


def query_of(inputs: Any) -> str | None:
    """The user's last message in LangChain's `{"messages": [["user", TEXT]]}` and its relatives."""
    messages = inputs.get("messages") if isinstance(inputs, Mapping) else inputs
    if isinstance(messages, list) and messages:
        last = messages[-1]
        if isinstance(last, list) and len(last) == 2:
            return text(last[1])
        if isinstance(last, Mapping) and isinstance(last.get("kwargs"), Mapping):
            return text(last["kwargs"].get("content"))
    return last_user_text(messages)


DIALECT = Dialect("openllmetry", read_call, read_agent)
