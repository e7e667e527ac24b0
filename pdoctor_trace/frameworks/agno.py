"""Agno: agents, teams and workflows.

`FunctionCall.execute/aexecute` run one call and make the span. They give back a text where the tool raised,
so the exception itself is taken from the line that logs it; a tool that yields has not even begun when they
return, so its generator is traced in their result. Unknown tools and malformed arguments are sorted out
before, in `Model.get_function_calls_to_run`. `run` and `arun` give a value, a coroutine or a generator.

A run that waits for a person, or for what runs elsewhere, is gone on with by `continue_run` under its own id.
"""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable
from typing import Any

from pdoctor_trace.adapter import (
    APPROVAL,
    BAD_ARGUMENTS,
    INPUT,
    OTHER,
    TOOL_RAISED,
    Call,
    Framework,
    InRun,
    OpenRun,
    Reading,
    Request,
    RunVisit,
    Target,
    Visit,
    Watcher,
    Workflow,
    Wrapper,
    argument_text,
    arguments,
    around,
    around_async,
    around_async_generator,
    around_generator,
    current,
    decided,
    enter_frame,
    guarded,
    is_paused,
    leave,
    not_executed,
    observe,
    outcome,
    recording,
    run_here,
    watch_async_generator,
    watch_generator,
)

SOURCE = "agno"
MAX_PIECES = 10_000
"""So many pieces of text of a yielding tool are kept."""


class _ToolCall(Call):
    """One call; a tool that yields closes it when it is exhausted."""

    __slots__ = ("asked", "pieces")

    asked: Any
    """Agno's own FunctionCall."""
    pieces: list[str]

    def start(self) -> None:
        """The tool itself is about to run, with what the hooks left of the arguments."""
        self.attempts += 1
        self.ran_with(arguments(self.asked.arguments or {}))

    def returned(self, done: Any) -> None:
        if done.status == "failure":
            error = self.error if isinstance(self.error, BaseException) else None
            self._failed(error or (done.error if type(done.error) is str else "failure"))
        elif inspect.isgenerator(done.result) or inspect.isasyncgen(done.result):
            self._follow(done)
        else:
            self.error = self.kind = None
            self.close(outcome(done.result))

    def raised(self, error: BaseException) -> None:
        self._failed(error)

    def _failed(self, error: BaseException | str) -> None:
        if isinstance(error, BaseException) and _never_reached(error):
            self.fail(error, BAD_ARGUMENTS)
        else:
            self.fail(error, None if isinstance(error, BaseException) else TOOL_RAISED)
        self.close()

    def _follow(self, done: Any) -> None:
        """Put a traced generator in the place of the tool's own, which Agno is about to read."""
        items, visit, pieces = done.result, _YieldingVisit(self), _Pieces(self)
        self.pieces = []
        if inspect.isgenerator(items):
            watched = watch_generator(lambda _: pieces)(lambda: items, None, (), {})
            traced = around_generator(lambda *_: visit)(lambda: watched, None, (), {})
        else:
            watched = watch_async_generator(lambda _: pieces)(lambda: items, None, (), {})
            traced = around_async_generator(lambda *_: visit)(lambda: watched, None, (), {})
        if self.asked.result is items:
            self.asked.result = traced
        done.result = traced


class _Pieces(Watcher):
    """What a yielding tool yields; events of nested agents among it are not kept."""

    __slots__ = ("call",)

    def __init__(self, call: _ToolCall) -> None:
        self.call = call

    def item(self, item: Any) -> None:
        if type(item) is str and len(self.call.pieces) < MAX_PIECES:
            self.call.pieces.append(item)


class _YieldingVisit(Visit):
    """The body of a tool that yields."""

    __slots__ = ("call",)

    def __init__(self, call: _ToolCall) -> None:
        super().__init__(call)
        self.call = call

    def returned(self, result: Any) -> None:
        self.call.close(outcome("".join(self.call.pieces)))

    def raised(self, error: BaseException) -> None:
        self.call.fail(error)
        self.call.close()


class _ReplyVisit(InRun[OpenRun]):
    """The calls of one reply are looked up: those not found again in the result cannot run."""

    __slots__ = ("functions", "message")

    def __init__(self, run: OpenRun, message: Any, functions: Any) -> None:
        super().__init__(run)
        self.message, self.functions = message, functions

    def returned(self, result: Any) -> None:
        run, runnable = self.run, list(result)
        content = self.message.content
        has_text = isinstance(content, str) and bool(content.strip())
        turn, now = run.state.next_turn(), time.time_ns()
        for asked in self.message.tool_calls or ():
            tool, call_id = asked["function"]["name"], asked.get("id")
            arguments, _ = argument_text(asked["function"].get("arguments") or {})
            if runnable and (runnable[0].function.name, runnable[0].call_id) == (tool, call_id):
                runnable.pop(0)
                run.request(Request(call_id, tool, arguments, turn, has_text, now))
            else:
                known = tool in (self.functions or ())
                request = Request(call_id, tool, arguments, turn, has_text, now, well_formed=not known)
                not_executed(request, SOURCE, run)


