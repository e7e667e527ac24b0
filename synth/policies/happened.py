"""What all rules of a guard count of a run that goes on."""

from __future__ import annotations

from typing import Any

from synth.observed.run import ToolCall

MOST_TOOLS = 1000
"""Names that are looked up once for a file: a model, or who calls a proxy, may invent ever more of them."""


class Happened:
    """What all rules count of a run that goes on."""

    __slots__ = ("calls", "failed", "running", "started", "succeeded", "used")

    def __init__(self, calls: list[ToolCall]) -> None:
        self.calls = calls
        """In the order in which they began; those that are over are replaced in their places."""
        self.started: dict[str, int] = {}
        """Tool -> how many of its calls began."""
        self.succeeded: dict[str, int] = {}
        """Tool -> the instant at which it first succeeded."""
        self.failed: set[str] = set()
        """Tools of which a call failed."""
        self.running: dict[int, str] = {}
        """Position -> tool."""
        self.used: dict[Any, tuple[int | None, int | None]] = {}
        """Model -> tokens given to it and written by it, None where a reply did not tell them."""

    def replied(self, model: Any, given: int | None, written: int | None) -> None:
        """A model has replied."""
        model = model if model in self.used or len(self.used) < MOST_TOOLS else None
        before = self.used.get(model, (0, 0))
        added = tuple(
            None if had is None or more is None else had + more
            for had, more in zip(before, (given, written), strict=True)
        )
        self.used[model] = added[0], added[1]

    def began(self, made: ToolCall) -> int:
        """The position of a call that has begun."""
        position, tool = len(self.calls), made.tool
        self.calls.append(made)
        self.started[tool] = self.started.get(tool, 0) + 1
        self.running[position] = tool
        return position

    def ended(self, position: int, over: ToolCall, end: int) -> None:
        self.calls[position] = over
        self.running.pop(position, None)
        if over.succeeded:
            self.succeeded.setdefault(over.tool, end)
        else:
            self.failed.add(over.tool)
