"""AutoGen: agentchat's assistants and teams, and core's ToolAgent.

`AssistantAgent._execute_tool_call` runs one requested call, unknown tools and unreadable arguments
included, and answers with a flagged text; the exception itself is seen one layer below, where
`BaseTool.run_json` checks the arguments and runs the tool. Other agents reach only that layer. Replies
come out of `_call_llm`, the offered tools out of the workbenches, which may offer a tool under another name
than its own and hand the call's id on to it. Tools of an MCP workbench have no `run_json`: what runs them is
its `call_tool`, around that of the session, which tells what the server says.

A team whose last word is a hand-over to somebody who is not of the team waits for that person, and goes on
when it is run again.
"""

from __future__ import annotations

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
    Framework,
    InRun,
    Limit,
    OpenRun,
    Reading,
    Refused,
    Request,
    RunVisit,
    Target,
    Visit,
    Watcher,
    Workflow,
    Wrapper,
    argument_text,
    arguments,
    around_async,
    around_async_generator,
    claim,
    current,
    field,
    forget_pause,
    is_paused,
    observe,
    outcome,
    run_here,
    waits_for,
    watch_async_generator,
)

SOURCE = "autogen"
_RAISED = {"ToolNotFoundException": UNKNOWN_TOOL, "InvalidToolArgumentsException": BAD_ARGUMENTS}


class _AskedCall(Call):
    """A requested call; the layer below tells the value or the exception."""

    __slots__ = ("value", "well_formed")

    value: bytes | None
    well_formed: bool


class _AskedVisit(Visit):
    """One requested call with all that surrounds the tool."""

    __slots__ = ("asked",)

    def __init__(self, asked: _AskedCall) -> None:
        super().__init__(CallFrame(asked, in_body=False))
        self.asked = asked

    @property
    def call(self) -> _AskedCall:
        return self.asked

    def returned(self, result: Any) -> None:
        answer = result[1] if isinstance(result, tuple) else result
        if answer.is_error:
            self._failed(answer.content)
            return
        call = self.asked
        call.error = call.kind = None
        call.close(outcome(answer.content) if call.value is None else call.value)

    def raised(self, error: BaseException) -> None:
        """core's ToolAgent raises what agentchat's assistants answer with, except where they cannot read."""
        call = self.asked
        kind = _RAISED.get(type(error).__name__)
        if kind is None and not call.well_formed and call.error is None:
            kind = BAD_ARGUMENTS
        if call.error is None:
            call.fail(error, kind)
        call.close()

    def _failed(self, text: str) -> None:
        call = self.asked
        if not call.well_formed:
            call.fail(text, BAD_ARGUMENTS)
        elif text.endswith("not found in any workbench"):
            call.fail(text, UNKNOWN_TOOL)
        elif call.error is None:
            call.fail(text, TOOL_RAISED)
        call.close()


class _Body(Attempt):
    """The tool itself runs."""

    __slots__ = ()

    call: _AskedCall

    def returned(self, result: Any) -> None:
        super().returned(result)
        if result is not None:  # a streaming tool's generator is exhausted: the answer above has the value
            self.call.value = outcome(result)


class _Served(CallFrame):
    """In the body of a call that a workbench hands to an MCP server, maybe by another name."""

    __slots__ = ("known_as",)

    def __init__(self, call: Call, known_as: str | None) -> None:
        super().__init__(call, in_body=True)
        self.known_as = known_as


class _DirectCall(Call):
    """A tool run by another agent than AutoGen's own assistants."""

    __slots__ = ()

    def raised(self, error: BaseException) -> None:
        self.fail(error, _kind(error))
        self.close()


class _ToolsVisit(InRun[OpenRun]):
    """A workbench lists its tools."""

    __slots__ = ()

    def returned(self, result: Any) -> None:
        self.run.offer((tool["name"], tool.get("description")) for tool in result)


class _Replies(Watcher):
    """What a model request gives: chunks, then the whole reply."""

    __slots__ = ("run",)

    def __init__(self, run: OpenRun) -> None:
        self.run = run

    def item(self, item: Any) -> None:
        content = getattr(item, "content", None)
        if type(item).__name__ != "CreateResult" or not isinstance(content, list):
            return
        run, now = self.run, time.time_ns()
        turn, has_text = run.state.next_turn(), bool((item.thought or "").strip())
        for asked in content:
            arguments, well_formed = argument_text(asked.arguments)
            run.request(Request(asked.id, asked.name, arguments, turn, has_text, now, well_formed))


