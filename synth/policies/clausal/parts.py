"""What a sentence is taken apart into: events, facts, a demand, and adjuncts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

ANY = -1
"""The number of `any tool`."""
AGAIN = -3
"""The number of what another part of the sentence is about: `try it again`."""
ANYTHING = -2
"""That of whatever a field says which it is."""
IT = "it"
"""Stands for the noun that `its` and `for it` mean."""


@dataclass(frozen=True, slots=True)
class Event:
    """Calls of an action that a sentence names."""

    action: int
    outcome: str = ""
    """`failed` or `successful`; empty where it is not said."""
    same: frozenset[str] = frozenset()
    """What must be the same as of the other calls."""
    about: frozenset[str] = frozenset()
    """Things that it introduces: `in a region`."""
    single: bool = False
    """Is it said of one of them, `a refund`?"""
    beside: tuple[Any, ...] = ()
    """Adjuncts that stand right behind it: `in an hour`, `of a run`."""
    noun: tuple[str, ...] = ()
    """The words of its object."""
    bare: bool = False
    """Is it named by its verb alone, or what is done to whatever thing?"""
    itself: bool = False
    """Is its object a mere `it`?"""
    each: bool = False
    """Is it said of `each refund`?"""
    later: bool = False
    """Is it one that comes after another: `the next refund`?"""
    role: str = ""
    """Which part of the action a thing is, or is done to; empty for its object, `any` for whatever thing."""


@dataclass(frozen=True, slots=True)
class Fact:
    """What a sentence says has happened, or has not."""

    events: tuple[Event, ...]
    aspect: str
    """`present`, `perfect`, `not`, `fails`, `running`, `noun`."""
    joint: str = ""
    """`and` or `or` where there are several events."""
    clauses: bool = False
    """Is each of them said in a clause of its own: `A was done and B was done`?"""


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
    contrary: bool = False
    """Is it said by what it is not: `unless it is Friday`?"""


def with_same(event: Event, same: frozenset[str], about: frozenset[str] = frozenset()) -> Event:
    return replace(event, same=event.same | same, about=event.about | about)
