"""Mock tools of a case, their own log (the ground truth), and the forms agents want them in.

A mock tool states success in words and, in timed mode, how long the task took; nothing else happens. Its
log is written by the tool itself, so it does not depend on tracing: `agreement.calls_agree` compares the
two.
"""

from __future__ import annotations

import inspect
import json
import keyword
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from synth.agents import tracer
from synth.cases.case import Action, Case
from synth.errors import MissingExtra
from synth.language.query import describe
from synth.observed.instants import START_TIME

if TYPE_CHECKING:
    from langchain_core.tools import StructuredTool

Clock = Callable[[], int]
"""Returns nanoseconds; passed in so that tests can tick it."""

NO_ARGUMENTS: Mapping[str, Any] = {"type": "object", "properties": {}, "required": []}
TIMED_ARGUMENTS: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        START_TIME: {"type": "string", "description": "When the task starts, as HH:MM on a 24-hour clock."}
    },
    "required": [START_TIME],
}


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """One execution of a mock tool, as the tool itself saw it."""

    index: int
    """0-based, in the order in which executions began."""
    name: str
    arguments: Mapping[str, Any]
    result: Any
    """What it answered, as JSON has it; mock tools answer in words."""
    start: int
    """Wall clock, nanoseconds."""
    end: int
    thread: int
    way: str | None = None
    """How a recorded tool found its answer: `exact`, `nearest` or `miss`."""
    failed: bool = False
    """Is the result what was wrong?"""


class ToolFailed(Exception):
    """A tool says that it could not do what was asked."""


class ToolLog:
    """Append-only record of executions, in memory and, if asked for, as JSON lines in a file."""

    def __init__(self, path: Path | str | None = None, clock: Clock = time.time_ns) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._begun = 0
        self._calls: list[LoggedCall] = []
        self._file = None if path is None else _appending(path)

    def record(
        self, name: str, arguments: Mapping[str, Any], work: Callable[[], Any], *, way: str | None = None
    ) -> Any:
        """Do the work and write down that it was done, and which `way`; a ToolFailed is written down, too."""
        with self._lock:
            index, self._begun = self._begun, self._begun + 1
            start = self._clock()
        failed = None
        try:
            result = work()
        except ToolFailed as error:
            result, failed = str(error), error
        with self._lock:
            plain = {argument: _plain(value) for argument, value in arguments.items()}
            done = self._clock(), threading.get_ident(), way, failed is not None
            call = LoggedCall(index, name, plain, _plain(result), start, *done)
            self._calls.append(call)
            self._write(call)
        if failed is not None:
            raise failed
        return result

    @property
    def calls(self) -> tuple[LoggedCall, ...]:
        """Every finished execution, in the order in which they began."""
        with self._lock:
            return tuple(sorted(self._calls, key=lambda call: call.index))

    def to_json(self) -> list[dict[str, Any]]:
        return [asdict(call) for call in self.calls]

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _write(self, call: LoggedCall) -> None:
        if self._file is not None:
            self._file.write(json.dumps(asdict(call)) + "\n")
            self._file.flush()


def _plain(value: Any) -> Any:
    """The value as JSON has it; what JSON cannot say becomes its Python text."""
    try:
        return json.loads(json.dumps(value, default=repr))
    except (TypeError, ValueError, RecursionError):
        return repr(value)


def _appending(path: Path | str) -> TextIO:
    return Path(path).open("a", encoding="utf-8")


@dataclass(frozen=True, slots=True)
class MockTool:
    """A tool that only pretends: it takes what it gets and says that the task is done."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON Schema of the arguments."""
    answer: Callable[[Mapping[str, Any]], str]
    log: ToolLog
    text_is: str | None = None
    """The argument that an input stands for which is bare text, where agents write text."""

    def __call__(self, **arguments: Any) -> Any:
        """The answer; ToolFailed where it is an error."""
        return self.log.record(self.name, arguments, lambda: self.answer(arguments))


def mock_tools(case: Case, log: ToolLog) -> tuple[MockTool, ...]:
    """One tool per action of the case, in the order of its actions."""
    return tuple(_mock_tool(case, action, log) for action in case.actions)


@dataclass(frozen=True, slots=True)
class AskedAbout(MockTool):
    """A mock tool that is called through a door of the tracer's, where guards are asked, whoever calls it."""

    door: Callable[..., Any] | None = None

    def __call__(self, **arguments: Any) -> Any:
        return MockTool.__call__(self, **arguments) if self.door is None else self.door(**arguments)


