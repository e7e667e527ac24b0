"""LangSmith's OpenTelemetry export: `langsmith.span.kind`, inputs and outputs as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from collector.dialects import names
from collector.dialects.openllmetry import query_of, unwrapped
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

SCOPE = "langsmith"
KIND = "langsmith.span.kind"
METADATA = "langsmith.metadata."


def read_call(span: Span) -> SeenCall | None:
    """A span of kind `tool`."""
    attributes = loaded(span)
    if attributes.get(KIND) != "tool":
        return None
    result, call_id = unwrapped(json_value(attributes.get("gen_ai.completion")))
    return plain_call(
        span,
        id=text(attributes.get(names.TOOL_CALL_ID)) or call_id,
        tool=text(attributes.get(names.TOOL_NAME)) or span.name,
        arguments=json_value(attributes.get("gen_ai.prompt")),
        result=None if result == {} else result,
    )


def read_agent(span: Span) -> SeenAgent | None:
    """The outermost chain of a trace."""
    attributes = loaded(span)
    if attributes.get(KIND) != "chain" or span.parent_id is not None:
        return None
    return SeenAgent(
        span=span,
        agent=_metadata(attributes, "lc_agent_name") or span.name,
        query=query_of(json_value(attributes.get("gen_ai.prompt"))),
        session=_metadata(attributes, "session_id") or _metadata(attributes, "thread_id"),
        source="langsmith",
    )


def read_model(span: Span) -> SeenModel | None:
    """A span of kind `llm`, with messages in and what the model wrote out."""
    attributes = loaded(span)
    if attributes.get(KIND) != "llm":
        return None
    given = _inner(json_value(attributes.get("gen_ai.prompt")), "messages")
    made = _generated(json_value(attributes.get("gen_ai.completion")))
    requests, _, with_text = requests_and_answers(made)
    return SeenModel(
        span=span,
        requests=tuple(requests),
        with_text=with_text,
        answers=requests_and_answers(given)[1],
        query=last_user_text(given),
        tools=tool_names(attributes.get(names.TOOL_DEFINITIONS)),
        model=text(attributes.get(names.REQUEST_MODEL)),
        session=_metadata(attributes, "session_id") or _metadata(attributes, "thread_id"),
        input_tokens=count(attributes, names.INPUT_TOKENS),
        output_tokens=count(attributes, names.OUTPUT_TOKENS),
        given=messages_in(given),
        said=said_in(made),
    )


def _inner(said: Any, name: str) -> Any:
    """`said[name]`, which is a list of one list per prompt."""
    found = said.get(name) if isinstance(said, Mapping) else None
    return found[0] if isinstance(found, list) and found and isinstance(found[0], list) else found


def _generated(completion: Any) -> list[Any]:
    """The messages that a model wrote: LangChain's generations, OpenAI's choices, or one message."""
    listed = _inner(completion, "generations") or _inner(completion, "choices")
    if isinstance(listed, list):
        return [one.get("message") for one in listed if isinstance(one, Mapping)]
    inner = _inner(completion, "output") or completion
    return inner if isinstance(inner, list) else [inner]


def _metadata(attributes: Mapping[str, Any], name: str) -> str | None:
    return text(attributes.get(METADATA + name))


DIALECT = Dialect("langsmith", read_call, read_agent, read_model)
