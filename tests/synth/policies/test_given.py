"""What calls are given, in whatever words: bounds, values of things, units, what several calls come to."""

from __future__ import annotations

from typing import Any

import pytest

from synth.errors import BadInput
from synth.observed.run import Run, ToolCall
from synth.policies import judge_policies, load_policies
from synth.policies.explain import explained
from synth.policies.meanings import demands_of
from synth.policies.model import PolicySet
from synth.policies.nouns import Meant
from synth.policies.online import Prefix

HEAD = (
    "actions: {issue a refund: refund, approve a refund: approve, book a flight: book, assign a dock: assign,"
    " load the pallets: load, weigh the truck: weigh, notify the carrier: notify, export the data: export,"
    " deploy the service: deploy, run the tests: test, post to the ledger: post, change the plan: plan,"
    " dispense the study drug: dispense, hand over to an agent: hand}\npolicies:\n"
)


def policies(*rules: str) -> PolicySet:
    return load_policies(
        HEAD + "".join(f"  - {{id: P{k}, rule: {rule!r}}}\n" for k, rule in enumerate(rules))
    )


def reading(rule: str) -> str:
    return demands_of(policies(rule).policies[0].rule)


def verdict(rule: str, *calls: tuple[str, Any]) -> str:
    run = Run("r", tuple(ToolCall(None, tool, given) for tool, given in calls), status="ok")
    return judge_policies(policies(rule), run)[0].verdict


@pytest.mark.parametrize(
    ("sentence", "means"),
    [
        ("A single refund must never exceed 200.", "No call of refund with amount over 200."),
        ("Each refund is limited to 200.", "No call of refund with amount over 200."),
        ("Refunds have to be at least 10.", "No call of refund with amount under 10."),
        ("A refund must be between 10 and 500.", "No call of refund with amount outside 10 and 500."),
        ("Each refund is worth at least 10 and at most 200.",
         "No call of refund with amount outside 10 and 200."),
        ("A refund must be greater than zero.", "No call of refund with amount of at most 0."),
        ("The monthly fee of a new plan must be 120 or less.", "No call of plan with monthly_fee over 120."),
        ("Refunds paid by cash must not be higher than 200.",
         'No call of refund with amount over 200 and with method "cash".'),
        ("Flights costing more than 1500 must not be booked.", "No call of book with cost over 1500."),
        ("A flight may not cost more than 1500.", "No call of book with cost over 1500."),
        ("Never book a flight in first class.", 'No call of book with class "first".'),
        ("Never assign dock 9.", "No call of assign with dock 9."),
        ("Do not assign docks 7 or 9.", "No call of assign with dock 7 or 9."),
        ("Hand over only to the team billing or the team technical.",
         'No call of hand with team other than "billing" or "technical".'),
        ("Ledger postings go to cost center 4100 or 4200 only.",
         "No call of post with cost_center other than 4100 or 4200."),
        ("Data may be exported in csv format only.", 'No call of export with format other than "csv".'),
        ("Only export the data in csv format.", 'No call of export with format other than "csv".'),
        ("Never deploy the service to the production environment.",
         'No call of deploy with environment "production".'),
        ("Issue refunds in EUR only.", 'No call of refund with currency other than "EUR".'),
        ("The currency of a refund must be one of EUR or CHF.",
         'No call of refund with currency other than "EUR" or "CHF".'),
        ("You may not issue a refund without a reason.", "No call of refund whose reason is missing."),
        ("A refund needs a reason.", "No call of refund whose reason is missing."),
        ("A refund over 500 must state a reason.",
         "No call of refund with amount over 500 and whose reason is missing."),
        ("A reason must be given for refunds over 500.",
         "No call of refund with amount over 500 and whose reason is missing."),
        ("The reason of a refund must not be empty.", "No call of refund whose reason is missing."),
        ("Never dispense more than 200 mg of the study drug at a time.",
         "No call of dispense with mg over 200."),
        ("A single loading may not have more than 33 pallets.", "No call of load with pallets over 33."),
        ("Loading 30 or more pallets needs a run of the tests first.",
         "Each call of load with pallets of at least 30 needs an earlier success of test."),
        ("If a truck weighs more than 40000 kg, notify the carrier afterwards.",
         "After each success of weigh with kg over 40000, notify must succeed; without one it need not."),
        ("When a refund exceeds 500, notify the carrier afterwards.",
         "After each success of refund with amount over 500, notify must succeed; without one it need not."),
        ("A refund of 500 or more must be approved first.",
         "Each call of refund with amount of at least 500 needs an earlier success of approve."),
        ("Only flights under 1500 may be booked.", "No call of book with amount of at least 1500."),
        ("Only refunds up to 100 may be issued on Sundays.",
         "Calls of refund with amount over 100 start on Monday, Tuesday, Wednesday, Thursday, Friday, "
         "Saturday only."),
        ("Refunds above 100 are issued between 09:00 and 17:00 only.",
         "Each call of refund with amount over 100 starts no earlier than 09:00 and has ended by 17:00."),
        ("Refunds are allowed only up to 500.", "No call of refund with amount over 500."),
        ("Refunds must be in EUR or USD.", 'No call of refund with currency other than "EUR" or "USD".'),
        ("Flights must be booked with the airline Swiss.",
         'No call of book with airline other than "Swiss".'),
        ("A refund\u2019s reason must not be Goodwill.", 'No call of refund with reason "Goodwill".'),
        ("Do not issue a refund if no reason is given.", "No call of refund whose reason is missing."),
        ("Version 2 of the service must not be deployed.", "No call of deploy with version 2."),
        ("Issue a refund with an amount between 2 and 3 must never happen.",
         "No call of refund with amount between 2 and 3."),
        ("Do not issue more than 3 refunds over 100 per customer.",
         "At most 3 calls of refund with amount over 100 with the same customer, failed ones included."),
        ("For region north a flight may only be booked before 12:00.",
         'Each call of book with region "north" has ended by 12:00.'),
    ],
)  # fmt: skip
def test_what_a_call_is_given_is_read(sentence: str, means: str) -> None:
    assert reading(sentence) == means


