"""Sentences in prose that name one thing are about each such thing, where calls say which."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from synth.judge import Rules
from synth.observed.run import Run, ToolCall
from synth.policies import PolicySet, judge_policies, load_policies
from synth.policies.evidence import Each, Evidence
from synth.policies.explain import explained
from synth.policies.kinds.each import each_in_words
from synth.policies.kinds.kind import answer
from synth.policies.meanings import reading_of
from synth.policies.online import Prefix
from tests.support.gapped_runs import complete_run, policy_file, without

HEAD = (
    "actions: {record the consent: consent, screen the patient: screen, withdraw the patient: withdraw,"
    " clean the room: clean, any tool: '*'}\npolicies:\n"
)
CONSENT = "Consent has to be recorded before the patient is screened."
OFF = Rules(z3="off")


def rules(*sentences: str) -> PolicySet:
    return load_policies(HEAD + "".join(f"  - {{id: P{k}, rule: {s!r}}}\n" for k, s in enumerate(sentences)))


def verdict(sentence: str, *calls: ToolCall) -> str:
    (found,) = judge_policies(rules(sentence), Run("r", calls), rules=OFF)
    return found.verdict


def call(tool: str, failed: bool = False, **arguments: Any) -> ToolCall:
    return ToolCall(None, tool, arguments, error="no" if failed else None)


@pytest.mark.parametrize("key", ["patient", "patient_id", "patientId", "patient_number", "patientNumber"])
@pytest.mark.parametrize(
    ("sentence", "first"),
    [
        (CONSENT, "consent"),
        ("Do not screen a patient unless consent has been recorded.", "consent"),
        ("A patient may only be screened after the consent has been recorded.", "consent"),
        ("Before you screen any patient, record the consent.", "consent"),
        ("Never screen a patient until the consent was recorded.", "consent"),
    ],
)
def test_an_order_is_one_of_each_thing(sentence: str, first: str, key: str) -> None:
    assert verdict(sentence, call(first, **{key: 1}), call("screen", **{key: 1})) == "ok"
    assert verdict(sentence, call(first, **{key: 2}), call("screen", **{key: 1})) == "violated"


@pytest.mark.parametrize(
    "sentence",
    [
        "Once a patient has been withdrawn, no patient may be screened.",
        "Do not screen a patient after the patient was withdrawn.",
        "If a patient is withdrawn, that patient must not be screened afterwards.",
    ],
)
def test_a_ban_is_one_of_each_thing(sentence: str) -> None:
    assert verdict(sentence, call("withdraw", patient=2), call("screen", patient=1)) == "ok"
    assert verdict(sentence, call("withdraw", patient=1), call("screen", patient=1)) == "violated"


def test_an_answer_and_a_failed_trigger_are_of_each_thing() -> None:
    answered = "After a patient has been screened, the room must be cleaned."
    assert verdict(answered, call("screen", patient=1, room=1), call("clean", room=2)) == "violated"
    assert verdict(answered, call("screen", patient=1, room=1), call("clean", room=1)) == "ok"
    failed = "If screening a patient fails, the patient must be withdrawn."
    assert verdict(failed, call("screen", failed=True, patient=1), call("withdraw", patient=2)) == "violated"


@pytest.mark.parametrize(
    "sentence",
    [
        "Record the consent must happen before screen the patient.",
        "Screen the patient must never happen unless record the consent has happened.",
        "Consents have to be recorded before patients are screened.",
        "Record consents before screening patients.",
    ],
)
def test_the_language_s_own_sentences_and_several_things_are_about_any_calls(sentence: str) -> None:
    assert verdict(sentence, call("consent", patient=2), call("screen", patient=1)) == "ok"


def test_what_is_asked_of_all_tools_or_of_an_argument_is_about_any_calls() -> None:
    after = "After a patient has been withdrawn, nothing may happen any more."
    assert verdict(after, call("withdraw", patient=1), call("clean", room=1)) == "violated"
    amount = "Only screen a patient with amount over 5 after the consent has been recorded."
    assert verdict(amount, call("consent", amount=1), call("screen", amount=9)) == "ok"


def test_several_things_are_compared_where_all_calls_have_them() -> None:
    both = "The patient may only be screened after the room was cleaned."
    assert verdict(both, call("clean", room=1), call("screen", room=1, patient=1)) == "ok"
    assert verdict(both, call("clean", room=2), call("screen", room=1, patient=1)) == "violated"
    assert verdict(both, call("clean", room=1, patient=2), call("screen", room=1, patient=1)) == "violated"


def test_where_calls_of_a_tool_never_say_which_any_of_them_count() -> None:
    assert verdict(CONSENT, call("consent"), call("screen", patient=1)) == "ok"
    (found,) = judge_policies(
        rules("Once a patient is withdrawn, no patient may be screened."),
        Run("r", (call("withdraw"), call("screen", patient=1))),
    )
    assert found.verdict == "violated"
    assert "Not every tool has the argument 'patient'" in found.explanation


def test_of_a_call_that_alone_lacks_it_nothing_is_guessed() -> None:
    calls = (call("consent", patient=2), call("consent"), call("screen", patient=1))
    assert verdict(CONSENT, *calls) == "undecided"


def test_arguments_that_were_not_recorded_leave_open_what_hangs_on_them() -> None:
    bare = [ToolCall(None, tool, None) for tool in ("consent", "screen")]
    assert verdict(CONSENT, *bare) == "undecided"
    assert verdict(CONSENT, bare[1]) == "undecided"
    assert verdict(CONSENT, bare[0]) == "not_applicable"
    hidden = replace(bare[0], partly={"arguments": "absent"})
    assert verdict(CONSENT, hidden, call("screen", patient=1)) == "undecided"
    ban = "Do not screen a patient after the patient was withdrawn."
    assert verdict(ban, bare[1], ToolCall(None, "withdraw", None)) == "ok"
    assert verdict(ban, ToolCall(None, "withdraw", None), bare[1]) == "undecided"


def test_it_is_told_in_words() -> None:
    (policy,) = rules(CONSENT).policies
    assert each_in_words(policy.rule) == "for each patient, where calls say which"
    assert reading_of(policy.rule).endswith(" For each patient, where calls say which.")
    (one,) = explained(rules(CONSENT))
    assert one.breaks.endswith("; for each patient, where calls say which")
    assert one.broken is not None
    assert each_in_words(rules("Record the consent must happen before screen the patient.").policies[0]) == ""


def test_a_repair_is_one_of_the_same_thing() -> None:
    calls = (call("consent", patient=2), call("screen", patient=1))
    (found,) = judge_policies(rules(CONSENT), Run("r", calls))
    assert found.repair is not None
    assert found.repair.added == (("consent", {"patient": 1}),)


KINDS = (
    "precedence",
    "response",
    "absence_after",
    "between",
    "adjacency",
    "next_call",
    "times_before",
    "paired",
    "against",
)


@pytest.mark.parametrize("kind", KINDS)
def test_with_calls_missing_the_verdict_is_that_on_the_whole_run_or_none(kind: str) -> None:
    r = random.Random(f"things {kind}")
    path = (Each("id"),)
    said = [policy.rule for policy in load_policies(policy_file(kind)).policies]
    each: list[Any] = [
        replace(rule, same=((path, path),))
        for rule in said
        if not rule.same  # type: ignore[attr-defined,type-var]
    ]
    decided = 0
    for _ in range(150):
        whole = complete_run(r)
        rest = (
            without(whole, r.sample(range(len(whole.calls)), min(2, len(whole.calls))))
            if whole.calls
            else whole
        )
        for rule in each:
            found, known = (answer(rule, Evidence(run), OFF).verdict for run in (rest, whole))
            assert {found, known} & {"undecided", "unsupported"} or found == known, (rule, whole, rest)
            decided += found == known
    assert decided > 50


PROSE = (
    CONSENT,
    "Once a patient has been withdrawn, no patient may be screened.",
    "Do not screen a patient within 5 seconds after the patient was withdrawn.",
    "Once a patient has been withdrawn, no patient may be screened until the consent has been recorded.",
    "If recording the consent fails, the patient must not be screened afterwards.",
    "Every screening of a patient needs its own consent recording.",
)


@pytest.mark.parametrize("sentence", PROSE[:5])
def test_a_guard_and_the_judge_agree(sentence: str) -> None:
    """What is refused would have broken the rule, and what was let through did not."""
    r = random.Random(sentence)
    policies, refused = rules(sentence), 0
    for _ in range(60):
        dumb = r.choice(("consent", "screen", "withdraw", "", ""))
        course, made, at = Prefix(policies), [], 10**9
        for _ in range(8):
            tool, at = r.choice(("consent", "screen", "withdraw")), at + r.choice((1, 3, 7)) * 10**9
            one = ToolCall(None, tool, {} if tool == dumb else {"patient_id": r.choice((1, 2))})
            error = r.choice((None, None, "no"))
            over = replace(one, start=(at, at), end=(at + 1, at + 1), error=error)
            decision, place = course.propose(one, at)
            (found,) = judge_policies(policies, Run("r", (*made, over)), rules=OFF)
            assert decision.refused is (found.verdict == "violated"), (made, over, found)
            refused += decision.refused
            if place is not None:
                course.ended(place, {}, error, at + 1)
                made.append(over)
    assert refused > 10
