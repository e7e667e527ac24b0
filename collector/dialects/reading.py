"""What a dialect reads out of a span, and helpers that several dialects share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import orjson

from collector.model import LAST_NS, NO_ATTRIBUTE, Span, ToolCall
from synth.formal import Trouble
from synth.frozen import quick
from synth.observed import ANY_TIME, MAX_DEPTH, Why, deeper_than, ends_early, is_left_out


class SeenCall(NamedTuple):
    """A tool call and the span that told of it (a named tuple for the same reason as `Span`)."""

    call: ToolCall
    span: Span
    number: int | None = None
    """Sequence number within the run, where the sender counts."""
    layer: str | None = None
    """Set where one scope has spans of several layers for one call; otherwise the scope is the layer."""


@quick
@dataclass(frozen=True, slots=True)
class SeenAgent:
    """What a span of an agent's run tells about the run."""

    span: Span
    agent: str | None = None
    is_workflow: bool = False
    """It is of a graph or a crew: what runs inside it may be agents, who know more of their tools."""
    query: str | None = None
    tools: tuple[str, ...] | None = None
    model: str | None = None
    announced_calls: int | None = None
    source: str | None = None
    session: str | None = None
    trouble: Trouble | None = None
    model_wait: float | None = None
    """Seconds that a model request had been without an answer when the span was written."""
    state: str | None = None
    """How a part of a run ended where the run did not: `paused` or `unanswered`."""
    token: str | None = None
    """By what the part is known that goes on."""
    pause_reason: str | None = None
    resumed: str | None = None
    """The token of the part that this one goes on with."""


@quick
@dataclass(frozen=True, slots=True)
class Request:
    """A tool call that a model asked for."""

    id: str | None
    tool: str
    arguments: Any


class Failure(NamedTuple):
    """What an answer says of a call that has no result."""

    text: str
    denied: bool = False
    """A person did not let it run."""
    unseen: bool = False
    """Where tools are recorded and this one is not, it may have failed before it began."""


class Message(NamedTuple):
    """What the user or the assistant said."""

    role: Literal["user", "assistant"]
    text: str
    partly: str | None = None
    """Why not all of it is known, as for the values of a call."""


@quick
@dataclass(frozen=True, slots=True)
class SeenModel:
    """What a span of one model call tells: which tool calls it asked for, which answers it was given."""

    span: Span
    requests: tuple[Request, ...] = ()
    with_text: bool = False
    """The model also talked in the message with the requests."""
    answers: Mapping[str, Any] = field(default_factory=dict)
    """Call id -> result, or its `Failure`, from the messages that the model was given."""
    query: str | None = None
    tools: tuple[str, ...] | None = None
    model: str | None = None
    session: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    given: tuple[Message, ...] | None = None
    """The conversation that the model was given; None = not recorded."""
    said: str | None = None
    """What the model said, beside its requests."""
    read_whole: frozenset[str] = frozenset()
    """Attributes that are known to be JSON text, and all of it."""


