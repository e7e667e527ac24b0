"""Haystack 2 and 3.

`Tool.invoke/invoke_async` run a tool and make the span; in an agent they run in worker threads or tasks, from
callables that are made per requested call. The call's id is handed from there to the tool by a frame of its
own: version 3 gives the call to the maker, version 2 only the dictionary of arguments, which is remembered
from where the calls are prepared. Unknown tools are seen where the calls of a reply are looked up, malformed
arguments only where the OpenAI generator still has their text.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from datetime import datetime
from hashlib import sha256
from typing import Any

from pdoctor_trace.adapter import (
    BAD_ARGUMENTS,
    OTHER,
    Call,
    Frame,
    Framework,
    InRun,
    Limit,
    OpenRun,
    Request,
    RunVisit,
    Target,
    Visit,
    Wrapper,
    argument_text,
    arguments,
    around,
    around_async,
    claim,
    current,
    decided,
    field,
    guarded,
    not_executed,
    observe,
    recording,
    run_here,
)

SOURCE = "haystack"


class _Asked(Frame):
    """Around one requested call until its tool is reached."""

    __slots__ = ("call_id", "run", "sdk")

    run: OpenRun

    def __init__(self, run: OpenRun, call_id: Any) -> None:
        self.state, self.span_id, self.sdk = run.state, run.span_id, run.sdk
        self.run, self.call_id = run, call_id


class _Run(OpenRun):
    """A run of an agent."""

    __slots__ = ("confirmed", "prepared")

    confirmed: list[tuple[Any, Any]]
    """(id, tool) of calls that a person has decided about, so that they have been read."""
    prepared: deque[tuple[Any, Any]]
    """In version 2, the arguments that wait for their tool and the ids of their calls."""


class _RunVisit(RunVisit):
    """A run, which may end at a breakpoint."""

    __slots__ = ()

    def raised(self, error: BaseException) -> None:
        snapshot = field(field(error, "pipeline_snapshot"), "agent_snapshot")
        if type(error).__name__ != "BreakpointException" or snapshot is None:
            super().raised(error)
            return
        self.run.wait_for(OTHER, _token(snapshot))
        self.end(None)


class _DecidedVisit(InRun[_Run]):
    """What a person said about the calls of a reply is applied to it."""

    __slots__ = ()

    def returned(self, result: Any) -> None:
        rejections, _ = result
        for call in (said.origin for message in rejections for said in message.tool_call_results):
            self.run.confirmed.remove((call.id, call.tool_name))
            decided(self.run, call.id, call.tool_name, arguments(call.arguments), None)


class _ToolCall(Call):
    """One call; Haystack wraps what the tool raised."""

    __slots__ = ("through",)

    through: Any
    """The tool whose `invoke_async` is about to go on to its own `invoke`, which is not another call."""

    def raised(self, error: BaseException) -> None:
        wrapped = type(error).__name__ == "ToolInvocationError" and error.__cause__ is not None
        cause = error.__cause__ if wrapped and error.__cause__ is not None else error
        self.fail(cause, BAD_ARGUMENTS if _never_reached(cause) else None)
        self.close()


class _PrepareVisit(InRun[_Run]):
    """Version 2: after the preparation, each dictionary of arguments belongs to one call."""

    __slots__ = ()

    def returned(self, result: Any) -> None:
        calls, prepared, _ = result
        pairs = zip(calls, prepared, strict=True)
        self.run.prepared.extend((one["final_args"], call.id) for call, one in pairs)


_Written = tuple[Any, Any, Any]
"""(call id, tool, text of the arguments) as the model wrote them."""


class _ReadingVisit(InRun[_Run]):
    """A reply's calls are read; Haystack leaves out those whose text it cannot read."""

    __slots__ = ("has_text", "written")

    def __init__(self, run: _Run, written: list[_Written], has_text: bool) -> None:
        super().__init__(run)
        self.written, self.has_text = written, has_text

    def returned(self, result: Any) -> None:
        kept = [call.id for call in result.tool_calls]
        dropped = []
        for call in self.written:
            if kept and kept[0] == call[0]:
                del kept[0]
            else:
                dropped.append(call)
        self._report(dropped)

    def raised(self, error: BaseException) -> None:
        parse = argument_text
        self._report([call for call in self.written if not parse(call[2])[1]])

    def _report(self, malformed: list[_Written]) -> None:
        if not malformed:
            return
        run, now = self.run, time.time_ns()
        # Well-formed calls beside them are still to come, and they belong to the same turn.
        turn = run.state.next_turn() if len(malformed) == len(self.written) else run.state.turns
        for call_id, tool, text in malformed:
            arguments, _ = argument_text(text)
            request = Request(call_id, tool, arguments, turn, self.has_text, now, well_formed=False)
            not_executed(request, SOURCE, run)


