"""One run judged: a pure function of run, case, policies and rules."""

from __future__ import annotations

from collections.abc import Sequence

from collector.judging.policies import Policies, judge_all
from collector.model import Assessment, Run
from synth.cases import Case
from synth.formal import Finding, Verdict
from synth.judge import Rules, judge
from synth.policies import PolicyResult, judge_policies, stated_policies


def assess(
    run: Run,
    case: Case | None,
    policies: Policies,
    rules: Rules,
    policy_rules: Rules,
    earlier: Sequence[Run] = (),
    *,
    ambiguous: str | None = None,
) -> Assessment:
    """The verdict against the case (None without one) and the result of every policy that is given.

    A run without a case is also judged by what its own query states. `earlier` are the runs of the same
    conversation before this one, oldest first; `ambiguous` says why the case could not be told.
    """
    verdict = judge(case, run, rules=rules) if case is not None else None
    results = judge_all(policies, run, earlier, policy_rules) if policies else ()
    if ambiguous is not None:
        verdict = Verdict(run.id, None, "undecided", None, (Finding("note", "ambiguous_case", ambiguous),))
    elif run.case_id is None:
        results += own_results(run, policy_rules)
    return Assessment(run.id, verdict, results)


def own_results(run: Run, rules: Rules) -> tuple[PolicyResult, ...]:
    """What the run's own query demands, and whether it was kept; empty where it demands nothing we read."""
    tools = run.tools if run.tools is not None else tuple({call.tool for call in run.calls})
    stated = stated_policies(run.query, tools)
    return judge_policies(stated, run, rules=rules) if stated is not None else ()


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
