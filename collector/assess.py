"""One run judged: a pure function of run, case, policies and rules."""

from __future__ import annotations

from collections.abc import Sequence

from collector.model import Assessment, Run
from collector.policies import Policies, judge_all
from synth.case import Case
from synth.judge import judge
from synth.rules import Rules


def assess(
    run: Run,
    case: Case | None,
    policies: Policies,
    rules: Rules,
    policy_rules: Rules,
    earlier: Sequence[Run] = (),
) -> Assessment:
    """The verdict against the case (None without one) and the result of every policy that is given.

    `earlier` are the runs of the same conversation before this one, oldest first.
    """
    verdict = judge(case, run, rules=rules) if case is not None else None
    results = judge_all(policies, run, earlier, policy_rules) if policies else ()
    return Assessment(run.id, verdict, results)


def outcome_of(assessment: Assessment, *, complete: bool) -> str | None:
    """One word for lists: fail > open > undecided > pass over verdict and policies; None = none applies."""
    words: list[str] = [assessment.verdict.outcome] if assessment.verdict else []
    spelled = {"violated": "fail", "ok": "pass", "undecided": "undecided", "unsupported": "undecided"}
    words += [spelled[r.verdict] for r in assessment.policies if r.verdict in spelled]
    if not words:
        return None
    if "fail" in words:
        return "fail"
    if "open" in words or not complete:
        return "open"
    return "undecided" if "undecided" in words else "pass"
