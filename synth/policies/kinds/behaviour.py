"""Behaviour specifications as policies: the tools of a run, in order, must follow a monitor."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from synth.errors import BadInput
from synth.formal.monitor import Monitor, monitor_of
from synth.formal.solver import PlanRule
from synth.judge.rules import Rules
from synth.policies.evidence import Evidence
from synth.policies.kinds.duty import NOT_APPLICABLE, Judged
from synth.policies.kinds.kind import Field, Form, Traits
from synth.policies.kinds.plans import Slot
from synth.policies.names import Names, Tools
from synth.policies.source import Node


def read_behaviour(node: Node, names: Names) -> Behaviour:
    """An S-expression over tool names, see the module `monitor`."""
    try:
        return Behaviour(monitor_of(node.text()))
    except BadInput as bad:
        raise node.bad(bad.message) from None


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The names of the tools that ran form a word of the specification."""

    kind: ClassVar[str] = "behaviour"
    forms: ClassVar[tuple[Form, ...]] = (Field("behaviour", read_behaviour),)
    monitor: Monitor

    @property
    def tools(self) -> tuple[Tools, ...]:
        return ()

    @property
    def traits(self) -> Traits:
        named = {tool for state in self.monitor.transitions for tool in state}
        return Traits(subjects=(), named=tuple(sorted(named)))

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        ran = [i for i in seen.order if seen.calls[i].executed]
        if not ran:
            return NOT_APPLICABLE
        course = self.monitor.follow(seen.calls[i].tool for i in ran)
        if course.violated_at is not None:
            call = ran[course.violated_at]
            allowed = ", ".join(course.allowed) or "nothing more"
            said = f"{seen.calls[call].tool} (call {call}) is not allowed here; expected {allowed}."
            return Judged("violated", (call,), said)
        if course.complete:
            return Judged("ok", (), "The run follows the specification.")
        said = f"The run is incomplete; next could come {', '.join(course.allowed)}."
        return Judged("violated" if seen.run.ended else "undecided", (), said)

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        """The answer, if every word that the run may have been has it."""
        ran = [i for i in seen.order if seen.calls[i].executed]
        states, strayed = self._stray({0}, seen, -1, seen.rank[ran[0]] if ran else math.inf)
        for k, call in enumerate(ran):
            after = {self.monitor.after(state, seen.calls[call].tool) for state in states}
            strayed |= None in after
            states = {state for state in after if state is not None}
            if not states:
                said = f"{seen.calls[call].tool} (call {call}) is not allowed here, whatever was not seen."
                return judged if judged.violations == (call,) else Judged("violated", (call,), said)
            next_rank = seen.rank[ran[k + 1]] if k + 1 < len(ran) else math.inf
            states, out = self._stray(states, seen, seen.rank[call], next_rank)
            strayed |= out
        whole = [self.monitor.accepting[state] for state in states]
        if all(whole) and not strayed and judged.verdict == "ok":
            return judged
        if not any(whole) and judged.verdict == "violated":
            return Judged("violated", (), "The run is incomplete, whatever was not seen.")
        if judged.verdict == "not_applicable" and seen.gaps.most < 1:
            return judged
        return Judged("undecided", (), "The evidence is incomplete: a call may not have been seen.")

    def _stray(self, states: set[int], seen: Evidence, after: float, before: float) -> tuple[set[int], bool]:
        """The states that unseen calls between two ranks may lead to, and whether they may break the rule."""
        counts = [
            math.inf if gap.calls is None else gap.calls
            for gap, (lo, hi) in zip(seen.gaps.known, seen.gaps.places, strict=True)
            if lo < before and hi > after
        ]
        found, edge, broken = set(states), set(states), False
        for _ in range(int(min(sum(counts), len(self.monitor.transitions)))):
            next_ = {self.monitor.after(state, tool) for state in edge for tool in self._possible(seen)}
            broken |= None in next_
            edge = {state for state in next_ if state is not None} - found
            if not edge:
                break
            found |= edge
        return found, broken

    def _possible(self, seen: Evidence) -> Iterable[str]:
        """Tools that an unseen call may have had; "" stands for all that the specification does not name."""
        if seen.run.tools is not None:
            return seen.run.tools
        return {"", *(tool for state in self.monitor.transitions for tool in state)}

    def plan_rules(self, slots: Sequence[Slot]) -> tuple[PlanRule, ...]:
        return ()

    def flaws(self) -> tuple[str, ...]:
        return ()