def nothing(_span: Span) -> None:
    """The reader of what a dialect has no spans for."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """One vocabulary. Every reader returns None for a span that is not its own."""

    name: str
    call: Callable[[Span], SeenCall | None]
    agent: Callable[[Span], SeenAgent | None] = nothing
    model: Callable[[Span], SeenModel | None] = nothing


def plain_call(span: Span, **known: Any) -> SeenCall:
    """A call that ran exactly while its span was open, and failed if the span did.

    Where the span ended before it began, its clock tells nothing.
    """
    first, last = span.start_ns, span.end_ns
    error = known.pop("error", None) or error_text(span)
    start, end = (ANY_TIME, ANY_TIME) if 0 < last < first else ((first, first), (last, last))
    call = ToolCall(start=start, end=end, error=error, **known)
    call = with_losses(call, span)
    return SeenCall(call if span.end_ns else without_end(call), span)


def with_losses(call: ToolCall, span: Span) -> ToolCall:
    """The call with what its span, of any vocabulary, has lost of its values on the way."""
    values = {"arguments": call.arguments, "result": call.result}
    found = losses(values, [said for said in loaded(span).values() if isinstance(said, str)])
    if span.dropped:
        found |= {name: "absent" for name, value in values.items() if value is None}
    return replace(call, partly={**found, **call.partly}) if found else call


def losses(values: Mapping[str, Any], texts: Sequence[str]) -> dict[str, Why]:
    """Which of the values, that attributes with these texts spell, have lost their end, or parts inside."""
    cut = [name for name, value in values.items() if value in texts and ends_early(value)]
    if any(map(is_left_out, texts)):
        cut += [name for name, value in values.items() if is_left_out(value)]
    return dict.fromkeys(cut, "cut")


def without_end(call: ToolCall) -> ToolCall:
    """A call whose span says no end: it goes on, or ended some time if there is a result or an error."""
    start = call.start or (0, 0)
    if call.result is None and call.error is None:
        return replace(call, end=None, finished=False)
    return replace(call, end=(start[0], LAST_NS))


def loaded(span: Span) -> Mapping[str, Any]:
    """The attributes of a span that a dialect has recognised, ready for many look-ups."""
    attributes = span.attributes
    try:
        return attributes.loaded()  # type: ignore[attr-defined, no-any-return]
    except AttributeError:  # a plain mapping, as in runs that come from elsewhere
        return attributes


def first_attribute(span: Span) -> tuple[str | None, Any]:
    """Key and value of the attribute that was set first, without loading the others."""
    first: tuple[str | None, Any] | None = getattr(span.attributes, "first", None)
    return next(iter(span.attributes.items()), NO_ATTRIBUTE) if first is None else first


REQUESTS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "tool_call": ("id", "name", ("arguments",)),  # GenAI semantic conventions
    "tool-call": ("toolCallId", "toolName", ("input", "args")),  # Vercel
    "tool_use": ("id", "name", ("input",)),  # Anthropic
    "function_call": ("call_id", "name", ("arguments",)),  # OpenAI Responses
}
"""Type of a message's part -> its fields for call id, tool and arguments."""
ANSWERS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "tool_call_response": ("id", ("response", "result")),
    "tool-result": ("toolCallId", ("output", "result")),
    "tool_result": ("tool_use_id", ("content",)),
    "function_call_output": ("call_id", ("output",)),
}
"""Type of a message's part -> its fields for call id and result."""


def requests_and_answers(messages: Any) -> tuple[list[Request], dict[str, Any], bool]:
    """Tool calls, tool results, and whether there is text, in a list of messages.

    Understood are the parts of the tables above, OpenAI's `tool_calls` with role `tool`, and LangChain's
    messages. What spells no message is passed over.
    """
    requests: list[Request] = []
    answers: dict[str, Any] = {}
    has_text = False
    listed = json_value(messages)
    for entry in listed if isinstance(listed, list) else []:
        if not isinstance(entry, Mapping):
            continue
        message = unwrapped_message(entry)
        answered = message.get("tool_call_id") or message.get("id")
        if "tool" in (message.get("role"), message.get("type")) and isinstance(answered, str):
            said = plain_content(message.get("content"))
            failed = message is not entry and message.get("status") == "error"
            answers[answered] = Failure(text(said) or "error", unseen=True) if failed else said
        asked = message.get("tool_calls")
        for call in asked if isinstance(asked, list) else []:
            if isinstance(call, Mapping):
                inner = call.get("function")
                requests += request_of(call.get("id"), inner if isinstance(inner, Mapping) else call)
        content = message.get("parts") or message.get("content")
        has_text |= isinstance(content, str) and bool(content.strip())
        for part in [message, *(content if isinstance(content, list) else [])]:
            if isinstance(part, Mapping):
                has_text |= _read_part(part, requests, answers)
    return requests, answers, has_text


