"""Sentences by the grammar of clauses: what each says in the language, and what is no such sentence."""

from __future__ import annotations

import re

import pytest

from synth.errors import BadInput
from synth.observed import run_from_json
from synth.policies import judge_policies, load_policies
from synth.policies.clausal import read
from synth.policies.clausal.spelling import spelled
from synth.policies.meanings import demands_of

ACTIONS = (
    "inspect the parcel", "refund the customer", "approve the refund", "send a receipt", "open a ticket",
    "close the ticket", "lock the account", "notify the manager", "ship the order", "cancel the order",
    "charge the card", "look up the order",
)  # fmt: skip
HEAD = "actions:\n" + "".join(f"  {phrase}: {phrase.replace(' ', '_')}\n" for phrase in ACTIONS)


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("Refunds to customers are off limits", "refund the customer must never happen"),
        ("Refunds are off limits", "refund the customer must never happen"),
        ("Nobody may lock an account", "lock the account must never happen"),
        ("It's forbidden to lock accounts", "lock the account must never happen"),
        ("Once an account is locked there are no more refunds",
         "refund the customer must never happen after lock the account"),
        ("No order may be shipped to the same owner_id once an account with that owner_id has been locked",
         "ship the order must never happen after lock the account with the same owner_id"),
        ("Before an order is shipped, the agent has to have looked up the order with the same order_id",
         "look up the order must happen before ship the order with the same order_id"),
        ("An order may be shipped only if that order has been looked up earlier",
         "look up the order must happen before ship the order with the same order"),
        ("Never ship an order unless its card was charged first",
         "charge the card must happen before ship the order with the same order"),
        ("Never ship an order once an account is not locked", None),
        ("You can't ship the order without having charged the card first",
         "charge the card must happen before ship the order"),
        ("After an order has been cancelled, neither ship an order nor charge a card for it",
         "ship the order and charge the card must never happen after cancel the order with the same order"),
        ("Every opened ticket has to be closed",
         "open a ticket must be followed by close the ticket with the same ticket"),
        ("A closed ticket must not be opened",
         "open a ticket must never happen after close the ticket with the same ticket"),
        ("Only charged cards may be charged", None),
        ("At most three refunds per run", "refund the customer must happen at most 3 times per run"),
        ("In any hour, no more than five refunds are allowed",
         "refund the customer must happen at most 5 times within 1 hour"),
        ("More than three cancellations in one hour are not allowed",
         "cancel the order must happen at most 3 times within 1 hour"),
        ("Three refunds per customer_id are the limit",
         "refund the customer must happen at most 3 times with the same customer_id"),
        ("The same order_id must not be cancelled twice",
         "cancel the order must happen at most 1 times with the same order_id"),
        ("Only one refund is allowed per conversation",
         "refund the customer must happen at most 1 times per conversation"),
        ("Never send more than two receipts within ten minutes",
         "send a receipt must happen at most 2 times within 10 minutes"),
        ("A customer may be refunded at most once", None),
        ("Refunds must not add up to more than 1,000 per order_id",
         "The sum of amount of refund the customer must be at most 1000 with the same order_id"),
        ("All refunds together may come to at most 500 EUR",
         "The sum of amount of refund the customer must be at most 500"),
        ("All refunds together must stay below 500",
         "The sum of amount of refund the customer must be below 500"),
        ("Never ship an order that has not been charged", None),
        ("Don't ship an order that has been cancelled",
         "ship the order must never happen after cancel the order with the same order"),
        ("Every order that was cancelled must be looked up afterwards",
         "cancel the order must be followed by look up the order with the same order"),
        ("Only ship an order if that order was looked up not more than ten minutes before",
         "ship the order must start within 10 minutes after look up the order with the same order"),
        ("There has to be a pause of at least 30 seconds between one refund and the next",
         "refund the customer must never happen within 30 seconds after refund the customer"),
        ("If charging the card fails, no order may be shipped until the card has been charged",
         "If charge the card fails, ship the order must never happen until charge the card"),
        ("Whenever an account is locked the manager has to be notified within a quarter of an hour",
         "lock the account must be followed by notify the manager within 15 minutes"),
        ("Whenever an account is locked the manager has to be notified", None),
        ("Orders are shipped Monday to Friday only", "ship the order must happen on Monday to Friday"),
        ("No two refunds may overlap", "refund the customer must not overlap each other"),
        ("Never lock an account and cancel an order", None),
        ("At most two failed charges per order_id",
         "charge the card must fail at most 2 times with the same order_id"),
        ("Charging the card must not fail more than three times",
         "charge the card must fail at most 3 times"),
        ("No more than three failed charges in a row", "charge the card must fail at most 3 times in a row"),
        ("At most two successful refunds per run",
         "refund the customer must succeed at most 2 times per run"),
        ("A refund needs at least two approvals first",
         "approve the refund must happen at least 2 times before refund the customer"),
        ("No customer may be refunded until the refund has been approved at least twice",
         "approve the refund must happen at least 2 times before refund the customer"),
        ("Every refund needs its own approval",
         "refund the customer must not happen more often than approve the refund"),
        ("One approval covers one refund",
         "refund the customer must not happen more often than approve the refund"),
        ("Every run has to start with inspecting the parcel", "The first call must be inspect the parcel"),
        ("The last thing the agent does in a run must be closing the ticket",
         "The last call must be close the ticket"),
        ("Shipping an order must not take longer than 20 seconds",
         "ship the order must take at most 20 seconds"),
        ("After three failed charges in all, no order may be shipped",
         "If charge the card fails 3 times, ship the order must never happen"),
        ("After three failed charges in a row, notify the manager within half an hour",
         "If charge the card fails 3 times in a row, notify the manager must follow within 30 minutes"),
        ("Do not lock an account again", None),
        ("Some refunds need an approval first", None),
        ("At least three refunds are allowed", None),
        ("After three failed charges in a row, do not charge a card again",
         "If charge the card fails 3 times in a row, charge the card must never happen"),
        ("If charging the card fails, try it again within 10 minutes",
         "If charge the card fails, charge the card must be tried again within 10 minutes"),
        ("A failed charge may be retried at most twice for the same id",
         "If charge the card fails 3 times in a row, charge the card must never happen with the same id"),
        ("A failed charge may be retried at most twice", None),
        ("After a failed charge, wait at least 60 seconds before charging again",
         "charge the card must never happen within 60 seconds after charge the card fails"),
        ("Two inspections of the same parcel_id must not overlap",
         "inspect the parcel must not overlap each other with the same parcel_id"),
        ("Never inspect two parcels at the same time", "inspect the parcel must not overlap each other"),
        ("Don't start an inspection while another one is still running",
         "inspect the parcel must not overlap each other"),
        ("Don't ship an order until ten minutes after it was charged", None),
        ("Don't ship an order until ten minutes after the card was charged",
         "ship the order must start at least 10 minutes after charge the card"),
        ("When an order is shipped, its inspection must not be older than one hour",
         "ship the order must start within 1 hour after inspect the parcel with the same order"),
        ("No order may be cancelled twice",
         "cancel the order must happen at most 1 times with the same order"),
        ("Each order may be cancelled just once",
         "cancel the order must happen at most 1 times with the same order"),
        ("A run may not make more than ten calls", "any tool must happen at most 10 times per run"),
        ("Only ship orders Mon-Fri", "ship the order must happen on Monday to Friday"),
        ("Ship orders on weekdays between 9 am and 5 pm only",
         "ship the order must happen on weekdays between 09:00 and 17:00"),
        ("Cancel orders gently", None),
        ("", None),
    ],
)  # fmt: skip
def test_what_a_sentence_says_in_the_language(sentence: str, said: str | None) -> None:
    assert read(f"{sentence}.", ACTIONS) == (() if said is None else (said,))


