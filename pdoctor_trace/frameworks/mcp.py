"""MCP client.

Three classes offer `call_tool` on top of each other; the outermost one is the call. Failures of a tool,
unknown tools and bad arguments come back as a normal result with an error flag. Inside a framework's
call of the same tool no span is added, but the flag is passed on: openai-agents, for one, drops it.
There is no call id, no run and no query here.
"""

from __future__ import annotations

from typing import Any

from pdoctor_trace.adapter import (
    TOOL_RAISED,
    Call,
    Framework,
    Limit,
    Target,
    Visit,
    arguments,
    around_async,
    claim,
    current,
    outcome,
)

SOURCE = "mcp"


class _McpCall(Call):
    """A tool on an MCP server."""

    __slots__ = ()

    def returned(self, result: Any) -> None:
        problem = _problem(result)
        if problem is not None:
            self.fail(problem, TOOL_RAISED)
            self.close()
            return
        self.close(outcome(_content(result)))


class _Enriching(Visit):
    """A framework above has the span of this call; it is told what the server said."""

    __slots__ = ("outer",)

    def __init__(self, outer: Call) -> None:
        super().__init__(current())
        self.outer = outer

    def returned(self, result: Any) -> None:
        self.outer.inner_error = _problem(result)


class _Claimed(Visit):
    """A raw loop's model asked for this call."""

    __slots__ = ("exact",)

    def __init__(self, exact: Any) -> None:
        super().__init__(exact.frame)
        self.exact = exact

    def returned(self, result: Any) -> None:
        problem = _problem(result)
        if problem is None:
            self.exact.returned(_content(result))
        else:
            self.exact.failed(problem)

    def raised(self, error: BaseException) -> None:
        self.exact.raised(error)


def _enter(session: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | Call | None:
    tool = args[0] if args else kwargs["name"]
    given = (args[1] if len(args) > 1 else kwargs.get("arguments")) or {}
    frame = current()
    outer = frame.call if frame is not None else None
    if outer is not None and outer.tool == tool:
        return None if outer.source == SOURCE else _Enriching(outer)
    claimed = claim(None, tool, given)
    if claimed is not None:
        return _Claimed(claimed)
    return _McpCall(SOURCE, tool, arguments(given))


def _problem(result: Any) -> str | None:
    """Text of a result that is flagged as an error (2.x and 1.x spelling), else None."""
    if not getattr(result, "is_error", getattr(result, "isError", False)):
        return None
    return "\n".join(_texts(result)) or "the tool reported an error"


def _content(result: Any) -> Any:
    structured = getattr(result, "structured_content", getattr(result, "structuredContent", None))
    if structured is not None:
        return structured
    texts = _texts(result)
    return texts[0] if len(texts) == 1 else texts


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
