"""What a rule finds about a run, and how rules with a formula are decided.

A rule with a formula turns a run into obligations: one formula over the instants of its calls for
each call that must be in the right place. Direct evaluation decides them, Z3 re-checks, and bounded
instants leave open what they leave open, exactly as for the sentences of a test case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from time import thread_time
from typing import Any, Protocol

from synth.formal.budget import GaveUp
from synth.formal.check import MAX_JUDGED, Decision, decide
from synth.formal.constraints import Times, Truth
from synth.frozen import quick
from synth.judge.rules import Rules
from synth.judge.wording import assignment_in_words, calls_in_words
from synth.observed.instants import has_times
from synth.policies.evidence import MISSING, Evidence
from synth.policies.kinds.sweeps import Sweep
from synth.policies.names import PolicyVerdict, Span

MAX_JUDGED_BY_Z3 = 300
"""Obligations of one policy and run that Z3 re-checks: the violated ones first."""


@quick
@dataclass(frozen=True, slots=True)
class Judged:
    """What a rule finds about a run."""

    verdict: PolicyVerdict
    violations: tuple[int, ...] = ()
    explanation: str = ""
    details: dict[str, Any] = field(default_factory=dict)
    reasons: tuple[tuple[int, str], ...] = ()
    """What is wrong with each violating call, in words, where the rule says it call by call."""
    awaits: bool = False
    """Could calls that have not come yet put right what is not kept?"""
    until: int | None = None
    """Wall-clock ns: the first of what they could put right is past then. None = it stays possible."""
    clauses: tuple[tuple[int | None, Span | None], ...] = ()
    """(violating call, the words that it broke) where the rule has several clauses; None = all, not known."""


class Obligation(Protocol):
    """A formula that the calls of a run must satisfy."""

    def formula(self, t: Times, /) -> Truth: ...


@quick
@dataclass(frozen=True, slots=True)
class Duty:
    """An obligation with the call to name if it is broken, and why it is there."""

    call: int
    obligation: Obligation
    broken: str
    """In words, what is wrong if the formula is false."""
    clause: Span | None = None
    """The words that demand it, where the rule has several clauses."""
    sweep: Sweep | None = field(default=None, kw_only=True)
    """What bounds say about the formula of a call, where they say it without its candidates."""

    def formula(self, t: Times) -> Truth:
        return self.obligation.formula(t)


NOT_APPLICABLE = Judged("not_applicable", (), "No call that the policy speaks of was made.")
NOT_ITS_OWN = Judged(
    "ok", (), "No call of this run breaks it; other runs of the conversation have results of their own."
)
PERHAPS_ITS_OWN = Judged(
    "undecided",
    (),
    "The evidence leaves open whether a call of this run broke it first, or one of another run.",
)
STOPPED = Judged(
    "undecided", (), "Gave up: a judge of this run had to be stopped while it was at this policy."
)
NO_TIMES = Judged("unsupported", (), "The policy speaks of times, and the run has none.")


def judge_duties(duties: Sequence[Duty], seen: Evidence, rules: Rules) -> Judged:
    """Decide the duties of one rule; `violations` are the calls of the broken ones, in call order."""
    if not duties:
        return NOT_APPLICABLE
    duties = [duty for duty in duties if seen.owns(duty.call)]
    if not duties:
        return NOT_ITS_OWN
    known, gave_up = _direct(duties, seen)
    decision = decide(duties, seen.times, known=known)
    if not gave_up:
        try:
            decision = _with_z3(duties, known, decision, seen, rules)
        except GaveUp as spent:
            gave_up = spent
    broken = [duties[i] for i in decision.failed]
    if decision.disagreement:
        return Judged("undecided", (), "Z3 and direct evaluation disagree; the input is kept.")
    if broken:
        return in_part(_violated(broken), gave_up)
    if gave_up and decision.undecided:
        return given_up(gave_up)
    if decision.undecided:
        return _open(duties, decision, seen)
    return Judged("ok", (), f"Kept by {calls_in_words(sorted({duty.call for duty in duties}))}.")


def given_up(spent: GaveUp) -> Judged:
    """Where the budget of a policy did not suffice."""
    return Judged("undecided", (), f"{spent}.")


def in_part(judged: Judged, spent: GaveUp | None) -> Judged:
    """An answer about the calls that were judged before the budget was spent."""
    return replace(judged, explanation=f"{judged.explanation} {spent} on other calls.") if spent else judged


def _direct(duties: Sequence[Duty], seen: Evidence) -> tuple[list[bool | None], GaveUp | None]:
    """What direct evaluation says about each duty, and why it stopped before the last one."""
    known: list[bool | None] = []
    try:
        for duty in duties:
            seen.budget.spend()
            known.append(duty.formula(seen.times) if duty.sweep is None else duty.sweep(duty.call))
    except GaveUp as spent:
        return [*known, *[None] * (len(duties) - len(known))], spent
    return known, None


def _with_z3(
    duties: Sequence[Duty], known: Sequence[bool | None], direct: Decision, seen: Evidence, rules: Rules
) -> Decision:
    """The same with Z3's opinion, where it is to be asked and may be."""
    open_ = bool(direct.undecided) and rules.may_ask_z3
    if not (open_ or rules.asks_z3(seen.run.id, failing=bool(direct.violated))):
        return direct
    total = seen.budget.z3_ms
    if total == 0:
        return direct
    most = MAX_JUDGED if open_ else MAX_JUDGED_BY_Z3
    began = thread_time()
    asked = decide(
        duties,
        seen.times,
        z3=True,
        timeout_ms=rules.z3_timeout_ms,
        total_ms=total,
        most=most,
        known=known,
    )
    seen.budget.spend_z3(thread_time() - began)
    return asked


