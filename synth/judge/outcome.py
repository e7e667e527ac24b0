"""What both modes do with the claims of a run: ask, say what stays open, and conclude."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from synth.formal.check import Decision, decide
from synth.formal.constraints import Bounded, Constraint, Fixed
from synth.formal.model import Finding, Outcome, Repair, Schedule, Verdict
from synth.formal.solver import Claim
from synth.judge import wording
from synth.judge.findings import gap, primary, ranked
from synth.judge.rules import Rules
from synth.judge.subject import Subject
from synth.observed.run import Run, ToolCall, Unseen

Conclude = Callable[[Run], Verdict]
"""The verdict of a run that was read; it may be asked of one that differs only in whether it has ended."""


def decide_with(
    rules: Rules, run_id: str, claims: Sequence[Claim], times: Fixed | Bounded, *, failing: bool
) -> Decision:
    """Decide directly, then ask Z3 as often as the rules say, and wherever bounds leave something open."""
    decision = decide(claims, times)
    open_ = bool(decision.undecided)
    failing = failing or bool(decision.failed)
    if claims and (rules.asks_z3(run_id, failing=failing) or (open_ and rules.may_ask_z3)):
        total = round(rules.case_z3_seconds * 1e3)
        return decide(claims, times, z3=True, timeout_ms=rules.z3_timeout_ms, total_ms=total)
    return decision


def concluded(
    subject: Subject,
    run: Run,
    *,
    findings: Sequence[Finding],
    decision: Decision,
    certain: Collection[str],
    mended: Callable[[Finding], bool],
    dead_at: Callable[[], int | None],
    repair: Callable[[], Repair | None],
    doubts: Sequence[Finding] = (),
) -> Verdict:
    """The verdict; of a run that trouble ended, or that goes on, only what is `certain` (codes of findings)
    counts already.

    Where calls were not seen, an error that they may have `mended` is no more than a note. `doubts` are
    notes on values of which what is missing could make the run right or wrong.
    """
    findings = [*findings, *doubts]
    if not run.closed:
        findings = [f for f in findings if f.type == "note" or f.code in certain]
    gaps = gaps_in(run, subject)
    if gaps:
        findings = [*despite_gaps(findings, gaps, run.calls, mended), gap(gaps)]
    outcome = outcome_of(run, findings, decision, gaps)
    outcome = "undecided" if outcome == "pass" and doubts else outcome
    wrong = outcome in ("fail", "open")
    return Verdict(
        run_id=run.id,
        case_id=subject.case_id,
        outcome=outcome,
        error_type=primary(findings) if wrong else None,
        findings=ranked(findings),
        dead_at=dead_at() if wrong and not gaps and not doubts else None,
        repair=repair() if outcome == "fail" and not doubts else None,
        decided_by=decision.decided_by,
        z3_ms=round(decision.z3_ms, 3),
        trouble=run.trouble if outcome == "error" else None,
    )


def gaps_in(run: Run, subject: Subject) -> list[Unseen]:
    """What may have happened beside what was seen, as far as it may matter: whether a call of another tool
    ran does not.
    """
    return [unseen for unseen in run.gaps if unseen.tool is None or unseen.tool in subject.actions]


def outcome_of(run: Run, findings: Sequence[Finding], decision: Decision, gaps: Sequence[Unseen]) -> Outcome:
    """Open runs are open; trouble tests no agent; a sure error fails; what waited for ever, gaps and open
    claims are undecided."""
    if run.status == "running":
        return "open"
    if run.trouble is not None:
        return "error"
    if decision.disagreement:
        return "undecided"
    if any(finding.type != "note" for finding in findings):
        return "fail"
    open_ = run.status == "abandoned" or gaps or decision.undecided
    return "undecided" if open_ else "pass"


def despite_gaps(
    findings: Sequence[Finding],
    gaps: Sequence[Unseen],
    calls: Sequence[ToolCall],
    mended: Callable[[Finding], bool],
) -> Iterator[Finding]:
    """The findings, where calls were not seen: what they may have mended becomes a note.

    Each unseen call can have been one lost action, so that of more lost ones than calls some are lost; one
    that was asked for can have been what was asked for.
    """
    unseen = [hole.calls for hole in gaps if hole.tool is None]
    asked = {hole.after for hole in gaps if hole.tool is not None}
    lost = [f for f in findings if f.type == "action_lost" and asked.isdisjoint(f.calls)]
    too_many = None not in unseen and len(lost) > sum(count or 0 for count in unseen)
    for finding in findings:
        is_lost = finding.type != "action_lost" or (too_many and finding in lost)
        stays = is_lost and not mended(finding)
        if finding.type == "note" or stays:
            yield finding
        else:
            said = f"{finding.explanation} Unless a call that was not seen changes this."
            yield replace(finding, type="note", explanation=said)


def undecided(
    claim: Constraint, decision: Decision, position: int, schedule: Schedule, say: wording.Wording
) -> Finding:
    """A claim that the evidence leaves open, with one possible set of times each way."""
    where = tuple(schedule.calls[action] for action in claim.actions)
    pair = decision.undecided[position]
    why = decision.unshown(position)
    code = "disagreement" if decision.disagreement else "undecided"
    witness = None
    if pair is not None:
        names = {action: say.phrase(action) for action in schedule.calls}
        about = [{who: times[who] for who in claim.actions} for times in pair]
        holds, fails = (wording.assignment_in_words(times, schedule.unit, names) for times in about)
        witness = {"holds": holds, "fails": fails}
        why = f"the recorded times allow both (kept: {holds}; broken: {fails})"
    elif not decision.disagreement:
        why = f"the recorded times alone do not decide it, and {why}"
    said = f"{say.rule(claim)}: undecided, {why}."
    return Finding("note", code, said, where, claim.sentence, claim.span, claim, witness)
