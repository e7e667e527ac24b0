"""Behaviour specifications as policies: the tools of a run, in order, must follow a monitor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from synth.errors import BadInput
from synth.monitor import Monitor, monitor_of
from synth.policies.evidence import Evidence
from synth.policies.kinds import NOT_APPLICABLE, Judged
from synth.policies.sentences import Names
from synth.policies.source import Node
from synth.rules import Rules


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The names of the tools that ran form a word of the specification."""

    kind: ClassVar[str] = "behaviour"
    monitor: Monitor

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        ran = [i for i in seen.order if seen.calls[i].executed]
        if not ran:
            return NOT_APPLICABLE
        course = self.monitor.follow(seen.calls[i].tool for i in ran)
        if course.violated_at is not None:
            if seen.run.problems:
                return Judged("undecided", (), "The evidence is incomplete: a call may not have been seen.")
            call = ran[course.violated_at]
            allowed = ", ".join(course.allowed) or "nothing more"
            said = f"{seen.calls[call].tool} (call {call}) is not allowed here; expected {allowed}."
            return Judged("violated", (call,), said)
        if course.complete:
            return Judged("ok", (), "The run follows the specification.")
        said = f"The run is incomplete; next could come {', '.join(course.allowed)}."
        return Judged("violated" if seen.run.ended and not seen.run.problems else "undecided", (), said)


def read_behaviour(node: Node, names: Names) -> Behaviour:
    """An S-expression over tool names, see the module `monitor`."""
    try:
        return Behaviour(monitor_of(node.text()))
    except BadInput as bad:
        raise node.bad(bad.message) from None
