"""Google ADK.

`_execute_single_prepared_call` runs one requested call with its callbacks, unknown tools included, and makes
the span. The tool itself is `FunctionTool._invoke_callable`, or `_run_generator_as_node` for a function that
yields, which are not reached when its arguments are refused, or `_call_tool_async` for tools of other kinds.
A function's tool that starts anywhere else is started by an agent of the host's own or by another tool. What
the model asked for is read where its reply is finished; LiteLLM's malformed arguments are dropped before that
and are seen only as the message is converted.

Confirmations, credentials and long-running tools end a run; what goes on with it brings a function's response
to the session. The agents of one runner take turns, some at the same time: each call is told its own.
"""

from __future__ import annotations

import time
from typing import Any

from pdoctor_trace.adapter import (
    APPROVAL,
    BAD_ARGUMENTS,
    INPUT,
    OTHER,
    UNKNOWN_TOOL,
    Attempt,
    Call,
    CallFrame,
    Framework,
    InRun,
    Limit,
    OpenRun,
    Request,
    RunVisit,
    Target,
    Visit,
    Workflow,
    argument_text,
    arguments,
    around,
    around_async,
    around_async_generator,
    current,
    field,
    not_executed,
    observe,
    outcome,
    run_here,
)

SOURCE = "google_adk"
_WORKFLOWS = {"LoopAgent", "ParallelAgent", "SequentialAgent", "Workflow"}
"""Classes of ADK that run other agents, by no model's choice."""


class _Run(OpenRun):
    """A run, its session, and the calls that its model wrote with malformed arguments."""

    __slots__ = ("malformed", "runs_on", "token")

    malformed: list[Any]
    runs_on: bool
    """Whether a tool that runs long was called; what comes of it may be brought when the run has ended."""
    token: str | None


class _RunVisit(RunVisit):
    """A run, which somebody may go on with even if it did not say that it waits."""

    __slots__ = ()

    run: _Run

    def end(self, error: BaseException | None) -> None:
        super().end(error)
        if self.run.runs_on and self.run.root and self.run.token is not None:
            self.run.leave(self.run.token)


class _ToolVisit(Visit):
    """One requested call with its callbacks."""

    __slots__ = ("call", "prepared", "result")

    def __init__(self, call: Call, prepared: Any) -> None:
        super().__init__(_ToolFrame(call, self))
        self.call, self.prepared = call, prepared
        self.result: bytes | None = None
        call.attempts = 0

    def returned(self, event: Any) -> None:
        call = self.call
        reason = _waits_for(self.prepared)
        if isinstance(call.run, _Run) and reason is not None:
            call.run.wait_for(reason, call.run.token)
            call.run.runs_on |= reason == OTHER
            if reason != OTHER:
                call.withdraw()
                return
        response = _response(event)
        if call.executed:
            call.close(self.result)
            return
        if self.prepared.tool_lookup_error is not None:
            call.fail(self.prepared.tool_lookup_error, UNKNOWN_TOOL)
        elif (
            call.error is None and _refused(response) and self.prepared.tool_context.tool_confirmation is None
        ):
            call.fail(response["error"], BAD_ARGUMENTS)
        call.close(outcome(response))

    def raised(self, error: BaseException) -> None:
        call = self.call
        if call.error is None:
            call.fail(error)
        call.close()


class _ToolFrame(CallFrame):
    """Around one call; its body reports back through it."""

    __slots__ = ("visit",)

    def __init__(self, call: Call, visit: _ToolVisit) -> None:
        super().__init__(call, in_body=False)
        self.visit = visit


class _Body(Attempt):
    """The tool itself runs."""

    __slots__ = ("outer",)

    def __init__(self, outer: _ToolVisit) -> None:
        super().__init__(outer.call)
        self.outer = outer
        outer.call.ran_with(arguments(outer.prepared.function_args))  # which callbacks may have edited

    def returned(self, result: Any) -> None:
        super().returned(result)
        if self.call.attempts:
            self.outer.result = outcome(result)


class _ReplyVisit(InRun[_Run]):
    """A reply of the model is being finished; then its calls have ids."""

    __slots__ = ()

    def returned(self, event: Any) -> None:
        if event.partial:
            return
        run = self.run
        parts = (event.content.parts if event.content is not None else None) or ()
        has_text = any(part.text and part.text.strip() and not part.thought for part in parts)
        turn, now = run.state.next_turn(), time.time_ns()
        for asked in event.get_function_calls():
            kept = arguments(asked.args or {})
            run.request(Request(asked.id, asked.name or "", kept, turn, has_text, now))
        malformed, run.malformed = run.malformed, []
        repaired = {asked.id for asked in event.get_function_calls()}
        for call_id, tool, text in malformed:
            if call_id in repaired:
                continue
            kept, _ = argument_text(text)
            not_executed(Request(call_id, tool, kept, turn, has_text, now, False), SOURCE, run)