@pytest.mark.parametrize(
    "sentence",
    [
        "Refunds above 500 must be approved before they are issued.",
        "Approve every refund above 500 before you issue it.",
        "Approve refunds above 500 before issuing them.",
        "If a refund is over 500, it must be approved first.",
    ],
)
def test_a_size_of_a_thing_is_asked_of_what_is_done_to_it_last(sentence: str) -> None:
    assert verdict(sentence, ("refund", {"amount": 501, "refund": 1})) == "violated"
    assert verdict(sentence, ("refund", {"amount": 500, "refund": 1})) in ("ok", "not_applicable")
    approved = [("approve", {"refund": 1}), ("refund", {"amount": 501, "refund": 1})]
    assert verdict(sentence, *approved) == "ok"


@pytest.mark.parametrize(
    ("sentence", "means"),
    [
        ("The refunds issued to one customer must not add up to more than 3000 in a run.",
         "The sum of amount of issue a refund must be at most 3000 per run with the same customer."),
        ("The pallets loaded for one order must not total more than 60.",
         "The sum of pallets of load the pallets must be at most 60 with the same order."),
        ("Load no more than 200 pallets in total per run.",
         "The sum of pallets of load the pallets must be at most 200 per run."),
        ("In one run the total amount refunded may not go above 1000.",
         "The sum of amount of issue a refund must be at most 1000 per run."),
        ("Issue at most 500 in refunds per customer.",
         "The sum of amount of issue a refund must be at most 500 with the same customer."),
        ("All refunds of one customer together may come to 500 at most.",
         "The sum of amount of issue a refund must be at most 500 with the same customer."),
        ("In any 2 hours, refunds must not add up to more than 300.",
         "The sum of amount of issue a refund must be at most 300 within 2 hours."),
        ("Never dispense more than 400 mg of the study drug to one patient in total.",
         "The sum of mg of dispense the study drug must be at most 400 with the same patient."),
        ("The total price of the flights booked for one customer may not exceed 4000.",
         "The sum of price of book a flight must be at most 4000 with the same customer."),
        ("The total of all refunds for one customer must stay below 300.",
         "The sum of amount of issue a refund must be below 300 with the same customer."),
    ],
)  # fmt: skip
def test_what_several_calls_come_to_is_read(sentence: str, means: str) -> None:
    assert policies(sentence).policies[0].rule == policies(means).policies[0].rule


@pytest.mark.parametrize(
    "sentence",
    [
        "Refunds must not exceed 500.",
        "Refunds must not exceed 500 per customer.",
        "A refund may exceed 500.",
        "Refunds may be over 500.",
        "Refunds over 500 do not need an approval.",
        "Do not issue a refund without an inspection.",
        "The total amount of refunds must not exceed 500 EUR a day.",
        "Load more than 30 pallets.",
        "Refunds over 500 and flights over 900 must be approved first.",
        "Only refunds over 500 must be approved.",
        "A refund should not be made for more than 500 or so.",
        "No refund under 5 and none over 500.",
        "Refunds may have a reason.",
        "Refunds may be in EUR.",
        "The currency of a refund may be EUR.",
        "Refunds must not always be in EUR.",
        "Only refunds over 500 need an approval.",
        "Do not approve refunds under 500 before you issue them.",
        "Never approve a refund over 500 before issuing it.",
    ],
)
def test_what_may_be_meant_otherwise_is_refused(sentence: str) -> None:
    with pytest.raises(BadInput):
        policies(sentence)


