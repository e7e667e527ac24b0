"""Strands Agents.

`ToolExecutor._stream` runs one requested call, unknown tools and direct `agent.tool.x()` included, and makes
the span. Its last event holds the result and the exception; the span ends with that event, because the
generator may be left lying about afterwards. What the model asked for is read where a reply's tools are about
to run, and malformed arguments where the stream of the reply is put together: later they are just empty.

An agent keeps its interrupts, in its session too; their ids say which run goes on. Swarms and graphs are runs
around those of their agents.
"""

from __future__ import annotations

import sys
import time
from hashlib import sha256
from typing import Any

from pdoctor_trace.adapter import (
    APPROVAL,
    BAD_ARGUMENTS,
    INPUT,
    TOOL_RAISED,
    UNKNOWN_TOOL,
    Asking,
    Call,
    Framework,
    Limit,
    OpenRun,
    Request,
    RunVisit,
    Target,
    Visit,
    Watcher,
    Workflow,
    Wrapper,
    argument_text,
    arguments,
    around_async_generator,
    asked_stream,
    current,
    field,
    gives_way,
    guarded,
    observe,
    outcome,
    run_here,
    watch_async_generator,
)

SOURCE = "strands"


class _Run(OpenRun):
    """A run, and what its model's latest reply asks for."""

    __slots__ = ("malformed", "written")

    malformed: dict[str, str]
    """Malformed arguments by call id."""
    written: list[tuple[str, str, str]]
    """(call id, tool, text of the arguments) as long as the reply has not been taken up."""


class _RunVisit(RunVisit):
    """A run of an agent, a swarm or a graph, which may end because it was interrupted."""

    __slots__ = ("runner",)

    def __init__(self, run: OpenRun, runner: Any) -> None:
        super().__init__(run)
        self.runner = runner

    def returned(self, result: Any) -> None:
        token = _token(self.runner)
        if token is not None:
            asked = any(":before" in one for one in self.runner._interrupt_state.interrupts)
            self.run.wait_for(APPROVAL if asked else INPUT, token)
        self.end(None)

    def end(self, error: BaseException | None) -> None:
        """Of a stream that is left at once, nobody has taken up what the newest reply asks for."""
        run = self.run
        if error is None and isinstance(run, _Run) and run.written:
            turn, now = run.state.next_turn(), time.time_ns()
            for call_id, name, text in run.written:
                if name in run.tools:
                    kept, well_formed = argument_text(text)
                    run.request(Request(call_id, name, kept, turn, None, now, well_formed))
        super().end(error)


class _ToolCall(Call):
    """One requested call; hooks and middleware may edit it, skip it or have another tool run."""

    __slots__ = ("as_written", "asking", "starts")

    asking: Asking | None
    """What the guards were asked, if there are any."""

    as_written: bool
    """Whether the arguments are the model's text, which is no JSON object."""
    starts: int

    def start(self, context: Any) -> None:
        """The tool is about to run."""
        self.starts += 1
        self.attempts = self.starts
        if self.starts > 1 or context.tool is None or self.as_written:
            return
        given, tool = arguments(context.tool_use["input"]), context.tool
        if tool.tool_name != self.tool:
            gives_way(self, tool.tool_name, tool.tool_spec.get("description"), given)
        else:
            self.ran_with(given)


class _ToolVisit(Visit):
    """One requested call from its first to its last event."""

    __slots__ = ("call", "closed", "known")

    def __init__(self, call: _ToolCall, known: bool) -> None:
        super().__init__(call)
        self.call, self.known = call, known
        self.closed = False

    def event(self, event: Any) -> None:
        """Of all events only the result and a cancellation say something about the call."""
        if type(event).__name__ == "ToolCancelEvent":
            self.call.not_started()
        elif hasattr(event, "tool_result") and not self.closed:
            self._finish(event.tool_result, getattr(event, "exception", None))

    def returned(self, result: Any) -> None:
        """No result at all: the tool waits for a person."""
        if not self.closed:
            self.call.withdraw()

    def raised(self, error: BaseException) -> None:
        if not self.closed:
            self.call.fail(error)
            self.call.close()

    def _finish(self, result: Any, error: BaseException | None) -> None:
        self.closed = True
        call, content = self.call, _content(result["content"])
        if result["status"] == "error" and call.executed:
            refused = error is not None and _refused(error)
            kind = UNKNOWN_TOOL if not self.known else BAD_ARGUMENTS if refused else None
            text = content if type(content) is str else "the tool reported an error"
            call.fail(error or text, kind or (TOOL_RAISED if error is None else None))
        call.close(outcome(content))
        if call.asking is not None:
            guarded(call.asking.over, content)