def _refused(error: BaseException) -> bool:
    """Whether the arguments failed the check against the tool's schema, before the tool ran."""
    step = error.__traceback__ if type(error).__name__ == "ValidationError" else None
    while step is not None and step.tb_next is not None:
        if step.tb_frame.f_code.co_name in ("run_json", "run_json_stream"):
            return step.tb_next.tb_frame.f_code.co_name == "model_validate"
        step = step.tb_next
    return False


def _kind(error: BaseException) -> str | None:
    return BAD_ARGUMENTS if _refused(error) else None


def _enter_asked(agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    asked = kwargs["tool_call"] if "tool_call" in kwargs else args[0]
    if waits_for(asked.id, asked.name):
        return None  # of a runtime that knows no run: the model's traffic has the call, the tool claims it
    return _asked(asked, kwargs.get("agent_name"))


def _enter_core(agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit:
    asked = args[0] if args else kwargs["message"]
    return _asked(asked)


def _asked(asked: Any, agent: Any = None) -> Visit:
    arguments, well_formed = argument_text(asked.arguments)
    call = _AskedCall(SOURCE, asked.name, arguments, call_id=asked.id)
    call.attempts = 0
    call.agent = agent if type(agent) is str else call.agent
    call.value, call.well_formed = None, well_formed and bool(asked.arguments.strip())
    if call.run is not None:
        call.description = call.run.tools.get(call.tool)
        call.take_up()
    return _AskedVisit(call)


def _refuse_asked(visit: Any, text: str, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The flagged text of a failed tool; an exception here would leave the assistant waiting for ever."""
    asked = kwargs["tool_call"] if "tool_call" in kwargs else args[0]
    answer = sys.modules["autogen_core.models"].FunctionExecutionResult
    return asked, answer(content=text, call_id=asked.id, is_error=True, name=asked.name)


def _refuse_core(visit: Any, text: str, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    asked = args[0] if args else kwargs["message"]
    failed = sys.modules["autogen_core.tool_agent"].ToolExecutionException
    raise failed(call_id=asked.id, content=text, name=asked.name)


def _refuse_tool(visit: Any, text: str, tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A tool fails by raising."""
    raise Refused(text)


def _enter_tool(tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | Call | None:
    frame = current()
    asked = frame.call if frame is not None and not frame.in_body else None
    call_id = args[2] if len(args) > 2 else kwargs.get("call_id")
    if isinstance(asked, _AskedCall) and (asked.tool == tool.name or (call_id and asked.call_id == call_id)):
        return _Body(asked, _kind)
    given = args[0] if args else kwargs["args"]
    claimed = claim(call_id, tool.name, given)
    if claimed is not None:
        return claimed
    kept = arguments(given)
    return _DirectCall(SOURCE, tool.name, kept, call_id=call_id, description=tool.description)


def _enter_stream(tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | Call | None:
    """A streaming tool used by an assistant; elsewhere its generator is the user's own business."""
    visit = _enter_tool(tool, args, kwargs)
    return visit if isinstance(visit, _Body) else None


def _enter_served(workbench: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    """A tool of an MCP server starts; where nobody asked for it by this name, the session tells of it."""
    name = args[0] if args else kwargs["name"]
    call_id = args[3] if len(args) > 3 else kwargs.get("call_id")
    frame = current()
    asked = frame.call if frame is not None and not frame.in_body else None
    visit: Visit | None
    if isinstance(asked, _AskedCall) and asked.tool == name:
        visit = Attempt(asked)
    else:
        visit = claim(call_id, name, args[1] if len(args) > 1 else kwargs.get("arguments"), _read_served)
    if visit is not None and visit.frame is not None:
        names = field(workbench, "_override_name_to_original", {})
        visit.frame = _Served(visit.frame.call, names.get(name))
    return visit


def _read_served(result: Any) -> Reading:
    text = result.to_text()
    return Reading(None, text) if result.is_error else Reading(text)


def _enter_tools(workbench: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    run = run_here(SOURCE)
    return None if run is None else _ToolsVisit(run)


def _on_process(agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Hand-overs to other agents are offered as tools beside the workbenches."""
    run = run_here(SOURCE)
    if run is not None:
        run.offer((tool.name, tool.description) for tool in kwargs.get("handoff_tools", ()))


def _begin_reply(agent: Any) -> Watcher | None:
    run = run_here(SOURCE)
    return None if run is None else _Replies(run)


def _enter_run(agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit:
    name = agent.name if type(agent.name) is str else None
    return RunVisit(OpenRun(SOURCE, agent=name, query=_query(kwargs.get("task")), quiet=True))


class _LastWord(Watcher):
    """The last item of a team's run is its result, and the last message of that may be a hand-over."""

    __slots__ = ("run", "team")

    def __init__(self, run: OpenRun, team: Any) -> None:
        self.run, self.team = run, team

    def item(self, item: Any) -> None:
        if type(item).__name__ != "TaskResult" or not item.messages:
            return
        last = item.messages[-1]
        if type(last).__name__ == "HandoffMessage" and last.target not in self.team._participant_names:
            self.run.wait_for(INPUT, _token(self.team))


def _traced_team() -> Wrapper:
    around, watch = around_async_generator(_enter_team), watch_async_generator(_begin_team)

    def wrapper(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        def watched(*args: Any, **kwargs: Any) -> Any:
            return watch(wrapped, instance, args, kwargs)

        return around(watched, instance, args, kwargs)

    return wrapper


def _begin_team(team: Any) -> Watcher | None:
    run = run_here(SOURCE)
    return None if run is None or not run.root else _LastWord(run, team)


def _enter_team(team: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit:
    name, identity, token = getattr(team, "name", None), field(team, "_team_id"), _token(team)
    return RunVisit(
        OpenRun(
            SOURCE,
            agent=name if type(name) is str else None,
            query=_query(kwargs.get("task")),
            conversation=identity if type(identity) is str else None,
            quiet=True,
            resumes=token if token is not None and is_paused(token) else None,
            workflow=Workflow(name),
        )
    )


def _on_reset(team: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """The team forgets what it has done."""
    token = _token(team)
    if token is not None:
        forget_pause(token)


def _token(team: Any) -> str | None:
    identity = field(team, "_team_id")
    return f"{SOURCE}:{identity}" if type(identity) is str else None


def _query(task: Any) -> str | None:
    if isinstance(task, list | tuple):
        return _query(task[-1]) if task else None
    text = getattr(task, "content", task)
    return text if type(text) is str else None


_ASSISTANT = "autogen_agentchat.agents._assistant_agent"
_CHAT_AGENT = "autogen_agentchat.agents._base_chat_agent"
_TEAM = "autogen_agentchat.teams._group_chat._base_group_chat"
_STATIC = "autogen_core.tools._static_workbench"
_MCP = "autogen_ext.tools.mcp._workbench"
_TOOLS = "autogen_core.tools._base"
_ASKED = around_async(_enter_asked, _refuse_asked, raises=False)

AUTOGEN = Framework(
    name=SOURCE,
    title="AutoGen",
    distribution="autogen-agentchat",
    versions=">=0.7.4,<0.8",
    targets=(
        Target(_ASSISTANT, "AssistantAgent._execute_tool_call", _ASKED),
        Target(_ASSISTANT, "AssistantAgent._call_llm", watch_async_generator(_begin_reply)),
        Target(_ASSISTANT, "AssistantAgent._process_model_result", observe(_on_process)),
        Target(_CHAT_AGENT, "BaseChatAgent.run", around_async(_enter_run)),
        Target(_CHAT_AGENT, "BaseChatAgent.run_stream", around_async_generator(_enter_run)),
        Target(_TEAM, "BaseGroupChat.run_stream", _traced_team()),
        Target(_TEAM, "BaseGroupChat.reset", observe(_on_reset)),
        Target(_TOOLS, "BaseTool.run_json", around_async(_enter_tool, _refuse_tool)),
        Target(_TOOLS, "BaseStreamTool.run_json_stream", around_async_generator(_enter_stream)),
        Target(_STATIC, "StaticWorkbench.list_tools", around_async(_enter_tools)),
        Target(_MCP, "McpWorkbench.list_tools", around_async(_enter_tools), optional=True),
        Target(_MCP, "McpWorkbench.call_tool", around_async(_enter_served), optional=True),
        Target(
            "autogen_core.tool_agent._tool_agent",
            "ToolAgent.handle_function_call",
            around_async(_enter_core, _refuse_core),
        ),
    ),
    covers="AssistantAgent, teams, hand-overs, also to a person, agents as tools, streaming, MCP "
    "workbenches, ToolAgent of autogen-core",
    limits=(
        Limit(
            "a runtime started before",
            "a team on a runtime that was started before the run: its calls have a run of their own",
        ),
        Limit(
            "endless tools",
            "after StopIteration in a tool AutoGen waits for ever: no span",
        ),
        Limit(
            "stored teams",
            "a team that waited and goes on from its stored state has another run and conversation there",
        ),
        Limit("core alone", "autogen-core alone has no run and no query"),
    ),
)
