"""`pdoctor policies explain FILE`: each rule in plain words, with runs that the checker judged so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from collector.cli.policies import command
from synth.policies import judge_policies, load_policies
from synth.policies.explain import COLUMNS, example, explained
from tests.support.gapped_runs import RULES, policy_file
from tests.synth.policies.test_meant import domain, read

STATED = [kind for kind in RULES if kind not in ("guard", "provenance", "contract", "behaviour")]


@pytest.mark.parametrize("kind", STATED)
def test_each_rule_of_a_kind_has_a_run_that_keeps_it_and_one_that_breaks_it(kind: str) -> None:
    policies = load_policies(policy_file(kind))
    for one, policy in zip(explained(policies), policies.policies, strict=True):
        assert one.kept is not None or policy.text == "Pay must never happen.", one
        assert one.broken is not None, one


def test_no_shorter_run_has_the_verdict() -> None:
    policies = load_policies(
        "actions: {pay: pay}\npolicies: [{id: P, rule: Pay must happen at most 3 times.}]\n"
    )
    found = example(policies.policies[0], policies, "violated")
    assert found is not None
    assert [call.tool for call in found[0].calls] == ["pay"] * 4


def test_the_command_tells_all_of_it_in_80_columns(tmp_path: Path) -> None:
    file = tmp_path / "shop.yaml"
    file.write_text(policy_file("between"))
    told = CliRunner().invoke(command, ["explain", str(file)])
    assert told.exit_code == 0, told.output
    assert max(map(len, told.output.splitlines())) <= COLUMNS
    assert "between_0: Pay must never happen between verify and refund." in told.output
    assert "broken by:" in told.output
    rows = CliRunner().invoke(command, ["explain", str(file), "--json"]).output.splitlines()
    assert json.loads(rows[0])["broken"] == "verify, pay, refund"


@pytest.mark.parametrize(
    "rule", ["Pay and verify and refund must happen before ship.", "At most twenty pays within 10 minutes."]
)
def test_rules_that_need_many_calls_have_both_runs(rule: str) -> None:
    actions = "actions: {pay: pay, verify: verify, refund: refund, ship: ship}"
    said = f"{actions}\npolicies: [{{id: P, rule: {rule}}}]\n"
    (one,) = explained(load_policies(said))
    assert one.kept is not None
    assert one.broken is not None


@pytest.mark.heavy
def test_every_rule_of_the_corpora_is_explained_by_runs_that_the_checker_judged_so() -> None:
    for file in sorted((Path(__file__).parent / "meant").glob("*.txt")):
        names, said = domain(file)
        tools = {phrase: action.names[0] for phrase, action in names.actions.items()}
        for rule in dict.fromkeys(rule for _, rule in said if rule != "?"):
            scope = "session" if "per conversation" in rule else "run"
            lines = {"scope": scope, "actions": tools, "policies": [{"id": "P", "rule": rule}]}
            if read(rule, names) is None:
                continue
            policies = load_policies(json.dumps(lines) + "\n")
            for verdict in ("ok", "violated"):
                found = example(policies.policies[0], policies, verdict)  # type: ignore[arg-type]
                if verdict == "ok" and getattr(policies.policies[0].rule, "most", None) == 0:
                    continue
                assert found is not None, (rule, verdict)
                assert judge_policies(policies, found[0])[0].verdict == verdict
