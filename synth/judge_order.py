"""Order mode: which action was first done when, and was that an order the sentences allow?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from synth import explain
from synth.bind import NEVER, schedule_of
from synth.check import Decision, decide
from synth.classify import Reading, failures, gap, limits, primary, ranked, read_calls, repeats, strange_tools
from synth.completion import dead_in_order
from synth.conflict import conflict
from synth.constraints import Before, Bounded, Constraint, Fixed
from synth.model import Finding, Outcome, Repair, Schedule, Verdict
from synth.repair import repair_order
from synth.rules import Rules
from synth.run import Run, ToolCall
from synth.solver import Claim
from synth.subject import Subject

CERTAIN_WHILE_OPEN = {"order", "overlap", "repeated", "same_message", "unknown_tool", "outside_query"}
CERTAIN_WHILE_OPEN |= {"timeout", "wall_time", "iterations", "joint"}


def judge_order(subject: Subject, run: Run, rules: Rules) -> Verdict:
    """The verdict of a run in order mode."""
    spec, calls, say = subject.spec, run.calls, subject.say
    reading = read_calls(subject.actions, calls)
    first = reading.first
    findings = [
        *limits(run, rules),
        *strange_tools(reading, run, rules),
        *failures(spec.actions, reading, calls, say),
        *repeats(reading, rules, say),
    ]
    complete = len(first) == len(spec.actions)
    claims = spec.constraints if complete else [c for c in spec.constraints if first.keys() >= {*c.actions}]
    schedule = schedule_of(
        first, calls, reading.order, overlap_counts=rules.strict_parallel, skew_ns=rules.skew_ns
    )
    decision = decide_with(rules, run.id, claims, schedule.times, failing=primary(findings) is not None)
    findings += _order_findings(claims, decision, schedule, calls, rules, say)
    findings += _parallel_findings(claims, decision, schedule, calls, rules, say)
    if run.problems:
        findings.append(gap(run.problems))
    if decision.violated and (clash := conflict(spec, say)) is not None:
        findings.append(Finding("note", "contradictory", clash.explanation))
    if run.status == "running":
        findings = [f for f in findings if f.type == "note" or f.code in CERTAIN_WHILE_OPEN]
    outcome = outcome_of(run, findings, decision, rules)
    return Verdict(
        run_id=run.id,
        case_id=subject.case_id,
        outcome=outcome,
        error_type=primary(findings) if outcome in ("fail", "open") else None,
        findings=ranked(findings),
        dead_at=_dead_at(subject, first) if outcome in ("fail", "open") else None,
        repair=_repair(subject, reading, findings) if outcome == "fail" else None,
        decided_by=decision.decided_by,
        z3_ms=round(decision.z3_ms, 3),
    )


def decide_with(
    rules: Rules, run_id: str, claims: Sequence[Claim], times: Fixed | Bounded, *, failing: bool
) -> Decision:
    """Decide directly, then ask Z3 as often as the rules say, and wherever bounds leave something open."""
    decision = decide(claims, times)
    open_ = bool(decision.undecided)
    failing = failing or bool(decision.failed)
    if claims and (rules.asks_z3(run_id, failing=failing) or (open_ and rules.may_ask_z3)):
        return decide(claims, times, z3=True, timeout_ms=rules.z3_timeout_ms)
    return decision


def outcome_of(run: Run, findings: Sequence[Finding], decision: Decision, rules: Rules) -> Outcome:
    """Open runs are open; a sure error fails; gaps and open claims leave a run undecided."""
    if run.status == "running":
        return "open"
    if decision.disagreement:
        return "undecided"
    errors = [f for f in findings if f.type != "note"]
    if run.problems:
        errors = [f for f in errors if certain_despite_gaps(f, rules)]
    if errors:
        return "fail"
    return "undecided" if run.problems or decision.undecided else "pass"


def certain_despite_gaps(finding: Finding, rules: Rules) -> bool:
    """Would the error stand whatever calls were not seen?

    A lost action may have been done. A failed one may have succeeded. An earlier first success would
    mend an order error, but then the action was done twice, which is wrong too where `once` holds.
    """
    if finding.type == "action_lost" or finding.code == "tool_error":
        return False
    return finding.code not in ("order", "overlap", "joint") or rules.once


def _order_findings(
    claims: Sequence[Constraint],
    decision: Decision,
    schedule: Schedule,
    calls: Sequence[ToolCall],
    rules: Rules,
    say: explain.Wording,
) -> Iterator[Finding]:
    for i in decision.violated:
        yield _violation(claims[i], schedule, calls, rules, say)
    if decision.core:
        yield _joint(claims, decision, schedule, say)
    for i in sorted(decision.undecided):
        yield undecided(claims[i], decision, i, schedule, say)


def _violation(
    claim: Constraint, schedule: Schedule, calls: Sequence[ToolCall], rules: Rules, say: explain.Wording
) -> Finding:
    assert isinstance(claim, Before), "order mode has no clock times"
    first, then = schedule.calls[claim.first], schedule.calls[claim.then]
    overlap = rules.strict_parallel and explain.is_overlap(calls[first], calls[then])
    said = explain.order_broken(claim, calls, first, then, say, overlap=overlap)
    code = "overlap" if overlap else "order"
    return Finding("order_error", code, said, (first, then), claim.sentence, claim.span, claim)


def _joint(
    claims: Sequence[Constraint], decision: Decision, schedule: Schedule, say: explain.Wording
) -> Finding:
    rules = explain.listed(say.rule(claims[i]) for i in decision.core)
    where = sorted({schedule.calls[action] for i in decision.core for action in claims[i].actions})
    said = f"No possible times of {explain.calls_in_words(where)} keep all of {rules}."
    lead = claims[decision.core[0]]
    return Finding("order_error", "joint", said, tuple(where), lead.sentence, lead.span, lead)


def undecided(
    claim: Constraint, decision: Decision, position: int, schedule: Schedule, say: explain.Wording
) -> Finding:
    """A claim that the evidence leaves open, with one possible set of times each way."""
    where = tuple(schedule.calls[action] for action in claim.actions)
    pair = decision.undecided[position]
    why = "Z3 and direct evaluation disagree" if decision.disagreement else "the recorded times allow both"
    code = "disagreement" if decision.disagreement else "undecided"
    witness = None
    if pair is not None:
        names = {action: say.phrase(action) for action in schedule.calls}
        about = [{who: times[who] for who in claim.actions} for times in pair]
        holds, fails = (explain.assignment_in_words(times, schedule.unit, names) for times in about)
        witness = {"holds": holds, "fails": fails}
        why = f"the recorded times allow both (kept: {holds}; broken: {fails})"
    elif not decision.disagreement and decision.decided_by == "z3":
        why = "Z3 gave up within its limit"
    said = f"{say.rule(claim)}: undecided, {why}."
    return Finding("note", code, said, where, claim.sentence, claim.span, claim, witness)


def _parallel_findings(
    claims: Sequence[Constraint],
    decision: Decision,
    schedule: Schedule,
    calls: Sequence[ToolCall],
    rules: Rules,
    say: explain.Wording,
) -> Iterator[Finding]:
    """Ordered actions that ran side by side, or were requested in one message, without being violated."""
    if not _side_by_side(calls):
        return
    settled = {*decision.failed, *decision.undecided}
    for i, claim in enumerate(claims):
        if i in settled or not isinstance(claim, Before):
            continue
        first, then = schedule.calls[claim.first], schedule.calls[claim.then]
        a, b = calls[first], calls[then]
        if a.step is not None and a.step == b.step:
            code, what = "same_message", "were requested in one model message"
        elif explain.is_overlap(a, b):
            code, what = "overlap", "overlapped"
        else:
            continue
        said = (
            f"{say.rule(claim)}: {say.phrase(claim.first)} (call {first}) and "
            f"{say.phrase(claim.then)} (call {then}) {what}."
        )
        kind = "order_error" if rules.strict_parallel else "note"
        yield Finding(kind, code, said, (first, then), claim.sentence, claim.span, claim)  # type: ignore[arg-type]


def _side_by_side(calls: Sequence[ToolCall]) -> bool:
    """Did any two neighbouring calls overlap, or come from one model message?"""
    latest, step = None, None
    for call in calls:
        if call.step is not None:
            if call.step == step:
                return True
            step = call.step
        if call.start is not None:
            if latest is not None and call.start[0] < latest:
                return True
            latest = max(latest or 0, NEVER if call.end is None else call.end[1])
    return False


def _dead_at(subject: Subject, first: dict[str, int]) -> int | None:
    sequence = list(first)
    position = dead_in_order(subject.spec, sequence)
    return None if position is None else first[sequence[position]]


def _repair(subject: Subject, reading: Reading, findings: Sequence[Finding]) -> Repair | None:
    if not any(f.type in ("order_error", "action_lost") for f in findings):
        return None
    return repair_order(subject.spec, list(reading.first))
