"""Every result says which rule it is about, and a violation which words of it were broken."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from synth.observed.run import Run, ToolCall
from synth.policies import PolicyResult, judge_policies, load_policies, policy_result_from_json
from synth.policies.stated import stated_policies
from tests.support.building import call, run
from tests.support.policing import judged, policy, rules_file

NOON = 12 * 3600.0


def broken(result: PolicyResult) -> str | None:
    """The words of the result's sentence that were broken."""
    assert result.verdict == "violated", result
    if result.span is None:
        return None
    assert result.sentence is not None
    return result.sentence[slice(*result.span)]


@pytest.mark.parametrize(
    ("sentence", "calls", "words"),
    [
        ("A must happen before B.", "b a", "A must happen before B"),
        ("A must  happen before B .", "b a", "A must happen before B"),
        ("A must happen before B, and B must happen before C.", "b a c", "A must happen before B"),
        ("A must happen before B, and B must happen before C.", "a c b", "B must happen before C"),
        ("A must happen before B, and B must happen before C.", "c b", None),
        ("C should follow B, which must come after A.", "b c", "which must come after A"),
        ("A must be followed by B.", "a", "A must be followed by B"),
        ("A must happen at most once.", "a a", "A must happen at most once"),
        ("A must happen at least twice.", "a", "A must happen at least twice"),
        ("A and C must never happen.", "a", "A and C must never happen"),
        ("A must happen immediately before B.", "a c b", "A must happen immediately before B"),
        ("A must never happen after B.", "b a", "A must never happen after B"),
    ],
)
def test_a_violation_names_the_clause_that_was_broken(sentence: str, calls: str, words: str | None) -> None:
    result = judged(sentence, calls)
    assert broken(result) == words
    assert result.sentence == " ".join(sentence.split())


def test_the_same_arguments_belong_to_the_words_of_a_sentence_of_one_clause() -> None:
    calls = [call("b", arguments={"id": 1}), call("a", arguments={"id": 1})]
    said = "A must happen before B with the same id"
    assert broken(judged(f"{said}.", calls)) == said


@pytest.mark.parametrize(
    ("start", "words"),
    [(11 * 3600.0, "A must happen after 12:00"), (13 * 3600.0, None), (16 * 3600.0, None)],
)
def test_a_clock_time_is_named_alone(start: float, words: str | None) -> None:
    sentence = "A must happen after 12:00, and B must happen before 15:00."
    made = [call("a", start, start + 60), call("b", 15 * 3600.0, 15 * 3600.0 + 60)]
    expected = "B must happen before 15:00" if words is None else None
    assert broken(judged(sentence, made)) == expected
    if words is not None:
        assert broken(judged(sentence, made[:1])) == words


def test_two_limits_of_one_action_are_not_told_apart() -> None:
    sentence = "A must happen after 12:00, and A must happen before 15:00."
    assert broken(judged(sentence, [call("a", NOON - 60, NOON - 30)])) is None


def test_what_is_not_violated_has_a_sentence_and_no_broken_words() -> None:
    for calls, verdict in (("a b", "ok"), ("c", "not_applicable")):
        result = judged("A must happen before B.", calls)
        assert (result.verdict, result.sentence, result.span) == (verdict, "A must happen before B.", None)


def test_words_that_an_unseen_call_may_have_kept_are_not_named() -> None:
    sentence = "A must happen before B, and C must happen before A."
    assert broken(judged(sentence, run("b a"))) is None
    gapped = run("b a", problems=("a hole",), tools=("do_b", "do_c"))
    assert broken(judged(sentence, gapped)) == "A must happen before B"


def test_a_guard_names_its_condition() -> None:
    result = judged(
        policy("text: Small sums.\nguard: {calls: A, check: args.n <= 3}"), [call("a", arguments={"n": 4})]
    )
    assert (result.text, broken(result)) == ("Small sums.", "args.n <= 3")


CONTRACT = """
contract:
  goal: [done]
  on_violation: skip
  tools:
    do_a: {requires: [open, not shut], provides: [ready], check: args.n < 3}
    do_b: {provides: [open, "key {n}"]}
    do_c: {requires: ["key {n}"], provides: [done]}
"""


@pytest.mark.parametrize(
    ("calls", "words"),
    [
        ([call("a", arguments={"n": 1})], "open"),
        ([call("b"), call("a", arguments={"n": 7})], "args.n < 3"),
        ([call("b", arguments={"n": 1}), call("c", arguments={"n": 2})], "key {n}"),
        ([call("b")], "done"),
        ([call("a", arguments={"n": 1}), call("a", arguments={"n": 1})], None),
        ([call("c")], None),
    ],
)
def test_a_contract_names_the_requirement_that_failed(calls: Sequence[ToolCall], words: str | None) -> None:
    result = judged(policy(CONTRACT), calls)
    assert broken(result) == words
    assert result.sentence == (
        "do_a requires open and not shut and args.n < 3, provides ready; do_b provides open and key {n}; "
        "do_c requires key {n}, provides done; goal: done"
    )


def test_a_fact_that_must_hold_is_told_from_one_that_must_not() -> None:
    rules = policy('contract: {tools: {do_a: {requires: ["key {n}", "not key {m}"]}}}')
    assert broken(judged(rules, [call("a", arguments={"n": 1, "m": 2})])) == "key {n}"


def test_several_failed_requirements_of_one_call_are_no_single_words() -> None:
    both = "contract: {tools: {do_a: {requires: [x, y]}}}"
    assert broken(judged(policy(both), "a")) is None


def test_values_from_nowhere_and_specifications_are_shown() -> None:
    made = [call("b", result={"id": 1}), call("a", arguments={"id": 7})]
    result = judged(policy("provenance: {calls: A, argument: id, from: B, in: id}"), made)
    assert broken(result) == "id of A from a result of B at id"
    result = judged(policy("behaviour: (next do_a do_b)"), "b a")
    assert (broken(result), result.sentence) == (None, "(next do_a do_b)")


def test_the_file_is_named_without_its_folder(tmp_path: Path) -> None:
    file = tmp_path / "shop.yaml"
    file.write_text("actions: {A: do_a}\npolicies: [{id: p, rule: A must never happen.}]\n")
    (result,) = judge_policies(load_policies(file), run("a"))
    assert (result.file, result.version) == ("shop.yaml", None)
    assert judged(rules_file("A must never happen."), "a").file is None


def test_rules_of_a_request_are_shown_too() -> None:
    stated = stated_policies("Pack it. Do a must happen before do b.", ("do_a", "do_b"), anywhere=True)
    assert stated is not None
    (result,) = judge_policies(stated, run("b a"))
    assert (result.file, broken(result)) == (None, "Do a must happen before do b")


def test_a_result_of_an_older_version_can_be_read() -> None:
    old = {
        "run_id": "r",
        "policy": "p",
        "verdict": "violated",
        "violations": [0],
        "explanation": "",
        "valid": 1,
    }
    result = policy_result_from_json(old)
    assert (result.text, result.sentence, result.span, result.details) == (None, None, None, {"valid": 1})


def test_a_run_that_could_not_be_judged_still_names_the_rule(tmp_path: Path) -> None:
    from synth.judge_process import SolverProcess

    policies = rules_file("A must happen before B.")
    with SolverProcess(limit_seconds=0.0) as solver:
        (result,) = solver.judge_policies(policies, Run("r", run("b a").calls))
    assert (result.verdict, result.sentence) == ("undecided", "A must happen before B.")
