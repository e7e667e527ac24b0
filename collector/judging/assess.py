"""One run judged: a pure function of run, case, policies and rules."""

from __future__ import annotations

from collector.judging.policies import Policies, Talk, judge_all
from collector.model import Assessment, Run
from collector.settings import QueryRules
from synth.cases import Case
from synth.formal import Finding, Verdict
from synth.judge import Rules, judge
from synth.policies import (
    PolicyResult,
    RunBudget,
    SeenNames,
    judge_policies,
    stated_policies,
    suggested_rules,
)


def assess(
    run: Run,
    case: Case | None,
    policies: Policies,
    rules: Rules,
    policy_rules: Rules,
    talk: Talk | None = None,
    *,
    ambiguous: str | None = None,
    names: SeenNames | None = None,
    query_rules: QueryRules = "suggest",
    budget: RunBudget | None = None,
) -> Assessment:
    """The verdict against the case (None without one) and the result of every policy that is given.

    A run without a case is also judged by what its own query states, as far as `query_rules` go. `talk` is
    the conversation that the run is part of; `ambiguous` says why the case could not be told; `names` are
    the tools that the runs of the project have shown, `budget` what all policies may cost together.
    """
    budget = budget or RunBudget(policy_rules)
    verdict = judge(case, run, rules=rules) if case is not None else None
    results = judge_all(policies, run, talk or Talk.of(run), policy_rules, names, budget) if policies else ()
    suggested: tuple[str, ...] = ()
    if ambiguous is not None:
        verdict = Verdict(run.id, None, "undecided", None, (Finding("note", "ambiguous_case", ambiguous),))
    elif run.case_id is None:
        results += own_results(run, policy_rules, query_rules, budget)
        suggested = suggested_rules(run.query, tools_of(run)) if query_rules == "suggest" else ()
    return Assessment(run.id, verdict, results, suggested)


def own_results(
    run: Run, rules: Rules, query_rules: QueryRules, budget: RunBudget | None = None
) -> tuple[PolicyResult, ...]:
    """What the run's own query demands, and whether it was kept; empty where it demands nothing we read."""
    stated = stated_policies(run.query, tools_of(run), anywhere=query_rules == "judge")
    return judge_policies(stated, run, rules=rules, budget=budget) if stated is not None else ()


def tools_of(run: Run) -> tuple[str, ...]:
    """Those that the run offers, else those that it called."""
    return run.tools if run.tools is not None else tuple({call.tool for call in run.calls})


def outcome_of(assessment: Assessment, *, complete: bool, waits: bool = False) -> str | None:
    """One word for lists, the first of fail, open, error, undecided, pass; None = none applies.

    A run that `waits` for somebody is open, whatever applies to it so far.

    A violated policy fails a run whatever ended it; duties that trouble left open are part of the error.
    """
    words: list[str] = [assessment.verdict.outcome] if assessment.verdict else []
    spelled = {"violated": "fail", "ok": "pass", "undecided": "undecided", "unsupported": "undecided"}
    words += [
        "open" if r.pending else spelled[r.verdict] for r in assessment.policies if r.verdict in spelled
    ]
    if not words:
        return "open" if waits else None
    if "fail" in words:
        return "fail"
    if "open" in words or not complete:
        return "open"
    return next((word for word in ("error", "undecided") if word in words), "pass")
