"""Why sentences cannot be kept together: a minimal conflict, by sentence.

For order alone the minimal conflicts are the simple circles, and a shortest one is given. With clock
times it is a core of Z3, minimized by deletion; the day and one task at a time always hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from synth.constraints import Before, Constraint
from synth.explain import Wording, listed
from synth.model import Spec
from synth.order import shortest_cycle
from synth.solver import TIMEOUT_MS, minimal_conflict, satisfiable


@dataclass(frozen=True, slots=True)
class Conflict:
    """Sentences that no plan can keep together; without any one of them some plan could."""

    sentences: tuple[int, ...]
    """0-based; empty where the constraints do not say their sentence."""
    constraints: tuple[Constraint, ...]
    """For order the circle, in the order in which it runs."""
    explanation: str


def conflict(spec: Spec, say: Wording | None = None, *, timeout_ms: int = TIMEOUT_MS) -> Conflict | None:
    """A minimal conflict of a spec; None where it is satisfiable, or Z3 gave up within its limit."""
    say = say or Wording({}, {})
    circle = order_circle(spec)
    if circle:
        chain = listed(f"{say.phrase(c.first)} before {say.phrase(c.then)}" for c in circle)
        return _conflict(circle, f"The order goes in a circle: {chain}")
    if not spec.timed:
        return None
    groups = by_sentence(spec.constraints)
    core = minimal_conflict(groups, spec, timeout_ms=timeout_ms)
    if not core:
        full = core is not None and satisfiable(spec, timeout_ms=timeout_ms) is False
        return Conflict((), (), "The tasks alone do not fit into the day.") if full else None
    broken = [constraint for i in core for constraint in groups[i]]
    said = listed(dict.fromkeys(say.rule(constraint) for constraint in broken))
    return _conflict(broken, f"The day has no room for all of: {said}")


def order_circle(spec: Spec) -> list[Before]:
    """A shortest circle of the order constraints; empty if there is none."""
    position = {action: i for i, action in enumerate(spec.actions)}
    orders = [c for c in spec.constraints if isinstance(c, Before)]
    cycle = shortest_cycle(len(position), [(position[c.first], position[c.then]) for c in orders])
    return [] if cycle is None else [orders[i] for i in cycle]


def by_sentence(constraints: Sequence[Constraint]) -> list[list[Constraint]]:
    """Constraints of one sentence together; one without a sentence stands alone."""
    groups: dict[object, list[Constraint]] = {}
    for i, constraint in enumerate(constraints):
        key = ("alone", i) if constraint.sentence is None else constraint.sentence
        groups.setdefault(key, []).append(constraint)
    return list(groups.values())


def _conflict(constraints: Sequence[Constraint], said: str) -> Conflict:
    sentences = sorted({c.sentence for c in constraints if c.sentence is not None})
    return Conflict(tuple(sentences), tuple(constraints), f"{said}.")
