"""Policies for production runs: read from YAML, judged run by run, checked for contradictions.

`load_policies` reads a file, `judge_policies` judges one run (`judge_session` the runs of one
conversation), `lint` looks for contradictions and rules that can never apply.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from synth.judge.rules import Rules
from synth.observed.run import Run
from synth.policies.evidence import Evidence
from synth.policies.kinds.duty import Judged
from synth.policies.lint import Problem, lint
from synth.policies.load import load_policies, read_yaml
from synth.policies.model import Applies, Policy, PolicyResult, PolicySet, policy_result_from_json
from synth.policies.names import PolicyVerdict, Tools
from synth.policies.plugins import judged
from synth.policies.seen_names import Doubt, SeenNames, all_tools_in, doubts, names_of_runs
from synth.policies.session import MOST_EARLIER, join_runs, last_runs
from synth.policies.source import Node
from synth.policies.stated import stated_policies

__all__ = [
    "MOST_EARLIER", "Applies", "Node", "Policy", "PolicyResult", "PolicySet", "PolicyVerdict", "Problem",
    "Rules", "SeenNames", "Tools", "all_tools_in", "doubts", "join_runs", "judge_policies", "judge_session",
    "last_runs", "lint", "load_policies", "names_of_runs", "policy_result_from_json", "read_yaml",
    "stated_policies",
]  # fmt: skip


def judge_policies(
    policies: PolicySet, run: Run, *, rules: Rules | None = None, names: SeenNames | None = None
) -> tuple[PolicyResult, ...]:
    """One result per policy, in the order of the file; one that is not for this run is not applicable.

    `names` are the tools that the runs of the project show: by them a misspelt tool is known, and its
    policies are unsupported. Without them every name is taken as it stands.
    """
    rules = rules or Rules()
    seen = Evidence(run, policies.timezone, policies.aliases, rules.skew_ns)
    unseen = doubts(policies, names) if names is not None else {}
    return tuple(_result(policy, seen, rules, unseen.get(policy.id, ())) for policy in policies.policies)


def judge_session(
    policies: PolicySet,
    runs: Sequence[Run],
    *,
    rules: Rules | None = None,
    names: SeenNames | None = None,
) -> tuple[PolicyResult, ...]:
    """Judge the runs of one conversation together; call positions count through all of them."""
    return judge_policies(policies, join_runs(runs, policies.aliases), rules=rules, names=names)


def _result(policy: Policy, seen: Evidence, rules: Rules, unseen: Sequence[Doubt]) -> PolicyResult:
    misspelt = [doubt for doubt in unseen if doubt.misspelt]
    if misspelt and policy.applies.fields_fit(seen):
        found = Judged("unsupported", (), " ".join(map(str, misspelt)))
    else:
        found = _judged(policy, seen, rules)
        found = replace(found, explanation=" ".join(filter(None, [found.explanation, *map(str, unseen)])))
    return PolicyResult(
        seen.run.id,
        policy.id,
        found.verdict,
        found.violations,
        found.explanation,
        policy.severity,
        found.details,
    )


def _judged(policy: Policy, seen: Evidence, rules: Rules) -> Judged:
    if policy.applies.to(seen):
        return judged(policy.rule, seen, rules)
    if seen.gaps and policy.applies.may_be_for(seen):
        return Judged("undecided", (), "A call that was not seen may make the policy one for this run.")
    return Judged("not_applicable", (), "The policy is not for this run.")