def asked_about(tools: Sequence[MockTool]) -> tuple[MockTool, ...]:
    """The same tools, about whose calls guards are asked."""
    doors = tracer.traced([as_callable(tool) for tool in tools])
    return tuple(
        AskedAbout(
            tool.name, tool.description, tool.parameters, tool.answer, tool.log, tool.text_is, door
        )
        for tool, door in zip(tools, doors, strict=True)
    )  # fmt: skip


def _mock_tool(case: Case, action: Action, log: ToolLog) -> MockTool:
    minutes = (case.durations or {}).get(action.id)
    parameters = TIMED_ARGUMENTS if case.mode == "timed" else NO_ARGUMENTS
    # Sentences speak of phrases, so a tool's description must name its phrase.
    description = action.description or describe(action.phrase)
    return MockTool(action.tool, description, parameters, _answer(action, minutes), log)


def _answer(action: Action, minutes: int | None) -> Callable[[Mapping[str, Any]], str]:
    def answer(arguments: Mapping[str, Any]) -> str:
        if minutes is None:
            return f"Success: {action.phrase} is done."
        started = arguments.get(START_TIME, "an unknown time")
        return f"Success: {action.phrase} started at {started} and took {minutes} minutes."

    return answer


# ---------------------------------------------------------------- forms


def as_callable(tool: MockTool) -> Callable[..., Any]:
    """A plain function that carries the tool's name and description, as hand-written agents use."""

    names = list(tool.parameters.get("properties", ()))

    def call(*given: Any, **arguments: Any) -> Any:
        if len(given) > len(names):
            raise TypeError(f"{tool.name}() takes {len(names)} arguments, {len(given)} were given")
        return tool(**dict(zip(names, given, strict=False)), **arguments)

    call.__name__ = call.__qualname__ = tool.name
    call.__doc__ = tool.description
    call.__signature__ = _signature(names)  # type: ignore[attr-defined]
    return call


def _signature(names: Sequence[str]) -> inspect.Signature:
    """These arguments by place or by name, and any others by name."""
    kinds = inspect.Parameter
    sayable = [name for name in names if name.isidentifier() and not keyword.iskeyword(name)]
    given = [kinds(name, kinds.POSITIONAL_OR_KEYWORD, default=None) for name in sayable]
    return inspect.Signature([*given, kinds("_others", kinds.VAR_KEYWORD)])


def as_openai_chat(tool: MockTool) -> dict[str, Any]:
    """The tool as Chat Completions and Assistants want it."""
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": dict(tool.parameters),
        },
    }


def as_openai_responses(tool: MockTool) -> dict[str, Any]:
    """The tool as the Responses API wants it (flat; not strict, so that wrong arguments reach us)."""
    return {"type": "function", "strict": False, **as_openai_chat(tool)["function"]}


def as_langchain(tool: MockTool) -> StructuredTool:
    """The tool as a LangChain `StructuredTool`."""
    try:
        from langchain_core.tools import StructuredTool, ToolException
    except ImportError as error:
        raise MissingExtra("LangChain tools", "agents") from error

    @wraps(as_callable(tool))
    def call(**arguments: Any) -> Any:
        try:
            return tool(**arguments)
        except ToolFailed as error:
            raise ToolException(str(error)) from error

    return StructuredTool.from_function(
        func=call,
        name=tool.name,
        description=tool.description,
        args_schema=dict(tool.parameters),
        infer_schema=False,
        handle_tool_error=True,
    )


def run_tool(tools: Sequence[MockTool], name: str, arguments: str) -> str:
    """What a careful hand-written loop answers to a requested call: the result, or what was wrong."""
    tool = next((tool for tool in tools if tool.name == name), None)
    if tool is None:
        return f"Error: there is no tool named {name}."
    try:
        given = json.loads(arguments or "{}")
    except ValueError as error:
        return f"Error: the arguments of {name} are not JSON: {error}."
    if not isinstance(given, dict):
        return f"Error: the arguments of {name} are not a JSON object."
    try:
        return as_text(tool(**given))
    except Exception as error:
        return f"Error: {error}"


def as_text(answer: Any) -> str:
    """What a model is shown of a tool's answer."""
    return answer if isinstance(answer, str) else json.dumps(answer, default=str)
