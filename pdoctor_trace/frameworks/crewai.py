"""CrewAI: crews, single agents and flows.

Calls of a model's tool interface are run one by one in `_execute_single_native_tool_call`; its result
says what failed, and the exception itself is seen in the tool's `run` below it. Agents on models without
a tool interface write their calls as text, which `execute_tool_and_check_finality` runs, silently several
times where the tool fails; modules hold that function by name. The event bus is left alone: its handlers
run on other threads, without call ids.

A flow is a run of what stands in its steps: crews, agents, loops and tools that the host's code starts
itself. Flows that CrewAI makes for itself, as its executor of agents is one, are none.
"""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any

from pdoctor_trace.adapter import (
    BAD_ARGUMENTS,
    INPUT,
    TOOL_RAISED,
    UNKNOWN_TOOL,
    Attempt,
    Call,
    CallFrame,
    Frame,
    Framework,
    Limit,
    OpenRun,
    Refused,
    Request,
    RunVisit,
    Target,
    Visit,
    Workflow,
    argument_text,
    arguments,
    around,
    around_async,
    current,
    field,
    guarded,
    observe,
    outcome,
    run_here,
)

SOURCE = "crewai"
_KINDS = {"unknown_tool": UNKNOWN_TOOL, "invalid_input": BAD_ARGUMENTS}


class _AskedCall(Call):
    """A requested call; the layer below tells the value or the exception."""

    __slots__ = ("value",)

    value: bytes | None


class _NativeVisit(Visit):
    """One call of the model's tool interface with all that surrounds the tool."""

    __slots__ = ("asked",)

    def __init__(self, asked: _AskedCall) -> None:
        super().__init__(CallFrame(asked, in_body=False))
        self.asked = asked

    @property
    def call(self) -> _AskedCall:
        return self.asked

    def returned(self, result: Any) -> None:
        call, failure = self.asked, _of(result, "tool_failure")
        if failure is not None and call.error is None:
            reason = str(getattr(failure.reason, "value", failure.reason)).lower()
            call.fail(failure.message, _KINDS.get(reason, TOOL_RAISED))
        self.close(_of(result, "result"))

    def raised(self, error: BaseException) -> None:
        if self.asked.error is None:
            self.asked.fail(error)
        self.close(None)

    def close(self, text: Any) -> None:
        call = self.asked
        value = call.value if call.value is not None else outcome(text)
        call.close(None if call.error is not None else value)


class _TextVisit(_NativeVisit):
    """One call that the model wrote as text."""

    __slots__ = ("known",)

    known: bool

    def returned(self, result: Any) -> None:
        call, text = self.asked, getattr(result, "result", None)
        if call.attempts == 0 and call.error is None:
            said = text if type(text) is str else ""
            if not self.known:
                call.fail(said, UNKNOWN_TOOL)
            elif said.startswith("Error"):
                call.fail(said, BAD_ARGUMENTS)
        self.close(text)


class _Body(Attempt):
    """One attempt at running the tool."""

    __slots__ = ()

    call: _AskedCall

    def returned(self, result: Any) -> None:
        super().returned(result)
        self.call.value = outcome(result)


class _DirectCall(Call):
    """A tool that the host's code starts, for which no model asked."""

    __slots__ = ()

    def raised(self, error: BaseException) -> None:
        self.fail(error, _kind(error))
        self.close()


class _CrewVisit(RunVisit):
    """A crew's run; its tasks know their inputs only once it has begun."""

    __slots__ = ("crew",)

    def __init__(self, run: OpenRun, crew: Any) -> None:
        super().__init__(run)
        self.crew = crew

    def end(self, error: BaseException | None) -> None:
        self.run.query = guarded(_tasks, self.crew) or self.run.query
        super().end(error)


class _FlowRun(OpenRun):
    """A run of a flow."""

    __slots__ = ()


class _FlowVisit(RunVisit):
    """A flow's run, which may end because a person is asked."""

    __slots__ = ()

    def returned(self, result: Any) -> None:
        if type(result).__name__ == "HumanFeedbackPending":
            self.run.wait_for(INPUT, _flow_token(result.context.flow_id))
        self.end(None)