class _Events(Watcher):
    """Shows the events of a call to its visit."""

    __slots__ = ("visit",)

    def __init__(self, visit: _ToolVisit) -> None:
        self.visit = visit

    def item(self, item: Any) -> None:
        self.visit.event(item)


def _traced_stream() -> Wrapper:
    def wrapper(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        opened: list[_ToolVisit] = []

        def enter(instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
            visit = _enter_tool(*_two(args, kwargs))
            opened.extend([] if visit is None else [visit])
            return visit

        def watched(*args: Any, **kwargs: Any) -> Any:
            watch = watch_async_generator(lambda _: _Events(opened[0]) if opened else None)
            return watch(wrapped, instance, args, kwargs)

        return around_async_generator(enter)(watched, instance, args, kwargs)

    return wrapper


def _two(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """The agent and the requested call."""
    agent = args[0] if args else kwargs["agent"]
    return agent, args[1] if len(args) > 1 else kwargs["tool_use"]


def _enter_tool(agent: Any, asked: Any) -> _ToolVisit | None:
    name, call_id = asked["name"], asked.get("toolUseId")
    registry = agent.tool_registry
    tool = registry.dynamic_tools.get(name) or registry.registry.get(name)
    if type(tool).__name__ == "StructuredOutputTool":
        return None
    run = run_here(SOURCE, _Run)
    written = run.malformed.pop(call_id, None) if run is not None else None
    given = asked.get("input") if written is None else written
    call = _ToolCall(
        SOURCE,
        name,
        arguments(given),
        call_id=call_id,
        description=None if tool is None else tool.tool_spec.get("description"),
    )
    call.as_written, call.asking, call.starts = written is not None, None, 0
    call.take_up()
    return _ToolVisit(call, tool is not None)


def _traced_terminal() -> Wrapper:
    """The end of the chain of middleware is where the tool runs, unless one of them answers for it."""

    def wrapper(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        terminal, frame = wrapped(*args, **kwargs), current()
        call = None if frame is None else frame.call
        if not isinstance(call, _ToolCall):
            return terminal
        call.attempts = call.starts

        def starting(context: Any) -> Any:
            guarded(call.start, context)
            if call.asking is None:
                call.asking = asked_stream(terminal, call, _refuse_tool)
            return terminal(context) if call.asking is None else call.asking.run_stream(context)

        return starting

    return wrapper


def _refuse_tool(visit: Any, text: str, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The events of a tool that failed: its result alone."""
    result = {"toolUseId": args[0].tool_use["toolUseId"], "status": "error", "content": [{"text": text}]}
    return [sys.modules["strands.types._events"].ToolResultEvent(result)]


def _on_block(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """A block of the reply is complete; the text of a call's arguments is about to be parsed."""
    run, state = run_here(SOURCE, _Run), args[0] if args else kwargs["state"]
    asked = state.get("current_tool_use")
    if run is None or not asked:
        return
    text = asked.get("input")
    if type(text) is not str:
        return
    run.written.append((asked["toolUseId"], asked["name"], text))
    if not argument_text(text)[1]:
        run.malformed[asked["toolUseId"]] = text


def _on_reply(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """The tools of a reply are about to run; after a pause for a person, those that are left."""
    run = run_here(SOURCE, _Run)
    agent = args[2] if len(args) > 2 else kwargs["agent"]
    if run is None:
        return
    run.written = []
    run.offer(_tools(agent))
    content = (args[1] if len(args) > 1 else kwargs["message"])["content"]
    has_text = any(isinstance(part.get("text"), str) and part["text"].strip() for part in content)
    if agent._interrupt_state.activated:
        return
    turn, now = run.state.next_turn(), time.time_ns()
    for asked in (part["toolUse"] for part in content if "toolUse" in part):
        if asked["name"] not in run.pseudo_tools:
            kept = arguments(asked["input"])
            run.request(Request(asked["toolUseId"], asked["name"], kept, turn, has_text, now))


def _enter_run(agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit:
    prompt = args[0] if args else kwargs.get("prompt")
    name = agent.name if type(agent.name) is str else None
    session = field(field(agent, "_session_manager"), "session_id")
    run = _Run(
        SOURCE,
        agent=name,
        query=_query(prompt),
        conversation=session if type(session) is str else None,
        quiet=True,
        resumes=_token(agent),
    )
    run.malformed, run.written = {}, []
    run.offer(_tools(agent))
    return _RunVisit(run, agent)


def _enter_group(group: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit:
    task, name = args[0] if args else kwargs.get("task"), field(group, "id")
    run = OpenRun(
        SOURCE,
        agent=name if type(name) is str else None,
        query=_query(task),
        resumes=_token(group),
        workflow=Workflow(name),
    )
    return _RunVisit(run, group)


def _token(runner: Any) -> str | None:
    """What an agent, a swarm or a graph is interrupted by; None where it is not."""
    state = runner._interrupt_state
    if not state.activated:
        return None
    return f"{SOURCE}:{sha256(' '.join(sorted(state.interrupts)).encode()).hexdigest()[:32]}"


def _tools(agent: Any) -> list[tuple[str, str | None]]:
    registry = agent.tool_registry
    tools = {**registry.registry, **registry.dynamic_tools}
    return [
        (name, tool.tool_spec.get("description"))
        for name, tool in tools.items()
        if type(tool).__name__ != "StructuredOutputTool"
    ]


def _query(prompt: Any) -> str | None:
    """The prompt's text: a string, blocks of content, or messages of which the user's last one counts."""
    if isinstance(prompt, str):
        return prompt
    blocks = prompt if isinstance(prompt, list) else []
    for message in reversed(blocks):
        if isinstance(message, dict) and message.get("role") == "user":
            return _query(message.get("content"))
    texts = [block.get("text") for block in blocks if isinstance(block, dict)]
    return "".join(text for text in texts if isinstance(text, str)) or None


def _content(blocks: Any) -> Any:
    """The one block of a result, else all of them."""
    values = [block.get("text", block.get("json", block)) for block in blocks]
    return values[0] if len(values) == 1 else values


def _refused(error: BaseException) -> bool:
    """Whether the tool's own check of its arguments failed."""
    step = error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if code.co_name == "validate_input" and step.tb_frame.f_globals.get("__name__") == _DECORATOR:
            return True
        step = step.tb_next
    return False


_GROUP = around_async_generator(_enter_group)
_DECORATOR, _STREAMING = "strands.tools.decorator", "strands.event_loop.streaming"
_EXECUTOR = "strands.tools.executors._executor"

STRANDS = Framework(
    name=SOURCE,
    title="Strands Agents",
    distribution="strands-agents",
    versions=">=1.61,<2",
    targets=(
        Target(_EXECUTOR, "ToolExecutor._stream", _traced_stream()),
        Target(_EXECUTOR, "_make_execute_tool_terminal", _traced_terminal(), optional=True),
        Target("strands.event_loop.event_loop", "_handle_tool_execution", observe(_on_reply)),
        Target(_STREAMING, "handle_content_block_stop", observe(_on_block), optional=True),
        Target("strands.agent.agent", "Agent.stream_async", around_async_generator(_enter_run)),
        Target("strands.multiagent.swarm", "Swarm.stream_async", _GROUP),
        Target("strands.multiagent.graph", "Graph.stream_async", _GROUP),
    ),
    covers="sync, invoke_async, stream_async, both executors, direct and cancelled calls, nested agents, "
    "interrupts, swarms and graphs",
    limits=(
        Limit("background tools", "a tool sent to the background is a call until it is dispatched"),
        Limit("unreadable replies", "a reply that Strands cannot read raises before there is a call"),
        Limit("endless tools", "StopIteration or GeneratorExit of a tool never reaches Strands: no span"),
    ),
)
