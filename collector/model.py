"""The observed side of the collector: spans as they arrive, and what was concluded from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from synth.model import Verdict
from synth.run import Run, ToolCall

__all__ = ["Assessment", "Run", "Span", "ToolCall"]


@dataclass(frozen=True, slots=True)
class Span:
    """One received span, whatever its vocabulary; ids are lower-case hex."""

    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    start_ns: int
    end_ns: int
    status: str
    """`unset`, `ok` or `error`."""
    status_message: str
    attributes: Mapping[str, Any]
    events: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    """(name, attributes) each, in order."""
    resource: Mapping[str, Any] = field(default_factory=dict)
    scope: str = ""
    """Name of the instrumentation scope."""


@dataclass(frozen=True, slots=True)
class Assessment:
    """What the collector concluded about one run."""

    run_id: str
    verdict: Verdict | None
    """None where the run is bound to no case."""
    policies: tuple[Any, ...] = ()
    """Policy results, one per policy that applies."""
    metrics: Mapping[str, float | None] = field(default_factory=dict)