def _enter_tool(asked: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    function = asked.function
    call = _ToolCall(
        SOURCE,
        function.name,
        arguments(asked.arguments or {}),
        call_id=asked.call_id,
        description=function.description,
    )
    call.asked = asked
    call.take_up()
    return call


def _refuse_tool(visit: Any, text: str, asked: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """As Agno itself tells of a tool that failed."""
    asked.error = text
    return sys.modules[_TOOLS].FunctionExecutionResult(status="failure", error=text)


class _Injected(dict[str, Any]):
    """What Agno adds to the arguments, which it copies where the chain of hooks comes to the tool itself."""

    __slots__ = ("call",)

    call: _ToolCall

    def copy(self) -> dict[str, Any]:
        guarded(self.call.start)
        return dict(self)


def _behind_hooks() -> Wrapper:
    """Hooks around a tool may answer for it, or change what it gets."""

    def wrapper(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        frame = current()
        given = args[0] if args else kwargs.get("entrypoint_args")
        if not isinstance(frame, _ToolCall) or frame.asked is not instance or type(given) is not dict:
            return wrapped(*args, **kwargs)
        seen = _Injected(given)
        seen.call, frame.attempts = frame, 0
        return wrapped(seen, *args[1:], **kwargs) if args else wrapped(**{**kwargs, "entrypoint_args": seen})

    return wrapper


def _hooked(asked: Any) -> _ToolCall | None:
    """The call before which a hook is about to run."""
    call = current()
    if not isinstance(call, _ToolCall) or call.asked is not asked or asked.function.pre_hook is None:
        return None
    return call


def _before_tool() -> Wrapper:
    """A hook before the tool may change its arguments, or refuse the call by raising."""

    def wrapper(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        call = guarded(_hooked, instance)
        if call is None:
            return wrapped(*args, **kwargs)
        call.attempts = 0
        result = wrapped(*args, **kwargs)
        guarded(call.start)
        return result

    return wrapper


def _before_tool_async() -> Wrapper:
    """The same for a hook that is awaited."""

    async def wrapper(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        call = guarded(_hooked, instance)
        if call is None:
            return await wrapped(*args, **kwargs)
        call.attempts = 0
        result = await wrapped(*args, **kwargs)
        guarded(call.start)
        return result

    return wrapper


def _on_logged_error(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """The line in which Agno logs what a tool raised, before only its text is left."""
    frame = current()
    error = args[0] if args else None
    if isinstance(frame, _ToolCall) and isinstance(error, BaseException):
        frame.error = error


def _on_tools(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Before each model request: the tools that go with it."""
    run = run_here(SOURCE)
    if run is None:
        return
    run.model = model.id if type(model.id) is str else run.model
    for tool in (args[0] if args else kwargs["tools"]) or ():
        described = tool.get("function", tool) if isinstance(tool, dict) else vars(tool)
        name, description = described.get("name"), described.get("description")
        if type(name) is str:
            run.offer([(name, description if type(description) is str else None)])


def _enter_reply(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    run = run_here(SOURCE)
    if run is None:
        return None
    message = args[0] if args else kwargs["assistant_message"]
    return _ReplyVisit(run, message, args[2] if len(args) > 2 else kwargs.get("functions"))


def _on_paused(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """A run is about to end because somebody has to do something about some of its calls."""
    run = run_here(SOURCE)
    output = args[1] if len(args) > 1 else kwargs["run_response"]
    if run is not None:
        waiting = [one.tool_execution for one in output.requirements or () if one.tool_execution is not None]
        approval = any(tool.requires_confirmation for tool in waiting)
        asked = any(tool.requires_user_input or tool.user_feedback_schema for tool in waiting)
        run.wait_for(APPROVAL if approval else INPUT if asked else OTHER, _token(output.run_id))


def _on_rejected(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    _decide(args[2] if len(args) > 2 else kwargs["tool"], None)


def _on_result(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """The host brings what came of a tool that ran elsewhere."""
    tool = args[2] if len(args) > 2 else kwargs["tool"]
    if tool.result is not None:
        _decide(tool, Reading(tool.result, str(tool.result) if tool.tool_call_error else None))


def _on_input(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """A person has filled in what the model asked for."""
    tool = args[2] if len(args) > 2 else kwargs["tool"]
    if tool.user_input_schema:
        _decide(tool, Reading({field.name: field.value for field in tool.user_input_schema}))


def _decide(tool: Any, said: Reading | None) -> None:
    run = run_here(SOURCE)
    if run is not None:
        decided(run, tool.tool_call_id, tool.tool_name, arguments(tool.tool_args or {}), said)


def _traced_run(enter: Callable[..., Visit]) -> Wrapper:
    """`run` and `arun` decide by their arguments what they give back; the run ends when that does."""

    def wrapper(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        visit = guarded(enter, instance, args, kwargs) if recording() else None
        if visit is None:
            return wrapped(*args, **kwargs)
        token = enter_frame(visit.frame)
        try:
            result = wrapped(*args, **kwargs)
        except BaseException as error:
            leave(token)
            guarded(visit.raised, error)
            raise
        leave(token)
        return _until_its_end(result, visit)

    return wrapper


def _until_its_end(result: Any, visit: Visit) -> Any:
    if isinstance(visit, _WorkflowVisit):
        result = _watched(result, _Events(visit))
    if inspect.isgenerator(result):
        wrapper = around_generator(lambda *_: visit)
    elif inspect.isasyncgen(result):
        wrapper = around_async_generator(lambda *_: visit)
    elif inspect.iscoroutine(result):
        return around_async(lambda *_: visit)(lambda: result, None, (), {})
    else:
        guarded(visit.returned, result)
        return result
    return wrapper(lambda: result, None, (), {})


def _watched(events: Any, watcher: Watcher) -> Any:
    """The same with each event shown to the watcher, where it is a stream."""
    if inspect.isgenerator(events):
        return watch_generator(lambda _: watcher)(lambda: events, None, (), {})
    if inspect.isasyncgen(events):
        return watch_async_generator(lambda _: watcher)(lambda: events, None, (), {})
    return events


def _enter_run(agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit:
    given = args[0] if args else kwargs.get("input")
    session = kwargs.get("session_id") or agent.session_id
    return RunVisit(
        OpenRun(
            SOURCE,
            agent=agent.name if type(agent.name) is str else None,
            query=_query(given),
            conversation=session if type(session) is str else None,
            quiet=True,
        )
    )


def _enter_continued(agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit:
    before = args[0] if args else kwargs.get("run_response")
    session = kwargs.get("session_id") or getattr(before, "session_id", None) or agent.session_id
    token = _token(kwargs.get("run_id") if before is None else before.run_id)
    waits = kwargs.get("requirements") or kwargs.get("updated_tools") or getattr(before, "is_paused", False)
    return RunVisit(
        OpenRun(
            SOURCE,
            agent=agent.name if type(agent.name) is str else None,
            conversation=session if type(session) is str else None,
            quiet=True,
            resumes=token if token is not None and (waits or is_paused(token)) else None,
        )
    )


class _WorkflowVisit(RunVisit):
    """A workflow, which may end because a person has to say something before a step."""

    __slots__ = ()

    def returned(self, result: Any) -> None:
        if getattr(result, "is_paused", False):
            self.wait(result)
        self.end(None)

    def wait(self, told: Any) -> None:
        """It is paused, as its result or its last event tells."""
        self.run.wait_for(OTHER, _token(told.run_id))


class _Events(Watcher):
    """What a streamed workflow tells of itself."""

    __slots__ = ("visit",)

    def __init__(self, visit: _WorkflowVisit) -> None:
        self.visit = visit

    def item(self, item: Any) -> None:
        said = getattr(item, "event", None)
        if type(item).__module__ == "agno.run.workflow" and type(said) is str and said.endswith("Paused"):
            self.visit.wait(item)


def _enter_workflow(workflow: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit:
    return _opened_workflow(workflow, kwargs, _query(args[0] if args else kwargs.get("input")), None)


def _enter_continued_workflow(workflow: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit:
    before = args[0] if args else kwargs.get("run_response")
    session = getattr(before, "session_id", None)
    token = _token(kwargs.get("run_id") if before is None else before.run_id)
    return _opened_workflow(workflow, {"session_id": session, **kwargs}, None, token)


def _opened_workflow(workflow: Any, options: dict[str, Any], query: str | None, token: str | None) -> Visit:
    session = options.get("session_id") or workflow.session_id
    name = workflow.name if type(workflow.name) is str else None
    conversation = session if type(session) is str else None
    around = Workflow(name)
    return _WorkflowVisit(
        OpenRun(SOURCE, agent=name, query=query, conversation=conversation, resumes=token, workflow=around)
    )


def _token(run_id: Any) -> str | None:
    return f"{SOURCE}:{run_id}" if type(run_id) is str else None


def _query(given: Any) -> str | None:
    """The input text, or that of the last message of the user."""
    if isinstance(given, str):
        return given
    for message in reversed(given if isinstance(given, list) else [given]):
        if isinstance(message, str):
            return message
        values = message if isinstance(message, dict) else getattr(message, "__dict__", {})
        content = values.get("content")
        if values.get("role") == "user" and isinstance(content, str):
            return content
    return None


def _never_reached(error: BaseException) -> bool:
    """Whether the arguments did not fit: the exception comes from their check, or from the call itself."""
    step, module = error.__traceback__, ""
    while step is not None:
        module, step = str(step.tb_frame.f_globals.get("__name__")), step.tb_next
    if type(error).__name__ == "ValidationError":
        return module == "pydantic._internal._validate_call"
    return isinstance(error, TypeError) and module == _TOOLS


_RUN, _CONTINUED, _PAUSED = _traced_run(_enter_run), _traced_run(_enter_continued), observe(_on_paused)
_PAUSES = (
    "handle_agent_run_paused",
    "handle_agent_run_paused_stream",
    "ahandle_agent_run_paused",
    "ahandle_agent_run_paused_stream",
)
_HELD, _WORKFLOWS = "agno.agent._tools", "agno.workflow.workflow"
_TOOLS, _MODEL = "agno.tools.function", "agno.models.base"

AGNO = Framework(
    name=SOURCE,
    title="Agno",
    distribution="agno",
    versions=">=3.1,<4",
    targets=(
        Target(_TOOLS, "FunctionCall.execute", around(_enter_tool, _refuse_tool)),
        Target(_TOOLS, "FunctionCall.aexecute", around_async(_enter_tool, _refuse_tool)),
        Target(_TOOLS, "FunctionCall._build_nested_execution_chain", _behind_hooks(), optional=True),
        Target(_TOOLS, "FunctionCall._build_nested_execution_chain_async", _behind_hooks(), optional=True),
        Target(_TOOLS, "FunctionCall._handle_pre_hook", _before_tool(), optional=True),
        Target(_TOOLS, "FunctionCall._handle_pre_hook_async", _before_tool_async(), optional=True),
        Target(_TOOLS, "log_exception", observe(_on_logged_error), optional=True),
        Target(_MODEL, "Model.get_function_calls_to_run", around(_enter_reply)),
        Target(_MODEL, "Model._format_tools", observe(_on_tools)),
        Target("agno.agent.agent", "Agent.run", _RUN),
        Target("agno.agent.agent", "Agent.arun", _RUN),
        Target("agno.agent.agent", "Agent.continue_run", _CONTINUED),
        Target("agno.agent.agent", "Agent.acontinue_run", _CONTINUED),
        Target("agno.team.team", "Team.run", _RUN),
        Target("agno.team.team", "Team.arun", _RUN),
        Target(_WORKFLOWS, "Workflow.run", _traced_run(_enter_workflow), optional=True),
        Target(_WORKFLOWS, "Workflow.arun", _traced_run(_enter_workflow), optional=True),
        Target(_WORKFLOWS, "Workflow.continue_run", _traced_run(_enter_continued_workflow), optional=True),
        Target(_WORKFLOWS, "Workflow.acontinue_run", _traced_run(_enter_continued_workflow), optional=True),
        Target("agno.team.team", "Team.continue_run", _CONTINUED, optional=True),
        Target("agno.team.team", "Team.acontinue_run", _CONTINUED, optional=True),
        *(Target("agno.agent._run", name, _PAUSED, optional=True) for name in _PAUSES),
        *(
            Target("agno.team._hooks", name.replace("agent", "team"), _PAUSED, optional=True)
            for name in _PAUSES
        ),
        Target(_HELD, "reject_tool_call", observe(_on_rejected), optional=True),
        Target(_HELD, "handle_external_execution_update", observe(_on_result), optional=True),
        Target(_HELD, "handle_get_user_input_tool_update", observe(_on_input), optional=True),
    ),
    covers="agents, teams and workflows, run, arun and both streamed, tools that yield, unknown tools, "
    "bad arguments, confirmations, user input and tools that run elsewhere",
)
