"""A sentence with `it` that compares no arguments: whoever reads the rule or a verdict of it is told so."""

from __future__ import annotations

import pytest

from synth.observed.run import Run, ToolCall
from synth.policies import judge_policies, load_policies
from synth.policies.explain import explained
from synth.policies.lint import lint
from synth.policies.online import Prefix

HEAD = "actions: {drop table: do_a, back up table: do_b, restore table: do_c}\npolicies:\n"
OF_SOME = "From the time tables are backed up until they are restored, no tables may be dropped."
SAID = "'they' compares no arguments"


def codes(rule: str) -> list[str]:
    return [one.code for one in lint(load_policies(f"{HEAD}  - {{id: P, rule: {rule!r}}}\n"))]


def test_lint_warns_of_it_and_names_what_compares() -> None:
    (problem,) = lint(load_policies(f"{HEAD}  - {{id: P, rule: {OF_SOME!r}}}\n"))
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
        "Once a table has been backed up, it must not be dropped.",
        "Once a table has been backed up, it must not be dropped, with the same table_id.",
        "It is forbidden to drop a table after a table has been backed up.",
        "Drop table must never happen after back up table.",
        "Dropping a table has to be on its own in a turn.",
    ],
)
def test_nothing_is_said_where_nothing_is_left_open(rule: str) -> None:
    assert codes(rule) == []


def test_the_explanation_says_it() -> None:
    (one,) = explained(load_policies(f"{HEAD}  - {{id: P, rule: {OF_SOME!r}}}\n"))
    assert SAID in one.breaks


def test_a_broken_rule_says_it_and_a_kept_one_does_not() -> None:
    policies = load_policies(f"{HEAD}  - {{id: P, rule: {OF_SOME!r}}}\n")
    first, then = (ToolCall(None, tool, {"table_id": n}) for n, tool in ((1, "do_b"), (2, "do_a")))
    (broken,) = judge_policies(policies, Run("r", (first, then)))
    assert broken.verdict == "violated"
    assert SAID in broken.explanation
    (kept,) = judge_policies(policies, Run("r", (then, first)))
    assert kept.verdict == "ok"
    assert SAID not in kept.explanation


def test_a_guard_says_it_of_the_call_that_it_refuses() -> None:
    course = Prefix(load_policies(f"{HEAD}  - {{id: P, rule: {OF_SOME!r}}}\n"))
    _, place = course.propose(ToolCall(None, "do_b", {"table_id": 1}))
    assert place is not None
    course.ended(place, {})
    (breach,) = course.would(ToolCall(None, "do_a", {"table_id": 2})).breaches
    assert SAID in breach.explanation


ITSELF = "Once a table has been backed up, it must not be dropped."


@pytest.mark.parametrize(("key", "said"), [("table", "ok"), ("table_id", "ok"), ("name", "violated")])
def test_where_all_is_done_to_one_kind_of_thing_it_is_the_same_one(key: str, said: str) -> None:
    """Where no call has it, any of them counts, and the verdict says so."""
    policies = load_policies(f"{HEAD}  - {{id: P, rule: {ITSELF!r}}}\n")
    made = ((1, "do_b"), (2, "do_a"), (1, "do_a"))
    first, other, then = (ToolCall(None, tool, {key: n}) for n, tool in made)
    (found,) = judge_policies(policies, Run("r", (first, other)))
    assert found.verdict == said
    assert ("No call has the argument 'table', so any calls" in found.explanation) is (said == "violated")
    (broken,) = judge_policies(policies, Run("r", (first, then)))
    assert broken.verdict == "violated"


def test_a_call_without_it_leaves_open_which_one_it_is_about() -> None:
    policies = load_policies(f"{HEAD}  - {{id: P, rule: {ITSELF!r}}}\n")
    first, then = ToolCall(None, "do_b", {"table": 1}), ToolCall(None, "do_a", {})
    (found,) = judge_policies(policies, Run("r", (first, then)))
    assert found.verdict == "unsupported"
