"""OpenInference (Arize): `openinference.span.kind`, tool spans, messages as flattened attributes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeGuard

from collector.dialects import names
from collector.dialects.reading import (
    Dialect,
    Message,
    Request,
    SeenAgent,
    SeenCall,
    SeenModel,
    count,
    error_text,
    json_value,
    loaded,
    messages_in,
    plain_call,
    plain_content,
    requests_and_answers,
    text,
    tool_names,
)
from collector.model import Span

KIND = "openinference.span.kind"
INPUT_TOKENS = (*names.INPUT_TOKENS, "llm.token_count.prompt")
OUTPUT_TOKENS = (*names.OUTPUT_TOKENS, "llm.token_count.completion")
LANGCHAIN = "langchain"
"""Part of the scopes that record LangChain's own callbacks."""
_INTERRUPT = re.compile(r"^(?:Graph|Node)Interrupt\b", re.MULTILINE)
_FAILED = re.compile(r'"status": ?"error"')
_STACK = re.compile(r"\n\n\w*Error: .*?\n +at \S", re.DOTALL)
MESSAGES_READ = 500
"""Messages of one span, and calls of one message, at most."""


def read_call(span: Span) -> SeenCall | None:
    """A TOOL span; its input is JSON where the mime type says so, else the text of a single argument."""
    attributes = loaded(span)
    if attributes.get(KIND) != "TOOL":
        return None
    output = json_value(attributes.get("output.value"))
    message = _tool_message(output)
    bare = _bare(output) if LANGCHAIN in span.scope else output
    result = plain_content(bare if message is None else message.get("content", bare))
    failed = message is not None and message.get("status") == "error"
    answered = None if message is None else text(message.get("tool_call_id"))
    seen = plain_call(
        span,
        id=text(attributes.get("tool_call.id")) or text(attributes.get("tool.id")) or answered,
        tool=text(attributes.get("tool.name")) or span.name,
        arguments=_arguments(json_value(attributes.get("input.value"))),
        result=None if failed else result,
        error=_without_stack(error_text(span)) or (str(result) or "error" if failed else None),
    )
    if LANGCHAIN in span.scope and _waits(span):
        return seen._replace(call=replace(seen.call, error=None, executed=None))
    return seen


def _bare(output: Any) -> Any:
    """What a tool of LangChain gave, where that is no message: it is recorded as `output` of an object."""
    return output["output"] if isinstance(output, Mapping) and set(output) == {"output"} else output


def _waits(span: Span) -> bool:
    """Whether LangGraph broke the tool off to wait for a person; it begins anew when the graph goes on."""
    if span.status != "error":
        return False
    raised = (text(said.get("exception.type")) or "" for name, said in span.events if name == "exception")
    return bool(_INTERRUPT.search(span.status_message)) or any(
        kind.rpartition(".")[2] in ("GraphInterrupt", "NodeInterrupt") for kind in raised
    )


def _tool_message(output: Any) -> Mapping[str, Any] | None:
    """LangChain's message with a tool's result, where that is what was recorded: in Python as `data` of its
    type, in JavaScript as `kwargs` of its constructor; a `Command` of LangGraph has it in its update.
    """
    said = output.get("output", output) if isinstance(output, Mapping) else None
    if isinstance(said, Mapping) and said.get("lg_name") == "Command":
        update = said.get("update")
        listed = update.get("messages") if isinstance(update, Mapping) else None
        said = listed[-1] if isinstance(listed, list) and listed else None
    if not isinstance(said, Mapping):
        return None
    inner = said.get("data") if said.get("type") == "tool" else said.get("kwargs")
    made = said.get("id")
    is_one = said.get("type") == "tool" or (isinstance(made, list) and made[-1:] == ["ToolMessage"])
    return inner if is_one and isinstance(inner, Mapping) else None


def _without_stack(said: str | None) -> str | None:
    """The message of an error in JavaScript, which comes with its stack, and there once more."""
    if said is None or not (stack := _STACK.search(said)):
        return said
    return said[: stack.start()].strip() or said


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
    made = _messages(attributes, "llm.output_messages")
    for message in made:
        with_text |= bool(message["content"])
        requests += message["requests"]
    given = _messages(attributes, "llm.input_messages")
    answers = {message["answers"]: message["content"] for message in given if message["answers"]}
    if not requests:
        requests, _, _ = requests_and_answers(_generated(attributes.get("output.value")))
    nameless = any(message["role"] == "tool" and not message["answers"] for message in given)
    if nameless or (answers and _FAILED.search(text(attributes.get("input.value")) or "")):
        answers |= requests_and_answers(_conversation(attributes.get("input.value")))[1]
    schemas = [attributes[key] for key in sorted(attributes) if key.startswith("llm.tools.")]
    return SeenModel(
        span=span,
        requests=tuple(requests),
        with_text=with_text,
        answers=answers,
        query=_last_query(given),
        tools=tool_names(schemas) if schemas else None,
        model=text(attributes.get("llm.model_name")),
        session=text(attributes.get("session.id")),
        input_tokens=count(attributes, INPUT_TOKENS),
        output_tokens=count(attributes, OUTPUT_TOKENS),
        given=_given(given),
        said="\n".join(m["content"] for m in made if isinstance(m["content"], str)) or None,
    )


def _generated(said: Any) -> list[Any]:
    """The messages in the output of a LangChain model; JavaScript's have their requests nowhere else."""
    found = json_value(said) if isinstance(said, str) and '"generations"' in said else None
    lists = found.get("generations") if isinstance(found, Mapping) else None
    listed = [one for some in lists for one in some] if _are_lists(lists) else []
    return [one.get("message") for one in listed if isinstance(one, Mapping)]


def _conversation(said: Any) -> list[Any]:
    """The messages that a LangChain model was given."""
    found = json_value(said) if isinstance(said, str) and '"messages"' in said else None
    lists = found.get("messages") if isinstance(found, Mapping) else None
    return [one for some in lists for one in some] if _are_lists(lists) else []


def _are_lists(value: Any) -> TypeGuard[list[list[Any]]]:
    return isinstance(value, list) and all(isinstance(item, list) for item in value)


def _given(messages: Sequence[Mapping[str, Any]]) -> tuple[Message, ...] | None:
    """What was said in them; where they are as many as are read there may be more."""
    found = messages_in(messages)
    if len(messages) < MESSAGES_READ:
        return found if messages else None
    return (*(found or ()), Message("user", "", "absent"))


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
    return _last_query(_messages(attributes, prefix))


def _last_query(messages: Sequence[Mapping[str, Any]]) -> str | None:
    said = [m["content"] for m in messages if m["role"] == "user" and m["content"]]
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


DIALECT = Dialect("openinference", read_call, read_agent, read_model)
