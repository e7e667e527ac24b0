"""Traps and shadowed rules of a guard, with the shortest example."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from collector.cli.policies import lint as command
from synth.observed.run import ToolCall
from synth.policies import load_policies
from synth.policies.lint import lint_guard
from synth.policies.online import Prefix

HEAD = "actions: {look: look, verify: verify, refund: refund, close: close, any tool: '*'}\npolicies:\n"


def found(*rules: str) -> list[tuple[str, tuple[str, ...], str]]:
    text = HEAD + "".join(f"  - {{id: R{k}, rule: {rule!r}}}\n" for k, rule in enumerate(rules))
    return [(one.code, one.policies, one.explanation) for one in lint_guard(load_policies(text))]


def test_a_trap_is_told_with_the_shortest_way_into_it() -> None:
    ((code, policies, said),) = found(
        "Refund must be followed by verify.", "Verify must happen at most 1 time."
    )
    assert (code, policies) == ("trap", ("R0",))
    assert said.startswith("after verify, refund a guard lets no call through that keeps it (Refund must be")


def test_the_way_into_a_trap_is_allowed_and_leads_nowhere() -> None:
    rules = ("Refund must be followed by verify.", "Call any tool must never happen after refund.")
    ((code, policies, said),) = found(*rules)
    assert (code, policies) == ("trap", ("R0",))
    assert said.startswith("after refund a guard")


def test_a_long_way_out_is_a_way_out() -> None:
    chain = ("Look must happen before verify.", "Verify must happen before close.")
    assert found("Refund must be followed by close.", *chain) == []


@pytest.mark.parametrize(
    "weaker", ["Refund must happen at most 3 times.", "Refund must happen at most 2 times."]
)
def test_a_weaker_rule_is_shadowed_and_not_the_stronger_one(weaker: str) -> None:
    ((code, policies, said),) = found(weaker, "Refund must happen at most 1 time.")
    assert (code, policies) == ("shadowed", ("R0", "R1"))
    assert said.endswith("it would refuse refund after refund, refund" + ", refund" * ("3" in weaker))


def test_rules_that_need_each_other_are_neither() -> None:
    assert found("Verify must happen before refund.", "Refund must be followed by close.") == []
    assert found("Verify must happen before refund.", "Look must happen before refund.") == []


def test_the_verb_tells_them_where_it_is_asked_to(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(
        HEAD + "  - {id: TOLD, rule: Refund must be followed by verify.}\n"
        "  - {id: ONCE, rule: Verify must happen at most 1 time.}\n"
    )
    assert CliRunner().invoke(command, [str(file)]).exit_code == 0
    done = CliRunner().invoke(command, [str(file), "--guard"])
    assert done.exit_code == 1
    assert f"{file}:3: trap: after verify, refund a guard lets no call" in done.output


def test_what_is_told_as_a_trap_is_one_for_a_guard() -> None:
    text = HEAD + "  - {id: A, rule: Refund must be followed by verify.}\n"
    course = Prefix(load_policies(text + "  - {id: B, rule: Verify must happen at most 1 time.}\n"))
    for tool in ("verify", "refund"):
        _, place = course.propose(ToolCall(None, tool, {}))
        assert place is not None
        course.ended(place, {})
    assert course.would(ToolCall(None, "verify", {})).refused
    assert [policy.id for policy, _ in course.owed()] == ["A"]
