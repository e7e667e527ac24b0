"""smolagents: tool-calling and code agents.

A tool-calling agent runs each requested call in `execute_tool_call`, unknown tools and bad arguments
included, but is not told the call's id there: it is found by the identity of the arguments object in the
model's message. A code agent's calls are calls of `Tool.__call__` from the model's code; a function that
the code calls and nobody offers ends the block with an error that names it. Every run, streamed or not,
goes through the generator `_run_stream`. `final_answer` is how an agent ends its run, not a tool call.
"""

from __future__ import annotations

import re
import threading
import time
from typing import Any

from pdoctor_trace.adapter import (
    BAD_ARGUMENTS,
    UNKNOWN_TOOL,
    Call,
    Framework,
    InRun,
    Limit,
    OpenRun,
    Refused,
    Request,
    RunVisit,
    Target,
    Visit,
    argument_text,
    arguments,
    around,
    around_generator,
    claim,
    current,
    not_executed,
    observe,
    run_here,
)

SOURCE = "smolagents"
FINAL_ANSWER = "final_answer"
_UNKNOWN_FUNCTION = re.compile(r"Forbidden function evaluation: '(\w+)'")


class _Run(OpenRun):
    """A run, with the calls of the latest message that no tool has taken up."""

    __slots__ = ("block", "lock", "pending")

    def __init__(self, agent: str | None, query: str | None) -> None:
        super().__init__(SOURCE, agent=agent, query=query, quiet=True)
        self.block: int | None = None
        """Turn of the code that a code agent is running."""
        self.lock = threading.Lock()
        self.pending: list[tuple[str | None, str, Any]] = []

    def claim(self, tool: str, arguments: Any) -> str | None:
        """Id of the pending call with this very arguments object, else of one that looks the same."""
        with self.lock:
            same_tool = [one for one in self.pending if one[1] == tool]
            found = [one for one in same_tool if one[2] is arguments] or same_tool
            if not found:
                return None
            self.pending = [one for one in self.pending if one is not found[0]]
            return found[0][0]


class _AskedCall(Call):
    """A call that a tool-calling agent's model asked for."""

    __slots__ = ("entered", "known")

    entered: bool
    """Whether `Tool.__call__` was reached: a second one is a call of its own."""
    known: bool

    def raised(self, error: BaseException) -> None:
        if not self.known:
            self.fail(error, UNKNOWN_TOOL)
        elif type(error).__name__ == "AgentToolCallError":
            self.fail(error.__cause__ or error, BAD_ARGUMENTS)
        elif error.__cause__ is not None and type(error).__name__ == "AgentToolExecutionError":
            self.fail(error.__cause__)
        else:
            self.fail(error)
        self.close()


class _CodeCall(Call):
    """A call that a code agent's code makes, or the host itself."""

    __slots__ = ()

    def raised(self, error: BaseException) -> None:
        self.fail(error, BAD_ARGUMENTS if _refused(error) else None)
        self.close()


class _BlockVisit(InRun[_Run]):
    """A block of a code agent's code runs."""

    __slots__ = ()

    def __init__(self, run: _Run) -> None:
        super().__init__(run)
        run.block = run.state.next_turn()

    def raised(self, error: BaseException) -> None:
        found = _UNKNOWN_FUNCTION.search(str(error)) if type(error).__name__ == "InterpreterError" else None
        if found is not None and self.run.block is not None:
            asked = Request(None, found[1], None, self.run.block, False, time.time_ns())
            not_executed(asked, SOURCE, self.run)


def _refused(error: BaseException) -> bool:
    """Whether the arguments do not fit the tool: raised where it is called, not inside it."""
    step = error.__traceback__ if type(error) is TypeError else None
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    if step is None:
        return False
    return step.tb_frame.f_globals.get("__name__") == "smolagents.tools"