def _refused(error: BaseException) -> bool:
    """Whether the arguments failed the check against the tool's schema, or the call itself, before it ran."""
    step = error.__traceback__
    if type(error) is TypeError and step is not None and step.tb_next is None:
        return True  # raised in the very place that called the tool: its name for an argument is taken
    step = step if type(error) is ValueError else None
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    return step is not None and step.tb_frame.f_code.co_name in ("_validate_kwargs", "_parse_args")


def _kind(error: BaseException) -> str | None:
    return BAD_ARGUMENTS if _refused(error) else None


def _of(result: Any, name: str) -> Any:
    return result.get(name) if isinstance(result, dict) else getattr(result, name, None)


def _enter_native(executor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    info = _info(args[0] if args else kwargs["tool_call"])
    if info is None:
        return None
    call_id, tool, given = info
    arguments, _ = argument_text(given)
    return _NativeVisit(_asked(call_id, tool, arguments, kwargs.get("agent", field(executor, "agent"))))


def _refuse_native(
    visit: Any, text: str, executor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """As CrewAI tells of a tool that failed, by the policy that it has for that; nothing is cached."""
    info = _info(args[0] if args else kwargs["tool_call"])
    call_id, tool, given = info or (None, visit.call.tool, None)
    told = sys.modules.get("crewai.tools.tool_failure")
    failure = None if told is None else told.ToolFailure(message=text)
    if told is not None:
        about = {name: kwargs.get(name, field(executor, name)) for name in ("agent", "task", "crew")}
        told.handle_tool_failure(failure, tool_name=tool, tool_args=given, **about)
    if executor is None:
        message = {"role": "tool", "tool_call_id": call_id, "name": tool, "content": text}
        answer = sys.modules["crewai.utilities.agent_utils"].NativeToolCallResult
        return answer(call_id=call_id, func_name=tool, result=text, tool_message=message)
    return {
        "call_id": call_id,
        "func_name": tool,
        "result": text,
        "tool_args": given if isinstance(given, dict) else {},
        "from_cache": False,
        "original_tool": None,
        "tool_failure": failure,
    }


def _refuse_text(visit: Any, text: str, executor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return sys.modules["crewai.tools.tool_types"].ToolResult(text, False)


def _refuse_body(visit: Any, text: str, tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A tool that the host's code starts fails by raising."""
    raise Refused(text)


def _enter_text(executor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit:
    action = args[0] if args else kwargs["agent_action"]
    tools = args[1] if len(args) > 1 else kwargs["tools"]
    arguments, _ = argument_text(action.tool_input)
    run = run_here(SOURCE)
    offered = [(_name(tool.name), tool.description) for tool in tools]
    if run is not None:
        run.offer(offered)
    call = _asked(None, _name(action.tool), arguments, kwargs.get("agent"))
    if run is not None:
        call.turn, call.has_text = run.state.next_turn(), _thinks(action)
    visit = _TextVisit(call)
    visit.known = call.tool in dict(offered)
    return visit


def _thinks(action: Any) -> bool:
    """Whether anything stands before the lines of an action but the label of a thought."""
    before, _, _ = f"\n{_text(action.text) or ''}".partition("\nAction")
    return bool(before.strip().removeprefix("Thought:").strip())


def _asked(call_id: Any, tool: str, arguments: bytes | None, agent: Any) -> _AskedCall:
    call = _AskedCall(SOURCE, tool, arguments, call_id=call_id)
    call.value, call.attempts = None, 0
    call.agent = _text(field(agent, "role")) or call.agent  # that of the run is the crew's name
    if call.run is not None:
        call.description = call.run.tools.get(call.tool)
        call.take_up()
    return call


def _enter_body(tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | Call | None:
    frame = current()
    asked = frame.call if frame is not None and not frame.in_body else None
    if isinstance(asked, _AskedCall):
        return _Body(asked, _kind)
    name = _name(tool.name)
    if frame is None or not _starts_tools(frame, name):
        return None
    return _DirectCall(SOURCE, name, arguments(_given(tool, args, kwargs)), description=tool.description)


def _starts_tools(frame: Frame, name: str) -> bool:
    """Whether the host's code runs here, in a step of a flow or in another tool."""
    if frame.call is None:
        return isinstance(frame, _FlowRun)
    return frame.in_body and frame.call.source == SOURCE and frame.call.tool != name


def _given(tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments of a tool that is started by hand: all in one, by name, or by place."""
    if hasattr(tool, "invoke"):
        given = args[0] if args else kwargs.get("input")
        return given if isinstance(given, dict) else {}
    names = getattr(tool.args_schema, "model_fields", ())
    return {**dict(zip(names, args, strict=False)), **kwargs}


class _HooksVisit(Visit):
    """Hooks look at the arguments of a call before its tool runs, and may edit them."""

    __slots__ = ("asked", "context", "seen")

    def __init__(self, asked: _AskedCall, context: Any) -> None:
        super().__init__(current())
        self.asked, self.context = asked, context
        self.seen = arguments(context.tool_input)

    def returned(self, result: Any) -> None:
        left = arguments(self.context.tool_input)
        if left != self.seen:
            self.asked.ran_with(left)


def _enter_hooks(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    frame = current()
    asked = frame.call if frame is not None and not frame.in_body else None
    if not isinstance(asked, _AskedCall):
        return None
    return _HooksVisit(asked, args[0] if args else kwargs["context"])


def _on_calls(executor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """All calls of one model message, before the first of them runs."""
    run = run_here(SOURCE)
    if run is None:
        return
    run.offer(_described(schema) for schema in getattr(executor, "_openai_tools", None) or ())
    turn, now = run.state.next_turn(), time.time_ns()
    for one in args[0] if args else kwargs["tool_calls"]:
        info = _info(one)
        if info is not None:
            arguments, well_formed = argument_text(info[2])
            beside = run.usage.text_beside(info[0])  # CrewAI itself drops the text beside calls
            run.request(Request(info[0], info[1], arguments, turn, beside, now, well_formed))


def _described(schema: dict[str, Any]) -> tuple[str, str | None]:
    function = schema["function"]
    return function["name"], function.get("description")


def _info(tool_call: Any) -> tuple[str, str, Any] | None:
    """(id, tool, arguments) of a call in any provider's spelling, as CrewAI itself reads it."""
    found: tuple[str, str, Any] | None = sys.modules["crewai.utilities.agent_utils"].extract_tool_call_info(
        tool_call
    )
    return found


def _name(tool: str) -> str:
    """A tool's name as models see it."""
    clean = sys.modules["crewai.utilities.string_utils"].sanitize_tool_name(tool)
    return clean if type(clean) is str else tool


def _enter_crew(crew: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    if crew.stream:
        return None  # it calls itself without streaming, in a thread of its own
    name = crew.name if type(crew.name) is str else None
    run = OpenRun(SOURCE, agent=name, query=_tasks(crew), quiet=True, workflow=Workflow(name))
    for agent in crew.agents:
        run.offer((_name(tool.name), tool.description) for tool in agent.tools or ())
    return _CrewVisit(run, crew)


def _enter_agent(agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    if asyncio._get_running_loop() is not None:
        return None  # it only makes the coroutine of `kickoff_async`
    return _opened(agent, args, kwargs)


def _opened(agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit:
    given = args[0] if args else kwargs.get("messages")
    name = agent.role if type(agent.role) is str else None
    run = OpenRun(SOURCE, agent=name, query=_query(given), quiet=True)
    run.offer((_name(tool.name), tool.description) for tool in agent.tools or ())
    return RunVisit(run)


def _enter_delegated(agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    """An agent that another one's tool gives a task; those of a crew's own run are its steps."""
    frame = current()
    if frame is None or not frame.in_body:
        return None
    task = args[0] if args else kwargs["task"]
    run = OpenRun(SOURCE, agent=_text(agent.role), query=_text(task.description), quiet=True)
    run.offer((_name(tool.name), tool.description) for tool in agent.tools or ())
    return RunVisit(run)


def _enter_flow(flow: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    return None if flow.stream else _opened_flow(flow)  # it calls itself without streaming


def _enter_resumed(flow: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    return _opened_flow(flow, _flow_token(flow.flow_id))


def _opened_flow(flow: Any, token: str | None = None) -> Visit | None:
    kind = type(flow)
    if kind.__module__.startswith("crewai.") and not kind.__module__.startswith("crewai.flow."):
        return None
    name = _text(flow.name) or kind.__name__
    return _FlowVisit(_FlowRun(SOURCE, agent=name, resumes=token, workflow=Workflow(name)))


def _flow_token(flow_id: Any) -> str | None:
    return f"{SOURCE}:{flow_id}" if type(flow_id) is str else None


def _text(said: Any) -> str | None:
    return said if type(said) is str else None


def _tasks(crew: Any) -> str:
    return "\n".join(task.description for task in crew.tasks)


def _query(messages: Any) -> str | None:
    """The input text, or that of the last user message of a list."""
    if isinstance(messages, list):
        asked = [message.get("content") for message in messages if message.get("role") == "user"]
        messages = asked[-1] if asked else None
    return messages if type(messages) is str else None


_EXECUTOR, _STEPS = "crewai.agents.agent_executor", "crewai.agents.step_executor"
_NATIVE, _TEXT = around(_enter_native, _refuse_native), around(_enter_text, _refuse_text)
_BODY = around(_enter_body, _refuse_body)
_HOOKS = around(_enter_hooks)
_HOOKED = ("crewai.hooks.tool_hooks", "crewai.utilities.tool_utils", _EXECUTOR)
"""Modules that hold the function which runs hooks."""
_FLOW = "crewai.flow.flow"
_TOOL, _STRUCTURED = "crewai.tools.base_tool", "crewai.tools.structured_tool"

CREWAI = Framework(
    name=SOURCE,
    title="CrewAI",
    distribution="crewai",
    versions=">=1.15.29,<2",
    targets=(
        Target(_EXECUTOR, "AgentExecutor._execute_single_native_tool_call", _NATIVE),
        Target(_EXECUTOR, "AgentExecutor._should_parallelize_native_tool_calls", observe(_on_calls)),
        Target(_EXECUTOR, "execute_tool_and_check_finality", _TEXT),
        Target(_STEPS, "execute_tool_and_check_finality", _TEXT, optional=True),
        Target(_STEPS, "execute_single_native_tool_call", _NATIVE, optional=True),
        Target("crewai.lite_agent", "execute_tool_and_check_finality", _TEXT, optional=True),
        *(Target(module, "run_before_tool_call_hooks", _HOOKS, optional=True) for module in _HOOKED),
        Target(_TOOL, "BaseTool.run", _BODY),
        Target(_TOOL, "Tool.run", _BODY),
        Target(_STRUCTURED, "CrewStructuredTool.invoke", _BODY),
        Target(_STRUCTURED, "CrewStructuredTool.ainvoke", around_async(_enter_body, _refuse_body)),
        Target("crewai.crew", "Crew.kickoff", around(_enter_crew)),
        Target("crewai.crew", "Crew.akickoff", around_async(_enter_crew)),
        Target("crewai.agent.core", "Agent.execute_task", around(_enter_delegated)),
        Target("crewai.agent.core", "Agent.aexecute_task", around_async(_enter_delegated), optional=True),
        Target("crewai.agent.core", "Agent.kickoff", around(_enter_agent)),
        Target("crewai.agent.core", "Agent.kickoff_async", around_async(_opened)),
        Target(_FLOW, "Flow.kickoff_async", around_async(_enter_flow), optional=True),
        Target(_FLOW, "Flow.resume_async", around_async(_enter_resumed), optional=True),
    ),
    covers="crews, single agents, flows, native and textual calls, parallel calls, retries, caching, "
    "async kickoffs",
    limits=(
        Limit(
            "text beside calls",
            "whether a message with calls also held text is known from the OpenAI and Anthropic SDKs and "
            "LiteLLM, as long as `PDOCTOR_CHAT_SPANS` is on, not from other clients",
        ),
        Limit("no call ids", "textual calls have no ids"),
    ),
)
