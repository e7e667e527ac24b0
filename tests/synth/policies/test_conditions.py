"""Actions that ask what their calls are given: `refunds over 500`, in sentences and in files."""

from __future__ import annotations

import pickle
import random
from typing import Any

import pytest

from synth.errors import BadInput
from synth.observed.run import Run, ToolCall
from synth.policies import judge_policies, lint, load_policies, needs_of, reduced
from synth.policies.explain import explained
from synth.policies.kinds.guard import Guard
from synth.policies.meanings import demands_of
from synth.policies.model import PolicySet
from synth.policies.where import read_where
from tests.support.soak import seeded

HEAD = (
    "actions: {refund: refund, issue a credit: credit, review: review, book a room: book, deploy: deploy, "
    "look up: look}\npolicies:\n"
)


def policies(*rules: str) -> PolicySet:
    return load_policies(
        HEAD + "".join(f"  - {{id: P{k}, rule: {rule!r}}}\n" for k, rule in enumerate(rules))
    )


def reading(rule: str) -> str:
    return demands_of(policies(rule).policies[0].rule)


def refused(rule: str) -> str:
    with pytest.raises(BadInput) as caught:
        policies(rule)
    return caught.value.message


def run(*calls: tuple[str, Any], **fields: Any) -> Run:
    return Run("r", tuple(ToolCall(None, tool, given) for tool, given in calls), status="ok", **fields)


@pytest.mark.parametrize(
    ("sentence", "means"),
    [
        ("Review must happen before refund of more than 500.",
         "Each call of refund with amount over 500 needs an earlier success of review."),
        ("Refunding more than $1,000 requires a review first.",
         "Each call of refund with amount over 1000 needs an earlier success of review."),
        ("No credit over 500 may be issued.", "No call of credit with amount over 500."),
        ("A credit must never be issued with an amount above 500.",
         "No call of credit with amount over 500."),
        ("Issuing credits in currency EUR is forbidden.", 'No call of credit with currency "EUR".'),
        ('Never book a room for ward "ICU".', 'No call of book with ward "ICU".'),
        ("Looking up with limit over 5 must never happen.", "No call of look with limit over 5."),
        ("Never refund if it is over 500.", "No call of refund with amount over 500."),
        ("Never refund if its currency is not EUR.", 'No call of refund with currency other than "EUR".'),
        ("Refund whose amount does not exceed 5 must never happen.",
         "No call of refund with amount of at most 5."),
        ("Refund with force true must never happen.", "No call of refund with force true."),
        ("Never refund for customer id 7.", "No call of refund with customer_id 7."),
        ("Never refund unless the amount is below 500.", "No call of refund with amount of at least 500."),
        ("When the amount of the refund is over 500, review must happen before refund.",
         "Each call of refund with amount over 500 needs an earlier success of review."),
        ("Never refund whose priority is high.", 'No call of refund with priority "high".'),
        ("Never refund with priority set to high.", 'No call of refund with priority "high".'),
        ("No refund may exceed $500.", "No call of refund with amount over 500."),
        ("A credit's amount must be at most 50.", "No call of credit with amount over 50."),
        ("Never refund more than 250 in one go.", "No call of refund with amount over 250."),
        ("Every credit must state a reason.", "No call of credit whose reason is missing."),
        ('A room may only be booked for ward "ICU" or "ER".',
         'No call of book with ward other than "ICU" or "ER".'),
        ('Do not deploy to "production".', 'No call of deploy with an argument "production".'),
        ("Refund must happen at most 3 times with the same id.",
         "Calls of refund with the same id: at most 3."),
    ],
)  # fmt: skip
def test_a_condition_is_read(sentence: str, means: str) -> None:
    if means.startswith("Calls of"):
        assert "with the same id" in reading(sentence)
    else:
        assert reading(sentence) == means


