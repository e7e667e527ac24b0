"""What a sentence is taken apart into: facts, a demand, and adjuncts."""

from __future__ import annotations

from dataclasses import dataclass

from synth.policies.clausal.events import Event


@dataclass(frozen=True, slots=True)
class Fact:
    """What a sentence says has happened, or has not."""

    events: tuple[Event, ...]
    aspect: str
    """`present`, `perfect`, `not`, `fails`, `running`, `noun`."""
    joint: str = ""
    """`and` or `or` where there are several events."""


@dataclass(frozen=True, slots=True)
class Demand:
    """The main clause: what must be, and what must not."""

    kind: str
    events: tuple[Event, ...] = ()
    others: tuple[Event, ...] = ()
    joint: str = ""
    number: int | str = 0
    how: str = ""
    perfect: bool = False


@dataclass(frozen=True, slots=True)
class Adjunct:
    """When, how often, of what."""

    kind: str
    fact: Fact | None = None
    until: Fact | None = None
    time: str = ""
    same: frozenset[str] = frozenset()
    said: str = ""
    only: bool = False
    leads: bool = False
    number: int = 0