def _violated(broken: Sequence[Duty]) -> Judged:
    first = broken[0].broken
    more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
    return Judged(
        "violated",
        tuple(sorted({duty.call for duty in broken})),
        first + more,
        reasons=tuple((duty.call, duty.broken) for duty in broken),
        clauses=tuple((duty.call, duty.clause) for duty in broken if duty.clause),
    )


def own_part(judged: Judged, seen: Evidence) -> Judged:
    """The answer for the calls that are asked about; what others did is not theirs."""
    if seen.part is None or judged.verdict != "violated":
        return judged
    own = tuple(filter(seen.owns, judged.violations))
    if not own and (judged.violations or not seen.tells_end):
        left = PERHAPS_ITS_OWN if _may_be_own(judged, seen) else NOT_ITS_OWN
        return replace(left, awaits=judged.awaits, until=judged.until)
    if own == judged.violations:
        return judged
    reasons = tuple((call, said) for call, said in judged.reasons if seen.owns(call))
    said = reasons[0][1] if reasons else judged.explanation
    return replace(judged, violations=own, explanation=said, reasons=reasons)


def _may_be_own(judged: Judged, seen: Evidence) -> bool:
    """May an unseen call of the run that is asked about have broken it before what was seen did?"""
    own = range(0) if seen.part is None else seen.part.calls
    return any(call >= own.start for call in judged.violations) and may_hide(seen, own=True)


def may_hide(seen: Evidence, *, own: bool) -> bool:
    """May a call that nobody saw be one of the run that is asked about, or else of another one?"""
    calls = range(0) if seen.part is None else seen.part.calls
    return any(
        gap.after is gap.before is None or (gap.after in calls or gap.before in calls) is own
        for gap in seen.run.gaps
    )


def first_to_break(judged: Judged, first: Collection[int], seen: Evidence, *, unseen: bool = False) -> Judged:
    """What a violation is to the run that is asked about, if one of these calls was the first to break it.

    `unseen`: or one that nobody saw was. Of what comes after the first, nothing is asked.
    """
    if seen.part is None:
        return judged
    own = [call for call in first if seen.owns(call)]
    if not own and not (unseen and may_hide(seen, own=True)):
        return NOT_ITS_OWN
    sure = len(own) == len(first) and not (unseen and may_hide(seen, own=False))
    return judged if sure and (judged.violations or seen.tells_end) else PERHAPS_ITS_OWN


