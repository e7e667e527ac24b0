"""Behaviour specifications as policies: a run must follow a monitor.

A bare formula speaks of tool names, in the order of the calls; the file form of states (see `transcript`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from synth.errors import BadInput
from synth.formal.constraints import Fixed, edges_of
from synth.formal.monitor import SHIPPED, Monitor, monitor_of, shipped
from synth.formal.monitor_orders import MAX_PAIRS, Event, follow_orders
from synth.formal.solver import PlanRule
from synth.judge.rules import Rules
from synth.observed.run import Unseen
from synth.policies.evidence import Evidence, made_by
from synth.policies.kinds.duty import (
    NOT_APPLICABLE,
    NOT_ITS_OWN,
    Judged,
    broken_in_the_end,
    first_to_break,
)
from synth.policies.kinds.kind import Field, Form, Reads, Traits
from synth.policies.kinds.plans import Slot
from synth.policies.kinds.transcript import Reading, Shown, reading, states_of, transcript, unreached
from synth.policies.kinds.unseen_events import orders_with_unseen
from synth.policies.names import Names, Tools
from synth.policies.source import Node

TOO_MANY = Judged(
    "undecided", (), f"Gave up: the recorded times allow more than {MAX_PAIRS} (state, calls done) pairs."
)


def read_behaviour(node: Node, names: Names) -> Behaviour:
    """A specification (see the module `monitor`), or the name of one that is shipped."""
    text = node.text().strip()
    try:
        return Behaviour(shipped(text) if text in SHIPPED else monitor_of(text))
    except BadInput as bad:
        raise node.bad(bad.message) from None


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The names of the tools that ran, or the states that the run shows, form a word of the specification."""

    kind: ClassVar[str] = "behaviour"
    forms: ClassVar[tuple[Form, ...]] = (Field("behaviour", read_behaviour),)
    monitor: Monitor

    @property
    def tools(self) -> tuple[Tools, ...]:
        return ()

    @property
    def traits(self) -> Traits:
        said, words = self.monitor.specification, self.monitor.text
        if said.states:
            tools = tuple(sorted({tool for _, tool in said.trace if tool is not None}))
            reads = Reads(others=True)
            return Traits((), named=tools, turns=True, messages=True, words=said.name, reads=reads)
        named = {tool for state in self.monitor.transitions for tool in state}
        return Traits(subjects=(), named=tuple(sorted(named)), words=words, reads=Reads(others=True))

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        if self.monitor.specification.states:
            return _judge_states(self.monitor, seen)
        ran = [i for i in seen.order if seen.calls[i].executed]
        if not ran:
            return NOT_APPLICABLE
        if not _is_one_order(ran, seen):
            return self._judge_orders(ran, seen)
        course = self.monitor.follow(seen.calls[i].tool for i in ran)
        if course.violated_at is not None:
            call = ran[course.violated_at]
            allowed = ", ".join(course.allowed) or "nothing more"
            said = f"{made_by(call, seen)} is not allowed here; expected {allowed}."
            return Judged("violated", (call,), said)
        if course.complete:
            return Judged("ok", (), "The run follows the specification.")
        said = f"The run is incomplete; next could come {', '.join(course.allowed)}."
        return _incomplete(said, seen)

    def _judge_orders(self, ran: Sequence[int], seen: Evidence) -> Judged:
        """The answer, if every order in which the calls can have started has it."""
        found = follow_orders(self.monitor, _events(ran, seen), budget=seen.budget)
        if found.too_many:
            return TOO_MANY
        if not found.states:
            named = tuple(found.strayed) if len(found.strayed) == 1 else ()
            who = made_by(named[0], seen) if named else "A call"
            said = f"{who} is not allowed where it stands, in whatever order."
            return first_to_break(Judged("violated", named, said), found.strayed, seen)
        whole = {self.monitor.accepting[state] for state in found.states}
        if whole == {True} and not found.strayed:
            return Judged("ok", (), "The run follows the specification.")
        if True in whole or not seen.run.closed:
            said = "The recorded times allow orders that keep it and orders that do not."
            return Judged("undecided", (), said, awaits=True)
        incomplete = Judged(
            "violated", (), "The run is incomplete, in whatever order its calls started.", awaits=True
        )
        return broken_in_the_end(incomplete, found.strayed, seen)

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        """The answer, if every word that the run may have been has it."""
        if self.monitor.specification.states:
            return _unseen_states(self.monitor, judged, seen)
        found = follow_orders(
            self.monitor, _events(seen.order, seen), partial(self._between, seen), seen.budget
        )
        if found.too_many:
            return TOO_MANY
        if not found.states:
            strayed = found.last if _is_one_order(seen.order, seen) else found.strayed
            whatever = _whatever_was_not_seen(judged, strayed, seen)
            return first_to_break(whatever, found.strayed | strayed, seen, unseen=found.astray)
        whole = [self.monitor.accepting[state] for state in found.states]
        kept = not found.strayed and not found.astray
        if kept and judged.verdict == "ok" and (all(whole) or not seen.tells_end):
            return judged
        if not any(whole) and judged.verdict == "violated" and seen.run.closed:
            incomplete = Judged("violated", (), "The run is incomplete, whatever was not seen.")
            return broken_in_the_end(incomplete, found.strayed, seen, unseen=found.astray)
        if judged.verdict == "not_applicable" and seen.gaps.most < 1:
            return judged
        return Judged("undecided", (), "The evidence is incomplete: a call may not have been seen.")

    def _between(
        self, seen: Evidence, states: set[int], done: Callable[[int], bool]
    ) -> tuple[set[int], bool]:
        """The states that unseen calls may lead to after these calls, and whether they may break the rule."""
        here = [
            gap
            for gap in seen.gaps.known
            if (gap.after is None or done(gap.after)) and (gap.before is None or not done(gap.before))
        ]
        most = sum(math.inf if gap.calls is None else gap.calls for gap in here)
        tools = self._possible(here, seen)
        found, edge, broken = set(states), set(states), False
        for _ in range(int(min(most, len(self.monitor.transitions)))):
            next_ = {self.monitor.after(state, tool) for state in edge for tool in tools}
            broken |= None in next_
            edge = {state for state in next_ if state is not None} - found
            if not edge:
                break
            found |= edge
        return found, broken

    def _possible(self, gaps: Iterable[Unseen], seen: Evidence) -> Iterable[str]:
        """Tools that unseen calls may have had; "" stands for all that the specification does not name."""
        tools = seen.gaps.tools(gaps)
        return (
            {"", *(tool for state in self.monitor.transitions for tool in state)} if tools is None else tools
        )

    def plan_rules(self, slots: Sequence[Slot]) -> tuple[PlanRule, ...]:
        return ()

    def flaws(self) -> tuple[str, ...]:
        missing = unreached(self.monitor)
        if not missing:
            return ()
        said = f"nothing that a run shows stands for {', '.join(missing)}, without which no run is complete"
        return (f"{said}: say what does in (:trace ..)",)


