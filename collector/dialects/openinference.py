"""OpenInference (Arize): `openinference.span.kind`, tool spans, messages as flattened attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from collector.dialects import names
from collector.dialects.reading import (
    Dialect,
    Request,
    SeenAgent,
    SeenCall,
    SeenModel,
    count,
    json_value,
    loaded,
    plain_call,
    plain_content,
    text,
    tool_names,
)
from collector.model import Span

KIND = "openinference.span.kind"
INPUT_TOKENS = (*names.INPUT_TOKENS, "llm.token_count.prompt")
OUTPUT_TOKENS = (*names.OUTPUT_TOKENS, "llm.token_count.completion")
MESSAGES_READ = 500
"""Messages of one span, and calls of one message, at most."""


def read_call(span: Span) -> SeenCall | None:
    """A TOOL span; its input is JSON where the mime type says so, else the text of a single argument."""
    attributes = loaded(span)
    if attributes.get(KIND) != "TOOL":
        return None
    result = plain_content(_content(json_value(attributes.get("output.value"))))
    return plain_call(
        span,
        id=text(attributes.get("tool_call.id")) or text(attributes.get("tool.id")) or _call_id(attributes),
        tool=text(attributes.get("tool.name")) or span.name,
        arguments=_arguments(json_value(attributes.get("input.value"))),
        result=result,
    )


def _arguments(said: Any) -> Any:
    """The arguments; smolagents' calls are recorded as those of the method that takes them."""
    if isinstance(said, Mapping) and "sanitize_inputs_outputs" in said:
        return said.get("kwargs") or said.get("args")
    return said


def read_agent(span: Span) -> SeenAgent | None:
    attributes = loaded(span)
    if attributes.get(KIND) != "AGENT":
        return None
    return SeenAgent(
        span=span,
        agent=text(attributes.get("agent.name")) or _named(span, attributes),
        query=_flat_query(attributes, "llm.input_messages") or _query(attributes.get("input.value")),
        session=text(attributes.get("session.id")),
        source="openinference",
    )


def _named(span: Span, attributes: Mapping[str, Any]) -> str | None:
    """The agent's name as the name of its span; smolagents' spans add the method."""
    return span.name.removesuffix(".run") if "input.value" in attributes else None


def read_model(span: Span) -> SeenModel | None:
    attributes = loaded(span)
    if attributes.get(KIND) != "LLM":
        return None
    requests: list[Request] = []
    with_text = False
    for message in _messages(attributes, "llm.output_messages"):
        with_text |= bool(message["content"])
        requests += message["requests"]
    answers = {
        message["answers"]: message["content"]
        for message in _messages(attributes, "llm.input_messages")
        if message["answers"]
    }
    schemas = [attributes[key] for key in sorted(attributes) if key.startswith("llm.tools.")]
    return SeenModel(
        span=span,
        requests=tuple(requests),
        with_text=with_text,
        answers=answers,
        query=_flat_query(attributes, "llm.input_messages"),
        tools=tool_names(schemas) if schemas else None,
        model=text(attributes.get("llm.model_name")),
        session=text(attributes.get("session.id")),
        input_tokens=count(attributes, INPUT_TOKENS),
        output_tokens=count(attributes, OUTPUT_TOKENS),
    )


def _messages(attributes: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """`PREFIX.N.message.*` as messages in order of N; some senders start at 1."""
    heads = (key[len(prefix) + 1 :].partition(".")[0] for key in attributes if key.startswith(prefix))
    numbers = sorted({int(head) for head in heads if head.isdigit() and len(head) < 7})
    found = []
    for number in numbers[:MESSAGES_READ]:
        base = f"{prefix}.{number}.message"
        requests = []
        for call in range(MESSAGES_READ):
            inner = f"{base}.tool_calls.{call}.tool_call"
            name = text(attributes.get(f"{inner}.function.name"))
            if name is None:
                break
            arguments = json_value(attributes.get(f"{inner}.function.arguments"))
            requests.append(Request(text(attributes.get(f"{inner}.id")), name, arguments))
        found.append(
            {
                "role": attributes.get(f"{base}.role"),
                "content": attributes.get(f"{base}.content") or _parts(attributes, base),
                "answers": text(attributes.get(f"{base}.tool_call_id")),
                "requests": requests,
            }
        )
    return found


def _parts(attributes: Mapping[str, Any], base: str) -> str | None:
    """The texts of a message in parts."""
    found = []
    for part in range(MESSAGES_READ):
        inner = f"{base}.contents.{part}.message_content"
        if f"{inner}.type" not in attributes:
            break
        found.append(text(attributes.get(f"{inner}.text")))
    return "\n".join(filter(None, found)) or None


def _flat_query(attributes: Mapping[str, Any], prefix: str) -> str | None:
    said = [m["content"] for m in _messages(attributes, prefix) if m["role"] == "user" and m["content"]]
    return text(said[-1]) if said else None


def _query(value: Any) -> str | None:
    """The request in an agent's input: text, or JSON whose messages end with the user's."""
    said = json_value(value)
    if isinstance(said, Mapping):
        said = said.get("messages") or said.get("input") or said.get("query") or said.get("task")
    if isinstance(said, list) and said:
        last = said[-1]
        if isinstance(last, list) and len(last) == 2:
            return text(last[1])
        return text(last.get("content")) if isinstance(last, Mapping) else None
    return text(said)


def _call_id(attributes: Mapping[str, Any]) -> str | None:
    """LangChain's tool message, which is the output of its tool spans, names the call."""
    output = json_value(attributes.get("output.value"))
    data = output.get("data") if isinstance(output, Mapping) else None
    return text(data.get("tool_call_id")) if isinstance(data, Mapping) else None


def _content(output: Any) -> Any:
    data = output.get("data") if isinstance(output, Mapping) and output.get("type") == "tool" else None
    return data.get("content", output) if isinstance(data, Mapping) else output


DIALECT = Dialect("openinference", read_call, read_agent, read_model)
