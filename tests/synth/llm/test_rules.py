"""Rules that a model finds in a text are read, compared and tried on runs; nothing is accepted by itself."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from synth.errors import BadInput
from synth.llm.chat import NoAnswer
from synth.llm.rules import (
    Proposal,
    actions_of,
    contradictions,
    evidence,
    line_of,
    named_after,
    policy_file,
    propose,
    read,
    written_anew,
)
from synth.observed.run import Run
from synth.policies import Tools, load_policies
from tests.support.building import run
from tests.support.scripted_model import Messages, in_turn, serving

TEXT = """You help customers.
Always verify who the customer is
before you refund anything, and never refund twice.
Be polite. The word of a manager beats all "rules": {format}"""
ACTIONS = named_after(["verify_identity", "refund_payment"])
VERIFY = {
    "source": "verify who the customer is before you refund anything",
    "rule": "Verify identity must happen before refund payment.",
}
ONCE = {"source": "never refund twice", "rule": "Refund payment must happen at most 1 time."}
INVENTED = {"source": "always be on time", "rule": "Refund payment must happen before 17:00."}
UNREADABLE = {"source": "Be polite.", "rule": "The agent must be polite."}


def proposed(*answers: object, **options: int) -> tuple[tuple[Proposal, ...], list[Messages]]:
    script = in_turn(*(one if isinstance(one, str) else json.dumps(one) for one in answers))
    with serving(script) as client:
        return propose(TEXT, ACTIONS, client, "scripted", **options), script.asked


def test_what_two_answers_have_is_in_no_doubt_and_comes_with_its_words_and_its_reading() -> None:
    other = {**VERIFY, "rule": "Before refund payment, verify identity must happen."}
    (verify, once), asked = proposed([VERIFY, ONCE], f"```json\n{json.dumps([ONCE, other])}\n```")
    assert (verify.source, verify.line, verify.doubts) == (VERIFY["source"], 2, ())
    assert verify.reading == "Each call of refund_payment needs an earlier success of verify_identity."
    assert (once.line, once.doubts) == (3, ())
    assert once.to_json()["kind"] == "count"
    prompt = asked[0][-1]["content"]
    assert TEXT in prompt
    assert "- verify identity\n- refund payment\n" in prompt
    assert len(asked) == 2


def test_what_only_one_answer_has_is_in_doubt() -> None:
    (verify, once), _ = proposed([VERIFY, ONCE], [VERIFY])
    assert verify.doubts == ()
    assert once.doubts == ("1 of 2 answers have it",)


def test_words_that_the_text_does_not_have_are_sent_back_and_then_doubted() -> None:
    (invented,), asked = proposed([INVENTED], [INVENTED], samples=1)
    assert invented.line is None
    assert invented.doubts == ("its source words are not in the text",)
    assert "source words are not in the text" in asked[1][-1]["content"]


def test_a_sentence_that_cannot_be_read_is_corrected_with_the_parsers_message() -> None:
    (rule,), asked = proposed([UNREADABLE], [VERIFY], samples=1)
    assert rule.sentence == VERIFY["rule"]
    said = asked[1][-1]["content"]
    assert "'The agent must be polite.'" in said
    assert [message["role"] for message in asked[1]] == ["system", "user", "assistant", "user"]


def test_a_sentence_that_stays_unreadable_is_shown_without_a_rule() -> None:
    (rule,), _ = proposed([UNREADABLE], [UNREADABLE], samples=1)
    assert (rule.rule, rule.reading) == (None, "")
    assert len(rule.doubts) == 1


NO_RULES = (
    "Here you are:",
    '{"rule": 1}',
    '["a"]',
    '[{"source": "Be polite."}]',
    '[{"source": " ", "rule": "x"}]',
)


@pytest.mark.parametrize("answer", NO_RULES)
def test_an_answer_that_is_no_list_of_rules_is_asked_for_again(answer: str) -> None:
    (rule,), asked = proposed(answer, [VERIFY], samples=1)
    assert rule.line == 2
    assert "expected a JSON list" in asked[1][-1]["content"]
    with pytest.raises(NoAnswer, match="wrote no rules: expected a JSON list"):
        proposed(answer, answer, samples=1)


def test_one_useless_answer_leaves_the_other_in_doubt() -> None:
    (rule,), _ = proposed("Hm.", "Hm.", [VERIFY])
    assert rule.doubts == ("1 of 2 answers have it",)


def test_a_text_that_demands_nothing_has_no_rules() -> None:
    assert proposed([], [])[0] == ()
    with pytest.raises(BadInput, match="empty"), serving(in_turn()) as client:
        propose(" \n", ACTIONS, client, "scripted")


def test_source_words_are_found_across_lines_and_capitals_and_not_elsewhere() -> None:
    assert line_of("VERIFY who the customer is before", TEXT) == 2
    assert line_of("“Be polite.”", TEXT) == 4
    assert line_of("verify the customer", TEXT) is None
    assert line_of("...", TEXT) is None


# ---------------------------------------------------------------- what runs say

AB = {"A": Tools("A", ("do_a",)), "B": Tools("B", ("do_b",))}


def named(name: str) -> Run:
    return replace(run("b"), id=name)


def test_runs_that_break_a_rule_are_named_with_what_happened() -> None:
    rule, refused = (read(("x", said), "x", AB) for said in ("A must happen before B.", "Hm."))
    runs = [run("a b"), named("bad"), run("a"), *map(named, ("bad 0", "bad 1", "bad 2"))]
    seen, nothing = evidence([rule, refused], AB, runs)
    assert seen.verdicts == {"ok": 1, "violated": 4, "not_applicable": 1}
    assert seen.text == "4 of 6 runs break it, 1 keep it, 1 do not need it"
    assert [name for name, _ in seen.broken] == ["bad", "bad 0", "bad 1"]
    assert "needs an earlier success of A" in seen.broken[0][1]
    assert (nothing.verdicts, nothing.broken) == ({}, ())


# ---------------------------------------------------------------- the policy file


def test_accepted_rules_are_a_policy_file_with_the_words_that_they_come_from() -> None:
    proposals = [read((one["source"], one["rule"]), TEXT, ACTIONS) for one in (VERIFY, ONCE, UNREADABLE)]
    text = policy_file(proposals, [0], ACTIONS, "prompt\n.txt")
    policies = load_policies(text)
    assert [(one.id, one.sentence) for one in policies.policies] == [
        ("verify-identity-must-happen-before-refund-payment", VERIFY["rule"])
    ]
    assert "  # “verify who the customer is before you refund anything” (line 2)\n" in text
    assert "#    rule: Refund payment must happen at most 1 time.\n" in text
    assert "prompt .txt" in text
    assert contradictions(text) == ()


def test_what_stands_as_a_comment_can_be_switched_on() -> None:
    proposals = [read((one["source"], one["rule"]), TEXT, ACTIONS) for one in (VERIFY, ONCE)]
    text = policy_file(proposals, [0], ACTIONS, "x")
    head, tail = text.split("# Not accepted:\n")
    switched_on = head + "".join(f"{line.removeprefix('#')}\n" for line in tail.splitlines())
    assert len(load_policies(switched_on).policies) == 2


def test_nothing_accepted_is_an_empty_policy_file() -> None:
    assert load_policies(policy_file([], [], {}, "x")).policies == ()


def test_rules_that_contradict_each_other_are_told() -> None:
    both = [read(("x", said), "x", AB) for said in ("A must happen before B.", "B must happen before A.")]
    both.append(read(("x", "A must happen at least 1 time."), "x", AB))
    assert [one.code for one in contradictions(policy_file(both, [0, 1, 2], AB, "x"))] == ["contradiction"]


def test_equal_sentences_get_ids_of_their_own() -> None:
    twice = [read(("x", "A must happen before B."), "x", AB)] * 2
    ids = [one.id for one in load_policies(policy_file(twice, [0, 1], AB, "x")).policies]
    assert ids == ["a-must-happen-before-b", "a-must-happen-before-b-2"]


def test_names_of_a_policy_file_keep_their_tools_and_agents() -> None:
    given = load_policies(
        "actions:\n  - {phrase: pay, tools: [pay_card, 'pay:cash'], agent: till}\n"
        "  - {phrase: 'yes', tool: y}\npolicies: []\n"
    )
    actions = actions_of(given)
    rule = read(("x", "Pay must happen at most 1 time."), "x", actions)
    again = load_policies(policy_file([rule], [0], actions, "x"))
    assert actions_of(again) == actions
    assert set(actions) == {"pay", "yes"}


def test_a_person_may_write_another_rule_for_the_same_words() -> None:
    one = read(("x", "Hm."), "x", AB)
    anew = written_anew(one, "B must  happen before A.", AB)
    assert (anew.source, anew.sentence, anew.doubts) == ("x", "B must happen before A.", ())
    with pytest.raises(BadInput):
        written_anew(one, "B must be blue.", AB)
