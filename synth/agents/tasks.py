"""Requests that no synthesized case makes: a recorded one again, or anybody's own, and the tools for them."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

from synth.agents.mock_tools import MockTool, ToolFailed, ToolLog
from synth.agents.model import Job, Outcome, Settings, Unreachable
from synth.agents.recorded_tools import OnMiss, User, play, recorded_tools
from synth.cases.recorded import recorded_case_from_json
from synth.errors import BadInput


@dataclass(frozen=True, slots=True)
class Task:
    """What an agent is asked for, and with which tools; it goes to the worker as JSON."""

    query: str
    key: str
    """Tells tasks apart."""
    recorded: Mapping[str, Any] | None = None
    """The JSON of a recorded case, whose tools answer as they did."""
    on_miss: OnMiss = "error"
    tools: tuple[str, ...] = ()
    """Functions by name, `module:name`, or modules: the tools themselves, or what answers a miss."""
    heard: str | None = None
    """File into which goes what the user of a recorded case said, one message a line."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def job_of(said: Mapping[str, Any], settings: Settings, log: ToolLog) -> Job:
    """The job that a task makes; Unreachable for tools that cannot be imported."""
    task = Task(**said)
    functions = _importable(task.tools)
    if task.recorded is None:
        tools = tuple(OwnTool.of(name, function, log) for name, function in functions.items())
        return Job(task.query, tools, settings)
    case = recorded_case_from_json(task.recorded)
    return Job(
        task.query, recorded_tools(case, log, task.on_miss, functions), settings,
        User(case, log, None if task.heard is None else Path(task.heard)),
    )  # fmt: skip


def played(said: Mapping[str, Any], log: ToolLog) -> Outcome:
    """What the agent of a recorded case did, done again."""
    task = Task(**said)
    if task.recorded is None:
        raise BadInput("only a recorded case has an agent that was recorded", field="agent")
    case = recorded_case_from_json(task.recorded)
    user = User(case, log, None if task.heard is None else Path(task.heard))
    play(case, recorded_tools(case, log, task.on_miss, _importable(task.tools)), user)
    return Outcome("", 0)


def _importable(names: Iterable[str]) -> dict[str, Callable[..., Any]]:
    """Without them the agent is not tested, which is no fault of it."""
    try:
        return own_functions(names)
    except BadInput as bad:
        raise Unreachable(f"the tools cannot be had: {bad.message}") from bad


def own_functions(names: Iterable[str]) -> dict[str, Callable[..., Any]]:
    """Functions of the user by their names; `module:function`, or `module` for all that it defines itself."""
    found: dict[str, Callable[..., Any]] = {}
    for name in names:
        module_name, colon, attribute = name.partition(":")
        try:
            module = importlib.import_module(module_name)
        except ImportError as error:
            raise BadInput(f"cannot import {module_name!r}: {error}", field="tools") from error
        functions = [_member(module, attribute)] if colon else list(_functions_of(module))
        found |= {function.__name__: function for function in functions}
    return found


def _member(module: ModuleType, attribute: str) -> Callable[..., Any]:
    found = getattr(module, attribute, None)
    if not callable(found):
        raise BadInput(f"{module.__name__!r} has no function {attribute!r}", field="tools")
    function: Callable[..., Any] = found
    return function


def _functions_of(module: ModuleType) -> Iterable[Callable[..., Any]]:
    return (
        value
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTool(MockTool):
    """A tool of the user, which really does what it does."""

    function: Callable[..., Any]

    @classmethod
    def of(cls, name: str, function: Callable[..., Any], log: ToolLog) -> OwnTool:
        about = inspect.getdoc(function) or name
        return cls(name, about, schema_of(function), lambda given: "", log, function=function)

    def __call__(self, **arguments: Any) -> Any:
        """What the function answers or raises."""
        try:
            return self.log.record(self.name, arguments, lambda: self._made(arguments))
        except ToolFailed as failed:
            raise (failed.__cause__ or failed) from None

    def _made(self, arguments: Mapping[str, Any]) -> Any:
        try:
            return self.function(**arguments)
        except Exception as error:
            raise ToolFailed(f"{type(error).__name__}: {error}") from error


_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}


def schema_of(function: Callable[..., Any]) -> dict[str, Any]:
    """JSON Schema of the parameters of a function, by its annotations where they are plain types."""
    try:
        hints = get_type_hints(function)
    except (NameError, TypeError):
        hints = {}
    named = [
        p for p in inspect.signature(function).parameters.values()
        if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]  # fmt: skip
    properties: dict[str, Any] = {}
    for parameter in named:
        hint = hints.get(parameter.name)
        kind = _TYPES.get(getattr(hint, "__origin__", hint))  # type: ignore[arg-type]
        properties[parameter.name] = {} if kind is None else {"type": kind}
    required = [p.name for p in named if p.default is p.empty]
    return {"type": "object", "properties": properties, "required": required}