@pytest.mark.parametrize(
    ("sentence", "why"),
    [
        ("Review and refund over 500 must never happen.", "after a list"),
        ("Refund must be called with an amount below 1000.",
         "'Refund with amount of at least 1000 must never happen'"),
        ("Never refund without an approval.", ""),
        ("Refunds over 5 minutes must never happen.", ""),
        ("When a credit is refused, review must happen.", ""),
        ("Refunds must not exceed 500.", ""),
        ("Refund with an amount over 500 and a review over 5 must never happen.", "argument or an action"),
        ("If the review's level is over 2, review must happen before refund.", "about all calls"),
        ("Refund must happen at least once if the amount is over 500.", "where every run needs one"),
        ("Review must happen before refund only if the refund's amount is over 500.", ""),
        ("Never refund if the status is approved.", ""),
        ("A refund must not exceed 3 per day.", ""),
        ("Every credit must carry a review.", ""),
    ],
)  # fmt: skip
def test_what_may_be_meant_otherwise_is_refused(sentence: str, why: str) -> None:
    assert why in refused(sentence)


@pytest.mark.parametrize(
    ("given", "verdict", "why"),
    [
        ({"amount": 501}, "violated", ""),
        ({"amount": 500}, "not_applicable", ""),
        ({"amount": "501"}, "undecided", "refund (call 0) is one with amount over 500 is open"),
        ({"amount": True}, "undecided", "not a number"),
        ({"amounts": 501}, "undecided", "did you mean 'amounts'?"),
        (None, "undecided", "was not kept"),
    ],
)  # fmt: skip
def test_a_value_that_decides_nothing_leaves_the_rule_open(given: Any, verdict: str, why: str) -> None:
    [found] = judge_policies(policies("Refund over 500 must never happen."), run(("refund", given)))
    assert found.verdict == verdict
    assert why in found.explanation


def test_a_doubt_that_changes_nothing_is_none() -> None:
    rule = policies("Review must happen before refund over 500.")
    calls = ("refund", {"amount": 600}), ("refund", {"amount": "?"})
    [found] = judge_policies(rule, run(*calls))
    assert (found.verdict, found.violations) == ("violated", (0,))
    [found] = judge_policies(rule, run(("refund", {"amount": "?"}), ("refund", {"amount": 5})))
    assert found.verdict == "undecided"


def test_many_doubts_are_not_tried() -> None:
    calls = [("refund", {"amount": "?"})] * 40
    [found] = judge_policies(policies("Refund over 500 must happen at most 50 times."), run(*calls))
    assert found.verdict == "undecided"
    assert "(and 39 more)" in found.explanation


def test_a_file_may_name_calls_with_certain_arguments() -> None:
    text = """\
actions:
  - {phrase: large refund, tool: refund, where: "args.amount > 500 && args.currency == \\"EUR\\""}
policies:
  - {id: P, rule: Large refund must never happen.}
"""
    found = load_policies(text)
    [(verdict)] = [
        one.verdict for one in judge_policies(found, run(("refund", {"amount": 600, "currency": "EUR"})))
    ]
    assert verdict == "violated"
    assert judge_policies(found, run(("refund", {"amount": 600, "currency": "USD"})))[0].verdict != "violated"
    assert pickle.loads(pickle.dumps(found)).policies == found.policies
    with pytest.raises(BadInput, match=r"actions\[0\].where: cannot read"):
        load_policies(text.replace("&&", "||"))


def test_conditions_compare_as_guards_do() -> None:
    asked = {
        "args.n > 2": "args.n > 2", "args.n <= 2": "args.n <= 2", "args.n != 2": "args.n != 2",
        'args.t == "a"': 'args.t == "a"', 'args.t in ["a", "b"]': 'args.t in ["a", "b"]',
        "args.b == true": "args.b == true", '!(args.t in ["a"])': '!(args.t in ["a"])',
    }  # fmt: skip
    for where, check in asked.items():
        guard = load_policies(
            f"actions: {{f: f}}\npolicies:\n- id: P\n  guard: {{calls: f, check: '{check}'}}\n"
        )
        assert isinstance(guard.policies[0].rule, Guard)
        for given in ({"n": n, "t": t, "b": b} for n in (1, 2, 2.5, 3) for t in "abc" for b in (True, False)):
            kept = judge_policies(guard, run(("f", given)))[0].verdict == "ok"
            assert read_where(where).holds(lambda path, given=given: given[path[0]]) is kept


