"""MCP client.

Three classes offer `call_tool` on top of each other; the outermost one is the call. Failures of a tool,
unknown tools and bad arguments come back as a normal result with an error flag. Inside a framework's
call of the same tool no span is added, but the flag is passed on: openai-agents, for one, drops it.
There is no call id, no run and no query here.
"""

from __future__ import annotations

from typing import Any

from pdoctor_trace.adapter import (
    MCP_METHOD,
    Call,
    Framework,
    Limit,
    Reading,
    Target,
    Visit,
    arguments,
    around_async,
    around_of,
    claim,
    current,
)

SOURCE, CALLED = "mcp", "tools/call"


class _McpCall(Call):
    """A tool on an MCP server."""

    __slots__ = ()

    def returned(self, result: Any) -> None:
        self.ended(_read(result))


class _Enriching(Visit):
    """A framework above has the span of this call; it is told what the server said."""

    __slots__ = ("outer",)

    def __init__(self, outer: Call) -> None:
        super().__init__(current())
        self.outer = outer
        outer.tell(MCP_METHOD, CALLED)

    def returned(self, result: Any) -> None:
        self.outer.inner_error = _read(result).error


def _enter(session: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | Call | None:
    tool = args[0] if args else kwargs["name"]
    given = (args[1] if len(args) > 1 else kwargs.get("arguments")) or {}
    outer = around_of(current(), tool, lambda: arguments(given))
    if outer is not None:
        return None if outer.source == SOURCE else _Enriching(outer)
    claimed = claim(None, tool, given, _read, way=True)
    if claimed is not None:
        if claimed.frame is not None and claimed.frame.call is not None:
            claimed.frame.call.tell(MCP_METHOD, CALLED)
        return claimed
    call = _McpCall(SOURCE, tool, arguments(given))
    call.tell(MCP_METHOD, CALLED)
    return call


def _read(result: Any) -> Reading:
    """Its content, or its text where it is flagged as an error (2.x and 1.x spelling)."""
    if getattr(result, "is_error", getattr(result, "isError", False)):
        return Reading(None, "\n".join(_texts(result)) or "the tool reported an error")
    return Reading(_content(result))


def _content(result: Any) -> Any:
    structured = getattr(result, "structured_content", getattr(result, "structuredContent", None))
    if structured is not None:
        return structured
    said = [_said(part) for part in getattr(result, "content", None) or ()]
    return said[0] if len(said) == 1 else said


def _said(part: Any) -> str:
    """The text of a part of a result; of an image or anything else what it is."""
    text = getattr(part, "text", None)
    return text if isinstance(text, str) else f"<{getattr(part, 'type', 'part')}>"


def _texts(result: Any) -> list[str]:
    texts = [getattr(part, "text", None) for part in getattr(result, "content", None) or ()]
    return [text for text in texts if isinstance(text, str)]


_CALL = around_async(_enter)

MCP = Framework(
    name=SOURCE,
    title="MCP client",
    distribution="mcp",
    versions=">=1.10,<3",
    targets=(
        Target("mcp.client.session", "ClientSession.call_tool", _CALL),
        Target("mcp.client.client", "Client.call_tool", _CALL, optional=True),
        Target("mcp.client.session_group", "ClientSessionGroup.call_tool", _CALL, optional=True),
    ),
    covers="tool calls of every transport, errors reported as results, timeouts",
    limits=(Limit("no model", "no call id, run or query at this layer"),),
)
