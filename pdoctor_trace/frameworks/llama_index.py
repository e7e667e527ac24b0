"""LlamaIndex agents.

Single agents and `AgentWorkflow` are workflows whose step `call_tool` runs one requested call, unknown
tools included; it never raises for a failing tool but hands out the exception in the tool's output.
`parse_agent_output` has the model's message with all its calls. `run` only starts the workflow: the run
ends with the task behind the handler it gives. `tools.calling` runs what `predict_and_call` asks for
outside any agent; below them all is `FunctionTool.call`, which a step of the host's own starts by itself, as
another tool may. A tool that waits for an event, a person's answer mostly, is left and begun anew when that
comes, in the same run; one that is ended meanwhile is paused. A workflow of the host's own is a run of what
stands in its steps.
"""

from __future__ import annotations

import inspect
import sys
import time
from typing import Any

from pdoctor_trace.adapter import (
    BAD_ARGUMENTS,
    INPUT,
    TOOL_RAISED,
    UNKNOWN_TOOL,
    Call,
    Framework,
    InRun,
    Limit,
    OpenRun,
    Request,
    RunVisit,
    Target,
    Visit,
    Workflow,
    arguments,
    around,
    around_async,
    around_of,
    claim,
    current,
    field,
    guarded,
    observe,
    outcome,
    run_here,
)

SOURCE = "llama_index"


class _StepCall(Call):
    """One requested call of an agent."""

    __slots__ = ()

    def returned(self, result: Any) -> None:
        _close(self, result.tool_output)

    def raised(self, error: BaseException) -> None:
        if type(error).__name__ == "WaitingForEvent":
            self.withdraw()
            return
        self.fail(error)
        self.close()


class _DirectCall(Call):
    """A call that no agent asked for: of `predict_and_call`, a step of the host's own or another tool."""

    __slots__ = ()

    def returned(self, result: Any) -> None:
        _close(self, result)

    def raised(self, error: BaseException) -> None:
        self.fail(error, BAD_ARGUMENTS if _refused(error) else None)
        self.close()


class _Claimed(Visit):
    """The same where a raw loop's model asked for it."""

    __slots__ = ("exact",)

    def __init__(self, exact: Any) -> None:
        super().__init__(exact.frame)
        self.exact = exact

    @property
    def opened(self) -> Any:
        """What the raw loop's model asked for."""
        return self.exact.opened

    def returned(self, result: Any) -> None:
        if result.is_error:
            error = getattr(result, "exception", None)
            self.exact.raised(error) if error is not None else self.exact.failed(result.content)
        else:
            self.exact.returned(result.raw_output)

    def raised(self, error: BaseException) -> None:
        self.exact.raised(error)


class _ToolsVisit(InRun[OpenRun]):
    """An agent gets its tools together."""

    __slots__ = ()

    def returned(self, result: Any) -> None:
        self.run.offer((tool.metadata.name, tool.metadata.description) for tool in result)


class _HandlerVisit(RunVisit):
    """`run` gives a handler at once; the run ends with the task behind it."""

    __slots__ = ()

    def returned(self, result: Any) -> None:
        task = getattr(result, "_result_task", result)
        task.add_done_callback(lambda done: guarded(self._task_done, done))

    def _task_done(self, task: Any) -> None:
        error = None if task.cancelled() else task.exception()
        left = error is None or type(error).__name__ == "WorkflowCancelledByUser"
        if left and self.run.state.withdrawn:
            self.run.wait_for(INPUT)
            error = None
        self.end(error)


def _close(call: Call, output: Any) -> None:
    """With what a `ToolOutput` says; in an error its `raw_output` is the text of the error."""
    if not output.is_error:
        call.close(outcome(output.raw_output))
        return
    error = getattr(output, "exception", None)
    if error is None:
        unknown = output.content.endswith("not found. Please select a tool that is available.")
        call.fail(output.content, UNKNOWN_TOOL if unknown else TOOL_RAISED)
    elif _refused(error):
        call.fail(error, BAD_ARGUMENTS)
    else:
        call.fail(error)
    call.close()


def _refused(error: BaseException) -> bool:
    """Whether the arguments do not fit the function: nobody but those that call it has a frame."""
    step = error.__traceback__ if type(error) is TypeError else None
    if step is None:
        return False
    while step is not None:
        if not str(step.tb_frame.f_globals.get("__name__")).startswith(_CALLERS):
            return False
        step = step.tb_next
    return True