def broken_in_the_end(
    judged: Judged, first: Collection[int], seen: Evidence, *, unseen: bool = False
) -> Judged:
    """The same of a violation that is the last run's, unless one of these calls was the first to break it."""
    if seen.part is None:
        return judged
    own = any(map(seen.owns, first)) or (unseen and may_hide(seen, own=True))
    others = not all(map(seen.owns, first)) or (unseen and may_hide(seen, own=False))
    if seen.tells_end:
        return PERHAPS_ITS_OWN if others else judged
    return PERHAPS_ITS_OWN if own else NOT_ITS_OWN


def unless_later(judged: Judged, seen: Evidence, limit: Callable[[int], int | None]) -> Judged:
    """An answer where calls that come later may still put violations right.

    `limit`: the last instant (on the scale of the run's times) for each violating call, None = none.
    """
    if judged.verdict == "undecided":
        return replace(judged, awaits=True)
    limits = {call: limit(call) for call in judged.violations}
    waiting = {call: at for call, at in limits.items() if at is None or not seen.passed(at)}
    if not waiting:
        return judged
    ends = [at // seen.times.scale + 1 for at in waiting.values() if at is not None]
    left = replace(judged, awaits=True, until=min(ends, default=None))
    if seen.run.closed:
        return left
    expired = tuple(call for call in judged.violations if call not in waiting)
    over = set(expired)
    if not expired:
        ended = "the run was abandoned" if seen.run.status == "abandoned" else "trouble ended the run"
        why = f"Still open when {ended}" if seen.run.ended else "Pending"
        said = f"{why}: {judged.explanation}"
        return replace(left, verdict="undecided", violations=(), reasons=(), explanation=said)
    reasons = tuple((call, said) for call, said in judged.reasons if call in over)
    return replace(left, violations=expired, explanation=reasons[0][1], reasons=reasons)


_AND_MORE = re.compile(r" \(and \d+ more\)$")


def without_fields(names: Iterable[str], seen: Evidence) -> Judged | None:
    """Why a rule that needs these fields of the run cannot be judged; None where they are there."""
    for name in names:
        if seen.run_field(name) is MISSING:
            if seen.lost_fields:
                return Judged("undecided", (), f"The run's field {name!r} may have been lost.")
            return Judged("unsupported", (), f"The run has no field {name!r}.")
    return None


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
    sure = set(certain)
    reasons = tuple((call, said) for call, said in judged.reasons if call in sure)
    said = (
        reasons[0][1]
        if reasons
        else f"{calls_in_words(certain).capitalize()} broke it, whatever was not seen."
    )
    more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
    return Judged("violated", certain, said + more, judged.details, reasons, clauses=judged.clauses)


def _open(duties: Sequence[Duty], decision: Decision, seen: Evidence) -> Judged:
    shown = {i: pair for i, pair in decision.undecided.items() if pair is not None}
    if not shown:
        position = min(decision.gave_up or decision.undecided)
        call, why = duties[position].call, decision.unshown(position)
        said = f"The recorded times of call {call} do not decide it alone, and {why}."
        return Judged("undecided", (), said)
    position = min(shown)
    call = duties[position].call
    names = {i: f"call {i}" for i in range(len(seen.calls))}
    unit = "ns" if has_times(seen.calls) else "calls"
    near = [{who: at for who, at in times.items() if _near(who, call)} for times in shown[position]]
    holds, fails = (assignment_in_words(times, unit, names) for times in near)
    return Judged(
        "undecided", (), f"The recorded times of call {call} allow both (kept: {holds}; broken: {fails})."
    )


def _near(who: int, call: int, reach: int = 3) -> bool:
    return abs(who - call) <= reach
