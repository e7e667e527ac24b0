"""A sentence with `it` that compares no arguments: whoever reads the rule or a verdict of it is told so."""

from __future__ import annotations

import pytest

from synth.observed.run import Run, ToolCall
from synth.policies import judge_policies, load_policies
from synth.policies.explain import explained
from synth.policies.lint import lint
from synth.policies.online import Prefix

HEAD = "actions: {pay claim: do_a, deny claim: do_b}\npolicies:\n"
OF_ONE = "Once a claim has been denied, it must not be paid."
SAID = "'it' compares no arguments"


def codes(rule: str) -> list[str]:
    return [one.code for one in lint(load_policies(f"{HEAD}  - {{id: P, rule: {rule!r}}}\n"))]


def test_lint_warns_of_it_and_names_what_compares() -> None:
    (problem,) = lint(load_policies(f"{HEAD}  - {{id: P, rule: {OF_ONE!r}}}\n"))
    assert (problem.code, problem.policies, problem.line, problem.is_warning) == (
        "any_of_them",
        ("P",),
        3,
        True,
    )
    assert SAID in problem.explanation
    assert "'with the same FIELD'" in problem.explanation


@pytest.mark.parametrize(
    "rule",
    [
        "Once a claim has been denied, it must not be paid, with the same claim_id.",
        "It is forbidden to pay a claim after a claim has been denied.",
        "Pay claim must never happen after deny claim.",
        "Paying a claim has to be on its own in a turn.",
    ],
)
def test_nothing_is_said_where_nothing_is_left_open(rule: str) -> None:
    assert codes(rule) == []


def test_the_explanation_says_it() -> None:
    (one,) = explained(load_policies(f"{HEAD}  - {{id: P, rule: {OF_ONE!r}}}\n"))
    assert SAID in one.breaks


def test_a_broken_rule_says_it_and_a_kept_one_does_not() -> None:
    policies = load_policies(f"{HEAD}  - {{id: P, rule: {OF_ONE!r}}}\n")
    deny, pay = (ToolCall(None, tool, {"claim_id": n}) for n, tool in ((1, "do_b"), (2, "do_a")))
    (broken,) = judge_policies(policies, Run("r", (deny, pay)))
    assert broken.verdict == "violated"
    assert SAID in broken.explanation
    (kept,) = judge_policies(policies, Run("r", (pay, deny)))
    assert kept.verdict == "ok"
    assert SAID not in kept.explanation


def test_a_guard_says_it_of_the_call_that_it_refuses() -> None:
    course = Prefix(load_policies(f"{HEAD}  - {{id: P, rule: {OF_ONE!r}}}\n"))
    _, place = course.propose(ToolCall(None, "do_b", {"claim_id": 1}))
    assert place is not None
    course.ended(place, {})
    (breach,) = course.would(ToolCall(None, "do_a", {"claim_id": 2})).breaches
    assert SAID in breach.explanation