def _enter_step(agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | Call:
    asked = kwargs["ev"] if "ev" in kwargs else args[1]
    run = run_here(SOURCE)
    waiting = None if run is None else run.withdrawn_call(asked.tool_id, asked.tool_name)
    if isinstance(waiting, _StepCall):
        waiting.start_ns = time.time_ns()
        return waiting
    kept = arguments(asked.tool_kwargs)
    call = _StepCall(SOURCE, asked.tool_name, kept, call_id=asked.tool_id)
    if call.run is not None:
        call.description = call.run.tools.get(call.tool)
        call.take_up()
    return call


def _refuse_step(visit: Any, text: str, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the step gives of a tool that failed."""
    asked = kwargs["ev"] if "ev" in kwargs else args[1]
    result = sys.modules[f"{_WORKFLOW}.workflow_events"].ToolCallResult(
        tool_name=asked.tool_name,
        tool_kwargs=asked.tool_kwargs,
        tool_id=asked.tool_id,
        tool_output=_output(text, asked.tool_name, asked.tool_kwargs),
        return_direct=False,
    )
    context = kwargs["ctx"] if "ctx" in kwargs else args[0]
    context.write_event_to_stream(result)
    return result


def _refuse_direct(
    visit: Any, text: str, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    tool = args[0] if args else kwargs["tool"]
    return _output(text, tool.metadata.name, args[1] if len(args) > 1 else kwargs["arguments"])


def _refuse_function(visit: Any, text: str, tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return _output(text, tool.metadata.name, kwargs)


def _output(text: str, tool: str, given: Any) -> Any:
    return sys.modules["llama_index.core.tools.types"].ToolOutput(
        content=text, tool_name=tool, raw_input=given, raw_output=text, is_error=True
    )


def _on_tool(agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """The agent has found the tool, which may have arguments of its own beside the model's."""
    frame = current()
    call = None if frame is None else frame.call
    if isinstance(call, _StepCall):
        tool, given = (*args[1:], *(kwargs[name] for name in ("tool", "tool_input") if name in kwargs))
        call.ran_with(arguments(_filled(tool, given)))


def _filled(tool: Any, given: dict[str, Any]) -> dict[str, Any]:
    """With the arguments that the host has given the tool itself; the model's go before them."""
    own = field(tool, "partial_params")
    return {**own, **given} if type(own) is dict else given


def _enter_direct(instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | Call | None:
    tool = args[0] if args else kwargs["tool"]
    return _direct(tool, args[1] if len(args) > 1 else kwargs["arguments"])


def _enter_function(tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | Call | None:
    """A function's tool starts; of what an agent or `predict_and_call` starts has been told."""
    if around_of(current(), tool.metadata.name) is not None:
        return None
    by_place = inspect.signature(tool.real_fn).bind_partial(*args).arguments if args else {}
    given, context = _filled(tool, {**by_place, **kwargs}), field(tool, "ctx_param_name")
    return _direct(tool, {name: value for name, value in given.items() if name != context})


def _direct(tool: Any, given: Any) -> Visit | Call:
    claimed = claim(None, tool.metadata.name, given)
    if claimed is not None:
        return _Claimed(claimed)
    return _DirectCall(SOURCE, tool.metadata.name, arguments(given), description=tool.metadata.description)


def _enter_tools(agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    run = run_here(SOURCE)
    return None if run is None else _ToolsVisit(run)


def _on_reply(agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    run = run_here(SOURCE)
    if run is None:
        return
    output = kwargs["ev"] if "ev" in kwargs else args[1]
    agent_name = getattr(output, "current_agent_name", None)
    run.turn_of = agent_name if type(agent_name) is str else run.turn_of
    has_text = bool((output.response.content or "").strip())
    turn, now = run.state.next_turn(), time.time_ns()
    for asked in output.tool_calls:
        kept = arguments(asked.tool_kwargs)
        run.request(Request(asked.tool_id, asked.tool_name, kept, turn, has_text, now))


def _enter_workflow(agents: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    return _opened(agents, args, kwargs, Workflow(getattr(agents, "name", None)))


def _enter_run(agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    return _opened(agent, args, kwargs)


def _enter_plain(workflow: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    kind = type(workflow)
    if _waits(args, kwargs) or any(cls.__name__ in _AGENTS for cls in kind.__mro__):
        return None
    texts = [value for value in kwargs.values() if type(value) is str]
    query = texts[0] if len(texts) == 1 else None
    name = kind.__name__
    return _HandlerVisit(OpenRun(SOURCE, agent=name, query=query, workflow=Workflow(name)))


def _waits(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether this is an answer to a waiting run, which is open already."""
    context = kwargs.get("ctx") or next((one for one in args if hasattr(one, "is_running")), None)
    return context is not None and bool(context.is_running)


def _opened(
    agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any], workflow: Workflow | None = None
) -> Visit | None:
    if _waits(args, kwargs):
        return None
    name = getattr(agent, "name", None)
    session = field(kwargs.get("memory"), "session_id")
    run = OpenRun(
        SOURCE,
        agent=name if type(name) is str else None,
        query=_query(args, kwargs),
        conversation=session if type(session) is str else None,
        quiet=True,
        workflow=workflow,
    )
    return _HandlerVisit(run)


def _query(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    given = kwargs.get("user_msg") or (args[0] if args else None)
    if given is None:
        given = getattr(kwargs.get("start_event"), "user_msg", None)
    text = getattr(given, "content", given)
    return text if type(text) is str else None


_AGENTS = ("BaseWorkflowAgent", "AgentWorkflow")
_CALLERS = (
    "llama_index.core.",
    "llama_index_instrumentation.",
    "workflows.",
    "pdoctor_trace.",
    "wrapt.",
    "asyncio.",
    "concurrent.futures.",
)
"""Beginnings of the names of modules that call a tool, or its function."""
_WORKFLOW = "llama_index.core.agent.workflow"
_SINGLE, _MANY = f"{_WORKFLOW}.base_agent", f"{_WORKFLOW}.multi_agent_workflow"
_CALLING, _FUNCTION = "llama_index.core.tools.calling", "llama_index.core.tools.function_tool"

LLAMA_INDEX = Framework(
    name=SOURCE,
    title="LlamaIndex",
    distribution="llama-index-core",
    versions=">=0.14.9,<0.15",
    targets=(
        Target(_SINGLE, "BaseWorkflowAgent.call_tool", around_async(_enter_step, _refuse_step)),
        Target(_SINGLE, "BaseWorkflowAgent._call_tool", observe(_on_tool), optional=True),
        Target(_SINGLE, "BaseWorkflowAgent.parse_agent_output", observe(_on_reply)),
        Target(_SINGLE, "BaseWorkflowAgent.get_tools", around_async(_enter_tools)),
        Target(_SINGLE, "BaseWorkflowAgent.run", around(_enter_run)),
        Target(_MANY, "AgentWorkflow.call_tool", around_async(_enter_step, _refuse_step)),
        Target(_MANY, "AgentWorkflow._call_tool", observe(_on_tool), optional=True),
        Target(_MANY, "AgentWorkflow.parse_agent_output", observe(_on_reply)),
        Target(_MANY, "AgentWorkflow.get_tools", around_async(_enter_tools)),
        Target(_MANY, "AgentWorkflow.run", around(_enter_workflow)),
        Target("llama_index.core.workflow.workflow", "Workflow.run", around(_enter_plain), optional=True),
        Target(_CALLING, "call_tool", around(_enter_direct, _refuse_direct)),
        Target(_CALLING, "acall_tool", around_async(_enter_direct, _refuse_direct)),
        Target(_FUNCTION, "FunctionTool.call", around(_enter_function, _refuse_function)),
        Target(_FUNCTION, "FunctionTool.acall", around_async(_enter_function, _refuse_function)),
    ),
    covers="FunctionAgent, ReActAgent, AgentWorkflow, workflows of your own, hand-overs, streaming, "
    "predict_and_call, function tools alone, nested agents, tools that wait for an event",
    limits=(
        Limit(
            "repaired arguments", "malformed arguments are repaired by LlamaIndex before anyone can see them"
        ),
        Limit("unreadable replies", "a reply that LlamaIndex cannot read raises before there is a call"),
        Limit("unchecked types", "argument types are not checked: the tool itself runs and fails"),
        Limit("endless tools", "after StopIteration in a tool LlamaIndex waits for ever: no span"),
        Limit(
            "stored waits",
            "a run that is ended while it waits has no token: its stored context begins another run",
        ),
        Limit("code as a call", "code of a CodeActAgent is one call"),
    ),
)
