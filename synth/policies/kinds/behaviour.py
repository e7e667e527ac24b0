"""Behaviour specifications as policies: the tools of a run, in order, must follow a monitor."""

from __future__ import annotations

from collections.abc import Sequence
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
        return Traits(subjects=())

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
        if judged.verdict != "violated":
            return judged
        said = "The evidence is incomplete: a call may not have been seen."
        return Judged("undecided", (), said if judged.violations else judged.explanation)

    def plan_rules(self, slots: Sequence[Slot]) -> tuple[PlanRule, ...]:
        return ()

    def flaws(self) -> tuple[str, ...]:
        return ()
