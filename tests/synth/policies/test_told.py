"""Violated policies in lines of text, as terminals, reports and failed tests show them."""

from __future__ import annotations

import pytest

from synth.policies import PolicyResult, judge_policies
from synth.policies.told import LONGEST, broken_rule, told
from tests.support.building import call, run
from tests.support.policing import judged, policy, rules_file


def lines(result: PolicyResult) -> list[str]:
    return list(told(result.to_json()))


def test_a_violation_is_told_with_its_rule_and_what_would_have_worked() -> None:
    assert lines(judged("A must happen before B, and B must happen before C.", "b a")) == [
        "[P0] B (call 0) needs an earlier success of A.",
        "rule: “A must happen before B”",
        "would have worked: do_a (call 1, moved), do_b (call 0)",
    ]


@pytest.mark.parametrize(
    ("sentence", "calls", "expected"),
    [
        ("A must never happen.", "a c", "the same without call 0"),
        ("A must happen at most once.", "a a a", "do_a (call 0) without calls 1, 2"),
        ("A must happen before B.", "b", "do_a (new), do_b (call 0)"),
    ],
)
def test_plans_in_words(sentence: str, calls: str, expected: str) -> None:
    assert lines(judged(sentence, calls))[-1] == f"would have worked: {expected}"


def test_a_new_call_is_told_with_its_arguments() -> None:
    result = judged("A must happen before B with the same id.", [call("b", arguments={"id": "x"})])
    assert lines(result)[-1] == "would have worked: do_a (new, with id='x'), do_b (call 0)"


def test_of_a_long_plan_what_changed_is_told() -> None:
    result = judged("A must happen before B.", "b b b b b b b b b b a b b b b")
    assert lines(result)[-1] == "would have worked: do_a (call 10, moved), do_b (call 0), ..."
    result = judged("A must be followed by B.", "b " + "a " * 13)
    assert lines(result)[-1] == "would have worked: ..., do_a (call 13), do_b (call 0, moved)"


def test_other_policies_that_a_plan_keeps_are_told() -> None:
    rules = rules_file("A must happen before B.", *(f"{a} must happen at most 9 times." for a in "ABCABC"))
    assert lines(judge_policies(rules, run("b a"))[0])[-1].endswith("; it also keeps P1, P2, P3, P4, P5, ...")


def test_what_is_not_known_is_left_out() -> None:
    old = {"policy": "p", "verdict": "violated", "explanation": "It broke."}
    assert list(told(old)) == ["[p] It broke."]


def test_a_rule_is_told_with_its_own_text_and_file() -> None:
    said = {"text": "Small sums.", "sentence": "args.n < 3", "span": [0, 10], "file": "shop", "version": 2}
    assert broken_rule(said) == "Small sums. “args.n < 3” (shop, version 2)"
    assert (
        broken_rule({**said, "version": None, "file": "shop.yaml"}) == "Small sums. “args.n < 3” (shop.yaml)"
    )
    assert broken_rule({**said, "text": "args.n < 3", "file": None, "version": None}) == "“args.n < 3”"
    assert broken_rule({**said, "span": None}).startswith("Small sums. “args.n < 3”")
    assert (
        len(
            broken_rule(
                {**said, "sentence": "x" * 1000, "span": None, "text": None, "file": None, "version": None}
            )
        )
        == LONGEST + 2
    )


def test_a_guard_without_a_text_is_told_by_its_condition() -> None:
    result = judged(policy("guard: {calls: A, check: args.n < 3}"), [call("a", arguments={"n": 7})])
    assert result.text == "args.n < 3"
    assert lines(result)[1:] == ["rule: “args.n < 3”"]
