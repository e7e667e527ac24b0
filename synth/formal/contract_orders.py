"""Contracts where the evidence leaves the order of calls open: instants are bounds, ends were not seen.

One pass in the order of the earliest starts. Before each call every fact is there in all orders that
the bounds allow, in none, or in some; a requirement is kept, broken or open accordingly. A call whose
own standing is open takes effect in some orders only. Sound: what is decided holds in every order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from synth.formal.budget import GaveUp
from synth.formal.cel import CannotEvaluate
from synth.formal.constraints import Bounded, Fixed, edges_of
from synth.formal.contracts import (
    ILL_FORMED,
    MAX_FACTS,
    Action,
    Course,
    Fact,
    NotRecorded,
    Terms,
    Wanted,
    is_fact,
    matches,
    said,
)

Span = tuple[float, float]
"""The earliest and the latest that an instant can be."""

AT_FIRST = -(1 << 120)
"""When the facts began that hold before any call."""
AT_LAST: Span = (math.inf, math.inf)


@dataclass(slots=True, eq=False)
class _Deed:
    """A call with what it asks and changes."""

    position: int
    action: Action
    began: Span
    ended: Span
    clears: list[Wanted] = field(default_factory=list)
    provides: list[Fact] = field(default_factory=list)
    takes: bool | None = None
    """Does it take effect? None = not in every order, or not known yet."""
    trouble: CannotEvaluate | None = None
    """Why it is not known what it asks or changes."""


@dataclass(slots=True, eq=False)
class _Change:
    """A fact begins or ceases to be there."""

    deed: _Deed
    lo: float
    hi: float
    begins: bool
    over: float
    """From when on the change is a matter of the past, with what the same call does to the fact later."""


@dataclass(slots=True)
class _Timeline:
    """One fact: its changes, asked before calls whose earliest starts only grow."""

    coming: list[_Change]
    """The latest first."""
    near: list[_Change] = field(default_factory=list)
    begun: float = -math.inf
    """The latest of the earliest instants at which it certainly began, once that is past."""
    may_begin: float = -math.inf
    """The latest instant at which it can have begun."""
    ceased: float = -math.inf
    """The latest of the earliest instants at which it certainly ceased."""
    may_cease: float = -math.inf
    """The latest instant at which it can have ceased for others to make it begin again."""

    def holds(self, at: Span, asking: _Deed | None) -> bool | None:
        """Is it there at an instant, just before the call that asks changes it itself?"""
        lo, hi = at
        while self.coming and self.coming[-1].lo <= hi:
            self.near.append(self.coming.pop())
        may_begin, ceased, may_cease = self._near(lo, hi, asking)
        begun, may_begin = self.begun, max(may_begin, self.may_begin)
        if begun > -math.inf and max(may_cease, self.may_cease) <= begun:
            return True
        return None if may_begin > max(ceased, self.ceased) else False

    def _near(self, lo: float, hi: float, asking: _Deed | None) -> tuple[float, float, float]:
        """(may_begin, ceased, may_cease) of the changes that are not past; the past ones are settled."""
        may_begin = ceased = may_cease = -math.inf
        left: list[_Change] = []
        for change in self.near:
            if change.deed.takes is False:
                continue
            if change.over <= lo and change.deed is not asking:
                self._settle(change)
                continue
            left.append(change)
            if change.lo > hi or change.deed is asking:
                continue
            if change.begins:
                may_begin = max(may_begin, change.hi)
                continue
            may_cease = max(may_cease, change.hi)
            if change.hi <= lo and change.deed.takes:
                ceased = max(ceased, change.lo)
        self.near = left
        return may_begin, ceased, may_cease

    def _settle(self, change: _Change) -> None:
        certain = change.deed.takes is True
        if change.begins:
            self.may_begin = max(self.may_begin, change.hi)
            self.begun = max(self.begun, change.lo) if certain else self.begun
            return
        self.ceased = max(self.ceased, change.lo) if certain else self.ceased
        if change.over == change.hi:
            self.may_cease = max(self.may_cease, change.hi)


@dataclass
class OpenOrders(Terms):
    """What is certain, and what is possible, of the facts before each call."""

    facts: dict[Fact, _Timeline] = field(default_factory=dict)
    _matching: dict[Wanted, list[_Timeline]] = field(default_factory=dict)

    def run(self, actions: Sequence[tuple[int, Action]], times: Fixed | Bounded) -> Course:
        """Follow the calls, given with their positions."""
        deeds = [
            self._deed(position, action, edges_of(times.start(position)), edges_of(times.end(position)))
            for position, action in actions
        ]
        deeds.sort(key=lambda deed: deed.began)
        bad: list[int] = []
        unmet: list[str] = []
        unsure: list[int] = []
        lacking: list[str] = []
        try:
            self._draw(deeds)
            for deed in self._known(deeds):
                missing, doubtful = self._standing(deed)
                if missing:
                    unmet = unmet or missing
                    bad.append(deed.position)
                    if self.contract.on_violation == "stop":
                        break
                elif doubtful:
                    lacking = lacking or doubtful
                    unsure.append(deed.position)
                deed.takes = self._takes(deed, missing, doubtful)
            goal = self._goal(stopped=bool(bad))
            goal_open = goal is None and self.situation.goal is not None
        except (CannotEvaluate, GaveUp) as problem:
            recorded = not isinstance(problem, NotRecorded)
            return Course(tuple(bad), tuple(unmet), None, str(problem), recorded)
        return Course(
            tuple(bad), tuple(unmet), goal, open=tuple(unsure), lacking=tuple(lacking), goal_open=goal_open
        )

    def _deed(self, position: int, action: Action, began: Span, ended: Span) -> _Deed:
        deed = _Deed(position, action, began, ended)
        deed.takes = False if action.succeeded is False else None
        try:
            if self.needs(action) is not None and deed.takes is None:
                deed.clears, deed.provides = self.effects(action)
        except CannotEvaluate as problem:
            deed.trouble = problem
        if action.succeeded is None:
            deed.provides = []
        return deed

    def _draw(self, deeds: Sequence[_Deed]) -> None:
        """Put every change that the calls may make on the timeline of its fact."""
        known = set(self.situation.initial).union(*(deed.provides for deed in deeds))
        if len(known) > MAX_FACTS:
            raise CannotEvaluate(f"more than {MAX_FACTS} facts may hold")
        self.facts = {one: _Timeline([]) for one in known}
        for one in self.situation.initial:
            self.facts[one].begun = self.facts[one].may_begin = AT_FIRST
        for deed in deeds:
            self._draw_deed(deed)
        for timeline in self.facts.values():
            timeline.coming.sort(key=lambda change: -change.lo)

    def _draw_deed(self, deed: _Deed) -> None:
        begun = {id(self.facts[one]) for one in deed.provides}
        ceasing = {id(line): line for wanted in deed.clears for line in self._lines(wanted)}
        for one in set(deed.provides):
            self.facts[one].coming.append(_Change(deed, *deed.ended, begins=True, over=deed.ended[1]))
        for key, line in ceasing.items():
            over = deed.ended[1] if key in begun else deed.began[1]
            line.coming.append(_Change(deed, *deed.began, begins=False, over=over))

    def _lines(self, wanted: Wanted) -> list[_Timeline]:
        """The timelines of the facts that are wanted."""
        if is_fact(wanted):
            return [self.facts[wanted]] if wanted in self.facts else []
        if wanted not in self._matching:
            self._matching[wanted] = [line for one, line in self.facts.items() if matches(wanted, one)]
        return self._matching[wanted]

    @staticmethod
    def _known(deeds: Sequence[_Deed]) -> Iterator[_Deed]:
        """The calls in turn; CannotEvaluate at the first before which nobody knows what may have changed."""
        troubled = [deed for deed in deeds if deed.trouble and deed.takes is None]
        for deed in deeds:
            for other in troubled:
                if other.trouble and other is not deed and other.began[0] < deed.began[1]:
                    raise other.trouble
            yield deed
            if deed.trouble and deed.takes is not False:
                raise deed.trouble
            troubled = [other for other in troubled if other is not deed]

    def _standing(self, deed: _Deed) -> tuple[list[str], list[str]]:
        """(what the call surely misses, what it misses in some orders)."""
        needs = self.needs(deed.action)
        if needs is None:
            return [ILL_FORMED], []
        answers = [(need, self._holds(need[1], deed.began, deed)) for need in needs]
        missing = [said(need) for need, there in answers if there is need[0]]
        failed = None if missing else self.failed_check(deed.action)
        return missing if failed is None else [failed], [
            said(need) for need, there in answers if there is None
        ]

    def _takes(self, deed: _Deed, missing: Sequence[str], doubtful: Sequence[str]) -> bool | None:
        """Does a call take effect that misses this surely, and that perhaps?"""
        applies = self.contract.on_violation == "apply" and missing != [ILL_FORMED]
        if deed.action.succeeded is False or (missing and not applies):
            return False
        return True if deed.action.succeeded and (applies or not doubtful) else None

    def _holds(self, wanted: Wanted, at: Span, asking: _Deed | None) -> bool | None:
        lines = self._lines(wanted)
        self.budget.spend(sum(len(line.near) + 1 for line in lines) / 4)
        answers = {line.holds(at, asking) for line in lines}
        return True if True in answers else (None if None in answers else False)

    def _goal(self, *, stopped: bool) -> bool | None:
        """Is it reached in every order (True), in none (False)? None also where no goal is given."""
        if self.situation.goal is None:
            return None
        if stopped and self.contract.on_violation == "stop":
            return False
        answers = {self._holds(wanted, AT_LAST, None) for wanted in self.situation.goal}
        return False if False in answers else (None if None in answers else True)
