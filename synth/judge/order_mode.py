"""Order mode: which action was first done when, and was that an order the sentences allow?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Literal

from synth.formal.check import Decision
from synth.formal.conflict import conflict
from synth.formal.constraints import Before, listed
from synth.formal.dead_end import dead_in_order
from synth.formal.model import ErrorType, Finding, Repair, Schedule
from synth.formal.repair import repair_order
from synth.judge import wording
from synth.judge.findings import (
    Reading,
    failures,
    limits,
    primary,
    read_calls,
    repeats,
    strange_tools,
)
from synth.judge.outcome import Conclude, concluded, decide_with, undecided
from synth.judge.rules import Rules
from synth.judge.subject import Subject
from synth.observed.instants import NEVER, schedule_of
from synth.observed.run import Run, ToolCall

CERTAIN_WHILE_OPEN = {"order", "overlap", "repeated", "same_message", "unknown_tool", "outside_query"}
CERTAIN_WHILE_OPEN |= {"timeout", "wall_time", "iterations", "joint"}


def read_order(subject: Subject, run: Run, rules: Rules) -> Conclude:
    """What there is to conclude from a run in order mode."""
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
    claims = subject.orders if complete else [c for c in subject.orders if first.keys() >= {*c.actions}]
    schedule = schedule_of(
        first, calls, reading.order, overlap_counts=rules.strict_parallel, skew_ns=rules.skew_ns(run)
    )
    decision = decide_with(rules, run.id, claims, schedule.times, failing=primary(findings) is not None)
    findings += _order_findings(claims, decision, schedule, calls, rules, say)
    findings += _parallel_findings(claims, decision, schedule, calls, rules, say)
    if decision.violated and (clash := conflict(spec)) is not None:
        findings.append(Finding("note", "contradictory", clash.in_one_line(say.phrase, say.paragraph)))
    return partial(
        concluded,
        subject,
        findings=findings,
        decision=decision,
        certain=CERTAIN_WHILE_OPEN,
        mended=partial(_mended, rules, run),
        dead_at=lambda: _dead_at(subject, first),
        repair=lambda: _repair(subject, reading, findings),
    )


def _mended(rules: Rules, run: Run, finding: Finding) -> bool:
    """May calls that were not seen have mended this?

    A failed call may have succeeded another time. An earlier first success would mend an order error,
    but then the action was done twice, which is wrong too where `once` holds.
    """
    tools = {run.calls[i].tool for i in finding.calls}
    if all(unseen.tool is not None and unseen.tool not in tools for unseen in run.gaps):
        return False
    if finding.code in ("order", "overlap", "joint"):
        return not rules.once
    return finding.code == "tool_error"


def _order_findings(
    claims: Sequence[Before],
    decision: Decision,
    schedule: Schedule,
    calls: Sequence[ToolCall],
    rules: Rules,
    say: wording.Wording,
) -> Iterator[Finding]:
    for i in decision.violated:
        yield _violation(claims[i], schedule, calls, rules, say)
    if decision.core:
        yield _joint(claims, decision, schedule, say)
    for i in sorted(decision.undecided):
        yield undecided(claims[i], decision, i, schedule, say)


def _violation(
    claim: Before, schedule: Schedule, calls: Sequence[ToolCall], rules: Rules, say: wording.Wording
) -> Finding:
    first, then = schedule.calls[claim.first], schedule.calls[claim.then]
    overlap = rules.strict_parallel and wording.is_overlap(calls[first], calls[then])
    said = wording.order_broken(claim, calls, first, then, say, overlap=overlap)
    code = "overlap" if overlap else "order"
    return Finding.order_error(code, said, (first, then), claim)


def _joint(claims: Sequence[Before], decision: Decision, schedule: Schedule, say: wording.Wording) -> Finding:
    rules = listed(say.rule(claims[i]) for i in decision.core)
    where = sorted({schedule.calls[action] for i in decision.core for action in claims[i].actions})
    said = f"No possible times of {wording.calls_in_words(where)} keep all of {rules}."
    return Finding.order_error("joint", said, tuple(where), claims[decision.core[0]])


def _parallel_findings(
    claims: Sequence[Before],
    decision: Decision,
    schedule: Schedule,
    calls: Sequence[ToolCall],
    rules: Rules,
    say: wording.Wording,
) -> Iterator[Finding]:
    """Ordered actions that ran side by side, or were requested in one message, without being violated."""
    if not _side_by_side(calls):
        return
    kind: ErrorType | Literal["note"] = "order_error" if rules.strict_parallel else "note"
    for i, claim in enumerate(claims):
        if i in decision.failed or (i in decision.undecided and not rules.strict_parallel):
            continue
        first, then = schedule.calls[claim.first], schedule.calls[claim.then]
        a, b = calls[first], calls[then]
        if a.step is not None and a.step == b.step:
            code, what = "same_message", "were requested in one model message"
        elif i not in decision.undecided and wording.is_overlap(a, b):
            code, what = "overlap", "overlapped"
        else:
            continue
        said = (
            f"{say.rule(claim)}: {say.phrase(claim.first)} (call {first}) and "
            f"{say.phrase(claim.then)} (call {then}) {what}."
        )
        yield Finding(kind, code, said, (first, then), claim.sentence, claim.span, claim)


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
