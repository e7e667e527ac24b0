"""Policies for production runs: read from YAML, judged run by run, checked for contradictions.

`load_policies` reads a file, `judge_policies` judges one run (`judge_session` the runs of one
conversation), `lint` looks for contradictions and rules that can never apply.
"""

from __future__ import annotations

from collections.abc import Sequence

from synth.judge.rules import Rules
from synth.observed.run import Run
from synth.policies.evidence import Evidence
from synth.policies.kinds.duty import Judged
from synth.policies.lint import Problem, lint
from synth.policies.load import load_policies, read_yaml
from synth.policies.model import Applies, Policy, PolicyResult, PolicySet, policy_result_from_json
from synth.policies.names import PolicyVerdict, Tools
from synth.policies.plugins import judged
from synth.policies.session import join_runs
from synth.policies.source import Node
from synth.policies.stated import stated_policies

__all__ = [
    "Applies", "Node", "Policy", "PolicyResult", "PolicySet", "PolicyVerdict", "Problem", "Rules",
    "Tools", "join_runs", "judge_policies", "judge_session", "lint", "load_policies",
    "policy_result_from_json", "read_yaml", "stated_policies",
]  # fmt: skip


def judge_policies(policies: PolicySet, run: Run, *, rules: Rules | None = None) -> tuple[PolicyResult, ...]:
    """One result per policy, in the order of the file; one that is not for this run is not applicable."""
    rules = rules or Rules()
    seen = Evidence(run, policies.timezone, policies.aliases, rules.skew_ns)
    return tuple(_result(policy, seen, rules) for policy in policies.policies)


def judge_session(
    policies: PolicySet, runs: Sequence[Run], *, rules: Rules | None = None
) -> tuple[PolicyResult, ...]:
    """Judge the runs of one conversation together; call positions count through all of them."""
    return judge_policies(policies, join_runs(runs, policies.aliases), rules=rules)


def _result(policy: Policy, seen: Evidence, rules: Rules) -> PolicyResult:
    if policy.applies.to(seen):
        found = judged(policy.rule, seen, rules)
    elif seen.gaps and policy.applies.may_be_for(seen):
        found = Judged("undecided", (), "A call that was not seen may make the policy one for this run.")
    else:
        found = Judged("not_applicable", (), "The policy is not for this run.")
    return PolicyResult(
        seen.run.id,
        policy.id,
        found.verdict,
        found.violations,
        found.explanation,
        policy.severity,
        found.details,
    )
