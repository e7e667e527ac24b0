"""OpenAI Agents SDK.

`_run_single_tool` runs one requested call and makes the span; the function that invokes the tool tells
whether its body was reached, and the one that turns an exception into a text for the model is the only
place where the default error handling still shows the exception. Both are imported by name, so they are
patched wherever a module holds them. Requests and tools are read where a reply is processed, before an
unknown tool makes the SDK give up the whole turn. Tracing processors are left alone: they see neither
the query nor unknown tools, and vanish when the host disables that tracing.

A run that waits for approvals returns like any other; what goes on with it is the state made of its result,
maybe read from a text in another process. Both hold the model's replies, which say which run it is.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from pdoctor_trace.adapter import (
    APPROVAL,
    BAD_ARGUMENTS,
    TIMED_OUT,
    Call,
    CallVisit,
    Framework,
    InRun,
    Limit,
    OpenRun,
    Request,
    RunVisit,
    Target,
    Visit,
    argument_text,
    around,
    around_async,
    body_async,
    current,
    decided,
    field,
    guarded,
    key_here,
    key_with,
    new_call,
    observe,
    outcome,
    run_here,
    type_name,
)

SOURCE = "openai_agents"


class _Run(OpenRun):
    """A run of the SDK."""

    __slots__ = ("resolving",)

    resolving: bool
    """Whether the SDK sorts a reply once more that it has processed before the pause."""


class _ToolCall(Call):
    """One requested call with all that surrounds its tool, whose own handler may make a text of an error."""

    __slots__ = ("in_body",)

    in_body: bool
    """Whether the tool itself has begun."""

    def breaks(self, error: BaseException) -> None:
        self.in_body = False
        self.fail(error, _kind(error))

    def returned(self, result: Any) -> None:
        instead = type(result) is not str and _is_a(result, "FunctionToolResult")  # if it was not approved
        if (instead and _waits(result)) or self.span_id in self.state.waiting:
            self.withdraw()
            return
        if instead:
            result = field(result, "output", result)
        self.close(None if self.error is not None else outcome(result))

    def raised(self, error: BaseException) -> None:
        if self.error is None:
            self.fail(error)
        self.close()


class _RunVisit(RunVisit):
    """A run, which may end because a person has to approve of calls."""

    __slots__ = ()

    def returned(self, result: Any) -> None:
        if field(result, "interruptions", None):
            token = _token(result, result.raw_responses, result.input)
            self.run.wait_for(APPROVAL, token, key_with(token, _mark(result.raw_responses)))
        self.end(None)


class _StreamedVisit(_RunVisit):
    """A streamed run returns at once; it ends with its background task."""

    __slots__ = ()

    def returned(self, result: Any) -> None:
        result.run_loop_task.add_done_callback(lambda task: guarded(self._task_done, task, result))

    def _task_done(self, task: Any, result: Any) -> None:
        error = None if task.cancelled() else task.exception()
        if error is None:
            super().returned(result)
        else:
            self.end(error)


class _ResolveVisit(InRun[_Run]):
    """The turn that was interrupted is gone on with: nothing new is asked for."""

    __slots__ = ()

    def __init__(self, run: _Run) -> None:
        super().__init__(run)
        run.resolving = True

    def returned(self, result: Any) -> None:
        self.run.resolving = False

    def raised(self, error: BaseException) -> None:
        self.run.resolving = False


class _HandoffVisit(CallVisit):
    """An agent hands over to another by a call of the model."""

    __slots__ = ("ignored", "to")

    def __init__(self, handoffs: Any) -> None:
        first, *others = handoffs
        super().__init__(_handoff_call(first))
        self.to, self.ignored = first.handoff.agent_name, [_handoff_call(one) for one in others]

    def returned(self, result: Any) -> None:
        self._others()
        self.call.close(outcome({"assistant": self.to}))
        if self.run is not None and type(self.to) is str:
            self.run.turn_of = self.to

    def raised(self, error: BaseException) -> None:
        self._others()
        self.call.fail(error)
        self.call.close()

    def _others(self) -> None:
        """One reply hands over once; the SDK ignores the rest."""
        for call in self.ignored:
            call.not_started()
            call.close()


def _enter_tool(executor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _ToolCall:
    asked, tool = kwargs["tool_call"], kwargs["func_tool"]
    name, call_id = asked.name, asked.call_id
    frame = current()
    run = frame if type(frame) is _Run else run_here(SOURCE)
    request = None if run is None else run.take_request(call_id, name)
    if request is None:
        arguments, well_formed = argument_text(asked.arguments)
    else:  # the same text has been read in the model's reply
        arguments, well_formed = request.arguments, request.well_formed
    call: _ToolCall = new_call(_ToolCall)
    call.begin(SOURCE, name, arguments, call_id, getattr(tool, "description", None), None, frame)
    call.attempts, call.in_body = 0, False
    if not well_formed:
        call.kind = BAD_ARGUMENTS
    if request is not None:
        call.turn, call.has_text = request.turn, request.has_text
    return call


def _refuse_tool(call: Any, text: str, executor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """What the SDK's own handler makes of a tool's failure: a text for the model."""
    call.error = text
    return text


def _on_handled_error(instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    frame = current()
    if frame is not None and frame.call is not None and frame.call.error is None:
        error = kwargs["error"]
        frame.call.fail(error, _kind(error))


def _on_timeout(error: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """The SDK gives up waiting for a tool, and may tell the model so as if that were its result."""
    frame = current()
    if frame is not None and frame.call is not None:
        tool, seconds = kwargs.get("tool_name"), kwargs.get("timeout_seconds")
        frame.call.fail(f"{tool} timed out after {seconds} seconds", TIMED_OUT)


def _enter_resolve(instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    run = run_here(SOURCE, _Run)
    if run is None:
        return None
    _take_turn(run, field(kwargs.get("bindings"), "public_agent"))
    return _ResolveVisit(run)


def _take_turn(run: _Run, agent: Any) -> None:
    name = field(agent, "name")
    run.turn_of = name if type(name) is str else run.turn_of


def _enter_handoffs(instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> CallVisit | None:
    return None if run_here(SOURCE, _Run) is None else _HandoffVisit(kwargs["run_handoffs"])


def _handoff_call(asked: Any) -> Call:
    arguments, _ = argument_text(asked.tool_call.arguments)
    name, call_id = asked.tool_call.name, asked.tool_call.call_id
    call = Call(SOURCE, name, arguments, call_id=call_id, description=asked.handoff.tool_description)
    call.take_up()
    return call


def _on_rejection(instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """A person has said no to a call, which then never comes to run."""
    frame, run, asked = current(), run_here(SOURCE), kwargs.get("tool_call")
    if asked is None or frame is None or frame.call is not None or run is None:
        return
    if type(asked).__name__ == "ResponseFunctionToolCall":
        arguments, _ = argument_text(asked.arguments)
        decided(run, asked.call_id, asked.name, arguments, None)


def _on_reply(instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    run = run_here(SOURCE, _Run)
    if run is None:
        return
    run.offer(_offer(tool) for tool in kwargs["all_tools"])
    run.offer((one.tool_name, one.tool_description, one.input_json_schema) for one in kwargs["handoffs"])
    agent = kwargs.get("agent")
    _take_turn(run, agent)
    run.instructed(field(agent, "instructions"))
    if run.resolving:
        return
    output = kwargs["response"].output
    kinds = [getattr(item, "type", None) for item in output]
    turn, has_text, now = run.state.next_turn(), "message" in kinds, time.time_ns()
    for item, kind in zip(output, kinds, strict=True):
        if kind == "function_call":
            arguments, well_formed = argument_text(item.arguments)
            run.request(Request(item.call_id, item.name, arguments, turn, has_text, now, well_formed))


def _offer(tool: Any) -> tuple[str, str | None, Any]:
    return tool.name, getattr(tool, "description", None), field(tool, "params_json_schema")


def _enter_run(runner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit:
    return _RunVisit(_open(args, kwargs))


def _enter_streamed(runner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit:
    return _StreamedVisit(_open(args, kwargs))


def _open(args: tuple[Any, ...], kwargs: dict[str, Any]) -> OpenRun:
    agent = args[0] if args else kwargs["starting_agent"]
    given = args[1] if len(args) > 1 else kwargs.get("input")
    name = agent.name if type(agent.name) is str else None
    run = _Run(
        SOURCE,
        agent=name,
        query=_query(given),
        quiet=True,
        conversation=_conversation(kwargs),
        resumes=_resumes(given),
    )
    run.resolving = False
    return run


def _conversation(options: dict[str, Any]) -> str | None:
    """The session that the SDK keeps, or the conversation that the provider keeps."""
    named = field(options.get("session"), "session_id", None) or options.get("conversation_id")
    return named if type(named) is str else None


def _resumes(given: Any) -> str | None:
    """What the run waited under that a state was made of, where that was for approvals."""
    if not _is_a(given, "RunState") or not field(field(given, "_current_step"), "interruptions"):
        return None
    responses = given._model_responses
    return key_here(_token(given, responses, given._original_input), _mark(responses))


def _mark(responses: Any) -> int | None:
    """Tells runs apart that say the same; a state has the replies of its result unless it was a text."""
    return id(responses[-1]) if responses else None


def _token(holder: Any, responses: Any, given: Any) -> str:
    """Digest of what the models of a run have asked for so far, which is in its result and in its state."""
    trace = field(field(holder, "_trace_state", None), "trace_id", None)
    digest = sha256()
    for text in (trace, _query(given), *_asked(responses)):
        digest.update(text.encode("utf-8", "replace") if type(text) is str else b"")
        digest.update(b"\0")
    return f"{SOURCE}:{digest.hexdigest()[:32]}"


def _asked(responses: Any) -> Iterator[Any]:
    for response in responses:
        yield response.response_id
        for item in response.output:
            if getattr(item, "type", None) == "function_call":
                yield from (item.call_id, item.name, item.arguments)


def _waits(instead: Any) -> bool:
    """Whether what came instead of a tool's result says that a person has to approve of the call."""
    return _is_a(field(instead, "run_item"), "ToolApprovalItem")


