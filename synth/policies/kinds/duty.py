"""What a rule finds about a run, and how rules with a formula are decided.

A rule with a formula turns a run into obligations: one formula over the instants of its calls for
each call that must be in the right place. Direct evaluation decides them, Z3 re-checks, and bounded
instants leave open what they leave open, exactly as for the sentences of a test case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from synth.formal.check import Decision, decide
from synth.formal.constraints import Times, Truth
from synth.judge.rules import Rules
from synth.judge.wording import assignment_in_words, calls_in_words
from synth.policies.evidence import Evidence
from synth.policies.names import PolicyVerdict

MAX_JUDGED_BY_Z3 = 300
"""Obligations of one policy and run that Z3 re-checks: the violated ones first."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What a rule finds about a run."""

    verdict: PolicyVerdict
    violations: tuple[int, ...] = ()
    explanation: str = ""
    details: dict[str, Any] = field(default_factory=dict)
    reasons: tuple[tuple[int, str], ...] = ()
    """What is wrong with each violating call, in words, where the rule says it call by call."""


class Obligation(Protocol):
    """A formula that the calls of a run must satisfy."""

    def formula(self, t: Times, /) -> Truth: ...


@dataclass(frozen=True, slots=True)
class Duty:
    """An obligation with the call to name if it is broken, and why it is there."""

    call: int
    obligation: Obligation
    broken: str
    """In words, what is wrong if the formula is false."""

    def formula(self, t: Times) -> Truth:
        return self.obligation.formula(t)


NOT_APPLICABLE = Judged("not_applicable", (), "No call that the policy speaks of was made.")
NO_TIMES = Judged("unsupported", (), "The policy speaks of times, and the run has none.")


def judge_duties(duties: Sequence[Duty], seen: Evidence, rules: Rules) -> Judged:
    """Decide the duties of one rule; `violations` are the calls of the broken ones, in call order."""
    if not duties:
        return NOT_APPLICABLE
    decision = decide(duties, seen.times)
    if decision.undecided and rules.may_ask_z3:
        decision = decide(duties, seen.times, z3=True, timeout_ms=rules.z3_timeout_ms)
    elif rules.asks_z3(seen.run.id, failing=bool(decision.violated)):
        decision = decide(duties, seen.times, z3=True, timeout_ms=rules.z3_timeout_ms, most=MAX_JUDGED_BY_Z3)
    broken = [duties[i] for i in decision.failed]
    if decision.disagreement:
        return Judged("undecided", (), "Z3 and direct evaluation disagree; the input is kept.")
    if broken:
        return _violated(broken)
    if decision.undecided:
        return _open(duties, decision, seen)
    return Judged("ok", (), f"Kept by {calls_in_words(sorted({duty.call for duty in duties}))}.")


def _violated(broken: Sequence[Duty]) -> Judged:
    first = broken[0].broken
    more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
    return Judged(
        "violated",
        tuple(sorted({duty.call for duty in broken})),
        first + more,
        reasons=tuple((duty.call, duty.broken) for duty in broken),
    )


_AND_MORE = re.compile(r" \(and \d+ more\)$")


def despite_gaps(judged: Judged, *, opens: Callable[[], bool], mends: Callable[[int], bool]) -> Judged:
    """What is left of an answer where calls were not seen.

    `opens`: may an unseen call break the rule, or bring it to bear? `mends`: may one mend this violation?
    """
    if judged.verdict == "violated":
        return _not_mended(judged, mends)
    if judged.verdict in ("ok", "not_applicable") and opens():
        return Judged(
            "undecided", (), "The evidence is incomplete: a call that matters may not have been seen."
        )
    return judged


def _not_mended(judged: Judged, mends: Callable[[int], bool]) -> Judged:
    certain = tuple(call for call in judged.violations if not mends(call))
    if certain == judged.violations and certain:
        return judged
    if not certain:
        first = _AND_MORE.sub("", judged.explanation)
        return Judged("undecided", (), f"{first} But the evidence is incomplete.", judged.details)
    reasons = tuple((call, said) for call, said in judged.reasons if call in certain)
    said = (
        reasons[0][1]
        if reasons
        else f"{calls_in_words(certain).capitalize()} broke it, whatever was not seen."
    )
    more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
    return Judged("violated", certain, said + more, judged.details, reasons)


def _open(duties: Sequence[Duty], decision: Decision, seen: Evidence) -> Judged:
    position, pair = next(iter(sorted(decision.undecided.items())))
    call = duties[position].call
    if pair is None:
        return Judged("undecided", (), f"The recorded times of call {call} allow both.")
    names = {i: f"call {i}" for i in range(len(seen.calls))}
    unit = "ns" if seen.has_times else "calls"
    near = [{who: at for who, at in times.items() if _near(who, call)} for times in pair]
    holds, fails = (assignment_in_words(times, unit, names) for times in near)
    return Judged(
        "undecided", (), f"The recorded times of call {call} allow both (kept: {holds}; broken: {fails})."
    )


def _near(who: int, call: int, reach: int = 3) -> bool:
    return abs(who - call) <= reach