def _read_part(part: Mapping[str, Any], requests: list[Request], answers: dict[str, Any]) -> bool:
    """Add what the part asks or answers; whether it is text."""
    kind = part.get("type")
    if not isinstance(kind, str):
        return False
    if kind in REQUESTS:
        id_key, name_key, argument_keys = REQUESTS[kind]
        arguments = next((part[key] for key in argument_keys if key in part), None)
        requests += request_of(part.get(id_key), {"name": part.get(name_key), "arguments": arguments})
    elif kind in ANSWERS:
        id_key, result_keys = ANSWERS[kind]
        if isinstance(part.get(id_key), str):
            result = json_value(next((part[key] for key in result_keys if key in part), None))
            answers[part[id_key]] = _failure(part, result) or plain_content(result)
    return kind in ("text", "output_text") and bool(
        str(part.get("content") or part.get("text") or "").strip()
    )


def _failure(part: Mapping[str, Any], said: Any) -> Failure | None:
    """By Anthropic's flag, or the type of Vercel's envelope `output`, which holds what a tool itself says."""
    kind = said.get("type") if "output" in part and isinstance(said, Mapping) else None
    if part["type"] == "tool-result" and kind == "execution-denied":
        return Failure(text(said.get("reason")) or "denied", denied=True)
    if part["type"] == "tool-result" and kind in ("error-text", "error-json"):
        said = said.get("value")
    elif part["type"] != "tool_result" or part.get("is_error") is not True:
        return None
    said = plain_content(said)
    return Failure(said if isinstance(said, str) and said else orjson.dumps(said).decode())


