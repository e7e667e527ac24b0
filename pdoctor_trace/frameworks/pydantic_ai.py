"""PydanticAI.

`ToolManager.execute_tool_call` is reached by every requested call, also by unknown tools and by arguments
that failed validation; only where the retry budget is used up it is not, and the request alone is seen.
Every entry point opens `Agent.iter`, so that is the run.
"""

from __future__ import annotations

import time
from typing import Any

from pdoctor_trace.adapter import (
    BAD_ARGUMENTS,
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
    Wrapper,
    argument_text,
    arguments,
    around_async,
    enter_frame,
    guarded,
    leave,
    observe,
    recording,
    run_here,
)

SOURCE = "pydantic_ai"


class _ToolCall(Call):
    """One requested call; the framework wraps what went wrong into its own retry error."""

    __slots__ = ("__dict__",)

    refused: str | None = None
    """Why no tool can run: unknown tool, bad arguments."""

    def raised(self, error: BaseException) -> None:
        self.executed = self.refused is None
        cause = error.__cause__ if type(error).__name__ == "ToolRetryError" else None
        self.fail(cause or error, self.refused or (TOOL_RAISED if cause is not None else None))
        self.close()


class _PrepareVisit(InRun[OpenRun]):
    """A model request is being prepared: its tools."""

    __slots__ = ()

    def returned(self, result: Any) -> None:
        parameters = result[0].model_request_parameters
        self.run.offer((tool.name, tool.description) for tool in parameters.function_tools)
        self.run.pseudo_tools.update(tool.name for tool in parameters.output_tools)


class _TracedRun:
    """The context manager of `Agent.iter`, with the run's frame set between entering and leaving."""

    def __init__(self, wrapped: Any, visit: RunVisit) -> None:
        self._wrapped, self._visit = wrapped, visit
        self._token: Any = None

    async def __aenter__(self) -> Any:
        self._token = enter_frame(self._visit.frame)
        try:
            return await self._wrapped.__aenter__()
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
    return call


def _enter_prepare(node: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    run = run_here(SOURCE)
    return None if run is None else _PrepareVisit(run)


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
    given = args[0] if args else kwargs.get("user_prompt")
    name = agent.name if type(agent.name) is str else None
    return RunVisit(OpenRun(SOURCE, agent=name, query=_query(given), quiet=True))


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
        Target("pydantic_ai.tool_manager", "ToolManager.execute_tool_call", around_async(_enter_tool)),
        Target(_GRAPH, "ModelRequestNode._prepare_request", around_async(_enter_prepare)),
        Target(_GRAPH, "ModelRequestNode._finish_handling", observe(_on_reply)),
        Target("pydantic_ai.agent", "Agent.iter", _traced_iter()),
    ),
    covers="run, run_sync, run_stream, iter, unknown tools, failed validation, output tools, nested agents",
    limits=(
        Limit("deferred tools", "deferred and approval-required tools are seen as requested only"),
        Limit(
            "streamed text",
            "`run_stream` takes text beside calls for the output, and whose text it was is not known",
        ),
    ),
)
