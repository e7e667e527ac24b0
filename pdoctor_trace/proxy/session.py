"""What is under way between one MCP client and its server: open requests, calls, and the run they belong to.

A session is one run, named after the client, until its connection ends; requests that carry a trace
(`_meta.traceparent`) are one run for each trace, below the span that they name. Nothing here waits for the
other side, and nothing grows without end.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from pdoctor_trace import semconv
from pdoctor_trace.asking import DOOR, Asked
from pdoctor_trace.calls import CANCELLED, TOOL_RAISED, Call, Reading
from pdoctor_trace.harmless import guarded
from pdoctor_trace.runs import OpenRun
from pdoctor_trace.runtime import arguments, ready

from .messages import CONNECTION_CLOSED, INTERNAL_ERROR, error, key, meta, part, tool_error, version

SOURCE, CALL, LIST, CANCEL = "mcp-proxy", "tools/call", "tools/list", "notifications/cancelled"
MAX_OPEN = 10_000
"""Requests of one side that wait for an answer; the oldest beyond that are forgotten."""
MAX_TRACES = 64
MAX_TOOLS = 2_000


class Failed(Exception):
    """What a guard is told of a call that did not succeed."""


class _Open:
    """A request that has not been answered; of a tool, with its call and what the guard said."""

    __slots__ = ("asked", "call", "id", "method", "tool")

    def __init__(self, id_: Any, method: str, tool: Any = None) -> None:
        self.id, self.method, self.tool = id_, method, tool
        self.call: Call | None = None
        self.asked: Asked | None = None

    def over(self, said: Reading, kind: str = TOOL_RAISED, code: Any = None) -> None:
        """It has been answered, or will not be."""
        call, self.call = self.call, None
        if call is None:
            return
        if self.asked is not None:
            failed = None if said.error is None else Failed(said.error)
            guarded(self.asked.over, said.content, failed)
        if type(code) is int:
            call.tell(semconv.RPC_STATUS, str(code))
        if said.error is not None:
            call.fail(said.error, kind)
        call.ended(said._replace(error=None))


class Session:
    """Safe to use from several threads."""

    def __init__(self, name: str | None = None, hides: bool = False) -> None:
        """`name` is the server's for the session, where the transport has such names; `hides`: tools that
        the guard refuses whatever comes are left out of lists."""
        self.name, self.hides = name, hides
        self._lock = threading.RLock()
        self._asked: OrderedDict[bytes, _Open] = OrderedDict()
        self._asked_back: OrderedDict[bytes, Any] = OrderedDict()
        """What the server asks of the client: sampling, elicitation, roots."""
        self._input: OrderedDict[bytes, _Open] = OrderedDict()
        """Calls that wait for input of the client, which comes with a request of its own."""
        self._runs: OrderedDict[int, OpenRun] = OrderedDict()
        self._tools: dict[str, tuple[str, Any, Any]] = {}
        self._client: str | None = None
        self._version: str | None = None

    # ------------------------------------------------------------ what passes

    def from_client(self, message: dict[str, Any], changeable: bool = True) -> dict[str, Any] | None:
        """The answer to give in place of the server's, or a request that goes there in place of this one.

        None = let it pass as it is. `changeable`: whether another request may go there.
        """
        method, id_ = message.get("method"), message.get("id")
        if type(method) is not str:  # an answer
            with self._lock:
                self._asked_back.pop(key(id_), None)
            return None
        if method == CANCEL:
            self._cancelled(part(message, "params").get("requestId"))
        if method == "initialize":
            self._client = _text(part(part(message, "params"), "clientInfo").get("name"))
        if method == CALL:
            return self._call(message, changeable)
        if "id" in message:
            self._note(_Open(id_, method))
        return None

    def from_server(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """Read along what the server says; what passes in its place, where that is something else."""
        method, id_ = message.get("method"), message.get("id")
        if type(method) is str:
            with self._lock:
                if "id" in message:
                    self._asked_back[key(id_)] = id_
                    _bounded(self._asked_back)
                elif method == CANCEL:
                    self._asked_back.pop(key(part(message, "params").get("requestId")), None)
            return None
        with self._lock:
            found = self._asked.pop(key(id_), None)
        if found is None:
            return None
        shown: dict[str, Any] | None = None
        if found.call is not None:
            self._answered(found, message)
        elif found.method == LIST:
            shown = guarded(self._without_hidden, message) if self.hides else None
            self._offered(part(shown or message, "result").get("tools"))
        elif found.method == "initialize":
            self._version = _text(part(message, "result").get("protocolVersion"))
        return shown

    def waits(self, id_: Any) -> bool:
        """Whether the client waits for the answer to that request."""
        return key(id_) in self._asked

    def lost(self, why: str, code: int = CONNECTION_CLOSED, only: Any = None) -> list[dict[str, Any]]:
        """The answers to all open requests of the client (or to one), which the server will not give."""
        with self._lock:
            taken = list(self._asked) if only is None else [key(only)]
            left = [self._asked.pop(one) for one in taken if one in self._asked]
        for one in left:
            one.over(Reading(None, why), code=code)
        return [error(one.id, code, why) for one in left]

    def gone(self, why: str) -> list[dict[str, Any]]:
        """The answers to all open requests of the server, which the client will not give."""
        with self._lock:
            left, self._asked_back = list(self._asked_back.values()), OrderedDict()
        return [error(id_, CONNECTION_CLOSED, why) for id_ in left]

    def close(self, why: str = "the connection ended") -> None:
        """The connection has ended; what was called and not answered may have run."""
        with self._lock:
            left = [*self._asked.values(), *self._input.values()]
            self._asked, self._input = OrderedDict(), OrderedDict()
            runs, self._runs = list(self._runs.values()), OrderedDict()
        for one in left:
            one.over(Reading(None, why))
        for run in runs:
            guarded(run.close)

    # ------------------------------------------------------------ calls

    def _call(self, message: dict[str, Any], changeable: bool) -> dict[str, Any] | None:
        params, id_ = part(message, "params"), message.get("id")
        made = _Open(id_, CALL, params.get("name"))
        again = self._goes_on(made.tool, params)
        if again is not None:
            again.id = id_
            self._note(again)
            return _with_changes(message, again.asked)
        call = guarded(self._begin, message, params)
        if call is None:
            if DOOR.guards:
                return error(id_, INTERNAL_ERROR, "pdoctor mcp-proxy failed; the tool was not called")
            self._note(made)
            return None
        asked = guarded(DOOR.ask, call, changeable)
        if asked is not None and asked.text is not None:
            call.not_started()
            call.ended(Reading(None, asked.text))
            return tool_error(message, asked.text)
        made.call, made.asked = call, asked
        if "id" in message:
            self._note(made)
        else:  # nobody will be told what comes of it
            made.over(Reading(None))
        return _with_changes(message, asked)

    def _begin(self, message: dict[str, Any], params: dict[str, Any]) -> Call:
        call = Call(
            SOURCE, params.get("name"), arguments(params.get("arguments") or {}), inside=self._run(message)
        )
        told = {
            semconv.MCP_METHOD: CALL,
            semconv.MCP_PROTOCOL: _text(version(message)) or self._version,
            semconv.MCP_SESSION: self.name,
            semconv.RPC_REQUEST: str(message["id"]) if type(message.get("id")) in (int, str) else None,
        }
        for name, value in told.items():
            if value is not None:
                call.tell(name, value)
        return call

    def _answered(self, found: _Open, message: dict[str, Any]) -> None:
        failed, result = message.get("error"), part(message, "result")
        if failed is not None:
            text = _text(part(message, "error").get("message")) or "the server answered with an error"
            found.over(Reading(None, text), code=part(message, "error").get("code"))
        elif result.get("resultType") == "input_required":
            with self._lock:
                self._input[_waits_for(found.tool, result)] = found
                self._forget(self._input)
        elif result.get("isError") is True:
            found.over(Reading(None, "\n".join(_texts(result)) or "the tool reported an error"))
        else:
            found.over(Reading(_content(result)))

    def _goes_on(self, tool: Any, params: dict[str, Any]) -> _Open | None:
        """The call that asked for the input which is given here: it has begun long ago."""
        if "requestState" not in params and "inputResponses" not in params:
            return None
        with self._lock:
            return self._input.pop(_waits_for(tool, params), None)

    def _cancelled(self, id_: Any) -> None:
        with self._lock:
            found = self._asked.pop(key(id_), None)
        if found is not None:
            found.over(Reading(None, "cancelled by the client"), CANCELLED)

    def _note(self, made: _Open) -> None:
        with self._lock:
            before = self._asked.pop(key(made.id), None)
            self._asked[key(made.id)] = made
            self._forget(self._asked)
        if before is not None:
            before.over(Reading(None, "its id was used again before it was answered"))

    @staticmethod
    def _forget(table: OrderedDict[bytes, _Open]) -> None:
        if len(table) > MAX_OPEN:
            table.popitem(last=False)[1].over(Reading(None, "never answered"))

    # ------------------------------------------------------------ runs

    def _run(self, message: dict[str, Any]) -> OpenRun:
        context, trace_id = _trace(meta(message))
        with self._lock:
            run = self._runs.get(trace_id)
            if run is None:
                run = self._runs[trace_id] = self._opened(context, message)
                if len(self._runs) > MAX_TRACES:
                    self._runs.popitem(last=False)[1].close()
            self._runs.move_to_end(trace_id)
            return run

    def _opened(self, context: Any, message: dict[str, Any]) -> OpenRun:
        named = part(meta(message), "io.modelcontextprotocol/clientInfo").get("name")
        token = None
        if context is not None:
            from opentelemetry.context import attach

            token = attach(context)
        try:
            run = OpenRun(SOURCE, agent=self._client or _text(named), conversation=self.name)
        finally:
            if token is not None:
                from opentelemetry.context import detach

                detach(token)
        run.offer(self._tools.values())
        ready()
        return run

    def _without_hidden(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """A list of tools without those that a guard refuses from now on; None where there are none."""
        result = part(message, "result")
        tools = result.get("tools")
        listed = tools if type(tools) is list else []
        names = [name for one in listed if type(name := part({"tool": one}, "tool").get("name")) is str]
        with self._lock:
            run = next(reversed(self._runs.values()), None)
        hidden = {name for one in DOOR.guards for name in one.hidden(run, [*self._tools, *names])}
        left = [one for one in listed if part({"tool": one}, "tool").get("name") not in hidden]
        return {**message, "result": {**result, "tools": left}} if len(left) < len(listed) else None

    def _offered(self, tools: Any) -> None:
        """A list of tools, or a page of one."""
        for tool in tools if type(tools) is list else ():
            name = part({"tool": tool}, "tool").get("name")
            if type(name) is str and len(self._tools) < MAX_TOOLS:
                self._tools[name] = (name, _text(tool.get("description")), tool.get("inputSchema"))
        with self._lock:
            for run in self._runs.values():
                run.offer(self._tools.values())


def _trace(said: dict[str, Any]) -> tuple[Any, int]:
    """(the context, the trace) that a request stands in, as its `_meta` tells."""
    if type(said.get("traceparent")) is not str:
        return None, 0
    from opentelemetry.trace import get_current_span
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier = {name: said[name] for name in ("traceparent", "tracestate") if type(said.get(name)) is str}
    context = TraceContextTextMapPropagator().extract(carrier)
    around = get_current_span(context).get_span_context()
    return (context, around.trace_id) if around.is_valid else (None, 0)


def _with_changes(message: dict[str, Any], asked: Asked | None) -> dict[str, Any] | None:
    """The request with the arguments that a person gave; None where nobody gave any."""
    if asked is None or asked.changed is None:
        return None
    return {**message, "params": {**part(message, "params"), "arguments": asked.changed}}


def _waits_for(tool: Any, said: dict[str, Any]) -> bytes:
    return key([tool, said.get("requestState")])


def _bounded(table: OrderedDict[bytes, Any]) -> None:
    if len(table) > MAX_OPEN:
        table.popitem(last=False)


def _content(result: dict[str, Any]) -> Any:
    if result.get("structuredContent") is not None:
        return result["structuredContent"]
    said = [_said(one) for one in _parts(result)]
    return said[0] if len(said) == 1 else said


def _said(one: dict[str, Any]) -> str:
    """The text of a part of a result; of an image or anything else what it is."""
    return _text(one.get("text")) or f"<{_text(one.get('type')) or 'part'}>"


def _texts(result: dict[str, Any]) -> Iterator[str]:
    return (text for one in _parts(result) if (text := _text(one.get("text"))))


def _parts(result: dict[str, Any]) -> list[dict[str, Any]]:
    parts = result.get("content")
    return [one for one in parts if type(one) is dict] if type(parts) is list else []


def _text(value: Any) -> str | None:
    return value if type(value) is str else None