def _enter_tool(tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | Call | None:
    frame = current()
    if isinstance(frame, _ToolCall) and frame.through is tool:
        frame.through = None
        return None
    asked = frame if isinstance(frame, _Asked) else None
    if asked is None:
        claimed = claim(None, tool.name, kwargs)
        if claimed is not None:
            return claimed
    call = _ToolCall(
        SOURCE,
        tool.name,
        arguments(kwargs),
        call_id=None if asked is None else asked.call_id,
        description=tool.description,
    )
    call.through = None
    if asked is not None:
        call.asked_by(asked.run.take_request(call.call_id, call.tool))
    return call


def _refuse_tool(visit: Any, text: str, tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """As a tool fails; the agent tells its model, unless it is to raise."""
    raise sys.modules["haystack.tools.errors"].ToolInvocationError(text, tool_name=tool.name)


def _enter_async(tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | Call | None:
    """A tool without an async function runs its function in a thread, since 3.4 by way of `invoke`."""
    call = _enter_tool(tool, args, kwargs)
    if isinstance(call, _ToolCall) and tool.async_function is None:
        call.through = tool
    return call


def _enter_maker(instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    """The callable that is made here runs in a copy of the context of this very moment."""
    asked = _asked(kwargs.get("tool_call", args[2] if len(args) > 2 else None))
    return None if asked is None else Visit(asked)


def _enter_old_maker(instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    final = args[1] if len(args) > 1 else kwargs["final_args"]
    run = run_here(SOURCE, _Run)
    for pair in () if run is None else tuple(run.prepared):
        if pair[0] is final and run is not None:
            run.prepared.remove(pair)
            return Visit(_Asked(run, pair[1]))
    return None


def _async_maker() -> Wrapper:
    """The coroutine function that is made here runs in a task that is started later."""

    def wrapper(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        runner = wrapped(*args, **kwargs)
        visit = guarded(_enter_async_maker, instance, args, kwargs) if recording() else None
        if visit is None:
            return runner

        async def traced() -> Any:
            return await around_async(lambda *_: visit)(runner, None, (), {})

        return traced

    return wrapper


def _enter_async_maker(instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    asked = _asked(kwargs.get("tool_call", args[3] if len(args) > 3 else None))
    return None if asked is None else Visit(asked)


def _asked(call: Any) -> _Asked | None:
    run = run_here(SOURCE, _Run)
    return None if run is None or call is None else _Asked(run, call.id)


def _on_calls(instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """The calls of a reply are looked up among the tools."""
    run = run_here(SOURCE, _Run)
    if run is None:
        return
    messages = args[0] if args else kwargs["messages_with_tool_calls"]
    tools = args[1] if len(args) > 1 else kwargs["tools_with_names"]
    run.offer((name, tool.description) for name, tool in tools.items())
    for message in messages:
        for request in _requests(run, message):
            key = request.call_id, request.tool
            if key in run.confirmed:
                run.confirmed.remove(key)
                known = run.take_request(*key, early=False) or request
            else:
                known = request
            run.request(known) if request.tool in tools else not_executed(known, SOURCE, run)


def _requests(run: _Run, message: Any) -> list[Request]:
    """The calls of a reply; those that a person has decided about are of the turn that asked for them."""
    asked = [(call.id, call.tool_name, arguments(call.arguments)) for call in message.tool_calls]
    known = all((call_id, tool) in run.confirmed for call_id, tool, _ in asked)
    turn, now = 0 if known else run.state.next_turn(), time.time_ns()
    return [Request(*call, turn, _has_text(message.text), now) for call in asked]


def _enter_decisions(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    run = run_here(SOURCE, _Run)
    if run is None:
        return None
    for message in args[0] if args else kwargs["tool_call_messages"]:
        for request in _requests(run, message):
            run.confirmed.append((request.call_id, request.tool))
            run.request(request)
    return _DecidedVisit(run)


def _enter_preparation(invoker: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    _on_calls(invoker, args, kwargs)
    run = run_here(SOURCE, _Run)
    return None if run is None else _PrepareVisit(run)


def _enter_completion(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    """A whole reply of OpenAI's."""
    message = (args[1] if len(args) > 1 else kwargs["choice"]).message
    calls = [(call.id, getattr(call, "function", None)) for call in message.tool_calls or ()]
    named = [(call_id, function.name, function.arguments) for call_id, function in calls if function]
    return _reading(named, _has_text(message.content))


def _enter_chunks(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    """The same for a streamed reply, whose calls come in pieces."""
    calls: dict[int, list[Any]] = {}
    chunks = args[0] if args else kwargs["chunks"]
    for piece in (piece for chunk in chunks for piece in chunk.tool_calls or ()):
        call = calls.setdefault(piece.index, [None, "", ""])
        call[0] = piece.id or call[0]
        call[1] += piece.tool_name or ""
        call[2] += piece.arguments or ""
    written = [(call_id, tool, text) for call_id, tool, text in calls.values()]
    return _reading(written, any(_has_text(chunk.content) for chunk in chunks))


def _reading(written: list[_Written], has_text: bool) -> Visit | None:
    run = run_here(SOURCE, _Run)
    return None if run is None or not written else _ReadingVisit(run, written, has_text)


def _has_text(text: Any) -> bool:
    return isinstance(text, str) and bool(text.strip())


def _enter_run(agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit:
    query, snapshot = _query(args[0] if args else kwargs.get("messages")), kwargs.get("snapshot")
    run = _Run(SOURCE, query=query, quiet=True, resumes=_token(snapshot))
    run.prepared, run.confirmed = deque(), []
    run.offer(_tools(kwargs.get("tools") or agent.tools))
    return _RunVisit(run)


def _token(snapshot: Any) -> str | None:
    """What a run is known by that stopped for this snapshot, also after that was a text."""
    taken = field(snapshot, "timestamp")
    if type(taken) is not datetime:
        return None
    visits = sorted(field(snapshot, "component_visits", {}).items())
    return f"{SOURCE}:{sha256(f'{taken.isoformat()} {visits}'.encode()).hexdigest()[:32]}"


def _tools(given: Any) -> list[tuple[str, str | None]]:
    """(name, description) of tools and toolsets; names alone mean a choice among tools that come later."""
    found: list[tuple[str, str | None]] = []
    for one in given if isinstance(given, list | tuple) else [given]:
        if isinstance(getattr(one, "tools", None), list):
            found += _tools(one.tools)
        elif type(getattr(one, "name", None)) is str:
            found.append((one.name, one.description))
    return found


def _query(messages: Any) -> str | None:
    for message in reversed(messages) if isinstance(messages, list) else ():
        if message.role.value == "user":
            text = message.text
            return text if isinstance(text, str) else None
    return None


def _never_reached(error: BaseException) -> bool:
    """Whether the arguments do not fit the function: nobody but those that call it has a frame."""
    step = error.__traceback__ if isinstance(error, TypeError) else None
    if step is None:
        return False
    while step is not None:
        if not str(step.tb_frame.f_globals.get("__name__")).startswith(_CALLERS):
            return False
        step = step.tb_next
    return True


_CALLERS = ("haystack.tools.", "concurrent.futures.", "asyncio.", "pdoctor_trace.")
"""Beginnings of the names of modules that call a tool's function."""
_TOOL, _CALLING = "haystack.tools.tool", "haystack.components.agents.tool_calling"
_INVOKER, _AGENT = "haystack.components.tools.tool_invoker", "haystack.components.agents.agent"
_ASKING = tuple(f"haystack.{folder}human_in_the_loop.strategies" for folder in ("", "hooks."))
_DECISIONS = "_apply_tool_execution_decisions"
_OPENAI = "haystack.components.generators.chat.openai"

HAYSTACK = Framework(
    name=SOURCE,
    title="Haystack",
    distribution="haystack-ai",
    versions=">=2.30.2,<4",
    targets=(
        Target(_TOOL, "Tool.invoke", around(_enter_tool, _refuse_tool)),
        Target(_TOOL, "Tool.invoke_async", around_async(_enter_async, _refuse_tool), optional=True),
        Target(_CALLING, "_make_context_bound_invoke", around(_enter_maker), optional=True),
        Target(_CALLING, "_make_bounded_invoke_async", _async_maker(), optional=True),
        Target(_CALLING, "_resolve_tool_calls", observe(_on_calls), optional=True),
        Target(_INVOKER, "ToolInvoker._make_context_bound_invoke", around(_enter_old_maker), optional=True),
        Target(_INVOKER, "ToolInvoker._prepare_tool_call_params", around(_enter_preparation), optional=True),
        Target(_OPENAI, "_convert_chat_completion_to_chat_message", around(_enter_completion), optional=True),
        Target(_OPENAI, "_convert_streaming_chunks_to_chat_message", around(_enter_chunks), optional=True),
        *(Target(module, _DECISIONS, around(_enter_decisions), optional=True) for module in _ASKING),
        Target(_AGENT, "Agent.run", around(_enter_run)),
        Target(_AGENT, "Agent.run_async", around_async(_enter_run)),
    ),
    covers="agents, run and run_async, streaming, parallel calls, unknown tools, tools alone, nested agents, "
    "confirmations, breakpoints",
    limits=(
        Limit("other generators", "malformed arguments are seen with OpenAI generators only"),
        Limit("unchecked types", "argument types are not checked: the tool itself runs and fails"),
        Limit("no coroutines", "version 2 has no tools of coroutine functions"),
    ),
)
