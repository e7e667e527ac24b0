"""OpenTelemetry's GenAI semantic conventions, with the `pdoctor.*` attributes of our own tracer on top."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from collector.dialects import names
from collector.dialects.deferred import deferred_call
from collector.dialects.reading import (
    Dialect,
    SeenAgent,
    SeenCall,
    SeenModel,
    count,
    error_text,
    json_value,
    last_user_text,
    loaded,
    nothing,
    plain_content,
    requests_and_answers,
    text,
    tool_names,
    whole,
    without_end,
)
from collector.model import Span

ANTHROPIC_RESULT = "anthropic.tool_result.content"
"""Anthropic's SDK has content blocks here, for a failed call the reason."""
ALL_MESSAGES = "pydantic_ai.all_messages"
"""PydanticAI puts the messages of a whole run here instead of the input messages."""
INPUT_TOKENS = (*names.INPUT_TOKENS, "llm.usage.prompt_tokens")
OUTPUT_TOKENS = (*names.OUTPUT_TOKENS, "llm.usage.completion_tokens")
"""The last are OpenLLMetry's, whose model calls are read here."""


def read_call(span: Span) -> SeenCall | None:
    """A span of `execute_tool`; with inferred timing its ends bound both instants."""
    if span.attributes.get(names.OPERATION_NAME) != "execute_tool":
        return None
    said = loaded(span)
    get = said.get
    failure = get(names.ERROR_TYPE) or get(names.ERROR_KIND)
    error = error_text(span, failure) if failure or span.status == "error" else None
    first, last = span.start_ns, span.end_ns
    start = end = (first, last if last > first else first)
    if get(names.TIMING) != "inferred":
        start, end = (first, first), (start[1], start[1])
    call = deferred_call(
        text(get(names.TOOL_CALL_ID)),
        text(get(names.TOOL_NAME)) or span.name.removeprefix("execute_tool").strip() or "unknown",
        error,
        start,
        end,
        get(names.EXECUTED) is not False,
        said,
    )
    if not last:
        call = without_end(call)
    if ANTHROPIC_RESULT in said:
        result, error = _result_in_blocks(said[ANTHROPIC_RESULT], call.result, error)
        call = replace(call, result=result, error=error)
    return SeenCall(call, span, whole(get(names.STEP_INDEX)))


def _result_in_blocks(blocks: Any, result: Any, error: str | None) -> tuple[Any, str | None]:
    """(result, error) where there are content blocks, which for a failed call hold the reason."""
    said = plain_content(json_value(blocks))
    if said is None:
        return result, error
    return (result, str(said)) if error is not None else (said, None)


def read_agent(span: Span) -> SeenAgent | None:
    """A span of `invoke_agent`."""
    if span.attributes.get(names.OPERATION_NAME) != "invoke_agent":
        return None
    attributes = loaded(span)
    return SeenAgent(
        span=span,
        agent=text(attributes.get(names.AGENT_NAME)) or text(span.name.removeprefix("invoke_agent").strip()),
        query=last_user_text(attributes.get(names.INPUT_MESSAGES) or attributes.get(ALL_MESSAGES)),
        tools=tool_names(attributes.get(names.TOOL_DEFINITIONS)),
        model=text(attributes.get(names.REQUEST_MODEL)),
        announced_calls=whole(attributes.get(names.RUN_CALLS)),
        source=text(attributes.get(names.SOURCE)),
        session=text(attributes.get(names.CONVERSATION_ID)),
    )


def read_model(span: Span) -> SeenModel | None:
    """A span of a chat or completion, with the messages as JSON."""
    if span.attributes.get(names.OPERATION_NAME) not in ("chat", "generate_content", "text_completion"):
        return None
    attributes = loaded(span)
    requests, _, with_text = requests_and_answers(attributes.get(names.OUTPUT_MESSAGES))
    _, answers, _ = requests_and_answers(attributes.get(names.INPUT_MESSAGES))
    return SeenModel(
        span=span,
        requests=tuple(requests),
        with_text=with_text,
        answers=answers,
        query=last_user_text(attributes.get(names.INPUT_MESSAGES)),
        tools=tool_names(attributes.get(names.TOOL_DEFINITIONS)),
        model=text(attributes.get(names.REQUEST_MODEL)),
        session=text(attributes.get(names.CONVERSATION_ID)),
        input_tokens=count(attributes, INPUT_TOKENS),
        output_tokens=count(attributes, OUTPUT_TOKENS),
    )


DIALECT = Dialect("genai", read_call, read_agent, read_model)
CALLS = Dialect("genai", read_call, nothing)
MODELS = Dialect("genai", nothing, nothing, read_model)
