"""PydanticAI.

`ToolManager.execute_tool_call` is reached by every requested call, also by unknown tools and by arguments
that failed validation; only where the retry budget is used up it is not, and the request alone is seen.
Every entry point opens `Agent.iter`, so that is the run. One that ends with deferred calls is paused; the
run that brings their results along goes on with it: the messages hold the framework's id of the run before.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from pdoctor_trace.adapter import (
    APPROVAL,
    BAD_ARGUMENTS,
    INPUT,
    OTHER,
    TOOL_RAISED,
    UNKNOWN_TOOL,
    Call,
    Framework,
    HistoryAnswer,
    InRun,
    Limit,
    OpenRun,
    Reading,
    Request,
    RunVisit,
    Target,
    Visit,
    Wrapper,
    answered,
    argument_text,
    arguments,
    around_async,
    current,
    decided,
    enter_frame,
    field,
    guarded,
    leave,
    not_executed,
    observe,
    recording,
    run_here,
)

SOURCE = "pydantic_ai"
_ELSEWHERE = tuple(f"pydantic_ai.durable_exec.{one}" for one in ("temporal", "dbos", "prefect"))
"""What may run a function in another thread or process."""


class _ToolCall(Call):
    """One requested call; the framework wraps what went wrong into its own retry error."""

    __slots__ = ("__dict__",)

    refused: str | None = None
    """Why no tool can run: unknown tool, bad arguments."""

    def starts(self, given: Any) -> None:
        """The toolset that has the tool runs it, maybe with other arguments than were validated."""
        if self.attempts == 0:
            self.attempts = 1
            self.ran_with(arguments(given))

    def raised(self, error: BaseException) -> None:
        if type(error).__name__ in ("ApprovalRequired", "CallDeferred"):
            self.withdraw()
            return
        cause = error.__cause__ if type(error).__name__ == "ToolRetryError" else None
        self.fail(cause or error, self.refused or (TOOL_RAISED if cause is not None else None))
        self.close()


class _PrepareVisit(InRun[OpenRun]):
    """A model request is being prepared: its tools."""

    __slots__ = ()

    def returned(self, result: Any) -> None:
        parameters = result[0].model_request_parameters
        tools = parameters.function_tools
        self.run.offer((tool.name, tool.description, field(tool, "parameters_json_schema")) for tool in tools)
        self.run.pseudo_tools.update(tool.name for tool in parameters.output_tools)


class _TracedRun:
    """The context manager of `Agent.iter`, with the run's frame set between entering and leaving."""

    def __init__(self, wrapped: Any, visit: RunVisit) -> None:
        self._wrapped, self._visit = wrapped, visit
        self._token = self._run = None

    async def __aenter__(self) -> Any:
        self._token = enter_frame(self._visit.frame)
        try:
            self._run = run = await self._wrapped.__aenter__()
            guarded(_name_conversation, self._visit.run, run)
            return run
        except BaseException as error:
            leave(self._token)
            guarded(self._visit.raised, error)
            raise

    async def __aexit__(self, kind: Any, error: Any, traceback: Any) -> Any:
        try:
            swallowed = await self._wrapped.__aexit__(kind, error, traceback)
        except BaseException as other:
            self._left(other)
            raise
        self._left(None if swallowed else error)
        return swallowed

    def _left(self, error: BaseException | None) -> None:
        leave(self._token)
        guarded(_wait, self._visit.run, self._run)
        guarded(self._visit.end, error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._wrapped, name)