def test_other_runs_of_a_conversation_keep_what_a_condition_asks_for() -> None:
    needs = needs_of([policies("Review must happen before refund over 500.")])
    kept = reduced(run(("refund", {"amount": 501}), ("review", {"by": "me"})), needs)
    assert [call.arguments for call in kept.calls] == [{"amount": 501}, None]


def test_rules_about_different_calls_do_not_contradict_each_other() -> None:
    assert not lint(
        policies(
            "Refund over 500 must never happen.", "Refund of at most 500 must happen at least 1 time.",
            "Review must happen before refund.",
        )
    )  # fmt: skip


def test_a_ban_of_some_calls_is_no_ban_of_the_tool() -> None:
    found = lint(policies("Review over 5 must never happen.", "Review must happen before refund."))
    assert not [problem for problem in found if problem.code in ("contradiction", "never_applies")]


def test_what_is_explained_has_arguments_that_meet_the_condition() -> None:
    [said] = explained(policies("Review must happen before refund over 500 EUR."))
    assert said.broken == "refund(amount=501)"
    assert said.kept == "review, refund(amount=501)"
    assert "EUR is not compared" in said.applies


def test_a_repair_adds_no_call_whose_arguments_nobody_knows() -> None:
    [found] = judge_policies(policies("Review over 5 must happen before refund."), run(("refund", {})))
    assert (found.verdict, found.repair) == ("violated", None)
    [found] = judge_policies(
        policies('Review with kind "full" must happen before refund.'), run(("refund", {}))
    )
    assert found.repair is not None
    assert found.repair.added == (("review", {"kind": "full"}),)


WORDS = (
    "over 500", "with a reason", "in currency EUR", "if the amount is over 5", 'for ward "ICU"', "of type 3",
    "except EUR", "and a currency other than EUR", 'with priority "high" or "low"', "whose status is open",
    "unless the amount is below 7", 'to "x"', "within 5 minutes", "without giving a reason", "or USD",
    "between 5 and 7", "and review", "with the same id", "at most twice", "after review",
)  # fmt: skip
BEGIN = (
    "Refund {} must never happen", "Never refund {}", "Refund must never happen {}",
    "No credit {} may be issued", "Review must happen before refund {}",
    "{} refund must happen before review", "Issuing a credit {} is forbidden",
    "Refund {} must happen at most twice {}", "Deploy {} must never happen after review {}",
)  # fmt: skip
NUMBERS_AND_VALUES = ("500", "EUR", "ICU", "3", "high", "low", "open", "7", "5", "USD", "x")


def test_no_word_of_a_condition_is_dropped() -> None:
    """Each value of a sentence that is read is in what it was read as."""
    with seeded() as r:
        for _ in range(300):
            sentence = some_sentence(r)
            try:
                found = reading(f"{sentence[0].upper()}{sentence[1:]}.")
            except BadInput:
                continue
            for value in NUMBERS_AND_VALUES:
                said = len([word for word in words(sentence) if word == value])
                assert len([word for word in words(found) if word == value]) >= min(said, 1), (
                    sentence,
                    found,
                )
            assert ("reason" in sentence) <= ("reason" in found), (sentence, found)


def words(text: str) -> list[str]:
    return "".join(c if c.isalnum() else " " for c in text).split()


def some_sentence(r: random.Random) -> str:
    form = r.choice(BEGIN)
    while "{}" in form:
        form = form.replace("{}", " ".join(r.sample(WORDS, r.randint(1, 2))), 1)
    return form