_UNSEEN = Judged("undecided", (), "The evidence is incomplete: a call may not have been seen.")


def _unseen_states(monitor: Monitor, judged: Judged, seen: Evidence) -> Judged:
    """The answer, if every transcript has it that calls may have made which nobody saw."""
    if seen.gaps.most < 1:
        return judged
    if seen.part is not None or judged.verdict not in ("ok", "violated"):
        return _UNSEEN
    ends: set[bool] = set()
    broken: set[int | None] = set()
    for known, shown, found in orders_with_unseen(monitor, seen):
        if found.too_many:
            return TOO_MANY
        ends |= {known.monitor.accepting[state] for state in found.states}
        broken |= {shown[key].call for key in found.strayed | found.last}
        if found.astray:
            broken.add(None)
    if judged.verdict == "ok":
        return judged if ends == {True} and not broken else _UNSEEN
    if True in ends or (ends and not seen.run.closed):
        return _UNSEEN
    named = broken == set(judged.violations) and all(gap.tool is None for gap in seen.gaps.known)
    said = "The run leaves the specification or is incomplete, whatever was not seen."
    return judged if named and not ends else Judged("violated", (), said)


def _judge_states(monitor: Monitor, seen: Evidence) -> Judged:
    """The answer, if every transcript that the run may have has it."""
    shown = transcript(seen)
    if not any(one.sure for one in shown[1:]):
        return NOT_APPLICABLE
    known = reading(monitor, shown)
    found = follow_orders(known.monitor, [one.event(k) for k, one in enumerate(shown)], budget=seen.budget)
    if found.too_many:
        return TOO_MANY
    if not found.states:
        return _not_allowed(monitor, known, shown, found.last if _is_sure(shown) else found.strayed, seen)
    whole = {known.monitor.accepting[state] for state in found.states}
    if whole == {True} and not found.strayed:
        return Judged("ok", (), "The run follows the specification.")
    if whole == {False} and not found.strayed:
        following = sorted({name for state in found.states for name in known.allowed(state, monitor)})
        return _incomplete(f"The run is incomplete; next could come {', '.join(following)}.", seen)
    said = "What was recorded allows transcripts that keep it and transcripts that do not."
    return Judged("undecided", (), said, awaits=True)


