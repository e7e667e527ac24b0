"""The formal half: actions, steps, schedules, specifications and verdicts.

Everything here is over action ids; English lives in `case`, `grammar`, `render` and `parse`. An
untimed k-th call is the half-open step [k, k+1), so that one formula `end(a) <= start(b)` serves
ordered and timed cases alike (paper, sections 3.2 and 4.3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from synth.constraints import Constraint

Outcome = Literal["pass", "fail", "open", "undecided"]
ErrorType = Literal["timeout", "act_error", "action_lost", "parameter_error", "order_error"]
ERROR_TYPES: tuple[ErrorType, ...] = ("timeout", "act_error", "action_lost", "parameter_error", "order_error")
"""In order of priority: the first that occurs is a run's primary error type (paper, Tables 3 and 6)."""


@dataclass(frozen=True, slots=True)
class Spec:
    """What a plan must keep: the meaning layer of a case."""

    actions: tuple[str, ...]
    constraints: tuple[Constraint, ...]
    durations: Mapping[str, int] | None = None
    """Timed mode only: minutes per action, hidden from the agent."""
    horizon: tuple[int, int] | None = None
    """Timed mode only: (day begin, day end), minutes after midnight."""

    @property
    def timed(self) -> bool:
        return self.horizon is not None


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong (or, with type `note`, worth knowing) about a run."""

    type: ErrorType | Literal["note"]
    code: str
    """Which rule: `order`, `overlap`, `repeated`, `never_called`, `unknown_tool`, `too_late`, ..."""
    explanation: str
    """Plain words, complete without the other fields."""
    calls: tuple[int, ...] = ()
    """0-based positions in the run's calls."""
    sentence: int | None = None
    """0-based index of the sentence in the case's paragraph."""
    span: tuple[int, int] | None = None
    """Half-open range of code points in the paragraph."""
    constraint: Constraint | None = None


@dataclass(frozen=True, slots=True)
class Repair:
    """A plan that would have worked, as near as possible to the observed one."""

    order: tuple[str, ...]
    moved: tuple[str, ...]
    """Actions taken out and put elsewhere: as few as possible."""
    starts: Mapping[str, int] | None = None
    """Timed mode: minutes after midnight."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement of one run against one case."""

    run_id: str
    case_id: str | None
    outcome: Outcome
    error_type: ErrorType | None
    findings: tuple[Finding, ...]
    dead_at: int | None = None
    """0-based index of the first call after which no completion keeps the constraints."""
    repair: Repair | None = None
    decided_by: Literal["direct", "z3", "both"] = "direct"
    z3_ms: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """The public spelling, see "Verdict" in the README."""
        raise NotImplementedError
