"""Policies for production runs: read from YAML, judged run by run, checked for contradictions.

`load_policies` reads a file, `judge_policies` judges one run, `judge_session` the runs of one conversation
(`judge_turn` what one of them contributes), `lint` looks for contradictions and rules that can never apply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from synth.formal.budget import GaveUp
from synth.judge.rules import Rules
from synth.observed.run import Run
from synth.policies.budgets import REPAIR_SECONDS, REPAIRS, RunBudget
from synth.policies.chance import ByChance
from synth.policies.drawn import Diagram, Held, diagram_of, facts_held
from synth.policies.either_way import either_way
from synth.policies.evidence import Evidence, Part, made_by
from synth.policies.kinds.duty import STOPPED, Judged, given_up
from synth.policies.lasting import are_lasting
from synth.policies.lint import Problem, lint
from synth.policies.load import load_policies, read_yaml
from synth.policies.model import (
    RULE_FIELDS,
    Applies,
    Policy,
    PolicyResult,
    PolicySet,
    Repair,
    policy_result_from_json,
)
from synth.policies.names import MODES, PolicyVerdict, Tools
from synth.policies.needs import Needs, needs_of, reduced, size_of_values, telling, without_values
from synth.policies.plugins import judged
from synth.policies.proposed import Proposal, proposed
from synth.policies.repair import repairs
from synth.policies.seen_names import (
    Doubt,
    SeenNames,
    all_tools_in,
    doubtful,
    doubts,
    names_of_runs,
    tools_in,
)
from synth.policies.session import join_runs, judge_turn
from synth.policies.shadow import Shadow
from synth.policies.source import Node
from synth.policies.stated import stated_policies, suggested_rules
from synth.policies.told import Step, steps_of

__all__ = [
    "MODES", "RULE_FIELDS", "Applies", "ByChance", "Diagram", "Held", "Needs", "Node", "Part", "Policy",
    "PolicyResult", "PolicySet", "PolicyVerdict", "Problem", "Proposal", "Rules", "RunBudget", "SeenNames",
    "Shadow", "Step", "Tools",
    "all_tools_in", "are_lasting", "diagram_of", "doubtful", "doubts", "facts_held", "join_runs",
    "judge_policies",
    "judge_session", "judge_turn", "lint", "load_policies", "names_of_runs", "needs_of",
    "policy_result_from_json", "proposed", "read_yaml", "reduced", "size_of_values", "stated_policies",
    "steps_of", "suggested_rules", "telling", "tools_in", "without_values",
]  # fmt: skip


def judge_policies(
    policies: PolicySet,
    run: Run,
    *,
    rules: Rules | None = None,
    names: SeenNames | None = None,
    part: Part | None = None,
    until: int | None = None,
    budget: RunBudget | None = None,
) -> tuple[PolicyResult, ...]:
    """One result per policy, in the order of the file; one that is not for this run is not applicable.

    `names` are the tools that the runs of the project show: by them a misspelt tool is known, and its
    policies are unsupported. Without them every name is taken as it stands. `part` asks for some calls of
    the run only; of a run that goes on, calls that began by `until` (wall-clock ns) have been seen.
    Each policy has a budget of its own (see `Rules`); `budget` is given where files share that of a run.
    """
    rules = rules or Rules()
    budget = budget or RunBudget(rules)
    seen = Evidence(run, policies.timezone, policies.aliases, rules.skew_ns(run), part, until)
    unseen = doubts(policies, names) if names is not None else {}
    judged_: dict[int, Judged] = {}
    for place in policies.cheap_first:
        policy = policies.policies[place]
        judged_[place] = _in_budget(policy, seen, rules, unseen.get(policy.id, ()), budget)
    found = [judged_[place] for place in range(len(policies))]
    mended = _repairs(policies, found, seen, rules, budget)
    return tuple(
        policies.result(run, policy, one, mended.get(policy.id))
        for policy, one in zip(policies.policies, found, strict=True)
    )


def judge_session(
    policies: PolicySet,
    runs: Sequence[Run],
    *,
    rules: Rules | None = None,
    names: SeenNames | None = None,
) -> tuple[PolicyResult, ...]:
    """Judge the runs of one conversation together; call positions count through all of them."""
    return judge_policies(policies, join_runs(runs, policies.aliases), rules=rules, names=names)


def _in_budget(
    policy: Policy, seen: Evidence, rules: Rules, unseen: Sequence[Doubt], budget: RunBudget
) -> Judged:
    """The answer of one policy, undecided where it costs too much."""
    if budget.skips(policy.id):
        return STOPPED
    try:
        budget.begin(policy.id, seen)
        return _found(policy, seen, rules, unseen)
    except GaveUp as spent:
        return given_up(spent)
    finally:
        budget.end(seen)


def _repairs(
    policies: PolicySet, found: Sequence[Judged], seen: Evidence, rules: Rules, budget: RunBudget
) -> Mapping[str, Repair]:
    """Policy -> the repair of its violation, where one was found at a bearable cost."""
    broken = any(one.verdict == "violated" for one in found)
    if not broken or not rules.repair or budget.skips(REPAIRS):
        return {}
    direct = replace(rules, z3="off") if rules.may_ask_z3 else rules
    judge_, prove = partial(_judged, rules=direct), partial(_judged, rules=rules)
    try:
        budget.begin(REPAIRS, seen, REPAIR_SECONDS)
        return repairs(policies.policies, found, seen, judge_, None if direct is rules else prove)
    except GaveUp:
        return {}
    finally:
        budget.end(seen)


def _found(policy: Policy, seen: Evidence, rules: Rules, unseen: Sequence[Doubt]) -> Judged:
    misspelt = [doubt for doubt in unseen if doubt.misspelt]
    if misspelt and policy.applies.fields_fit(seen) is not False:
        return Judged("unsupported", (), " ".join(map(str, misspelt)))
    found = _judged(policy, seen, rules)
    if not unseen:
        return found
    return replace(found, explanation=" ".join(filter(None, [found.explanation, *map(str, unseen)])))


def _by_whom(policy: Policy, seen: Evidence, found: Judged) -> Judged:
    """The answer, undecided where it is not known whose a call is that the policy speaks of."""
    for tools in policy.rule.tools:
        if unknown := seen.of_nobody(tools):
            said = ", ".join(made_by(i, seen) for i in unknown[:3]) + (", ..." if len(unknown) > 3 else "")
            why = f"The policy asks which agent made a call, and nothing says whose {said} is."
            return Judged("undecided", (), why)
    return found


def _judged(policy: Policy, seen: Evidence, rules: Rules) -> Judged:
    actions = (*policy.rule.tools, *policy.applies.calls)
    return either_way(actions, seen, lambda taken: _judged_as_taken(policy, taken, rules))


def _judged_as_taken(policy: Policy, seen: Evidence, rules: Rules) -> Judged:
    if policy.applies.to(seen):
        return _by_whom(policy, seen, judged(policy.rule, seen, rules))
    if why := policy.applies.why_open(seen):
        found = _by_whom(policy, seen, judged(policy.rule, seen, rules))
        return found if found.verdict == "not_applicable" else Judged("undecided", (), why)
    return Judged("not_applicable", (), "The policy is not for this run.")
