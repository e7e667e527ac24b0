"""Behaviour specifications: S-expressions over states, compiled to minimal finite automata.

`L(a) = {a}`; `(or x y ..)` union; `(next x y ..)` concatenation; `(until x y)` = `L(x)* L(y)`;
`(always x)` = `L(x)+`; `(implies x y)` = the words of its states that are not in `L(x)`, or are in `L(y)`.
The literal finite-trace reading of `until` and `always`, in which every suffix must satisfy the left
side, accepts no loop at all; this is the regular reading. No specification accepts the empty word, and from
every state the end can be reached, so that a missing transition is a violation at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import Literal

from synth.errors import BadInput
from synth.formal.automata import MAX_STATES, Expression, automaton_of
from synth.formal.specification import Specification, parse_expression, read_specification

__all__ = [
    "MAX_STATES", "SHIPPED", "Course", "Expression", "Monitor", "MonitorVerdict", "monitor_of",
    "parse_expression", "shipped", "shipped_text",
]  # fmt: skip

MonitorVerdict = Literal["pending", "accepting", "satisfied", "violated", "incomplete"]
"""`pending`: not complete; `accepting`: complete, may go on; `satisfied`: complete, nothing may follow;
`violated`: no continuation helps; `incomplete`: pending when the run ended."""

SHIPPED = ("react", "rewoo", "reflexion", "pass", "pass_raw", "chain_of_thought", "direct")
"""Specifications that come with the package, by name."""


@dataclass(frozen=True, slots=True)
class Course:
    """What a monitor says about a sequence of events."""

    verdicts: tuple[MonitorVerdict, ...]
    """After each event."""
    violated_at: int | None
    """0-based position of the first event that no continuation could mend."""
    complete: bool
    """Is the whole sequence a word of the specification?"""
    allowed: tuple[str, ...]
    """What could have come next: at the violation, else at the end."""

    @property
    def outcome(self) -> MonitorVerdict:
        """The verdict on the ended sequence."""
        if self.violated_at is not None:
            return "violated"
        if not self.complete:
            return "incomplete"
        return "accepting" if self.allowed else "satisfied"


@dataclass(frozen=True, slots=True)
class Monitor:
    """A minimal automaton; states are numbers, 0 is the start."""

    text: str
    transitions: tuple[Mapping[str, int], ...]
    accepting: tuple[bool, ...]
    specification: Specification = field(default=Specification(""), compare=False)
    """What the text says."""

    def after(self, state: int | None, event: str) -> int | None:
        """The next state; None = violated, for good."""
        return None if state is None else self.transitions[state].get(event)

    def verdict(self, state: int | None) -> MonitorVerdict:
        if state is None:
            return "violated"
        if not self.accepting[state]:
            return "pending"
        return "accepting" if self.transitions[state] else "satisfied"

    def allowed(self, state: int | None) -> tuple[str, ...]:
        """The events that may come next."""
        return () if state is None else tuple(sorted(self.transitions[state]))

    def follow(self, events: Iterable[str]) -> Course:
        """The verdict after each event and at the end."""
        state: int | None = 0
        verdicts: list[MonitorVerdict] = []
        violated_at = None
        allowed = self.allowed(0)
        for position, event in enumerate(events):
            state = self.after(state, event)
            verdicts.append(self.verdict(state))
            if state is not None:
                allowed = self.allowed(state)
            elif violated_at is None:
                violated_at = position
        return Course(tuple(verdicts), violated_at, state is not None and self.accepting[state], allowed)


def shipped(name: str) -> Monitor:
    """One of the specifications in `SHIPPED`."""
    return monitor_of(shipped_text(name))


def shipped_text(name: str) -> str:
    """The file of one of the specifications in `SHIPPED`."""
    if name not in SHIPPED:
        raise BadInput(f"no specification is called {name!r} (expected one of {', '.join(SHIPPED)})")
    return files("synth").joinpath(f"data/monitors/{name}.spec").read_text("utf-8")


@lru_cache(maxsize=256)
def monitor_of(text: str) -> Monitor:
    """Compile a specification; BadInput says what is wrong with it, or that it is too large."""
    said = read_specification(text)
    return Monitor(text, *automaton_of(said.behavior, [state.name for state in said.states]), said)
