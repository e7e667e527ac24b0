"""One run judged: a pure function of run, case, policies and rules."""

from __future__ import annotations

from dataclasses import dataclass, fields
from operator import attrgetter

from collector.judging.policies import Policies, Talk, judge_all
from collector.model import Assessment, Run
from collector.settings import QueryRules
from synth.cases import Case
from synth.formal import Finding, Verdict
from synth.frozen import quick
from synth.judge import Rules, judge, judge_both
from synth.policies import (
    PolicyResult,
    RunBudget,
    SeenNames,
    are_lasting,
    judge_policies,
    stated_policies,
    suggested_rules,
)

BUT_STATUS = attrgetter(*(field.name for field in fields(Run) if field.name != "status"))
"""All that a run says, without whether it goes on."""


@quick
@dataclass(frozen=True, slots=True)
class Standard:
    """What a run is judged by."""

    case: Case | None
    """None = no verdict, and what the run's own query states counts, as far as `query_rules` go."""
    policies: Policies
    rules: Rules
    policy_rules: Rules
    ambiguous: str | None = None
    """Why the case could not be told."""
    names: SeenNames | None = None
    """The tools that the runs of the project have shown."""
    query_rules: QueryRules = "suggest"


def assess(
    run: Run, standard: Standard, talk: Talk | None = None, budget: RunBudget | None = None
) -> Assessment:
    """The verdict against the case and the result of every policy that is given.

    `talk` is the conversation that the run is part of, `budget` what all policies may cost together.
    """
    case = standard.case
    verdict = judge(case, run, rules=standard.rules) if case is not None else None
    return _assessment(run, standard, verdict, _results(run, standard, talk, budget))


def assess_both(
    run: Run,
    ended: Run,
    standard: Standard,
    talks: tuple[Talk, Talk],
    budget: RunBudget | None = None,
) -> tuple[Assessment, Assessment]:
    """A run that goes on, and the same run once it has `ended` and nothing came since, each with its talk.

    What depends on that is judged for each, the rest for both.
    """
    alike = BUT_STATUS(run) == BUT_STATUS(ended)
    case = standard.case
    verdicts: tuple[Verdict | None, Verdict | None] = (None, None)
    if case is not None and alike and ended.status == "ok":
        verdicts = judge_both(case, ended, rules=standard.rules)
    elif case is not None:
        verdicts = judge(case, run, rules=standard.rules), judge(case, ended, rules=standard.rules)
    budget = budget or RunBudget(standard.policy_rules)
    results = later = _results(run, standard, talks[0], budget)
    if not (alike and are_lasting(standard.policies.files, results)):
        later = _results(ended, standard, talks[1], budget.anew())
    return (
        _assessment(run, standard, verdicts[0], results),
        _assessment(ended, standard, verdicts[1], later),
    )


def _results(
    run: Run, standard: Standard, talk: Talk | None, budget: RunBudget | None
) -> tuple[PolicyResult, ...]:
    rules = standard.policy_rules
    budget = budget or RunBudget(rules)
    found: tuple[PolicyResult, ...] = ()
    if standard.policies:
        found = judge_all(standard.policies, run, talk or Talk.of(run), rules, standard.names, budget)
    if standard.ambiguous is None and run.case_id is None:
        found += own_results(run, rules, standard.query_rules, budget)
    return found


def _assessment(
    run: Run, standard: Standard, verdict: Verdict | None, results: tuple[PolicyResult, ...]
) -> Assessment:
    suggested: tuple[str, ...] = ()
    if standard.ambiguous is not None:
        note = Finding("note", "ambiguous_case", standard.ambiguous)
        verdict = Verdict(run.id, None, "undecided", None, (note,))
    elif run.case_id is None and standard.query_rules == "suggest":
        suggested = suggested_rules(run.query, tools_of(run))
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