def _enter_tool(manager: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    validated = args[0] if args else kwargs["validated"]
    asked = validated.call
    if validated.args_valid:
        kept = arguments(validated.validated_args)
    else:
        kept, _ = argument_text(asked.args)
    definition = getattr(validated.tool, "tool_def", None)
    call = _ToolCall(
        SOURCE,
        asked.tool_name,
        kept,
        call_id=asked.tool_call_id,
        description=getattr(definition, "description", None),
    )
    call.refused = UNKNOWN_TOOL if validated.tool is None else None if validated.args_valid else BAD_ARGUMENTS
    call.take_up()
    if _is_seen(validated.tool):
        call.attempts = 0
    return call


def _refuse_tool(visit: Any, text: str, manager: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A failure that its model is told in place of a result; old releases have only the retry, of which a
    tool may ask for so many.
    """
    errors, parts = sys.modules["pydantic_ai.exceptions"], sys.modules["pydantic_ai.messages"]
    said = {"content": text, "tool_name": visit.tool, "tool_call_id": visit.call_id}
    if hasattr(errors, "ToolFailedError"):
        raise errors.ToolFailedError(parts.ToolReturnPart(**said, outcome="failed"))
    raise errors.ToolRetryError(parts.RetryPromptPart(**said))


def _is_seen(tool: Any) -> bool:
    """Whether its start would be seen here, so that without one a hook or a toolset answered for it."""
    while (source := field(tool, "source_tool")) is not None:
        tool = source
    return type(tool).__name__ == "FunctionToolsetTool" and not any(map(sys.modules.__contains__, _ELSEWHERE))


def _on_start(toolset: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    frame = current()
    if frame is not None and isinstance(frame.call, _ToolCall):
        frame.call.starts(args[1] if len(args) > 1 else kwargs["tool_args"])


def _enter_prepare(node: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    run = run_here(SOURCE)
    if run is None:
        return None
    if run.has_requests:
        guarded(_take_answers, run, node.request)
    return _PrepareVisit(run)


def _on_reply(node: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    run = run_here(SOURCE)
    if run is None:
        return
    parts = (args[1] if len(args) > 1 else kwargs["response"]).parts
    has_text = any(part.part_kind == "text" and part.content.strip() for part in parts)
    turn, now = run.state.next_turn(), time.time_ns()
    for part in parts:
        if part.part_kind == "tool-call":
            arguments, well_formed = argument_text(part.args)
            asked = Request(part.tool_call_id, part.tool_name, arguments, turn, has_text, now, well_formed)
            run.request(asked)


def _traced_iter() -> Wrapper:
    def wrapper(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        manager = wrapped(*args, **kwargs)
        visit = guarded(_enter_run, instance, args, kwargs) if recording() else None
        return manager if visit is None else _TracedRun(manager, visit)

    return wrapper


def _enter_run(agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> RunVisit:
    given, results = args[0] if args else kwargs.get("user_prompt"), kwargs.get("deferred_tool_results")
    name = agent.name if type(agent.name) is str else None
    if results is None:
        return RunVisit(OpenRun(SOURCE, agent=name, query=_query(given), quiet=True))
    asked = _last_reply(kwargs.get("message_history"))
    resumes = _token(getattr(asked, "run_id", None))
    run = OpenRun(SOURCE, agent=name, query=_query(given), quiet=True, resumes=resumes)
    guarded(_take_results, run, asked, results)
    return RunVisit(run)


def _token(run_id: Any) -> str | None:
    return f"{SOURCE}:{run_id}" if type(run_id) is str else None


def _last_reply(messages: Any) -> Any:
    """The newest message of a model."""
    return next((message for message in reversed(messages or ()) if message.kind == "response"), None)


def _name_conversation(run: OpenRun, agent_run: Any) -> None:
    named = agent_run.conversation_id
    run.conversation = named if type(named) is str else None


def _wait(run: OpenRun, agent_run: Any) -> None:
    """A run that gave deferred calls waits for their results."""
    result = getattr(agent_run, "result", None)
    output: Any = getattr(result, "output", None)
    if type(output).__name__ != "DeferredToolRequests":
        return
    questions = "question" in (getattr(output, "_kinds", None) or {}).values()
    run.wait_for(APPROVAL if output.approvals else INPUT if questions else OTHER, _token(agent_run.run_id))


def _take_results(run: OpenRun, asked: Any, results: Any) -> None:
    """What was decided meanwhile about the calls that the run waited for, and what came of them elsewhere."""
    for part in asked.parts:
        if part.part_kind != "tool-call":
            continue
        approved = results.approvals.get(part.tool_call_id)
        if approved is False or type(approved).__name__ == "ToolDenied":
            said = None
        elif part.tool_call_id in results.calls:
            said = _read(results.calls[part.tool_call_id])
        else:
            continue
        kept, _ = argument_text(part.args)
        decided(run, part.tool_call_id, part.tool_name, kept, said)


def _take_answers(run: OpenRun, request: Any) -> None:
    """What a handler of the host has decided within the run about calls that no tool took up."""
    for part in request.parts:
        if part.part_kind not in ("tool-return", "retry-prompt"):
            continue
        outcome = getattr(part, "outcome", None)
        if outcome == "denied":
            asked = run.take_request(part.tool_call_id, part.tool_name, early=False)
            if asked is not None:
                not_executed(asked, SOURCE, run)
        elif outcome != "interrupted":
            answered(run, HistoryAnswer(part.tool_call_id, part.tool_name, None, _read(part)))


def _read(result: Any) -> Reading:
    """What the host, or somebody for it, says that a call gave."""
    kind = type(result).__name__
    if kind == "ToolReturn":
        return Reading(result.return_value)
    if kind == "ToolReturnPart":
        failed = getattr(result, "outcome", None) in ("failed", "retried")
        return Reading(result.content, str(result.content) if failed else None)
    if kind in ("ModelRetry", "ToolFailed", "RetryPromptPart"):
        said = getattr(result, "message", None) or getattr(result, "content", None)
        return Reading(said, said if type(said) is str else "error")
    return Reading(result)


def _query(given: Any) -> str | None:
    if isinstance(given, str):
        return given
    if isinstance(given, list | tuple):
        return "".join(part for part in given if isinstance(part, str))
    return None


_GRAPH = "pydantic_ai._agent_graph"

PYDANTIC_AI = Framework(
    name=SOURCE,
    title="PydanticAI",
    distribution="pydantic-ai-slim",
    versions=">=2.60,<3",
    targets=(
        Target(
            "pydantic_ai.tool_manager",
            "ToolManager.execute_tool_call",
            around_async(_enter_tool, _refuse_tool),
        ),
        Target("pydantic_ai.toolsets.function", "FunctionToolset.call_tool", observe(_on_start)),
        Target(_GRAPH, "ModelRequestNode._prepare_request", around_async(_enter_prepare)),
        Target(_GRAPH, "ModelRequestNode._finish_handling", observe(_on_reply)),
        Target("pydantic_ai.agent", "Agent.iter", _traced_iter()),
    ),
    covers="run, run_sync, run_stream, iter, unknown tools, failed validation, output tools, nested agents, "
    "deferred tools and approvals",
    limits=(
        Limit(
            "streamed text",
            "`run_stream` takes text beside calls for the output, and whose text it was is not known",
        ),
    ),
)
