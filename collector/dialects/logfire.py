"""Pydantic Logfire around the OpenAI Agents SDK: spans told apart by their message template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from collector.dialects import names
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

TEMPLATE = "logfire.msg_template"


def read_call(span: Span) -> SeenCall | None:
    """A span of the template `Function: {name}`."""
    attributes = loaded(span)
    if attributes.get(TEMPLATE) != "Function: {name}":
        return None
    return plain_call(
        span,
        id=None,
        tool=text(attributes.get("name")) or "unknown",
        arguments=json_value(attributes.get("input")),
        result=json_value(attributes.get("output")),
        error=_error(attributes),
    )


def _error(attributes: Mapping[str, Any]) -> str | None:
    said = json_value(attributes.get("error"))
    return text(said.get("message")) if isinstance(said, Mapping) else text(said)


def read_agent(span: Span) -> SeenAgent | None:
    """A span of the template `Agent run: {name!r}`; the query stands in its model calls."""
    attributes = loaded(span)
    if attributes.get(TEMPLATE) != "Agent run: {name!r}":
        return None
    return SeenAgent(
        span=span,
        agent=text(attributes.get("name")),
        tools=tool_names(attributes.get("tools")),
        source="logfire",
    )


def read_model(span: Span) -> SeenModel | None:
    """A span with Responses or chat messages: what was given, then `response`."""
    attributes = loaded(span)
    if TEMPLATE not in attributes or attributes.get(names.OPERATION_NAME) != "chat":
        return None
    response = json_value(attributes.get("response"))
    said = response if isinstance(response, Mapping) else {}
    given = attributes.get("raw_input")
    requests, _, with_text = requests_and_answers(said.get("output"))
    return SeenModel(
        span=span,
        requests=tuple(requests),
        with_text=with_text,
        answers=requests_and_answers(given)[1],
        query=last_user_text(given),
        tools=tool_names(said.get("tools")),
        model=text(attributes.get(names.REQUEST_MODEL)),
        input_tokens=count(attributes, names.INPUT_TOKENS),
        output_tokens=count(attributes, names.OUTPUT_TOKENS),
        given=messages_in(given),
        said=said_in(said.get("output")),
    )


DIALECT = Dialect("logfire", read_call, read_agent, read_model)
