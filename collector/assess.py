"""One run judged: a pure function of run, case, policies and rules."""

from __future__ import annotations

from typing import Any

from collector.model import Assessment, Run
from synth.case import Case
from synth.model import Verdict


def assess(run: Run, case: Case | None, policies: Any, rules: Any) -> Assessment:
    """The verdict against the case (None without one) and the result of every policy that is given."""
    return Assessment(run.id, _verdict(run, case, rules), _results(run, policies, rules))


def _verdict(run: Run, case: Case | None, rules: Any) -> Verdict | None:
    if case is None:
        return None
    from synth.judge import judge

    return judge(case, run, rules=rules)


def _results(run: Run, policies: Any, rules: Any) -> tuple[Any, ...]:
    if not policies:
        return ()
    from synth.policies import judge_policies

    return tuple(judge_policies(policies, run, rules=rules))


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
