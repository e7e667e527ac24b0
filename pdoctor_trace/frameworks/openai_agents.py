"""OpenAI Agents SDK.

`_run_single_tool` runs one requested call and makes the span; the function that invokes the tool tells
whether its body was reached, and the one that turns an exception into a text for the model is the only
place where the default error handling still shows the exception. Both are imported by name, so they are
patched wherever a module holds them. Requests and tools are read where a reply is processed, before an
unknown tool makes the SDK give up the whole turn. Tracing processors are left alone: they see neither
the query nor unknown tools, and vanish when the host disables that tracing.
"""

from __future__ import annotations

import time
from typing import Any

from pdoctor_trace.adapter import (
    BAD_ARGUMENTS,
    Attempt,
    Call,
    CallFrame,
    Framework,
    Limit,
    OpenRun,
    Request,
    RunVisit,
    Target,
    Visit,
    argument_text,
    around,
    around_async,
    current,
    field,
    guarded,
    new_call,
    observe,
    outcome,
    run_here,
    type_name,
)

SOURCE = "openai_agents"


class _ToolVisit(Visit):
    """One requested call with all that surrounds the tool."""

    __slots__ = ("call",)

    def __init__(self, call: Call) -> None:
        super().__init__(CallFrame(call, in_body=False))
        self.call = call
        call.attempts = 0

    def returned(self, result: Any) -> None:
        call = self.call
        call.executed = call.attempts > 0 and call.kind != BAD_ARGUMENTS
        if type_name(result).endswith(".FunctionToolResult"):  # instead of a result: what was not approved
            result = field(result, "output", result)
        call.close(None if call.error is not None else outcome(result))

    def raised(self, error: BaseException) -> None:
        call = self.call
        call.executed = call.attempts > 0 and call.kind != BAD_ARGUMENTS
        if call.error is None:
            call.fail(error)
        call.close()


class _Body(Attempt):
    """The tool itself runs; it may return although its own handler has made a text of an error."""

    __slots__ = ()

    def returned(self, result: Any) -> None:
        pass


class _StreamedVisit(RunVisit):
    """A streamed run returns at once; it ends with its background task."""

    __slots__ = ()

    def returned(self, result: Any) -> None:
        result.run_loop_task.add_done_callback(lambda task: guarded(self._task_done, task))

    def _task_done(self, task: Any) -> None:
        self.end(None if task.cancelled() else task.exception())


def _enter_tool(executor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit:
    asked, tool = kwargs["tool_call"], kwargs["func_tool"]
    frame = current()
    run = run_here(SOURCE)
    request = None if run is None else run.take_request(asked.call_id, asked.name)
    if request is None:
        arguments, well_formed = argument_text(asked.arguments)
    else:  # the same text has been read in the model's reply
        arguments, well_formed = request.arguments, request.well_formed
    call: Call = new_call(Call)
    description = getattr(tool, "description", None)
    call.begin(SOURCE, asked.name, arguments, asked.call_id, description, None, frame)
    if not well_formed:
        call.kind = BAD_ARGUMENTS
    call.asked_by(request)
    return _ToolVisit(call)


def _enter_body(instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    frame = current()
    if frame is None or frame.call is None or frame.in_body:
        return None
    return _Body(frame.call, _kind)


def _on_handled_error(instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    frame = current()
    if frame is not None and frame.call is not None and frame.call.error is None:
        error = kwargs["error"]
        frame.call.fail(error, _kind(error))


def _on_reply(instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    run = run_here(SOURCE)
    if run is None:
        return
    run.offer((tool.name, getattr(tool, "description", None)) for tool in kwargs["all_tools"])
    run.pseudo_tools.update(handoff.tool_name for handoff in kwargs["handoffs"])
    output = kwargs["response"].output
    has_text = any(getattr(item, "type", None) == "message" for item in output)
    turn, now = run.state.next_turn(), time.time_ns()
    for item in output:
        if getattr(item, "type", None) == "function_call":
            arguments, well_formed = argument_text(item.arguments)
            run.request(Request(item.call_id, item.name, arguments, turn, has_text, now, well_formed))


def _enter_run(runner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit:
    return RunVisit(_open(args, kwargs))


def _enter_streamed(runner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit:
    return _StreamedVisit(_open(args, kwargs))


def _open(args: tuple[Any, ...], kwargs: dict[str, Any]) -> OpenRun:
    agent = args[0] if args else kwargs["starting_agent"]
    given = args[1] if len(args) > 1 else kwargs.get("input")
    name = agent.name if type(agent.name) is str else None
    return OpenRun(SOURCE, agent=name, query=_query(given), quiet=True)


def _query(given: Any) -> str | None:
    """The input text, or that of the last user item of an input list."""
    if isinstance(given, str):
        return given
    for item in reversed(given) if isinstance(given, list) else ():
        if isinstance(item, dict) and item.get("role") == "user":
            content = item.get("content")
            return content if isinstance(content, str) else _joined(content)
    return None


def _joined(parts: Any) -> str:
    texts = [part.get("text") for part in parts or () if isinstance(part, dict)]
    return "".join(text for text in texts if isinstance(text, str))


def _kind(error: BaseException) -> str | None:
    return BAD_ARGUMENTS if type(error).__name__ == "ModelBehaviorError" else None


_EXECUTION = "agents.run_internal.tool_execution"
_BODY, _HANDLED = around_async(_enter_body), observe(_on_handled_error)
_REPLY = observe(_on_reply)

OPENAI_AGENTS = Framework(
    name=SOURCE,
    title="OpenAI Agents SDK",
    distribution="openai-agents",
    versions=">=0.20,<1",
    targets=(
        Target(_EXECUTION, "_FunctionToolBatchExecutor._run_single_tool", around_async(_enter_tool)),
        Target("agents.tool", "_invoke_function_tool_with_metadata", _BODY, optional=True),
        Target(_EXECUTION, "_invoke_function_tool_with_metadata", _BODY),
        Target("agents.tool", "maybe_invoke_function_tool_failure_error_function", _HANDLED, optional=True),
        Target(_EXECUTION, "maybe_invoke_function_tool_failure_error_function", _HANDLED),
        Target("agents.run_internal.turn_resolution", "process_model_response", _REPLY),
        Target("agents.run_internal.run_loop", "process_model_response", _REPLY),
        Target("agents.run", "AgentRunner.run", around_async(_enter_run)),
        Target("agents.run", "AgentRunner.run_streamed", around(_enter_streamed)),
    ),
    covers="function tools, run, run_sync, run_streamed, agents as tools, hand-overs, handled errors",
    limits=(
        Limit(
            "built-in tools",
            "computer, shell and patch tools are not seen, nor those that run on the provider's side",
        ),
        Limit("endless tools", "after StopIteration in a tool the SDK waits for ever: no span"),
        Limit("reused call ids", "a call id that comes twice is run once by the SDK, and seen once"),
    ),
)
