"""A plan before its first call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import pdoctor_trace
from collector.cli.check import command as check
from synth.cases.case import write_cases
from synth.errors import BadInput
from synth.policies import load_policies
from synth.policies.cased import rules_of_cases
from synth.policies.planned import Flaw, calls_of, flaws_of
from tests.support.bench_cases import order_case, timed_case

HEAD = "actions: {look: look, verify: verify, refund: refund}\npolicies:\n"
RULES = (
    HEAD + "  - {id: FIRST, rule: Verify must happen before refund.}\n"
    "  - {id: TOLD, rule: Refund must be followed by look.}\n"
)


def flaws(rules: str, *plan: Any) -> list[tuple[int | None, str, bool]]:
    return [(f.step, f.policy, f.certain) for f in flaws_of(load_policies(HEAD + rules), calls_of(plan))]


@pytest.mark.parametrize(
    ("plan", "found"),
    [
        (["verify", "refund", "look"], []),
        (["refund", "verify", "look"], [(0, "FIRST", True)]),
        (["verify", "refund"], [(None, "TOLD", True)]),
        (["refund", "refund"], [(0, "FIRST", True), (None, "TOLD", True)]),
    ],
)
def test_what_a_plan_breaks_and_what_it_leaves_undone(plan: list[str], found: list[Any]) -> None:
    assert [(f.step, f.policy, f.certain) for f in flaws_of(load_policies(RULES), calls_of(plan))] == found


@pytest.mark.parametrize(
    "rule",
    [
        "rule: Refund must start within 5 seconds after verify.",
        "rule: Refund must happen at most 1 time within 1 hour.",
        "provenance: {calls: refund, argument: order, from: verify}",
    ],
)
def test_what_times_and_results_will_tell_is_in_doubt(rule: str) -> None:
    refund = {"name": "refund", "arguments": {"order": "A-17"}}
    assert {certain for _, _, certain in flaws(f"  - {{id: R, {rule}}}\n", "verify", refund, refund)} == {
        False
    }


def test_a_rule_on_arguments_reads_those_of_the_plan() -> None:
    small = "  - {id: SMALL, guard: {calls: refund, check: args.amount <= 5}}\n"
    large = {"name": "refund", "arguments": {"amount": 9}}
    assert flaws(small, {"name": "refund", "arguments": {"amount": 5}}) == []
    assert flaws(small, "look", large, large) == [(1, "SMALL", True)]


def test_a_case_says_which_plan_is_right() -> None:
    case = order_case("The guest check must precede the refund.", ("the guest check", "the refund"))
    rules = rules_of_cases([case])
    assert flaws_of(rules, calls_of(["guest_check", "refund"])) == ()
    (flaw,) = flaws_of(rules, calls_of(["refund", "guest_check"]))
    assert (flaw.step, flaw.tool) == (0, "refund")
    (flaw,) = flaws_of(rules, calls_of(["guest_check"]))
    assert flaw == Flaw(None, None, "case-1", "the request asks for another plan. Still to do: refund.")


def test_a_timed_case_counts_with_the_minutes_that_it_says() -> None:
    case = timed_case(
        "The flour delivery must precede the baking.", {"the flour delivery": 60, "the baking": 60}
    )
    rules = rules_of_cases([case])

    def at(tool: str, start: str) -> dict[str, Any]:
        return {"name": tool, "arguments": {"start_time": start}}

    assert flaws_of(rules, calls_of([at("flour_delivery", "09:00"), at("baking", "10:00")])) == ()
    (flaw,) = flaws_of(rules, calls_of([at("flour_delivery", "09:00"), at("baking", "09:30")]))
    assert (flaw.step, flaw.certain) == (1, True)


@pytest.mark.parametrize("said", ["refund", {"steps": []}, [1], [{"tool": "refund"}], None])
def test_what_is_no_plan_is_refused(said: Any) -> None:
    with pytest.raises(BadInput, match="expected"):
        calls_of(said)


def test_a_guard_is_asked_for_a_plan_and_nothing_has_begun() -> None:
    with pdoctor_trace.guard(RULES) as guard:
        assert guard.plan(["verify", "refund", "look"]) == ()
        (flaw,) = guard.plan([{"name": "refund", "arguments": {}}, "look"])
        assert (flaw.step, flaw.policy) == (0, "FIRST")
        assert guard.counts == {}


def test_check_tells_of_each_plan_of_a_file(tmp_path: Path) -> None:
    plans, rules, cases = tmp_path / "plans.jsonl", tmp_path / "rules.yaml", tmp_path / "cases.jsonl"
    plans.write_text('["verify", "refund", "look"]\n{"plan": [{"name": "refund"}, "look"]}\n')
    rules.write_text(RULES)
    done = CliRunner().invoke(check, ["--plan", str(plans), "--policies", str(rules)])
    assert done.exit_code == 1
    assert f"{plans}:1: keeps all rules\n{plans}:2:\n  - [FIRST] step 0 (refund): Verify must" in done.output
    plans.write_text('["verify", "refund", "look"]\n')
    assert CliRunner().invoke(check, ["--plan", str(plans), "--policies", str(rules)]).exit_code == 0
    write_cases([order_case("The verify must precede the refund.", ("the verify", "the refund"))], cases)
    done = CliRunner().invoke(check, ["--plan", str(plans), "--cases", str(cases), "--json"])
    assert (done.exit_code, '"flaws":[]' in done.output.replace(" ", "")) == (0, True)