def unwrapped_message(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """The message inside LangChain's serialized constructor, or the message itself."""
    inner, made = entry.get("kwargs"), entry.get("id")
    if not isinstance(inner, Mapping):
        return entry
    kind = CONSTRUCTED.get(str(made[-1])) if isinstance(made, list) and made else None
    return inner if kind is None or "type" in inner else {**inner, "type": kind}


CONSTRUCTED = {"HumanMessage": "human", "AIMessage": "ai", "AIMessageChunk": "ai", "ToolMessage": "tool"}
"""LangChain's classes -> the types of their messages, which JavaScript leaves out."""


def plain_content(value: Any) -> Any:
    """A result without the wrapping that protocols put around one text."""
    only = value[0] if isinstance(value, list) and len(value) == 1 else value
    if isinstance(only, Mapping) and only.get("type") == "text" and text(only.get("text")):
        return only["text"]
    if isinstance(value, Mapping) and set(value) == {"type", "value"}:
        return value["value"]  # Vercel: {"type": "text" or "json" or "error-text", "value": ...}
    return value


def request_of(call_id: Any, said: Any) -> list[Request]:
    name = said.get("name") if isinstance(said, Mapping) else None
    if not isinstance(name, str) or not name:
        return []
    arguments = said.get("args") if said.get("arguments") is None else said.get("arguments")
    return [Request(text(call_id), name, json_value(arguments))]


def json_value(value: Any) -> Any:
    """An attribute that holds JSON text as the value it spells; other text stays text.

    So does text that nests deeper than any program means: whoever walked through it would fall.
    """
    if not isinstance(value, str):
        if not isinstance(value, bytes):
            return value
        value = value.decode("utf-8", "replace")
    try:
        found = orjson.loads(value)
    except orjson.JSONDecodeError:
        return value
    brackets = value.count("[") + value.count("{")
    return value if brackets >= MAX_DEPTH and deeper_than(found, MAX_DEPTH - 1) else found


def text(value: Any) -> str | None:
    """`value` if it is non-empty text."""
    return value if isinstance(value, str) and value else None


def whole(value: Any) -> int | None:
    """`value` if it is a whole number (some senders write numbers as text)."""
    if value is None:
        return None
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def count(said: Mapping[str, Any], names: Iterable[str]) -> int | None:
    """The first of the named values that is a whole number, not negative."""
    for name in names:
        number = whole(said.get(name)) if name in said else None
        if number is not None and number >= 0:
            return number
    return None


def tool_names(definitions: Any) -> tuple[str, ...] | None:
    """Names in a tool list: `{"name"}` or the OpenAI spelling `{"function": {"name"}}`."""
    listed = json_value(definitions)
    if not isinstance(listed, list):
        return None
    names = []
    for entry in map(json_value, listed):
        if isinstance(entry, Mapping):
            inner = entry.get("function")
            name = entry.get("name") or (inner.get("name") if isinstance(inner, Mapping) else None)
            names.append(name)
        else:
            names.append(entry)
    return tuple(name for name in names if isinstance(name, str) and name)


def last_user_text(messages: Any) -> str | None:
    """Text of the last user message that has any (tool results may come as the user's, without text)."""
    listed = json_value(messages)
    if isinstance(listed, str):
        return listed or None
    for entry in reversed(listed if isinstance(listed, list) else []):
        message = unwrapped_message(entry) if isinstance(entry, Mapping) else {}
        if {"user", "human"} & {str(message.get("role")), str(message.get("type"))}:
            said = "\n".join(_texts(message.get("parts") or message.get("content")))
            if said:
                return said
    return None


def messages_in(said: Any) -> tuple[Message, ...] | None:
    """What the user and the assistant said in a list of messages; None where there is none.

    Understood is what `last_user_text` understands, and pairs of role and text.
    """
    listed = json_value(said)
    if listed is None:
        return None
    if isinstance(listed, Mapping):
        listed = [listed]
    if isinstance(listed, str):
        return (Message("user", listed, "cut" if listed.lstrip()[:1] in ("[", "{") else None),)
    if not isinstance(listed, list):
        return None
    found = (_message(unwrapped_message(entry) if isinstance(entry, Mapping) else entry) for entry in listed)
    return tuple(message for message in found if message is not None)


ROLES: Mapping[str, Literal["user", "assistant"]] = {
    "user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "model": "assistant",
}  # fmt: skip


def _message(entry: Any) -> Message | None:
    if isinstance(entry, list) and len(entry) == 2:
        entry = {"role": entry[0], "content": entry[1]}
    if not isinstance(entry, Mapping):
        return None
    role = ROLES.get(str(entry.get("role"))) or ROLES.get(str(entry.get("type")))
    if role is None:
        return None
    content = entry.get("parts") or entry.get("content")
    said = "\n".join(_texts(content))
    if said:
        return Message(role, said)
    parts = content if isinstance(content, list) else []
    kinds = {str(part.get("type")) for part in parts if isinstance(part, Mapping)}
    if role == "assistant" or (kinds and kinds <= ANSWERS.keys()):
        return None  # a message that only asks for tools, or only brings their results
    return Message(role, "", None if content == "" or kinds.difference(TEXTS) else "absent")


def said_in(messages: Any) -> str | None:
    """All that the assistant says in a list of messages."""
    found = [message.text for message in messages_in(messages) or () if message.role == "assistant"]
    return "\n".join(found) or None


TEXTS = ("text", "input_text", "output_text")


def _texts(content: Any) -> Iterable[str]:
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list) else []:
        if isinstance(part, str):
            yield part
        elif isinstance(part, Mapping) and part.get("type", "text") in TEXTS:
            found = part.get("content") or part.get("text")
            if isinstance(found, str):
                yield found


TRACEBACK = "Traceback (most recent call last)"


def error_text(span: Span, kind: Any = None) -> str | None:
    """Why the span failed, None where it did not: the exception's own words before the status's."""
    if span.status != "error" and not kind:
        return None
    raised = (attributes.get("exception.message") for name, attributes in span.events if name == "exception")
    said = next((words for words in raised if text(words)), None) or span.status_message
    return said.partition(TRACEBACK)[0].strip() or said or text(kind) or "error"
