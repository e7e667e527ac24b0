"""Model Context Protocol: client spans of `tools/call` that carry no GenAI operation."""

from __future__ import annotations

from collector.dialects import names
from collector.dialects.reading import Dialect, SeenAgent, SeenCall, json_value, loaded, plain_call, text
from collector.model import Span

METHOD = "mcp.method.name"


def read_call(span: Span) -> SeenCall | None:
    """A `tools/call` request, as the client saw it."""
    attributes = loaded(span)
    if attributes.get(METHOD) != "tools/call":
        return None
    name = text(attributes.get(names.TOOL_NAME)) or text(attributes.get("mcp.tool.name"))
    return plain_call(
        span,
        id=text(attributes.get(names.TOOL_CALL_ID)),
        tool=name or span.name.removeprefix("tools/call").strip() or "unknown",
        arguments=json_value(attributes.get(names.TOOL_ARGUMENTS)),
        result=json_value(attributes.get(names.TOOL_RESULT)),
        error=text(attributes.get(names.ERROR_TYPE)),
    )


def read_agent(_span: Span) -> SeenAgent | None:
    return None


DIALECT = Dialect("mcp", read_call, read_agent)
