"""Vercel AI SDK: `ai.toolCall` spans below `ai.generateText`, `ai.streamText` and their relatives."""

from __future__ import annotations

from collections.abc import Mapping

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
    text,
    tool_names,
)
from collector.model import Span

OPERATION = "ai.operationId"
INPUT_TOKENS = (*names.INPUT_TOKENS, "ai.usage.inputTokens", "ai.usage.promptTokens")
OUTPUT_TOKENS = (*names.OUTPUT_TOKENS, "ai.usage.outputTokens", "ai.usage.completionTokens")
AGENTS = ("ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject")


def read_call(span: Span) -> SeenCall | None:
    """A span of operation `ai.toolCall`."""
    attributes = loaded(span)
    if attributes.get(OPERATION) != "ai.toolCall":
        return None
    return plain_call(
        span,
        id=text(attributes.get("ai.toolCall.id")),
        tool=text(attributes.get("ai.toolCall.name")) or span.name,
        arguments=json_value(attributes.get("ai.toolCall.args") or attributes.get("ai.toolCall.input")),
        result=json_value(attributes.get("ai.toolCall.result") or attributes.get("ai.toolCall.output")),
    )


def read_agent(span: Span) -> SeenAgent | None:
    attributes = loaded(span)
    if attributes.get(OPERATION) not in AGENTS:
        return None
    prompt = json_value(attributes.get("ai.prompt"))
    said = prompt.get("messages") or prompt.get("prompt") if isinstance(prompt, Mapping) else prompt
    return SeenAgent(
        span=span,
        agent=text(attributes.get("ai.telemetry.functionId")) or span.name,
        query=last_user_text(said),
        model=text(attributes.get("ai.model.id")),
        session=text(attributes.get("ai.telemetry.metadata.sessionId")),
        source="vercel",
    )


def read_model(span: Span) -> SeenModel | None:
    """A step of generating or streaming: messages and tools in, tool calls and text out."""
    attributes = loaded(span)
    if not str(attributes.get(OPERATION)).endswith((".doGenerate", ".doStream")):
        return None
    calls = json_value(attributes.get("ai.response.toolCalls"))
    parts = [{**call, "type": "tool-call"} for call in calls or () if isinstance(call, Mapping)]
    requests, _, _ = requests_and_answers([{"role": "assistant", "content": parts}])
    given = attributes.get("ai.prompt.messages")
    return SeenModel(
        span=span,
        requests=tuple(requests),
        with_text=bool(text(attributes.get("ai.response.text"))),
        answers=requests_and_answers(given)[1],
        query=last_user_text(given),
        tools=tool_names(attributes.get("ai.prompt.tools")),
        model=text(attributes.get("ai.model.id")),
        session=text(attributes.get("ai.telemetry.metadata.sessionId")),
        input_tokens=count(attributes, INPUT_TOKENS),
        output_tokens=count(attributes, OUTPUT_TOKENS),
        given=messages_in(given),
        said=text(attributes.get("ai.response.text")),
    )


DIALECT = Dialect("vercel", read_call, read_agent, read_model)
