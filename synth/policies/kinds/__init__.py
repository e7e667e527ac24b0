"""The kinds of policy rules, one file each. A new one is a file here and a place in `KINDS`.

All that a kind of another distribution needs is here as well; the rest of the package may change.
"""

from __future__ import annotations

from synth.judge.rules import Rules
from synth.policies.evidence import Evidence
from synth.policies.kinds.absence import AbsenceAfter
from synth.policies.kinds.adjacency import Adjacency
from synth.policies.kinds.against import Against
from synth.policies.kinds.behaviour import Behaviour
from synth.policies.kinds.between import Between
from synth.policies.kinds.contract import ContractRule
from synth.policies.kinds.count import Count
from synth.policies.kinds.duration import Duration
from synth.policies.kinds.duty import NOT_APPLICABLE, Duty, Judged, judge_duties
from synth.policies.kinds.ends import FirstCall, LastCall
from synth.policies.kinds.failure_first import FailureFirst
from synth.policies.kinds.failures import AfterFailures
from synth.policies.kinds.gap import Gap
from synth.policies.kinds.guard import Guard
from synth.policies.kinds.in_a_row import InARow
from synth.policies.kinds.kind import Field, PolicyKind, Reads, Relation, Sentence, Traits
from synth.policies.kinds.next_call import NextCall
from synth.policies.kinds.overlap import NoOverlap
from synth.policies.kinds.paired import AsOften, Paired
from synth.policies.kinds.precedence import Precedence
from synth.policies.kinds.provenance import Provenance
from synth.policies.kinds.rate import Rate
from synth.policies.kinds.response import Response
from synth.policies.kinds.times_before import TimesBefore
from synth.policies.kinds.timetable import Timetable
from synth.policies.kinds.total import Total
from synth.policies.kinds.turn import Alone
from synth.policies.kinds.variety import Variety
from synth.policies.kinds.weekdays import Weekdays
from synth.policies.kinds.window import Window
from synth.policies.names import Names, Tools
from synth.policies.source import Node, read_actions

__all__ = [
    "KINDS", "NOT_APPLICABLE", "Duty", "Evidence", "Field", "Judged", "Names", "Node", "PolicyKind",
    "Reads", "Relation", "Rules", "Sentence", "Tools", "Traits", "judge_duties", "read_actions",
]  # fmt: skip

KINDS: tuple[type[PolicyKind], ...] = (
    AfterFailures, TimesBefore, Paired, AsOften, NextCall, Response, Between, AbsenceAfter, Count, Rate,
    Total, Variety, InARow, Against, Duration, FirstCall, LastCall, Adjacency, Gap, NoOverlap, Alone,
    Weekdays, Timetable, FailureFirst, Precedence, Window, Guard, Provenance, ContractRule, Behaviour,
)  # fmt: skip
"""Sentences are tried in this order."""
