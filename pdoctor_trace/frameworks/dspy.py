"""DSPy: ReAct and ReActV2.

`Tool.__call__` and `Tool.acall` run a tool, their check of the arguments included, so they make the span.
What a model asked for is only seen around them: ReActV2 hands all calls of one reply, with their ids and
also those of unknown tools, to `_execute_tool_calls` and runs them in that order; ReAct takes one call a
turn from the text of a reply, without an id, and where the text names an unknown tool the adapter's error
is the only trace of it. `Adapter._call_postprocess` is the last place that sees the arguments as the model
wrote them: malformed JSON is repaired there. `finish` and `submit` are how a run gives its answer, not tools.
"""

from __future__ import annotations

import re
import time
from collections import deque
from typing import Any

import orjson

from pdoctor_trace.adapter import (
    BAD_ARGUMENTS,
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
    around_async,
    claim,
    field,
    guarded,
    not_executed,
    observe,
    output_messages,
    run_here,
    without_our_frames,
)

SOURCE = "dspy"
_ANSWERS = {"ReAct": "finish", "ReActV2": "submit"}
_TOOL_MODULE = "dspy.adapters.types.tool"


class _Run(OpenRun):
    """A run and what its model's latest reply asks for; the loop takes it up one by one, in order."""

    __slots__ = ("reply", "waiting")

    def __init__(self, agent: Any, query: str | None) -> None:
        super().__init__(SOURCE, agent=type(agent).__name__, query=query, quiet=True)
        self.waiting: deque[Request] = deque()
        self.reply: tuple[bool, list[Any]] = False, []
        """(whether the latest reply also holds text, its calls' arguments as the model wrote them)"""

    def request(self, request: Request) -> None:
        if request.tool not in self.pseudo_tools:
            self.waiting.append(request)

    def take(self, tool: str) -> Request | None:
        """The request that the loop is at; those passed over had no tool to run them."""
        while self.waiting:
            request = self.waiting.popleft()
            if request.tool == tool:
                return request
            not_executed(request, SOURCE, self)
        return None

    def take_all_requests(self) -> list[Request]:
        left = list(self.waiting)
        self.waiting.clear()
        return left


class _AgentVisit(RunVisit):
    """One run; its answer is what its prediction says, however the model said it."""

    __slots__ = ("outputs",)

    def __init__(self, run: _Run, outputs: list[str]) -> None:
        super().__init__(run)
        self.outputs = outputs

    def returned(self, result: Any) -> None:
        guarded(self._answered, result)
        super().returned(result)

    def _answered(self, result: Any) -> None:
        said = {name: getattr(result, name, None) for name in self.outputs}
        text = _named({name: value for name, value in said.items() if type(value) is str})
        if text is not None:
            self.run.usage.newest = output_messages(text, ())


class _ToolCall(Call):
    """One call of a tool."""

    __slots__ = ("written",)

    written: bytes | None
    """Malformed arguments as the model wrote them; the tool gets what could be made of them."""

    def raised(self, error: BaseException) -> None:
        kind = BAD_ARGUMENTS if _never_reached(error) else None
        if kind is not None:
            self.arguments = self.written or self.arguments
        self.fail(error, kind)
        self.close()


class _TurnVisit(InRun[_Run]):
    """All calls of one reply in ReActV2; unknown tools come to light when the loop has passed them."""

    __slots__ = ()

    def returned(self, result: Any) -> None:
        for request in self.run.take_all_requests():
            not_executed(request, SOURCE, self.run)

    def raised(self, error: BaseException) -> None:
        self.returned(None)