def _enter_tool(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit:
    prepared = args[1] if len(args) > 1 else kwargs["prepared_call"]
    agent = field(args[2] if len(args) > 2 else kwargs.get("agent"), "name")
    asked = prepared.function_call
    call = Call(
        SOURCE,
        asked.name,
        arguments(prepared.function_args),
        call_id=asked.id,
        description=None if prepared.tool_lookup_error is not None else prepared.tool.description,
    )
    call.take_up()
    call.agent = agent if type(agent) is str else call.agent
    return _ToolVisit(call, prepared)


def _enter_any_body(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    tool = args[0] if args else kwargs["tool"]
    return None if hasattr(type(tool), "_invoke_callable") else _body()


def _enter_function(tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | Call | None:
    """FunctionTool also asks the user's own `require_confirmation` through the same method."""
    target = args[0] if args else kwargs["target"]
    if target is not tool.func:
        return None
    return _function_starts(tool, args[1] if len(args) > 1 else kwargs["args_to_call"])


def _enter_generator(tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | Call:
    return _function_starts(tool, kwargs["args_to_call"])


def _function_starts(tool: Any, given: dict[str, Any]) -> Visit | Call:
    context = field(tool, "_context_param_name")
    own = {name: value for name, value in given.items() if name != context}
    return _body() or Call(SOURCE, tool.name, arguments(own), description=tool.description)


def _body() -> Visit | None:
    frame = current()
    return _Body(frame.visit) if isinstance(frame, _ToolFrame) else None


def _refuse_body(visit: Any, text: str, tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """As ADK answers for a tool that cannot be called."""
    return {"error": text}


def _enter_reply(flow: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    run = run_here(SOURCE, _Run)
    if run is None:
        return None
    run.pause = None
    request = args[0] if args else kwargs["llm_request"]
    run.offer((name, tool.description) for name, tool in request.tools_dict.items())
    run.model = request.model if type(request.model) is str else run.model
    return _ReplyVisit(run)


def _on_litellm_message(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    run = run_here(SOURCE, _Run)
    if run is None or kwargs.get("is_partial"):
        return
    message = args[0] if args else kwargs["message"]
    for asked in message.get("tool_calls") or ():
        text, tool = asked.function.arguments, asked.function.name
        if type(tool) is str and type(text) is str and _unusable(text):
            run.malformed.append((asked.id, tool, text))


def _unusable(text: str) -> bool:
    """Whether arguments are no JSON object; ADK drops such a call unless it can repair them."""
    well_formed = argument_text(text)[1]
    return not well_formed or (bool(text) and not text.lstrip().startswith("{"))


def _enter_run(runner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit:
    session, name = kwargs.get("session_id"), getattr(runner.agent, "name", None)
    message, token = kwargs.get("new_message"), _token(runner.app_name, kwargs.get("user_id"), session)
    run = _Run(
        SOURCE,
        agent=name if type(name) is str else None,
        query=_query(message),
        conversation=session if type(session) is str else None,
        quiet=True,
        resumes=token if _brings_a_response(message) else None,
        workflow=Workflow(name) if _runs_others(runner.agent) else None,
    )
    run.malformed, run.runs_on, run.token = [], False, token
    return _RunVisit(run)


def _runs_others(agent: Any) -> bool:
    return any(cls.__name__ in _WORKFLOWS for cls in type(agent).__mro__)


def _token(*names: Any) -> str | None:
    """What a session service knows a session by."""
    return ":".join((SOURCE, *names)) if all(type(name) is str for name in names) else None


def _brings_a_response(message: Any) -> bool:
    """Whether what somebody sends to a session is what a run of it waits for."""
    parts = getattr(message, "parts", None) or ()
    return any(getattr(part, "function_response", None) is not None for part in parts)


def _waits_for(prepared: Any) -> str | None:
    """Why the run of a call that has returned ends here; None where it need not."""
    actions, tool = prepared.tool_context.actions, prepared.tool
    if actions.requested_tool_confirmations:
        return APPROVAL
    if getattr(actions, "requested_auth_configs", None):
        return INPUT
    return OTHER if getattr(tool, "is_long_running", False) else None


def _query(message: Any) -> str | None:
    texts = [part.text for part in getattr(message, "parts", None) or () if isinstance(part.text, str)]
    return "".join(texts) if texts else None


def _response(event: Any) -> Any:
    """The response in the event that answers a call; None where it is to follow later."""
    for part in (event.content.parts if event is not None and event.content is not None else None) or ():
        if part.function_response is not None:
            return part.function_response.response
    return None


def _refused(response: Any) -> bool:
    return isinstance(response, dict) and isinstance(response.get("error"), str)


_CALLER = "google.adk.flows.llm_flows.tools._caller"
_LIVE = "google.adk.flows.llm_flows.tools._live_caller"
_TOOL, _BODY = around_async(_enter_tool), around_async(_enter_any_body, _refuse_body)

GOOGLE_ADK = Framework(
    name=SOURCE,
    title="Google ADK",
    distribution="google-adk",
    versions=">=2.12,<3",
    targets=(
        Target(_CALLER, "_execute_single_prepared_call", _TOOL),
        Target(_LIVE, "_execute_single_prepared_call", _TOOL, optional=True),
        Target(_CALLER, "_call_tool_async", _BODY),
        Target(_LIVE, "_call_tool_async", _BODY, optional=True),
        Target(
            "google.adk.tools.function_tool",
            "FunctionTool._invoke_callable",
            around_async(_enter_function, _refuse_body),
        ),
        Target(
            "google.adk.tools.function_tool",
            "FunctionTool._run_generator_as_node",
            around_async(_enter_generator, _refuse_body),
            optional=True,
        ),
        Target(
            "google.adk.flows.llm_flows.base_llm_flow",
            "BaseLlmFlow._finalize_model_response_event",
            around(_enter_reply),
        ),
        Target(
            "google.adk.models.lite_llm",
            "_message_to_generate_content_response",
            observe(_on_litellm_message),
            optional=True,
        ),
        Target("google.adk.runners", "Runner.run_async", around_async_generator(_enter_run)),
    ),
    covers="run, run_async, streaming, callbacks, unknown tools, refused arguments, function tools alone, "
    "tools that yield, nested agents, transfers, confirmations",
    limits=(
        Limit(
            "streamed malformed arguments",
            "malformed arguments of a streamed LiteLLM reply are lost before anyone can see them",
        ),
        Limit("unreadable replies", "a reply that LiteLLM cannot read raises before there is a call"),
        Limit("unchecked types", "argument types are not checked: the tool itself runs and fails"),
    ),
)