def _is_sure(shown: Sequence[Shown]) -> bool:
    return all(one.sure for one in shown) and len({one.at for one in shown}) == len(shown)


def _not_allowed(
    monitor: Monitor, known: Reading, shown: Sequence[Shown], strayed: Collection[int], seen: Evidence
) -> Judged:
    """A violation, with the event at which the run left the specification where that is known."""
    if len(strayed) != 1:
        calls = {shown[key].call for key in strayed}
        named = tuple(call for call in calls if call is not None) if len(calls) == 1 else ()
        said = "The run leaves the specification, whatever was not recorded."
        return Judged("violated", named, said)
    (key,) = strayed
    one, before = shown[key], known.monitor.follow(other.name for other in shown[:key])
    said = f"{one.words(seen)} is not allowed here"
    if states := states_of(monitor.specification, one):
        said = f"{said} as {states}"
    if _is_sure(shown) and before.violated_at is None:
        state: int | None = 0
        for other in shown[:key]:
            state = known.monitor.after(state, other.name)
        said = f"{said}; expected {', '.join(known.allowed(state or 0, monitor)) or 'nothing more'}"
    return Judged("violated", () if one.call is None else (one.call,), f"{said}.")


def _incomplete(said: str, seen: Evidence) -> Judged:
    if not seen.tells_end:
        return NOT_ITS_OWN
    return Judged("violated" if seen.run.closed else "undecided", (), said, awaits=True)


def _is_one_order(ran: Sequence[int], seen: Evidence) -> bool:
    """Are all starts known?"""
    if isinstance(seen.times, Fixed):
        return True
    edges = (edges_of(seen.times.start(i)) for i in ran)
    return all(lo == hi for lo, hi in edges)


def _events(calls: Sequence[int], seen: Evidence) -> Iterator[Event]:
    for i in calls:
        lo, hi = edges_of(seen.times.start(i))
        yield Event(i, seen.calls[i].tool if seen.calls[i].executed else None, lo, hi)


def _whatever_was_not_seen(judged: Judged, strayed: Collection[int], seen: Evidence) -> Judged:
    if len(strayed) != 1:
        return Judged("violated", (), "A call is not allowed where it stands, whatever was not seen.")
    (call,) = strayed
    if judged.violations == (call,):
        return judged
    return Judged("violated", (call,), f"{made_by(call, seen)} is not allowed here, whatever was not seen.")
