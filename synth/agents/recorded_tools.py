"""Tools that answer as they were recorded, and the user who answers as recorded.

A call is answered by the recorded call of the same tool with the same arguments; the same call made again
gets the recorded answers in their order, and then the last of them. Else by the nearest arguments of that
tool: no two of equal distance, and at most a third of the leaves changed (see `nearest.distance`). Else it is
a miss: an error that says so, the tool's last recorded answer, or a call of the live tool.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from synth.agents.mock_tools import MockTool, ToolFailed, ToolLog, as_callable
from synth.agents.nearest import distance
from synth.agents.tracer import traced
from synth.cases.recorded import RecordedCase
from synth.observed.run import ToolCall

OnMiss = Literal["error", "last", "live"]
ON_MISS: tuple[OnMiss, ...] = get_args(OnMiss)
WAYS = ("exact", "nearest", "miss")
"""How a call was answered."""
CHANGED = 1 / 3
"""Of the leaves of the arguments: where more differ, it is another question."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What a call gets."""

    way: str
    call: ToolCall | None = None
    """Whose answer it gets; None = nobody's."""


class Recording:
    """What the tools of a run answered, by tool and arguments."""

    def __init__(self, calls: Iterable[ToolCall]) -> None:
        self._lock = threading.Lock()
        self._calls: dict[str, dict[str, list[ToolCall]]] = {}
        self._given: dict[tuple[str, str], int] = {}
        for call in calls:
            if call.executed:
                by_arguments = self._calls.setdefault(call.tool, {})
                by_arguments.setdefault(_key(call.arguments), []).append(call)

    def answer(self, tool: str, arguments: Any) -> Answered:
        """By equal arguments, else by the nearest; a miss has no answer."""
        known = self._calls.get(tool, {})
        key = _key(arguments)
        if key in known:
            return self._next("exact", tool, key)
        near = _nearest(arguments, {key: calls[0].arguments for key, calls in known.items()})
        return Answered("miss") if near is None else self._next("nearest", tool, near)

    def last(self, tool: str) -> Answered:
        """The last answer of a tool, whatever it was asked; a miss, too."""
        calls = [call for calls in self._calls.get(tool, {}).values() for call in calls]
        return Answered("miss", calls[-1] if calls else None)

    def _next(self, way: str, tool: str, key: str) -> Answered:
        with self._lock:
            calls, at = self._calls[tool][key], self._given.get((tool, key), 0)
            self._given[tool, key] = at + 1
        return Answered(way, calls[min(at, len(calls) - 1)])


def _key(arguments: Any) -> str:
    return json.dumps(arguments or {}, sort_keys=True)


def _nearest(arguments: Any, known: Mapping[str, Any]) -> str | None:
    """The key of the nearest arguments; None for a tie, or where too much is different."""
    found = sorted((*distance(arguments or {}, other or {}), key) for key, other in known.items())
    if not found or (len(found) > 1 and found[0][0] == found[1][0]):
        return None
    edits, size, key = found[0]
    return key if edits <= CHANGED * size else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTool(MockTool):
    """A tool of a recorded case."""

    recording: Recording
    live: Callable[..., Any] | None = None
    """What answers a miss."""
    lasting: bool = False
    """Does its last answer answer a miss?"""

    def __call__(self, **arguments: Any) -> Any:
        found = self.recording.answer(self.name, arguments)
        if found.call is None and self.lasting:
            found = self.recording.last(self.name)
        return self.log.record(self.name, arguments, lambda: self._made(found.call, arguments), way=found.way)

    def _made(self, call: ToolCall | None, arguments: Mapping[str, Any]) -> Any:
        if call is None and self.live is not None:
            return self.live(**arguments)
        if call is None:
            raise ToolFailed(f"no answer of {self.name} to these arguments was recorded")
        if call.error is not None:
            raise ToolFailed(call.error)
        return deepcopy(call.result)  # agents change what they are given


def recorded_tools(
    case: RecordedCase,
    log: ToolLog,
    on_miss: OnMiss = "error",
    live: Mapping[str, Callable[..., Any]] | None = None,
) -> tuple[RecordedTool, ...]:
    """The tools of a case; `live` has them by name."""
    recording = Recording(case.run.calls)
    return tuple(
        RecordedTool(
            tool.name, tool.description, tool.parameters, lambda given: "", log, recording=recording,
            live=(live or {}).get(tool.name) if on_miss == "live" else None, lasting=on_miss == "last",
        )
        for tool in case.tools
    )  # fmt: skip


class User:
    """The user of a recorded run: each time the agent turns to them, what they said next."""

    def __init__(self, case: RecordedCase, log: ToolLog, path: Path | None = None) -> None:
        """What they say is written to the file `path` as well, one message a line."""
        self._left = [content for _, content in case.replies]
        self._log, self._path = log, path

    def __call__(self, said: str = "") -> Any:
        """The user's next recorded message; None where they said nothing more."""
        if not self._left:
            return None
        content = self._left.pop(0)
        if self._path is not None:
            message = {"role": "user", "content": content, "before_call": len(self._log.calls)}
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(message) + "\n")
        return content


def play(case: RecordedCase, tools: Sequence[MockTool], user: User) -> None:
    """What the recorded agent did: its calls, in their order, with the user's answers between them.

    What it asked for and no tool carried out is not made.
    """
    functions = traced([as_callable(tool) for tool in tools])
    by_name = {tool.name: function for tool, function in zip(tools, functions, strict=True)}
    replies = [at for at, _ in case.replies]
    for number, call in enumerate(case.run.calls):
        while replies and replies[0] <= number:
            replies.pop(0)
            user()
        if call.executed and isinstance(call.arguments or {}, Mapping):
            try:
                by_name[call.tool](**(call.arguments or {}))
            except ToolFailed:
                continue  # the recorded agent went on, too
    for _ in replies:
        user()
