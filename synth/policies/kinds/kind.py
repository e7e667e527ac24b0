"""What a kind of policy rule offers: how files state it, how a run is judged by it, what lint may know.

A kind is a class, whole in one module: its sentences (or its YAML field), its formula and its answers
stand side by side. Its instances are rules. `kinds.KINDS` holds ours; `plugins` adds what other
distributions bring.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

from synth.formal.constraints import Constraint
from synth.formal.solver import PlanRule
from synth.judge.rules import Rules
from synth.policies.evidence import Evidence, Pair
from synth.policies.kinds.duty import Judged, own_part
from synth.policies.kinds.each import of_each
from synth.policies.kinds.plans import Slot
from synth.policies.names import Names, Scope, Span, Tools
from synth.policies.source import Node

Paths = tuple[Pair, ...]
"""Pairs of argument paths (of the earlier call, of the later call) that must hold equal values."""

MUST = r"(?:must|should|shall|has to|have to|needs to|need to)"
IF = r"(?:if|when|whenever|once|after|as soon as)"
FAILS = r"(?:fails?|failed|has failed|have failed|had failed)"
PER = r"(?: (?:per|in (?:a|any|each)) (?P<per>conversation|session|run))?"
"""Over what a sentence says that it counts; `scope_of` reads the match."""
HAPPEN = r"(?:happen|occur|take place|be (?:done|called|performed|carried out|executed|started))"


def scope_of(match: re.Match[str]) -> Scope | None:
    """What the sentence says; None where it is left to the file."""
    if match["per"] is None:
        return None
    return "run" if match["per"].lower() == "run" else "session"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence that only policies have."""

    pattern: str
    """A regular expression for all of it, without the full stop; capitals do not matter."""
    build: Callable[[re.Match[str], Names, Paths], PolicyKind]
    same: bool = False
    """May it end in `with the same FIELD`? Otherwise `build` is given no paths."""
    only_same: bool = False
    """Must it?"""

    def match(self, said: str) -> re.Match[str] | None:
        return re.fullmatch(self.pattern, said, re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Relation:
    """A sentence of the queries' language that states constraints of these types and no others."""

    constraints: tuple[type, ...]
    build: Callable[[Sequence[Constraint], Names, Paths], PolicyKind]
    same: bool = False
    """As for a `Sentence`."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the policy in the YAML file."""

    name: str
    read: Callable[[Node, Names], PolicyKind]
    """BadInput where the value is wrong; `node.bad` makes one that names file, line and field."""


Form = Sentence | Relation | Field


def clauses_of(said: Sequence[Constraint]) -> tuple[Span | None, ...]:
    """The words of each constraint of a sentence; () where they are all of one clause."""
    spans = tuple(c.span for c in said)
    return spans if len(set(spans)) > 1 else ()


@dataclass(frozen=True, slots=True)
class Reads:
    """What a rule reads of the other runs of a conversation, beside when calls were and how they ended."""

    arguments: tuple[Tools, ...] = ()
    """Of calls of these tools."""
    results: tuple[Tools, ...] = ()
    others: bool = False
    """Do calls of tools that it does not name matter?"""


@dataclass(frozen=True, slots=True)
class Traits:
    """What can be known of a rule without a run. What is left out is not known: lint passes over it."""

    subjects: tuple[Tools, ...]
    """Actions whose calls bring it to bear: where all are forbidden, it never applies. () = not known."""
    needs: tuple[tuple[Tools, Tools], ...] = ()
    """(first, then) each: every call of `then` needs an earlier one of `first`."""
    forbids: tuple[Tools, ...] = ()
    """Actions that must never happen, whatever else does."""
    loose: tuple[str, ...] = ()
    """Tools that it names without an action of the file."""
    named: tuple[str, ...] = ()
    """Tools that it names in a language of its own (contracts, behaviours)."""
    apart: bool = False
    """Do its plan rules hold only where calls do not overlap?"""
    turns: bool = False
    """Does it ask which calls belong to one model message?"""
    messages: bool = False
    """Does it ask what was said?"""
    order_alone: bool = False
    """Of instants, does it ask only which came first? Never how far apart they are, or what time it was."""
    words: str = ""
    """What it demands, of a rule that a field states: a condition, a specification."""
    reads: Reads | None = None
    """None = not known: everything may matter."""
    scope: Scope | None = None
    """Over what its words say that it is judged; None = over what its file says."""


class PolicyKind(Protocol):
    """A kind of rule; an instance is one rule."""

    kind: ClassVar[str]
    """Its name in messages."""
    forms: ClassVar[tuple[Form, ...]]
    """How a file states it."""

    @property
    def tools(self) -> tuple[Tools, ...]:
        """The actions it speaks of."""

    @property
    def traits(self) -> Traits: ...

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        """What the calls that were seen say, as if there had been no others."""

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        """What is left of that answer where calls were not seen: `seen.gaps` says where and which."""

    def plan_rules(self, slots: Sequence[Slot]) -> Iterable[PlanRule]:
        """The rule over plans that make some of the `slots`; () where it says more than order and time."""

    def flaws(self) -> Iterable[str]:
        """Why no run can ever keep or break it, one sentence each; () where nothing is known."""


def answer(rule: PolicyKind, seen: Evidence, rules: Rules) -> Judged:
    """What a rule says about a run, as far as the evidence goes."""

    def judge(rule: PolicyKind, seen: Evidence) -> Judged:
        judged = rule.judge(seen, rules)
        if seen.gaps:
            judged = replace(rule.unseen(judged, seen), awaits=judged.awaits, until=judged.until)
        return judged

    return own_part(of_each(rule, seen, judge), seen)
