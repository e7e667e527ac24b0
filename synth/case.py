"""A test case: meaning (constraints), structure (paragraph), wording and topic, with its JSON form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from synth.constraints import Constraint
from synth.model import Spec


@dataclass(frozen=True, slots=True)
class Action:
    """Something the agent must do, and the tool that does it."""

    id: str
    phrase: str
    """The noun phrase that stands for the action in sentences."""
    tool: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """One synthesized planning problem; `query` is what the agent reads."""

    id: str
    seed: int
    mode: Literal["order", "timed"]
    query: str
    """The full text for the agent; contains `paragraph` exactly once."""
    paragraph: str
    topic: str
    actions: tuple[Action, ...]
    constraints: tuple[Constraint, ...]
    valid_plans: int | None = None
    """Number of orders that keep every constraint (linear extensions), None when counting is too dear."""
    stop: str = "covered"
    options: Mapping[str, Any] = field(default_factory=dict)
    durations: Mapping[str, int] | None = None
    horizon: tuple[int, int] | None = None
    witness: Mapping[str, int] | None = None
    """Timed mode: a satisfying start (minutes after midnight) for every action."""

    @property
    def spec(self) -> Spec:
        """The meaning alone."""
        return Spec(tuple(a.id for a in self.actions), self.constraints, self.durations, self.horizon)