def _is_a(value: Any, name: str) -> bool:
    """Whether it is of the SDK's class of that name."""
    return type_name(value).endswith(f".{name}")


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
    return {"ModelBehaviorError": BAD_ARGUMENTS, "ToolTimeoutError": TIMED_OUT}.get(type(error).__name__)


_EXECUTION, _TURN = "agents.run_internal.tool_execution", "agents.run_internal.turn_resolution"
_BODY, _HANDLED = body_async(_ToolCall), observe(_on_handled_error)
_REPLY, _RESOLVE = observe(_on_reply), around_async(_enter_resolve)

OPENAI_AGENTS = Framework(
    name=SOURCE,
    title="OpenAI Agents SDK",
    distribution="openai-agents",
    versions=">=0.20,<1",
    targets=(
        Target(
            _EXECUTION, "_FunctionToolBatchExecutor._run_single_tool", around_async(_enter_tool, _refuse_tool)
        ),
        Target("agents.tool", "_invoke_function_tool_with_metadata", _BODY, optional=True),
        Target(_EXECUTION, "_invoke_function_tool_with_metadata", _BODY),
        Target("agents.tool", "maybe_invoke_function_tool_failure_error_function", _HANDLED, optional=True),
        Target(_EXECUTION, "maybe_invoke_function_tool_failure_error_function", _HANDLED),
        Target("agents.exceptions", "ToolTimeoutError.__init__", observe(_on_timeout), optional=True),
        Target(_TURN, "process_model_response", _REPLY),
        Target("agents.run_internal.run_loop", "process_model_response", _REPLY),
        Target("agents.run", "resolve_interrupted_turn", _RESOLVE, optional=True),
        Target("agents.run_internal.run_loop", "resolve_interrupted_turn", _RESOLVE, optional=True),
        Target(_TURN, "resolve_approval_rejection_message", observe(_on_rejection), optional=True),
        Target(_TURN, "execute_handoffs", around_async(_enter_handoffs), optional=True),
        Target("agents.run", "AgentRunner.run", around_async(_enter_run)),
        Target("agents.run", "AgentRunner.run_streamed", around(_enter_streamed)),
    ),
    covers="function tools, run, run_sync, run_streamed, agents as tools, hand-overs, handled errors, "
    "approvals, sessions",
    limits=(
        Limit(
            "built-in tools",
            "computer, shell and patch tools are not seen, nor those that run on the provider's side",
        ),
        Limit("endless tools", "after StopIteration in a tool the SDK waits for ever: no span"),
        Limit("reused call ids", "a call id that comes twice is run once by the SDK, and seen once"),
    ),
)
