"""The user's own tools as actions: from a JSON file, a Python module, or a recorded run.

A tool's sentence name is the words of its name (`get_user_details` -> `get user details`), so the
agent under test needs nothing but the tools it has anyway.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from synth.cases.case import Action
from synth.client import DEFAULT_URL, Collector
from synth.errors import BadInput
from synth.files import content_of
from synth.language.query import phrase_from_tool_name

FORMS = "FILE.json, FILE.py:NAME, module:NAME, run:ID or run:FILE"


def load_tools(source: str) -> tuple[Action, ...]:
    """Tools from `FILE.json` (a list), `module:NAME` or `FILE.py:NAME` (tools, functions or a list of
    definitions), `run:FILE` (the tools of the first record of a run file) or `run:ID` (of a run that
    the collector has).

    Raises BadInput when there is nothing there, or when two tools would read the same.
    """
    kind, colon, rest = source.rpartition(":")
    if source.startswith("run:"):
        run = source.removeprefix("run:")
        return tools_of_run_file(Path(run)) if _is_file(run) else tools_of_collected_run(run)
    if colon and rest.isidentifier() and not source.endswith(".json"):
        return actions_of(_from_module(kind, rest, source))
    return actions_of(_json(Path(source), source))


def _is_file(run: str) -> bool:
    return Path(run).exists() or "/" in run or "." in run


def tools_of_run_file(path: Path) -> tuple[Action, ...]:
    """The tools of the first record with any in a file of run records."""
    for line in _read(path).splitlines():
        record = _parsed(line, str(path)) if line.strip() else None
        if isinstance(record, Mapping) and (names := _tool_names(record)):
            return actions_of(names)
    raise BadInput("no run record here has tools or calls; expected one run object a line", file=str(path))


def tools_of_collected_run(run_id: str) -> tuple[Action, ...]:
    """The tools of a run that a running collector has, the one at PDOCTOR_ENDPOINT if that is set."""
    with Collector(os.environ.get("PDOCTOR_ENDPOINT") or DEFAULT_URL) as collector:
        run = collector.run(run_id)
    names = _tool_names(run) if run is not None else []
    if not names:
        why = "has no tools or calls" if run is not None else "is unknown there"
        raise BadInput(
            f"run {run_id!r} {why} ({collector.url}); `pdoctor runs list` shows the runs", field="tools"
        )
    return actions_of(names)


def _tool_names(run: Mapping[str, Any]) -> list[str]:
    """What the run was offered, else what it called."""
    return list(run.get("tools") or sorted({c["name"] for c in run.get("calls") or [] if "name" in c}))


def actions_of(tools: Iterable[Any]) -> tuple[Action, ...]:
    """Actions for tools in any common form: names, OpenAI definitions, LangChain tools, functions.

    Ids are t1, t2, ...; cases number them anew.
    """
    found = [_name_and_description(tool, position) for position, tool in enumerate(tools)]
    seen: dict[str, int] = {}
    for position, (name, _, _) in enumerate(found):
        if name in seen:
            raise BadInput(f"two tools are called {name!r}; names must differ", field=f"tools[{position}]")
        seen[name] = position
    if not found:
        raise BadInput("the list of tools is empty; give at least two", field="tools")
    return tuple(
        Action(f"t{number}", phrase, name, description)
        for number, (name, phrase, description) in enumerate(found, 1)
    )


def _name_and_description(tool: Any, position: int) -> tuple[str, str, str]:
    """(name, phrase, description)"""
    if isinstance(tool, str):
        return tool, phrase_from_tool_name(tool), ""
    if isinstance(tool, Mapping):
        return _from_definition(tool, position)
    name = getattr(tool, "name", None) or getattr(tool, "__name__", None)
    if not isinstance(name, str):
        raise BadInput(
            f"{type(tool).__name__} is not a tool; expected a name, an OpenAI tool definition, a LangChain "
            "tool or a function",
            field=f"tools[{position}]",
        )
    description = getattr(tool, "description", None) or getattr(tool, "__doc__", None) or ""
    return name, phrase_from_tool_name(name), " ".join(str(description).split())


def _from_definition(tool: Mapping[str, Any], position: int) -> tuple[str, str, str]:
    """`{"name", ...}`, `{"tool", "phrase"}` or OpenAI's `{"type": "function", "function": {...}}`."""
    inner = tool.get("function")
    definition = inner if isinstance(inner, Mapping) else tool
    name = definition.get("name", definition.get("tool"))
    if not isinstance(name, str) or not name:
        raise BadInput(
            "a tool needs a name (text): {'name': 'get_user', 'description': '...'}",
            field=f"tools[{position}].name",
        )
    phrase = definition.get("phrase")
    description = definition.get("description")
    return (
        name,
        phrase if isinstance(phrase, str) and phrase.strip() else phrase_from_tool_name(name),
        description if isinstance(description, str) else "",
    )


def _json(path: Path, source: str) -> Sequence[Any]:
    value = _parsed(_read(path, source), source)
    if isinstance(value, Mapping):
        value = value.get("tools")
    if not isinstance(value, list):
        raise BadInput(
            "expected a JSON list of tools (names or definitions), or an object with such a list as 'tools'",
            file=source,
        )
    return value


def _read(path: Path, source: str | None = None) -> bytes:
    try:
        return content_of(path, what="the tools")
    except BadInput as bad:
        raise BadInput(f"{bad.message}; expected {FORMS}", file=source or str(path)) from None


def _parsed(text: bytes, file: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise BadInput(f"not JSON: {error}", file=file) from None


def _from_module(module: str, name: str, source: str) -> Iterable[Any]:
    found = getattr(_imported(module, source), name, None)
    if found is None:
        raise BadInput(f"{module} has no {name!r}; give the name of a list of tools", file=source)
    if isinstance(found, Mapping):
        return [*found.values()]
    if isinstance(found, Iterable) and not isinstance(found, str):
        return found
    raise BadInput(f"{name!r} is {type(found).__name__}, not a list of tools", file=source)


def _imported(module: str, source: str) -> Any:
    """A module by dotted name (the working folder counts) or by the path of its file."""
    try:
        if module.endswith(".py"):
            return _imported_file(Path(module))
        if os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())
        return importlib.import_module(module)
    except Exception as error:  # the module is the user's: whatever it raises is about their file
        raise BadInput(f"cannot import: {type(error).__name__}: {error}", file=source) from error


def _imported_file(path: Path) -> Any:
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location(f"pdoctor_tools_{path.stem}", path)
    if spec is None or spec.loader is None or not path.exists():
        raise FileNotFoundError(f"no such file: {path}")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