class _StepVisit(InRun[_Run]):
    """One question to ReAct's model: which tool next?"""

    __slots__ = ()

    def returned(self, result: Any) -> None:
        kept = arguments(result.next_tool_args)
        self._asked(result.next_tool_name, kept, well_formed=True, thought=result.next_thought)

    def raised(self, error: BaseException) -> None:
        """No reply could be parsed: usually the tool it names does not exist.

        Each adapter that was tried asked the model again; the error of an earlier one is the context.
        """
        step: BaseException | None = error
        tool = written = thought = None
        while tool is None and step is not None:
            tool, written, thought = _named_in(field(step, "lm_response"))
            step = step.__cause__ or step.__context__
        if tool is not None:
            arguments, well_formed = argument_text(written)
            self._asked(tool, arguments, well_formed, thought)
            for request in self.run.take_all_requests():
                not_executed(request, SOURCE, self.run)

    def _asked(self, tool: str, arguments: bytes | None, well_formed: bool, thought: Any) -> None:
        run = self.run
        turn, now = run.state.next_turn(), time.time_ns()
        has_text = type(thought) is str and bool(thought.strip())
        run.request(Request(None, tool, arguments, turn, has_text, now, well_formed))


def _enter_tool(tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | Call | None:
    run = run_here(SOURCE, _Run)
    if run is not None and tool.name in run.pseudo_tools:
        return None
    claimed = claim(None, tool.name, kwargs)
    if claimed is not None:
        return claimed
    request = None if run is None else run.take(tool.name)
    call = _ToolCall(
        SOURCE,
        tool.name,
        arguments(kwargs),
        call_id=None if request is None else request.call_id,
        description=tool.desc,
    )
    call.asked_by(request)
    call.written = request.arguments if request is not None and not request.well_formed else None
    return call


def _refuse_tool(visit: Any, text: str, tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Both loops tell their model what a tool raised."""
    raise Refused(text)


def _enter_turn(agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    run = run_here(SOURCE, _Run)
    if run is None:
        return None
    asked = list((args[0] if args else kwargs["tool_calls"]).tool_calls)
    has_text, written = run.reply
    if len(written) != len(asked):
        written = [_written(call) for call in asked]
    turn, now = run.state.next_turn(), time.time_ns()
    for call, text in zip(asked, written, strict=True):
        arguments, well_formed = argument_text(_unparsed(call.args) or text or {})
        run.request(Request(call.id, call.name, arguments, turn, has_text, now, well_formed))
    return _TurnVisit(run)


def _enter_step(agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    run, module = run_here(SOURCE, _Run), args[0] if args else kwargs["module"]
    return None if run is None or module is not agent.react else _StepVisit(run)


def _on_reply(adapter: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    run = run_here(SOURCE, _Run)
    if run is None:
        return
    outputs = args[2] if len(args) > 2 else kwargs["outputs"]
    reply = outputs[0] if outputs else None
    asked = field(reply, "tool_calls") or ()
    text = field(reply, "text")
    run.reply = isinstance(text, str) and bool(text.strip()), [_written(call) for call in asked]


def _written(call: Any) -> Any:
    function = field(call, "function") or call
    return field(function, "arguments", field(function, "args"))


def _unparsed(arguments: Any) -> Any:
    """Malformed text, which DSPy's own client hands on in a dict of one key."""
    alone = type(arguments) is dict and set(arguments) == {"partial_json"}
    return arguments["partial_json"] if alone else None


def _enter_run(agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit:
    inputs = {name: kwargs[name] for name in agent.signature.input_fields if type(kwargs.get(name)) is str}
    run = _Run(agent, _named(inputs))
    run.pseudo_tools.update(answer for answer in _ANSWERS.values() if _is_its_own(agent.tools.get(answer)))
    run.offer((name, tool.desc) for name, tool in agent.tools.items() if name not in run.pseudo_tools)
    return _AgentVisit(run, list(agent.signature.output_fields))


def _is_its_own(tool: Any) -> bool:
    """Whether the tool is DSPy's way to answer, not one of the user's with the same name."""
    return str(getattr(getattr(tool, "func", None), "__module__", "")).startswith("dspy.predict.")


def _named(texts: dict[str, str]) -> str | None:
    """The one text, or all of them with their names."""
    if len(texts) == 1:
        return next(iter(texts.values()))
    return "\n".join(f"{name}: {text}" for name, text in texts.items()) or None


def _never_reached(error: BaseException) -> bool:
    """Whether the tool's own function did not start: its arguments were refused, or did not fit it."""
    step, last = error.__traceback__, None
    while step is not None:
        if step.tb_frame.f_code.co_name == "_validate_and_parse_args":
            return True
        last, step = step.tb_frame, step.tb_next
    return isinstance(error, TypeError) and last is not None and last.f_globals["__name__"] in _CALLERS


def _tell_error(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The model is told of an exception by the first lines of its traceback; after uninstall() too.

    Our wrappers stay in place then, and so do their lines.
    """
    guarded(without_our_frames, args[0])
    return wrapped(*args, **kwargs)


def _named_in(reply: Any) -> tuple[str | None, Any, Any]:
    """(tool, arguments, thought) in the text of a reply that an adapter gave up on: marked fields or JSON."""
    if type(reply) is not str:
        return None, None, None
    fields = dict(re.findall(r"\[\[ ## (\w+) ## \]\]\s*(.*?)\s*(?=\[\[ ## |\Z)", reply, re.DOTALL))
    try:
        fields = fields or orjson.loads(reply)
    except ValueError:
        return None, None, None
    tool, thought = field(fields, "next_tool_name"), field(fields, "next_thought")
    return (tool if type(tool) is str else None), field(fields, "next_tool_args"), thought


_CALLERS = (_TOOL_MODULE, "dspy.utils.callback", "pdoctor_trace.wrappers")
"""Modules that call a tool, or its function."""
_REACT, _REACT_V2 = "dspy.predict.react", "dspy.predict.react_v2"
_STEP = "call_with_potential_trajectory_truncation"

DSPY = Framework(
    name=SOURCE,
    title="DSPy",
    distribution="dspy",
    versions=">=3.0,<4",
    targets=(
        Target(_TOOL_MODULE, "Tool.__call__", around(_enter_tool, _refuse_tool)),
        Target(_TOOL_MODULE, "Tool.acall", around_async(_enter_tool, _refuse_tool)),
        Target("dspy.adapters.base", "Adapter._call_postprocess", observe(_on_reply), optional=True),
        Target(_REACT, "format_error_for_lm", _tell_error, optional=True),
        Target(_REACT_V2, "format_error_for_lm", _tell_error, optional=True),
        Target(_REACT, "_fmt_exc", _tell_error, optional=True),
        Target(_REACT, f"ReAct._{_STEP}", around(_enter_step)),
        Target(_REACT, f"ReAct._async_{_STEP}", around_async(_enter_step)),
        Target(_REACT, "ReAct.forward", around(_enter_run)),
        Target(_REACT, "ReAct.aforward", around_async(_enter_run)),
        Target(_REACT_V2, "ReActV2._execute_tool_calls", around(_enter_turn), optional=True),
        Target(_REACT_V2, "ReActV2._aexecute_tool_calls", around_async(_enter_turn), optional=True),
        Target(_REACT_V2, "ReActV2.forward", around(_enter_run), optional=True),
        Target(_REACT_V2, "ReActV2.aforward", around_async(_enter_run), optional=True),
    ),
    covers="ReAct and ReActV2, sync and async, unknown tools, refused arguments, nested agents, tools alone",
    limits=(
        Limit("no call ids", "ReAct gives calls no ids"),
        Limit("unreadable replies", "a reply that DSPy cannot read raises before there is a call"),
        Limit("one call a turn", "all of a ReAct reply is text, its calls come one at a time"),
        Limit(
            "repaired arguments", "malformed arguments in ReAct's text are repaired before anyone sees them"
        ),
        Limit("modules by hand", "a tool that a module of your own calls is a run, unless in `run()`"),
    ),
)