def test_a_place_without_its_argument_is_that_of_whichever_has_it() -> None:
    [found] = policies("Never deploy the service to production.").policies
    assert demands_of(found.rule).endswith('with an argument "production".')


@pytest.mark.parametrize(
    ("noun", "keys", "found"),
    [
        ("dock", ["dock_id", "truck_id"], "dock_id"),
        ("dock", ["dock", "dock_id"], "dock"),
        ("visit", ["visit_no", "site"], "visit_no"),
        ("cost_center", ["costCenter", "amount"], "costCenter"),
        ("weight", ["weight_kg", "truck_id"], "weight_kg"),
        ("kg", ["weight_kg", "truck_id"], "weight_kg"),
        ("mg", ["dose_mg", "batch"], "dose_mg"),
        ("hours", ["hours", "reason"], "hours"),
        ("cost", ["price", "cabin"], "price"),
        ("amount", ["monthly_fee", "plan"], "monthly_fee"),
        ("pallets", ["pallet_count", "dock"], "pallet_count"),
        ("class", ["cabin", "price"], "cabin"),
        ("environment", ["target_environment"], "target_environment"),
        ("notification_radius", ["radius_m"], "radius_m"),
    ],
)
def test_a_noun_is_the_argument_of_the_nearest_name(noun: str, keys: list[str], found: str) -> None:
    assert Meant(noun).key_in(dict.fromkeys(keys, 1)) == found


@pytest.mark.parametrize(
    ("noun", "keys"),
    [
        ("cost", ["price", "fee"]),
        ("amount", ["amounts", "order_id"]),
        ("customer_id", ["id"]),
        ("mg", ["dose_mg", "most_mg"]),
        ("dock", ["truck"]),
    ],
)
def test_a_noun_of_several_arguments_or_of_none_is_none_of_them(noun: str, keys: list[str]) -> None:
    assert Meant(noun).key_in(dict.fromkeys(keys, 1)) == noun


@pytest.mark.parametrize(
    ("rule", "given", "expected"),
    [
        ("Never assign dock 9.", ("assign", {"dock": "9"}), "violated"),
        ("Never assign dock 9.", ("assign", {"dock_number": 9}), "violated"),
        ("Never assign dock 9.", ("assign", {"dock": "19"}), "ok"),
        ("Never assign dock 9.", ("assign", {"dock": None}), "undecided"),
        ("Never assign dock 9.", ("assign", {"truck": 9}), "undecided"),
        ("Never book a flight in first class.", ("book", {"cabin": "first_class"}), "violated"),
        ("Never book a flight in first class.", ("book", {"cabin": "FIRST"}), "violated"),
        ("Never book a flight in first class.", ("book", {"cabin": "economy"}), "ok"),
        ("Flights costing more than 1500 must not be booked.", ("book", {"price": 1501}), "violated"),
        ("Flights costing more than 1500 must not be booked.", ("book", {"price": 1, "fee": 2}), "undecided"),
        ("A refund must be between 10 and 500.", ("refund", {"amount": 500}), "ok"),
        ("A refund must be between 10 and 500.", ("refund", {"amount": 9}), "violated"),
        ("A refund must be between 10 and 500.", ("refund", {"amount": "9"}), "undecided"),
        ("A refund needs a reason.", ("refund", {"reason": ""}), "violated"),
        ("Never dispense more than 200 mg of the study drug at a time.",
         ("dispense", {"dose_mg": 201}), "violated"),
    ],
)  # fmt: skip
def test_guard_and_judge_find_the_argument_that_a_noun_names(
    rule: str, given: tuple[str, dict[str, Any]], expected: str
) -> None:
    found = verdict(rule, given)
    assert ("ok" if found == "not_applicable" else found) == expected
    decision = Prefix(policies(rule)).would(ToolCall(None, given[0], given[1]))
    assert bool(decision.breaches) is (expected == "violated")


def test_an_explanation_says_what_is_asked() -> None:
    [said] = explained(policies("Never assign dock 9."))
    assert "with dock 9" in said.applies


def test_a_channel_is_no_agent() -> None:
    [policy] = policies("After issuing a refund, notify the carrier by email.").policies
    assert 'channel "email"' in demands_of(policy.rule)