@pytest.mark.parametrize("word", ["gently", "not", "never", "urgent", "3", "unless", "twice"])
def test_no_word_is_passed_over(word: str) -> None:
    """A word more anywhere is refused, or changes what is read where it says something."""
    sentence = "Once an account is locked, no order may be shipped to the same customer_id"
    plain = read(sentence, ACTIONS)
    words = sentence.split()
    assert plain
    for place in range(1, len(words) + 1):
        said = read(" ".join([*words[:place], word, *words[place:]]), ACTIONS)
        assert said == () or (said != plain and word == "twice")


def test_what_two_ways_of_reading_say_is_refused_with_both(monkeypatch: pytest.MonkeyPatch) -> None:
    from synth.policies import refused

    both = ("ship the order must never happen", "lock the account must never happen")
    monkeypatch.setattr(refused.clausal, "read", lambda body, names: both)
    with pytest.raises(BadInput, match="'Ship the order must never happen' or 'Lock the account must"):
        load_policies(f"{HEAD}policies:\n  - {{id: P, rule: Refunds are off limits.}}\n")


def test_a_sentence_with_too_many_ways_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    sentence = "Never ship an order" + " for the same order_id" * 12
    assert read(sentence, ACTIONS) == ("ship the order must never happen with the same order_id",)
    monkeypatch.setattr("synth.policies.clausal.matching.MAX_STEPS", 100)
    assert read(sentence, ACTIONS) == ()
    assert read("never " * 60, ACTIONS) == read("a" * 301, ACTIONS) == ()


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("It can't be 1,000 times an hour.", "It can not be 1000 times 1 hour"),
        ('Deploy to "Prod, EU" twice.', 'Deploy to "Prod, EU" 2 times'),
        ("Not before 9 am, twice per hour.", "Not before 09:00, 2 times per 1 hour"),
        ("Half an hour, thirty seconds.", "30 minutes, 30 seconds"),
        ("Once it is done, once and only once.", "Once it is done, exactly 1 times"),
    ],
)
def test_one_spelling(sentence: str, text: str) -> None:
    assert spelled(sentence) == text


