"""Sizes with what they count, values in front, what must be given: each in every frame, of any action."""

from __future__ import annotations

import pytest

from synth.errors import BadInput
from synth.policies import load_policies
from synth.policies.meanings import demands_of
from synth.policies.nouns import Meant

HEAD = (
    "actions: {scale service: scale_service, deploy service: deploy_service, page oncall: page_oncall,"
    " book room: book_room, pay bonus: pay_bonus, close ticket: close_ticket, send message: send_message,"
    " charge guest: charge_guest, ask manager: ask_manager}\npolicies:\n"
)


def reading(rule: str) -> str:
    return demands_of(load_policies(f"{HEAD}  - {{id: P, rule: {rule!r}}}\n").policies[0].rule)


SCALED = (
    "Never scale a service {}.", "No service may be scaled {}.", "Services must not be scaled {}.",
    "Scaling a service {} is forbidden.", "No scaling {}",
)  # fmt: skip
SO_MANY = (
    "with a number of replicas over 20", "with more than 20 replicas", "with number of replicas above 20",
)  # fmt: skip


@pytest.mark.parametrize("sentence", [
    *(frame.format(size) for frame in SCALED for size in SO_MANY),
    "No scaling of a service beyond 20 replicas", "Never scale a service above 20 replicas.",
    "The number of replicas of a scaling must not exceed 20.", "Scale service: number of replicas max 20",
    "Keep the number of replicas at or below 20 when scaling a service.",
    "The maximum number of replicas for any one scaling is 20.", "Max replicas per scaling: 20",
    "Keep replicas of scale service under or at 20.", "Ensure replicas <= 20 for every scale service call.",
    "replicas in scale_service must be less than or equal to 20",
])  # fmt: skip
def test_a_size_of_what_is_counted_is_of_the_argument(sentence: str) -> None:
    assert reading(sentence) == "No call of scale_service with replicas over 20."


@pytest.mark.parametrize("sentence", [
    "The number of scalings must not exceed 3.", "Never scale more than 3 services.",
    "No more than 3 scalings.",
])  # fmt: skip
def test_a_number_of_calls_is_no_argument(sentence: str) -> None:
    assert reading(sentence) == "At most 3 calls of scale_service, failed ones included."


@pytest.mark.parametrize("sentence", [
    "Only sms and email are allowed as channel for messages.",
    "Use only sms or email as the channel when sending a message.",
    "The agent must use either sms or email as channel whenever it sends a message.",
    "When sending a message, use sms or email as the channel.",
    "Messages may only have the channel sms or email.", "send_message: channel in [sms, email]",
    "Never send a message with a channel that is neither sms nor email.",
])  # fmt: skip
def test_values_may_stand_before_their_argument(sentence: str) -> None:
    assert reading(sentence) == 'No call of send_message with channel other than "sms" or "email".'


@pytest.mark.parametrize("sentence", [
    "Close a ticket only with a resolution.", "Tickets are only closed with a resolution.",
    "No ticket may be closed without a resolution.", "Every ticket closure needs a resolution.",
    "Close ticket must never have an empty resolution.", "Close ticket never without a resolution",
    "Leave no resolution empty when closing a ticket.", "Ticket closures without a resolution are forbidden.",
])  # fmt: skip
def test_what_calls_are_given_must_be_given(sentence: str) -> None:
    assert reading(sentence) == "No call of close_ticket whose resolution is missing."


@pytest.mark.parametrize("sentence", [
    "If amount is over 1000, ask manager must come before charge guest",
    "When the amount is over 1000, the agent has to ask the manager before it charges a guest.",
    "For an amount over 1000, ask manager must precede charge guest.",
    "Above an amount of 1000, ask the manager before charging a guest.",
    "Over 1000, a charge needs ask manager first.",
    "An amount of more than 1000 means the manager must be asked before the guest is charged.",
])  # fmt: skip
def test_a_condition_is_said_of_what_needs_something_first(sentence: str) -> None:
    assert reading(sentence) == (
        "Each call of charge_guest with amount over 1000 needs an earlier success of ask_manager."
    )


def test_words_in_their_plural_are_those_of_the_file() -> None:
    assert reading("Bonuses with an amount over 3000 are not allowed.") == (
        "No call of pay_bonus with amount over 3000."
    )
    assert reading("No room booking longer than 14 nights") == "No call of book_room with nights over 14."


@pytest.mark.parametrize("sentence", [
    "Never send a message with company policies.", "Never send a message without a coupon.",
    "Never charge a guest with a room.", "No deployment without a review.",
    "Services over 500 are forbidden.",
])  # fmt: skip
def test_what_may_be_no_argument_is_refused(sentence: str) -> None:
    with pytest.raises(BadInput):
        reading(sentence)


@pytest.mark.parametrize("sentence", [
    "Deploy service: if environment is production, approver must be alice",
    "if environment is production, approver must be alice in deploy service",
    "For deployments with environment production, approver must be alice.",
    "Never deploy a service with environment production unless the approver is alice.",
])  # fmt: skip
def test_one_argument_may_depend_on_another(sentence: str) -> None:
    assert reading(sentence) == (
        'No call of deploy_service with approver other than "alice" and with environment "production".'
    ) or reading(sentence) == (
        'No call of deploy_service with environment "production" and with approver other than "alice".'
    )


@pytest.mark.parametrize("sentence", [
    "Message: any channel but whatsapp", "never whatsapp as channel for a message",
    "Send message, channel = whatsapp: forbidden", "No whatsapp as channel when sending a message",
])  # fmt: skip
def test_a_value_is_banned_in_few_words(sentence: str) -> None:
    assert reading(sentence) == 'No call of send_message with channel "whatsapp".'


def test_who_did_it_is_named_in_words() -> None:
    banned = 'No call of scale_service with approved_by "ci-bot".'
    assert reading("Scalings approved by ci-bot are forbidden.") == banned
    assert reading("Never scale a service whose approved by is ci-bot.") == banned
    assert reading("approver and requested by of a scaling must be different people") == (
        "No call of scale_service with approver equal to its requested_by."
    )


def test_two_arguments_may_stand_side_by_side() -> None:
    assert reading("Never charge a guest in currency USD with an empty reason.") == (
        'No call of charge_guest with currency "USD" and whose reason is missing.'
    ) or reading("Never charge a guest in currency USD with an empty reason.") == (
        'No call of charge_guest whose reason is missing and with currency "USD".'
    )


@pytest.mark.parametrize(("said", "keys", "found"), [
    ("voucher_code", ["code", "value"], "code"), ("approved_by", ["approver", "version"], "approver"),
    ("customer_id", ["id"], "customer_id"), ("approved_by", ["approver", "approved_by"], "approved_by"),
])  # fmt: skip
def test_the_nearest_name_is_meant(said: str, keys: list[str], found: str) -> None:
    assert Meant(said).key_in(dict.fromkeys(keys, 1)) == found


def test_an_action_may_be_to_check() -> None:
    rule = (
        "actions: {send code: send_code, check code: check_code, pay bill: pay_bill}\n"
        "policies:\n  - {id: P, rule: Pay bill over 500 only after check code}\n"
    )
    assert demands_of(load_policies(rule).policies[0].rule) == (
        "Each call of pay_bill with amount over 500 needs an earlier success of check_code."
    )
