"""LangSmith's OpenTelemetry export: `langsmith.span.kind`, inputs and outputs as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from collector.dialects import names
from collector.dialects.openllmetry import query_of, unwrapped
from collector.dialects.reading import Dialect, SeenAgent, SeenCall, json_value, loaded, plain_call, text
from collector.model import Span

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
        result=result,
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


def _metadata(attributes: Mapping[str, Any], name: str) -> str | None:
    return text(attributes.get(METADATA + name))


DIALECT = Dialect("langsmith", read_call, read_agent)