def judged(rule: str, *calls: tuple[str, dict[str, object]]) -> str:
    made = [{"id": None, "name": tool, "arguments": arguments} for tool, arguments in calls]
    policies = load_policies(f"{HEAD}policies:\n  - {{id: P, rule: {rule!r}}}\n")
    [found] = judge_policies(policies, run_from_json({"run_id": "r", "calls": made}))
    return found.verdict


@pytest.mark.parametrize("key", ["order", "order_id", "orderId"])
def test_a_thing_is_the_argument_of_its_name_or_its_id(key: str) -> None:
    rule = "Never ship an order once that order has been cancelled."
    one, other = {key: 7}, {key: 8}
    assert judged(rule, ("cancel_the_order", one), ("ship_the_order", other)) == "ok"
    assert judged(rule, ("cancel_the_order", one), ("ship_the_order", one)) == "violated"
    assert judged(rule, ("cancel_the_order", one), ("ship_the_order", {"id": 7})) in (
        "undecided",
        "unsupported",
    )


def test_the_argument_of_the_name_itself_comes_first() -> None:
    rule = "Ship the order must never happen after cancel the order with the same order."
    first, then = {"order": 1, "order_id": 7}, {"order": 2, "order_id": 7}
    assert judged(rule, ("cancel_the_order", first), ("ship_the_order", then)) == "ok"
    assert judged(
        rule.replace("same order.", "same order_id."), ("cancel_the_order", first), ("ship_the_order", then)
    ) == ("violated")


def test_a_repair_calls_the_thing_as_the_calls_do() -> None:
    rule = "Cancel the order must be followed by look up the order with the same order."
    policies = load_policies(f"{HEAD}policies:\n  - {{id: P, rule: {rule}}}\n")
    made = [{"id": None, "name": "cancel_the_order", "arguments": {"order_id": 7}}]
    [found] = judge_policies(policies, run_from_json({"run_id": "r", "calls": made, "status": "ok"}))
    assert found.verdict == "violated"
    assert found.repair is not None
    assert found.repair.added == (("look_up_the_order", {"order_id": 7}),)


@pytest.mark.parametrize("sentence", ["Verify and approve or confirm", "Verify or approve and confirm"])
def test_and_beside_or_may_be_taken_together_in_two_ways(sentence: str) -> None:
    text = "actions: {verify: a, approve: b, confirm: c, pay: d}\npolicies:\n"
    with pytest.raises(BadInput, match="may be taken together in two ways"):
        load_policies(f"{text}  - {{id: P, rule: {sentence} must happen before pay.}}\n")


@pytest.mark.parametrize(
    ("sentence", "rule"),
    [
        ("Only ship an order if the card has not been charged.",
         "Ship the order must never happen after charge the card."),
        ("Ship an order only if it has not been cancelled.",
         "Ship the order must never happen after cancel the order with the same order."),
        ("Do not ship an order if the card has not been charged.",
         "Charge the card must happen before ship the order."),
        ("Do not ship an order if the card has been charged.",
         "Ship the order must never happen after charge the card."),
        ("Do not both cancel and ship an order.",
         "Cancel the order and ship the order must never both happen."),
        ("Do not refund more than 500.", None),
        ("Refund at most 500 per customer.", None),
        ("Do not send more than 100 receipts.", "Send a receipt must happen at most 100 times."),
        ("Refunds over 500 need an approval first.",
         "Approve the refund must happen before refund the customer with amount over 500."),
        ("You must not both cancel an order and ship an order.",
         "Cancel the order and ship the order must never both happen."),
        ("At least three refunds are allowed.", None),
    ],
)  # fmt: skip
def test_what_has_not_happened_is_never_taken_for_what_has(sentence: str, rule: str | None) -> None:
    def read_as(said: str) -> str:
        [policy] = load_policies(f"{HEAD}policies:\n  - {{id: P, rule: {said!r}}}\n").policies
        return demands_of(policy.rule)

    if rule is None:
        with pytest.raises(BadInput):
            read_as(sentence)
    else:
        assert read_as(sentence) == read_as(rule)


def test_a_time_before_or_around_another_call_compares_no_arguments() -> None:
    rule = "Pay must start within 2 hours SIDE approve with the same id."
    text = f"actions: {{approve: a, pay: b}}\npolicies:\n  - {{id: P, rule: {rule}}}\n"
    for side in ("of", "before"):
        with pytest.raises(BadInput):
            load_policies(text.replace("SIDE", side))
    assert load_policies(text.replace("SIDE", "after")).policies[0].rule.kind == "gap"


def test_what_is_still_refused_says_how_it_is_said() -> None:
    with pytest.raises(BadInput) as caught:
        load_policies(f"{HEAD}policies:\n  - {{id: P, rule: Never lock an account gently.}}\n")
    assert re.search("lock the account", str(caught.value))
