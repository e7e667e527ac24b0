"""Exact agreement with answers that others worked out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from synth.formal.check import DISAGREEMENTS
from synth.observed.run import Run, read_runs
from synth.policies import PolicyResult, Rules, judge_policies, lint, load_policies

HERE = Path(__file__).parent
RULES = Rules(z3="all", repair=False)


def results(name: str, run: Run) -> dict[str, PolicyResult]:
    policies = load_policies(HERE / f"{name}.yaml")
    return {result.policy: result for result in judge_policies(policies, run, rules=RULES)}


def differences(name: str, file: str) -> tuple[list[Any], Counter[str]]:
    """Answers that differ, and how often each verdict was expected."""
    wrong = []
    seen: Counter[str] = Counter()
    for run in read_runs(HERE / name / file):
        found = results(name, run)
        for policy, answer in run.extra["expected"].items():
            result = found[policy]
            seen[answer["verdict"]] += 1
            if (result.verdict, list(result.violations)) != (answer["verdict"], answer["violations"]):
                wrong.append((run.id, policy, result, answer))
    return wrong, seen


@pytest.mark.parametrize(
    ("name", "file"),
    [("tau_airline", "runs.jsonl"), ("tau_airline", "mutants.jsonl"), ("bfcl_sessions", "runs.jsonl")],
)
def test_verdicts_and_violations_are_the_expected_ones(name: str, file: str) -> None:
    wrong, seen = differences(name, file)
    assert wrong == []
    assert min(seen["ok"], seen["violated"], seen["not_applicable"]) >= 15


def test_every_planted_edit_breaks_its_policy() -> None:
    planted = {}
    for run in read_runs(HERE / "tau_airline" / "mutants.jsonl"):
        policy = run.labels["edit"].split(":")[0]
        planted[policy] = results("tau_airline", run)[policy].verdict
    assert planted == dict.fromkeys(planted, "violated")
    assert len(planted) == 18


def course(result: PolicyResult) -> Mapping[str, Any]:
    return {name: result.details[name] for name in ("valid", "first_bad", "unmet", "goal_reached")}


def test_plans_are_valid_and_fail_where_expected() -> None:
    outcomes: Counter[tuple[bool, bool]] = Counter()
    for run in read_runs(HERE / "planbench" / "runs.jsonl"):
        expected = run.extra["expected"]
        found = results("planbench", run)
        assert course(found["contract"]) == {name: expected[name] for name in course(found["contract"])}, (
            run.id
        )
        violated = {policy: list(found[policy].violations) for policy in expected.get("order", {})}
        assert violated == expected.get("order", {}), run.id
        assert all((found[p].verdict == "violated") is bool(v) for p, v in violated.items())
        outcomes[expected["valid"], expected["first_bad"] is None] += 1
    assert len(outcomes) == 3
    assert min(outcomes.values()) >= 10


def test_plan_verification_finds_the_failing_step() -> None:
    for run in read_runs(HERE / "planbench" / "verification.jsonl"):
        expected = run.extra["expected"]
        found = course(results("planbench", run)["contract"])
        assert (found["first_bad"], found["unmet"], found["goal_reached"]) == (
            expected["first_bad"],
            expected["unmet"],
            expected["goal"],
        ), run.id


@pytest.mark.parametrize("name", ["tau_airline", "bfcl_sessions", "planbench"])
def test_the_policy_files_are_consistent(name: str) -> None:
    assert lint(load_policies(HERE / f"{name}.yaml")) == ()


def test_z3_never_disagreed() -> None:
    before = DISAGREEMENTS.count
    differences("tau_airline", "runs.jsonl")
    assert DISAGREEMENTS.count == before
