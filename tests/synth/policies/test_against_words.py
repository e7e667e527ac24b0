"""The ways to say how an argument stands to that of an earlier call, each in every frame."""

from __future__ import annotations

import random
from itertools import product

import pytest

from synth.errors import BadInput
from synth.policies import load_policies
from synth.policies.kinds.against import Against

SHOP = {"quote order": "quote_order", "charge card": "charge_card", "refund payment": "refund_payment"}
WARD = {"prescribe drug": "prescribe_drug", "verify prescription": "verify_prescription",
        "dispense drug": "dispense_drug"}  # fmt: skip
CLOUD = {"approve change": "approve_change", "apply config": "apply_config", "run migration": "run_migration"}


def rule_of(actions: dict[str, str], sentence: str) -> object:
    named = "".join(f"  {phrase}: {tool}\n" for phrase, tool in actions.items())
    (policy,) = load_policies(f"actions:\n{named}policies:\n  - id: P\n    rule: {sentence!r}\n").policies
    return policy.rule


def against(actions: dict[str, str], sentence: str) -> tuple[object, ...]:
    rule = rule_of(actions, sentence)
    assert isinstance(rule, Against), (sentence, rule)
    same = tuple(own[0] for own, _ in rule.same)
    return rule.what.names[0], rule.path[0], rule.how, rule.other.names[0], rule.beside[0], same


AT_MOST = (
    "must not exceed", "may not be more than", "must be at most", "can be at most", "may never be above",
    "must never be higher than", "has to stay below or equal to", "is never more than", "never more than",
    "no higher than", "cannot go over", "shall not be over", "must stay within",
)  # fmt: skip
LEAST = ("must be at least", "must not be less than", "may never be below", "never below", "no less than")
OTHERS = {
    "less than": ("must be less than", "has to stay below", "must remain under"),
    "more than": ("must be more than", "has to be above", "must exceed"),
    "differ from": ("must differ from", "must not be the same as", "must not be", "is never the same as"),
    "equal": ("must equal", "must be the same as"),
}
RELATIONS = {**dict.fromkeys(AT_MOST, "at most"), **dict.fromkeys(LEAST, "at least"),
             **{said: how for how, some in OTHERS.items() for said in some}}  # fmt: skip
OWN = ("the amount of a refund", "the refund amount", "the amount refunded")
OTHER = ("the amount of charge card", "that of charge card", "the amount charged", "the charged amount")
SAME = ("for the same order_id", ", same order_id", "with the same order_id", "of the same order_id")


@pytest.mark.parametrize(("said", "how"), RELATIONS.items())
def test_each_relation_in_each_frame(said: str, how: str) -> None:
    expected = ("refund_payment", "amount", how, "charge_card", "amount", ("order_id",))
    everything = list(product(OWN, OTHER, SAME))
    for own, other, same in random.Random(said).sample(everything, 5):
        sentence = f"{own} {said} {other} {same}".replace(" ,", ",").capitalize()
        assert against(SHOP, sentence) == expected, sentence


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("A refund must not be more than the amount of charge card for the same order_id.",
         ("refund_payment", "amount", "at most", "charge_card", "amount", ("order_id",))),
        ("Refunds may not exceed the amount charged, same order_id",
         ("refund_payment", "amount", "at most", "charge_card", "amount", ("order_id",))),
        ("refund payment: amount at most the amount of charge card, same order_id",
         ("refund_payment", "amount", "at most", "charge_card", "amount", ("order_id",))),
        ("Refund amount never more than the value of quote order for the same order_id",
         ("refund_payment", "amount", "at most", "quote_order", "value", ("order_id",))),
    ],
)  # fmt: skip
def test_it_may_be_said_of_the_call_itself(sentence: str, expected: tuple[object, ...]) -> None:
    assert against(SHOP, sentence) == expected


@pytest.mark.parametrize(
    "sentence",
    [
        "The pharmacist who verified a prescription may not dispense it.",
        "The pharmacist that has verified a prescription must never dispense it",
        "A pharmacist who verifies a prescription cannot dispense it",
    ],
)
def test_somebody_else_does_it(sentence: str) -> None:
    expected = ("dispense_drug", "pharmacist", "differ from", "verify_prescription", "pharmacist")
    actions = {**WARD, "dispense prescription": "dispense_drug"}
    del actions["dispense drug"]
    assert against(actions, sentence) == (*expected, ("prescription",))


