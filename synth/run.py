"""What was observed: tool calls and the run they belong to (the neutral run record).

Sources of runs are files (`pdoctor check`), spans (the collector rebuilds them) and test code. The
JSON spelling is public: see "Run record" in the interface description of the README.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Interval = tuple[int, int]
"""Bounds of one instant, wall-clock nanoseconds, both inclusive; equal when the instant is exact."""

Status = Literal["ok", "running", "timeout", "crash"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call the model requested, in the order of `Run.calls`."""

    id: str | None
    """The model's call id, or None; not unique within a run."""
    tool: str
    arguments: Any = None
    """JSON value; usually an object. Malformed arguments are the raw text."""
    result: Any = None
    error: str | None = None
    """None = no error was seen."""
    start: Interval | None = None
    """None = not recorded: then list order is all that is known."""
    end: Interval | None = None
    finished: bool = True
    """False: the call began and no end was ever seen; its end counts as +infinity."""
    step: int | None = None
    """The same for calls of one model message (the span attribute `pdoctor.turn.index`)."""
    with_text: bool | None = None
    executed: bool = True
    """False: requested, but no tool ran (unknown tool, malformed arguments, blocked, never answered)."""
    attempts: int = 1
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the record that we do not know; policies may use them."""

    @property
    def succeeded(self) -> bool:
        """A call succeeds iff it ran and finished without error."""
        return self.executed and self.finished and self.error is None


@dataclass(frozen=True, slots=True)
class Run:
    """One agent run: what was asked, which tools were offered, which calls were made."""

    id: str
    calls: tuple[ToolCall, ...]
    """In observed order: sorted by (start, sequence), or list order where there are no times."""
    case_id: str | None = None
    query: str | None = None
    tools: tuple[str, ...] | None = None
    """Names of the offered tools; None = unknown, then no tool is an unknown tool."""
    agent: str | None = None
    source: str | None = None
    model: str | None = None
    status: Status = "ok"
    """`running` = not ended, the verdict may stay open."""
    wall_seconds: float | None = None
    iterations: int | None = None
    problems: tuple[str, ...] = ()
    """Gaps in the evidence (dropped spans, holes in the step index); with any, absence proves nothing."""
    labels: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
