"""Model Context Protocol: spans of `tools/call` at the client and at the server.

The protocol's own Python SDK writes both: the client's names the tool only in the span's name and takes
no notice of a failure, the server's tells both. They are layers of one call.
"""

from __future__ import annotations

from collector.dialects import names
from collector.dialects.reading import Dialect, SeenAgent, SeenCall, json_value, loaded, plain_call, text
from collector.model import Span

METHOD = "mcp.method.name"
CALL = "tools/call"


def read_call(span: Span) -> SeenCall | None:
    """A `tools/call` request, as client or server saw it."""
    attributes = loaded(span)
    if attributes.get(METHOD) != CALL:
        return None
    name = text(attributes.get(names.TOOL_NAME)) or text(attributes.get("mcp.tool.name"))
    seen = plain_call(
        span,
        id=text(attributes.get(names.TOOL_CALL_ID)),
        tool=name or span.name.partition(CALL)[2].strip() or "unknown",
        arguments=json_value(attributes.get(names.TOOL_ARGUMENTS)),
        result=json_value(attributes.get(names.TOOL_RESULT)),
        error=text(attributes.get(names.ERROR_TYPE)),
    )
    side = "server" if attributes.get(names.OPERATION_NAME) == "execute_tool" else "client"
    return seen._replace(layer=f"{span.scope} {side}")


def read_agent(_span: Span) -> SeenAgent | None:
    return None


DIALECT = Dialect("mcp", read_call, read_agent)
