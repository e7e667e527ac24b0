"""Rules about the calls of one agent among several: `refund by billing`."""

from __future__ import annotations

from typing import Any

import pytest

from synth.errors import BadInput
from synth.observed import Run, run_from_json
from synth.policies import join_runs, judge_policies, lint, load_policies

HEAD = "actions: {refund: refund, verify: verify, look up: look_up}\npolicies:\n"


def verdict(rule: str, *calls: tuple[str, str | None], agent: str | None = None, **more: Any) -> str:
    """Of one sentence about calls as (tool, agent)."""
    policies = load_policies(f"{HEAD}  - {{id: P, rule: {rule!r}}}\n")
    [found] = judge_policies(policies, run(*calls, agent=agent, **more))
    return found.verdict


def run(*calls: tuple[str, str | None], agent: str | None = None, **more: Any) -> Run:
    made = [{"id": None, "name": tool, "arguments": {}, "agent": who} for tool, who in calls]
    return run_from_json({"run_id": "r", "calls": made, "agent": agent, **more})


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("Refund by triage must never happen.", "violated"),
        ("Refund by billing must never happen.", "not_applicable"),
        ("Refund must never happen.", "violated"),
        ("Verify by triage must happen before refund by triage.", "ok"),
        ("Verify by billing must happen before refund by triage.", "violated"),
        ("Verify must happen before refund by triage.", "ok"),
        ("Refund by tri* must happen at most 1 time.", "ok"),
        ("Verify by billing must be followed by refund by triage.", "not_applicable"),
        ('Refund by "triage" must never happen.', "violated"),
    ],
)
def test_a_rule_speaks_of_the_calls_of_one_agent(rule: str, expected: str) -> None:
    assert verdict(rule, ("verify", "triage"), ("refund", "triage"), ("look_up", "billing")) == expected


def test_a_call_without_an_agent_is_the_runs_own() -> None:
    assert verdict("Refund by triage must never happen.", ("refund", None), agent="triage") == "violated"
    assert (
        verdict("Refund by triage must never happen.", ("refund", None), agent="billing") == "not_applicable"
    )


def test_where_nothing_says_whose_a_call_is_the_answer_is_open() -> None:
    rule = "Refund by triage must never happen."
    assert verdict(rule, ("refund", None)) == "undecided"
    assert verdict(rule, ("verify", None)) == "not_applicable"


def test_an_action_of_a_file_may_have_its_agent() -> None:
    text = """\
actions:
  - {phrase: pay out, tool: refund, agent: triage}
policies:
  - {id: P, rule: Pay out must never happen.}
  - {id: T, rule: Pay out must be alone in its turn.}
"""
    made = [
        {"id": None, "name": "refund", "agent": "billing", "step": 0},
        {"id": None, "name": "refund", "agent": "billing", "step": 0},
    ]
    found = judge_policies(load_policies(text), run_from_json({"run_id": "r", "calls": made}))
    assert [one.verdict for one in found] == ["not_applicable", "not_applicable"]


def test_the_runs_of_a_conversation_keep_their_agents() -> None:
    joined = join_runs([run(("verify", None), agent="triage"), run(("refund", None), agent="billing")])
    policies = load_policies(
        f"{HEAD}  - {{id: P, rule: Verify by triage must happen before refund by billing.}}\n"
        "  - {id: Q, rule: Verify by billing must happen before refund by billing.}\n"
    )
    assert [one.verdict for one in judge_policies(policies, joined)] == ["ok", "violated"]


def test_orders_of_two_agents_do_not_contradict_each_other() -> None:
    policies = load_policies(
        f"{HEAD}  - {{id: P, rule: Verify by triage must happen before refund by triage.}}\n"
        "  - {id: Q, rule: Refund by billing must happen before verify by billing.}\n"
        "  - {id: N, rule: Refund by sales must never happen.}\n"
    )
    assert not lint(policies)


def test_a_sentence_that_reads_no_better_with_agents_is_refused_as_ever() -> None:
    with pytest.raises(BadInput, match="unknown name"):
        load_policies(f"{HEAD}  - {{id: P, rule: Refund by billing should maybe happen.}}\n")


@pytest.mark.parametrize(("version", "expected"), [("1.5.2", "violated"), ("1.4", "not_applicable")])
def test_a_rule_is_for_runs_of_a_version(version: str, expected: str) -> None:
    text = (
        "actions: {refund: refund}\napplies: {version: '1.5*', environment: production}\npolicies:\n"
        "  - {id: P, rule: Refund must never happen.}\n"
    )
    seen = run(("refund", None), versions={"service": version}, environment="production")
    assert [one.verdict for one in judge_policies(load_policies(text), seen)] == [expected]
    elsewhere = run(("refund", None), versions={"service": version}, environment="staging")
    assert [one.verdict for one in judge_policies(load_policies(text), elsewhere)] == ["not_applicable"]