def _enter_asked(agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call | None:
    tool = args[0] if args else kwargs["tool_name"]
    given = args[1] if len(args) > 1 else kwargs["arguments"]
    if tool == FINAL_ANSWER:
        return None
    arguments, _ = argument_text(given)
    run = run_here(SOURCE, _Run)
    call_id = None if run is None else run.claim(tool, given)
    call = _AskedCall(SOURCE, tool, arguments, call_id=call_id)
    call.entered, call.known = False, tool in agent.tools or tool in agent.managed_agents
    if run is not None:
        call.description = run.tools.get(call.tool)
        call.asked_by(run.take_request(call.call_id, call.tool))
    return call


def _refuse_asked(visit: Any, text: str, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """An exception would end the step of all calls of the message, and the others with it."""
    return text


def _refuse_tool(visit: Any, text: str, tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """To code a tool fails by raising; the model reads what a block of its code raised."""
    raise Refused(text)


def _enter_tool(tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | Call | None:
    if tool.name == FINAL_ANSWER or _is_body_of_asked(tool.name):
        return None
    given = {name: value for name, value in kwargs.items() if name != "sanitize_inputs_outputs"}
    if len(args) == 1 and not given and isinstance(args[0], dict) and all(n in tool.inputs for n in args[0]):
        given = args[0]
    else:
        given.update(zip(tool.inputs, args, strict=False))
    return _direct(tool.name, tool.description, given)


def _enter_managed(agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | Call | None:
    if _is_body_of_asked(agent.name):
        return None
    return _direct(agent.name, agent.description, {**kwargs, "task": args[0]} if args else kwargs)


def _is_body_of_asked(tool: str) -> bool:
    """Whether this is the body of the call that `execute_tool_call` has under way."""
    frame = current()
    call = frame.call if frame is not None else None
    if not isinstance(call, _AskedCall) or call.tool != tool or call.entered:
        return False
    call.entered = True
    return True


def _direct(tool: str, description: Any, given: Any) -> Visit | Call:
    claimed = claim(None, tool, given)
    if claimed is not None:
        return claimed
    call = _CodeCall(SOURCE, tool, arguments(given), description=description)
    if isinstance(call.run, _Run):
        call.turn = call.run.block
    return call


def _enter_block(executor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    run = run_here(SOURCE, _Run)
    return None if run is None else _BlockVisit(run)


def _on_reply(agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    run = run_here(SOURCE, _Run)
    if run is None:
        return
    message = args[0] if args else kwargs["chat_message"]
    asked = [one for one in message.tool_calls or () if one.function.name != FINAL_ANSWER]
    if not asked:
        return
    has_text = type(message.content) is str and bool(message.content.strip())
    turn, now = run.state.next_turn(), time.time_ns()
    run.pending = [(one.id, one.function.name, one.function.arguments) for one in asked]
    for one in asked:
        arguments, well_formed = argument_text(one.function.arguments)
        run.request(Request(one.id, one.function.name, arguments, turn, has_text, now, well_formed))


def _enter_run(agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit:
    task = args[0] if args else kwargs["task"]
    name = getattr(agent, "name", None)
    run = _Run(name if type(name) is str else None, task if type(task) is str else None)
    offered = [*agent.tools.values(), *agent.managed_agents.values()]
    run.offer((tool.name, tool.description) for tool in offered if tool.name != FINAL_ANSWER)
    return RunVisit(run)


_AGENTS = "smolagents.agents"

SMOLAGENTS = Framework(
    name=SOURCE,
    title="smolagents",
    distribution="smolagents",
    versions=">=1.22,<2",
    targets=(
        Target(_AGENTS, "ToolCallingAgent.process_tool_calls", observe(_on_reply)),
        Target(_AGENTS, "ToolCallingAgent.execute_tool_call", around(_enter_asked, _refuse_asked)),
        Target(_AGENTS, "MultiStepAgent._run_stream", around_generator(_enter_run)),
        Target(_AGENTS, "MultiStepAgent.__call__", around(_enter_managed, _refuse_tool)),
        Target("smolagents.tools", "Tool.__call__", around(_enter_tool, _refuse_tool)),
        Target("smolagents.local_python_executor", "LocalPythonExecutor.__call__", around(_enter_block)),
    ),
    covers="ToolCallingAgent, CodeAgent with the local executor, streaming, managed agents, unknown tools",
    limits=(
        Limit("no call ids", "code agents give no call ids"),
        Limit("remote executors", "remote executors (Docker, E2B, ...) run tools in another process"),
        Limit("own __call__", "tools that override `__call__` (PipelineTool) are not seen in code agents"),
        Limit("no coroutines", "smolagents has no coroutine tools"),
    ),
)
