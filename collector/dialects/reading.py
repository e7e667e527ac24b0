"""What a dialect reads out of a span, and helpers that several dialects share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from collector.model import Span, ToolCall


@dataclass(frozen=True, slots=True)
class SeenCall:
    """A tool call and the span that told of it."""

    call: ToolCall
    span: Span
    index: int | None = None
    """Sequence number within the run, where the sender counts."""


@dataclass(frozen=True, slots=True)
class SeenAgent:
    """What a span of an agent's run tells about the run."""

    span: Span
    agent: str | None = None
    query: str | None = None
    tools: tuple[str, ...] | None = None
    model: str | None = None
    announced_calls: int | None = None
    source: str | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Dialect:
    """One vocabulary. Both readers return None for a span that is not theirs."""

    name: str
    call: Callable[[Span], SeenCall | None]
    agent: Callable[[Span], SeenAgent | None]


def loaded(span: Span) -> Mapping[str, Any]:
    """The attributes of a span that a dialect has recognised, ready for many look-ups."""
    ready = getattr(span.attributes, "loaded", None)
    return span.attributes if ready is None else ready()


def json_value(value: Any) -> Any:
    """An attribute that holds JSON text as the value it spells; other text stays text."""
    if not isinstance(value, str):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return value


def text(value: Any) -> str | None:
    """`value` if it is non-empty text."""
    return value if isinstance(value, str) and value else None


def whole(value: Any) -> int | None:
    """`value` if it is a whole number (some senders write numbers as text)."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


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
    """Text of the last user message, in the parts or the content spelling."""
    listed = json_value(messages)
    if isinstance(listed, str):
        return listed or None
    for message in reversed(listed if isinstance(listed, list) else []):
        if isinstance(message, Mapping) and message.get("role") in ("user", "human"):
            return "\n".join(_texts(message.get("parts") or message.get("content"))) or None
    return None


def _texts(content: Any) -> Iterable[str]:
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list) else []:
        if isinstance(part, str):
            yield part
        elif isinstance(part, Mapping):
            found = part.get("content") or part.get("text")
            if isinstance(found, str):
                yield found


def error_text(span: Span, kind: Any = None) -> str | None:
    """Why the span failed, None where it did not."""
    if span.status != "error" and not kind:
        return None
    return span.status_message or text(kind) or "error"
