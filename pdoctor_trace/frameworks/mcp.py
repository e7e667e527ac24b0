"""MCP client.

Three classes offer `call_tool` on top of each other; the outermost one is the call. Failures of a tool,
unknown tools and bad arguments come back as a normal result with an error flag. Inside a framework's
call of the same tool no span is added, but the flag is passed on: openai-agents, for one, drops it.
There is no call id, no run and no query here.

What the conventions want of a request besides is the session's: the version that it speaks, the number of its
next request, and the server's name for the session, which the transport at the other end of its stream knows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

from pdoctor_trace.adapter import (
    MCP_METHOD,
    MCP_PROTOCOL,
    MCP_SESSION,
    RPC_REQUEST,
    RPC_STATUS,
    Call,
    Framework,
    Given,
    Limit,
    Reading,
    Target,
    Visit,
    arguments,
    around_async,
    around_of,
    claim,
    current,
    field,
    guarded,
    merged,
    observe,
    type_name,
    with_arguments,
)

SOURCE, CALLED = "mcp", "tools/call"
_VERSIONS: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
"""Session -> what it speaks, where it does not keep that itself."""
_TRANSPORTS: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""Pipe that a session writes to -> what reads it and talks HTTP."""


class _McpCall(Call):
    """A tool on an MCP server."""

    __slots__ = ()

    def returned(self, result: Any) -> None:
        said = _read(result)
        self.inner_error = said.error
        self.ended(said._replace(error=None))

    def raised(self, error: BaseException) -> None:
        guarded(_tell_code, self, error)
        super().raised(error)


class _Enriching(Visit):
    """A framework above has the span of this call; it is told what the server said."""

    __slots__ = ("outer",)

    def __init__(self, outer: Call) -> None:
        super().__init__(current())
        self.outer = outer

    def returned(self, result: Any) -> None:
        self.outer.inner_error = _read(result).error

    def raised(self, error: BaseException) -> None:
        guarded(_tell_code, self.outer, error)


def _enter(session: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | Call | None:
    tool = args[0] if args else kwargs["name"]
    given = (args[1] if len(args) > 1 else kwargs.get("arguments")) or {}
    outer = around_of(current(), tool, lambda: arguments(given))
    if outer is not None:
        guarded(_tell, outer, session)
        return None if outer.source == SOURCE else _Enriching(outer)
    claimed = claim(None, tool, given, _read, way=True)
    if claimed is not None:
        if claimed.frame is not None and claimed.frame.call is not None:
            guarded(_tell, claimed.frame.call, session)
        return claimed
    call = _McpCall(SOURCE, tool, arguments(given))
    guarded(_tell, call, session)
    return call


def _refuse(visit: Any, text: str, session: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """As a server answers whose tool failed."""
    result = sys.modules[f"{SOURCE}.types"].CallToolResult
    return result.model_validate({"content": [{"type": "text", "text": text}], "isError": True})


def _change(changed: dict[str, Any], session: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Given:
    return with_arguments(args, kwargs, 1, "arguments", lambda given: merged(given or {}, changed))


def _tell(call: Call, session: Any) -> None:
    """Say what is known of the request that is about to leave; the layers above a session know nothing."""
    for name, value in ((MCP_METHOD, CALLED), *_of_session(session)):
        if type(value) is str:
            call.tell(name, value)


def _of_session(session: Any) -> Iterator[tuple[str, Any]]:
    yield MCP_PROTOCOL, field(session, "_negotiated_version") or _of(_VERSIONS, session)
    sender, following = session, field(session, "_request_id")
    if following is None:  # from version 2 on the requests are another object's
        sender = field(session, "_dispatcher")
        last = field(sender, "_next_id") if type_name(sender) == _DISPATCHER else None
        following = last + 1 if type(last) is int else None
    yield MCP_SESSION, field(_of(_TRANSPORTS, _pipe(field(sender, "_write_stream"))), "session_id")
    yield RPC_REQUEST, str(following) if type(following) is int else None


def _pipe(stream: Any) -> Any:
    """The pipe itself, which from version 2 on is inside of what carries contexts along."""
    return field(stream, "_inner", stream)


def _of(table: WeakKeyDictionary[Any, Any], key: Any) -> Any:
    """None also where nothing can be known of such a key."""
    try:
        return table.get(key)
    except TypeError:
        return None


def _tell_code(call: Call, error: BaseException) -> None:
    """The server, or the session for it, refused the request by the rules of JSON-RPC."""
    code = field(field(error, "error"), "code")
    if type(code) is int:
        call.tell(RPC_STATUS, str(code))


class _Agreed(Visit):
    """A session and its server agree on what they speak."""

    __slots__ = ("session",)

    def __init__(self, session: Any) -> None:
        super().__init__(current())
        self.session = session

    def returned(self, result: Any) -> None:
        version = field(result, "protocolVersion")
        if type(version) is str:
            _VERSIONS[self.session] = version


def _enter_beginning(session: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit:
    return _Agreed(session)


def _on_writer(transport: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """A transport begins to send what is written to a stream."""
    _TRANSPORTS[_pipe(args[3] if len(args) > 3 else kwargs["write_stream"])] = transport


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


_CALL = around_async(_enter, _refuse, change=_change)
_DISPATCHER = "mcp.shared.jsonrpc_dispatcher.JSONRPCDispatcher"

MCP = Framework(
    name=SOURCE,
    title="MCP client",
    distribution="mcp",
    versions=">=1.10,<3",
    targets=(
        Target("mcp.client.session", "ClientSession.call_tool", _CALL),
        Target("mcp.client.session", "ClientSession.initialize", around_async(_enter_beginning)),
        Target(
            "mcp.client.streamable_http",
            "StreamableHTTPTransport.post_writer",
            observe(_on_writer),
            optional=True,
        ),
        Target("mcp.client.client", "Client.call_tool", _CALL, optional=True),
        Target("mcp.client.session_group", "ClientSessionGroup.call_tool", _CALL, optional=True),
    ),
    covers="tool calls of every transport, errors reported as results, timeouts",
    limits=(Limit("no model", "no call id, run or query at this layer"),),
)
