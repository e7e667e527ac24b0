"""Langfuse's SDK on OpenTelemetry: `langfuse.observation.type`, input and output as JSON text."""

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
    plain_content,
    requests_and_answers,
    said_in,
    text,
    tool_names,
)
from collector.model import Span

SCOPE = "langfuse-sdk"
TYPE = "langfuse.observation.type"
INPUT, OUTPUT = "langfuse.observation.input", "langfuse.observation.output"
MODEL = "langfuse.observation.model.name"
USAGE = "langfuse.observation.usage_details"
VERSION, RELEASE, ENVIRONMENT = "langfuse.version", "langfuse.release", "langfuse.environment"
SESSION = "session.id"


def read_call(span: Span) -> SeenCall | None:
    """An observation of type `tool`."""
    attributes = loaded(span)
    if attributes.get(TYPE) != "tool":
        return None
    return plain_call(
        span,
        id=None,
        tool=span.name,
        arguments=_arguments(json_value(attributes.get(INPUT))),
        result=plain_content(json_value(attributes.get(OUTPUT))),
    )


def read_agent(span: Span) -> SeenAgent | None:
    """An agent's observation, or the root of a trace (not where that is a bare generation)."""
    attributes = loaded(span)
    kind = attributes.get(TYPE)
    is_top = span.parent_id is None and kind in ("span", "chain")
    if kind != "agent" and not is_top:
        return None
    return SeenAgent(
        span=span,
        agent=span.name,
        query=_question(json_value(attributes.get(INPUT))),
        session=text(attributes.get(SESSION)),
        source="langfuse",
    )


def _arguments(given: Any) -> Any:
    """Those of a function under `@observe`: by name where all were given so, else as the SDK has them."""
    return given["kwargs"] if _is_decorated(given) and not given["args"] else given


def _is_decorated(given: Any) -> bool:
    if not isinstance(given, Mapping) or given.keys() != {"args", "kwargs"}:
        return False
    return isinstance(given["args"], list) and isinstance(given["kwargs"], Mapping)


def _question(given: Any) -> str | None:
    """The request in an input: text, messages, or the only argument."""
    if _is_decorated(given):
        values = [*given["args"], *given["kwargs"].values()]
        given = values[0] if len(values) == 1 else given["kwargs"]
    if isinstance(given, Mapping) and (asked := text(given.get("question")) or text(given.get("prompt"))):
        return asked
    return query_of(given)


def read_model(span: Span) -> SeenModel | None:
    """A generation, with the messages in the format of its provider."""
    attributes = loaded(span)
    if attributes.get(TYPE) != "generation":
        return None
    given, made = json_value(attributes.get(INPUT)), json_value(attributes.get(OUTPUT))
    tools = given.get("tools") if isinstance(given, Mapping) else None
    given = given.get("messages", given) if isinstance(given, Mapping) else given
    answer = made if isinstance(made, list) else [made]
    requests, _, with_text = requests_and_answers(answer)
    usage = json_value(attributes.get(USAGE))
    counted: Mapping[str, Any] = usage if isinstance(usage, Mapping) else {}
    return SeenModel(
        span=span,
        requests=tuple(requests),
        with_text=with_text,
        answers=requests_and_answers(given)[1],
        query=last_user_text(given),
        tools=tool_names(tools) if tools else None,
        model=text(attributes.get(MODEL)),
        session=text(attributes.get(SESSION)),
        input_tokens=count(counted, ("input", "prompt_tokens")),
        output_tokens=count(counted, ("output", "completion_tokens")),
        given=messages_in(given),
        said=said_in(answer),
    )


DIALECT = Dialect("langfuse", read_call, read_agent, read_model)
