"""The formal half: actions, steps, schedules, specifications and verdicts.

Everything here is over action ids; English lives in `case`, `grammar`, `render` and `parse`. An
untimed k-th call is the half-open step [k, k+1), so that one formula `end(a) <= start(b)` serves
ordered and timed cases alike (paper, sections 3.2 and 4.3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from synth.errors import BadInput
from synth.formal.constraints import (
    Before,
    Bounded,
    Constraint,
    Fixed,
    constraint_from_json,
    constraint_to_json,
)
from synth.formal.trouble import Trouble, trouble_from_json

Outcome = Literal["pass", "fail", "open", "undecided", "error"]
"""`error`: trouble that is not the agent's ended the run, so that its planning was not tested."""
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

    @property
    def orders(self) -> tuple[Before, ...]:
        """What is said about two actions and their order alone: all there is in order mode."""
        return tuple(c for c in self.constraints if isinstance(c, Before))


@dataclass(frozen=True, slots=True)
class Step:
    """One action of a plan, half-open: `end` is the first instant at which it is over."""

    action: str
    start: int
    end: int
    call_id: int | None = None
    """0-based position of the call in the run, where there was one."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """When each action of a spec happened: what a plan looks like to the constraints."""

    calls: Mapping[str, int]
    """Action -> 0-based position in the run's calls of the success that counts."""
    times: Fixed | Bounded
    """Instants of every action in `calls`, exact or bounded."""
    unit: Literal["calls", "ns", "minutes"]
    """`calls`: only the order counts; `ns`: wall clock; `minutes`: task time after midnight."""

    @property
    def steps(self) -> tuple[Step, ...]:
        """The actions as steps in `unit`, by start; where only bounds are known, their lower ends."""
        scale, starts, ends = self.times.scale, self.times.starts, self.times.ends
        steps = [
            Step(action, _lowest(starts[action]) // scale, _lowest(ends[action]) // scale, call)
            for action, call in self.calls.items()
        ]
        return tuple(sorted(steps, key=lambda step: (step.start, step.call_id)))


def _lowest(instant: Any) -> int:
    return instant if isinstance(instant, int) else instant.lo


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
    witness: Mapping[str, str] | None = None
    """For what is undecided: `holds` and `fails`, one possible set of times each."""

    @classmethod
    def order_error(cls, code: str, explanation: str, calls: tuple[int, ...], broken: Constraint) -> Finding:
        """A violated sentence."""
        return cls("order_error", code, explanation, calls, broken.sentence, broken.span, broken)

    def to_json(self) -> dict[str, Any]:
        """The public spelling, see "Verdict" in `docs/formats.md`."""
        said: dict[str, Any] = {
            "type": self.type,
            "code": self.code,
            "sentence": self.sentence,
            "span": None if self.span is None else list(self.span),
            "constraint": None if self.constraint is None else constraint_to_json(self.constraint),
            "calls": list(self.calls),
            "explanation": self.explanation,
        }
        if self.witness is not None:
            said["witness"] = dict(self.witness)
        return said


@dataclass(frozen=True, slots=True)
class Repair:
    """A plan that would have worked, as near as possible to the observed one."""

    order: tuple[str, ...]
    moved: tuple[str, ...]
    """Actions taken out and put elsewhere: as few as possible."""
    starts: Mapping[str, int] | None = None
    """Timed mode: minutes after midnight."""

    def to_json(self) -> dict[str, Any]:
        """`order` and `moved`, and in timed mode `starts`."""
        said: dict[str, Any] = {"order": list(self.order), "moved": list(self.moved)}
        return said if self.starts is None else {**said, "starts": dict(self.starts)}


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
    trouble: Trouble | None = None
    """Set where the outcome is `error`; the findings are then those that were certain before it."""

    def to_json(self) -> dict[str, Any]:
        """The public spelling, see "Verdict" in `docs/formats.md`."""
        return {
            "run_id": self.run_id,
            "case_id": self.case_id,
            "outcome": self.outcome,
            "error_type": self.error_type,
            "findings": [finding.to_json() for finding in self.findings],
            "dead_at": self.dead_at,
            "repair": None if self.repair is None else self.repair.to_json(),
            "decided_by": self.decided_by,
            "z3_ms": self.z3_ms,
            "trouble": None if self.trouble is None else self.trouble.to_json(),
        }


def verdict_from_json(said: Any) -> Verdict:
    """The reverse of `Verdict.to_json`; BadInput for what is no verdict."""
    try:
        return Verdict(
            run_id=said["run_id"],
            case_id=said["case_id"],
            outcome=_one_of(said, "outcome", get_args(Outcome)),
            error_type=_one_of(said, "error_type", (None, *ERROR_TYPES)),
            findings=tuple(_finding(finding) for finding in said["findings"]),
            dead_at=said["dead_at"],
            repair=None if said["repair"] is None else _repair(said["repair"]),
            decided_by=_one_of(said, "decided_by", ("direct", "z3", "both")),
            z3_ms=said["z3_ms"],
            trouble=trouble_from_json(said.get("trouble")),
        )
    except (KeyError, TypeError, AttributeError) as problem:
        raise BadInput(f"not a verdict: {type(problem).__name__} {problem}") from problem


def _finding(said: Mapping[str, Any]) -> Finding:
    return Finding(
        type=_one_of(said, "type", ("note", *ERROR_TYPES)),
        code=said["code"],
        explanation=said["explanation"],
        calls=tuple(said["calls"]),
        sentence=said["sentence"],
        span=None if said["span"] is None else (said["span"][0], said["span"][1]),
        constraint=None if said["constraint"] is None else constraint_from_json(said["constraint"]),
        witness=said.get("witness"),
    )


def _repair(said: Mapping[str, Any]) -> Repair:
    return Repair(tuple(said["order"]), tuple(said["moved"]), said.get("starts"))


def _one_of(said: Mapping[str, Any], name: str, allowed: tuple[Any, ...]) -> Any:
    if said[name] not in allowed:
        raise BadInput(f"expected one of {', '.join(map(str, allowed))}, got {said[name]!r}", field=name)
    return said[name]