@pytest.mark.parametrize(
    "sentence",
    [
        "The author of apply config must not be the reviewer of approve change for the same cluster.",
        "The reviewer of approve change must not be the author of apply config for the same cluster",
        "the reviewer of approve change and the author of apply config must differ, same cluster",
        "the author of apply config and the reviewer of approve change must not be the same person, "
        "for the same cluster",
        "author of apply config and reviewer of approve change must be different with the same cluster",
    ],
)
def test_a_check_comes_before_what_it_is_of(sentence: str) -> None:
    expected = ("apply_config", "author", "differ from", "approve_change", "reviewer", ("cluster",))
    assert against(CLOUD, sentence) == expected


@pytest.mark.parametrize(
    "sentence",
    [
        "The approver of approve expense must not be the submitter of submit expense.",
        "The submitter of submit expense and the approver of approve expense must differ.",
    ],
)
def test_what_is_proposed_comes_before_its_check(sentence: str) -> None:
    actions = {"submit expense": "submit_expense", "approve expense": "approve_expense"}
    expected = ("approve_expense", "approver", "differ from", "submit_expense", "submitter", ())
    assert against(actions, sentence) == expected


def test_what_must_be_the_same_is_not_left_out() -> None:
    actions = {"approve expense": "approve_expense", "pay expense": "pay_expense"}
    expected = ("pay_expense", "amount", "at most", "approve_expense", "amount", ("expense",))
    said = "The amount paid must not exceed the amount approved for the same expense."
    assert against(actions, said) == expected


def test_two_that_are_no_checks_are_refused_with_both_orders() -> None:
    with pytest.raises(BadInput) as refused:
        rule_of(CLOUD, "The author of apply config and the operator of run migration must differ.")
    said = str(refused.value)
    assert "The author of apply config must differ from the operator of run migration" in said
    assert "The operator of run migration must differ from the author of apply config" in said


@pytest.mark.parametrize("before", ["that of the previous run migration", "the previous one"])
def test_a_call_may_be_compared_with_the_one_before(before: str) -> None:
    sentence = f"The version of run migration must be higher than {before} for the same database."
    expected = ("run_migration", "version", "more than", "run_migration", "version", ("database",))
    assert against(CLOUD, sentence) == expected


def test_a_noun_may_be_the_argument_with_its_unit() -> None:
    rule = rule_of(WARD, "The dispensed dose must not be above the prescribed dose, same prescription_id.")
    assert isinstance(rule, Against)
    assert rule.path[0].key_in({"dose_mg": 5}) == "dose_mg"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "sentence",
    [
        "Whoever verified a prescription must not dispense it.",
        "A prescription must not be dispensed by the person who verified it.",
        "Nobody dispenses a drug they prescribed themselves.",
    ],
)
def test_who_it_is_has_to_be_named_by_an_argument(sentence: str) -> None:
    with pytest.raises(BadInput, match="who does something is an argument of its calls"):
        rule_of(WARD, sentence)


def test_a_person_is_no_argument() -> None:
    actions = {"submit expense": "submit_expense", "approve expense": "approve_expense"}
    with pytest.raises(BadInput, match="who does something is an argument of its calls"):
        rule_of(actions, "An expense must not be approved by the person who submitted it.")
    said = "An expense must not be approved by the manager who submitted it."
    expected = ("approve_expense", "manager", "differ from", "submit_expense", "manager", ("expense",))
    assert against(actions, said) == expected


@pytest.mark.parametrize(
    "sentence",
    [
        "The amount of a refund must not be more than 500 of the amount charged.",
        "The refund must not be more than the charge card.",
        "The pharmacist who verified a prescription may dispense it.",
        "The amount of a refund may exceed the amount charged.",
        "The pharmacist who verified a prescription must dispense it.",
        "A refund must not be later than the amount charged for another order_id.",
        "A refund may not exceed the amount of the order for the same order_id.",
        "Refunds must not exceed the amount of the card.",
        "The refund amount can be more than the amount charged.",
        "The pharmacist who verified a prescription must not dispense it twice.",
    ],
)
def test_what_says_something_else_is_not_read_so(sentence: str) -> None:
    for actions in (SHOP, WARD):
        try:
            rule = rule_of(actions, sentence)
        except BadInput:
            continue
        assert not isinstance(rule, Against), sentence


def test_an_approval_of_something_else_comes_when_it_is_said() -> None:
    """Nobody knows that a release is approved before a branch is merged: the first one named is asked of."""
    actions = {"merge branch": "merge", "approve release": "approve"}
    said = "The approver of approve release must not be the author of merge branch."
    assert against(actions, said) == ("approve", "approver", "differ from", "merge", "author", ())
