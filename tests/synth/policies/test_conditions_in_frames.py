"""What calls may be given: which calls, whose argument, what is said of it and how it is demanded compose."""

from __future__ import annotations

import pytest

from synth.errors import BadInput
from synth.policies import load_policies
from synth.policies.meanings import demands_of

HEAD = (
    "actions: {book room: book_room, cancel booking: cancel_booking, issue voucher: issue_voucher,"
    " refund deposit: refund_deposit, charge deposit: charge_deposit, notify manager: notify_manager,"
    " send message: send_message}\npolicies:\n"
)


def reading(rule: str) -> str:
    return demands_of(load_policies(f"{HEAD}  - {{id: P, rule: {rule!r}}}\n").policies[0].rule)


ISSUED = (
    "When you issue a voucher",
    "When issuing a voucher",
    "If a voucher is issued",
    "Whenever the agent issues a voucher",
    "For vouchers that are issued",
    "To issue a voucher",
)
OVER = (
    "the value must not exceed 150",
    "the value must be at most 150",
    "keep the value at or below 150",
    "limit the value to 150",
    "the value may never go above 150",
    "the maximum value is 150",
    "never go above a value of 150",
)
OF_VOUCHERS = (
    "of a voucher",
    "for issuing vouchers",
    "of every voucher you issue",
    "in issue_voucher",
    "of vouchers",
)
BANNED = (
    "with a value over 150",
    "whose value exceeds 150",
    "with a value that is more than 150",
    "if the value is above 150",
)
BANS = (
    "Never issue a voucher {}.",
    "A voucher must not be issued {}.",
    "No voucher may be issued {}.",
    "The agent is not permitted to issue vouchers {}.",
    "It is never okay to issue a voucher {}.",
)


@pytest.mark.parametrize("sentence", [
    *(f"{when}, {what}." for when in ISSUED for what in OVER),
    *(f"The value {of} must be no more than 150." for of in OF_VOUCHERS),
    *(f"Make sure the value {of} is 150 or less." for of in OF_VOUCHERS),
    *(f"The highest value allowed {of} is 150." for of in OF_VOUCHERS[:2]),
    *(ban.format(what) for ban in BANS for what in BANNED),
    "Vouchers are capped at a value of 150.", "Voucher values above 150 are not allowed.",
    "issue_voucher: value <= 150", "If the value is above 150, the voucher must not be issued.",
    "Vouchers may only be issued if the value is at most 150.",
    "Never issue a voucher unless its value is at most 150.",
])  # fmt: skip
def test_a_limit_is_read_in_every_frame(sentence: str) -> None:
    assert reading(sentence) == "No call of issue_voucher with value over 150."


@pytest.mark.parametrize("sentence", [
    'Never use the channel "fax" for sending messages.', "Banned channel for messages: fax",
    "The fax channel must never be used for sending messages.", "Fax is not an allowed channel for messages.",
    'When sending a message, do not use "fax" as the channel.',
    'Messages must not be sent with "fax" as the channel.',
    'The agent may use any channel except "fax" for messages.', "Messages: never use channel fax",
    "The agent shall not send any message for which the channel is \"fax\".",
])  # fmt: skip
def test_a_value_is_banned_in_every_frame(sentence: str) -> None:
    assert reading(sentence) == 'No call of send_message with channel "fax".'


@pytest.mark.parametrize("sentence", [
    "Allowed channels for messages: sms, email", "The only channels allowed for messages are sms and email.",
    "Only the channels sms and email may be used for messages.",
    "Messages are restricted to the channels sms and email.",
    "Never send a message unless the channel is sms or email.",
    "No channel other than sms or email may be used for messages.",
    "The agent may only send messages whose channel is sms or email.",
    "Messages: no channel other than sms or email",
])  # fmt: skip
def test_what_is_allowed_alone_is_read_in_every_frame(sentence: str) -> None:
    assert reading(sentence) == 'No call of send_message with channel other than "sms" or "email".'


@pytest.mark.parametrize("sentence", [
    "Always give a reason when cancelling a booking.", "Whenever you cancel a booking, state a reason.",
    "The agent must never leave the reason blank when cancelling a booking.",
    "No booking may be cancelled with an empty reason.",
    "Without a reason, no booking may be cancelled.", "Unless a reason is given, never cancel a booking.",
    "For booking cancellations the reason field is compulsory.", "cancel_booking must have a reason",
    "Bookings may only be cancelled if you give a reason.", "Booking cancellations: no empty reason",
])  # fmt: skip
def test_what_must_be_given_is_read_in_every_frame(sentence: str) -> None:
    assert reading(sentence) == "No call of cancel_booking whose reason is missing."


@pytest.mark.parametrize("sentence", [
    'Refund a deposit with method "cash" only if the reason is "fire".',
    'Deposits may be refunded with method cash only when the reason is fire.',
    'If the method is "cash", a deposit may only be refunded if the reason is "fire".',
    'Unless the reason is "fire", deposits must not be refunded with method "cash".',
    'Do not refund deposits whose method is "cash" and whose reason is not "fire".',
    'For deposit refunds with method "cash", the reason has to be "fire".',
])  # fmt: skip
def test_a_value_only_beside_another_is_no_ban_of_others(sentence: str) -> None:
    assert (
        reading(sentence) == 'No call of refund_deposit with method "cash" and with reason other than "fire".'
    )


@pytest.mark.parametrize("sentence", [
    "If the voucher value exceeds 100, notify the manager before issuing the voucher.",
    "No voucher with a value over 100 without notifying the manager first.",
    "Vouchers with a value over 100: issue only after notifying the manager",
    "For vouchers with a value over 100, notifying the manager must come first.",
    "Do not issue a voucher if its value is over 100 and the manager has not been notified yet.",
    "The agent cannot issue vouchers with values above 100 before notifying the manager.",
    "Issue voucher, value > 100: notify manager first",
])  # fmt: skip
def test_what_such_calls_need_first_is_read_in_every_frame(sentence: str) -> None:
    assert reading(sentence) == reading(
        "Notify manager must happen before issue voucher with value over 100."
    )


@pytest.mark.parametrize("sentence", [
    "The refunded deposit amount must equal the amount charged for the same booking.",
    "When a deposit is refunded, the amount must be the amount last charged for the same booking.",
    "Never refund a deposit with an amount other than that of the last deposit charge for the same booking.",
    "For the same booking, the amount refunded as deposit must equal the amount charged as deposit.",
    "A deposit refund must have the same amount as the deposit charge for the same booking.",
])  # fmt: skip
def test_what_must_be_as_it_was_is_read_in_every_frame(sentence: str) -> None:
    said = "The amount of refund deposit must equal that of charge deposit with the same booking."
    assert reading(sentence) == reading(said)


@pytest.mark.parametrize("sentence", [
    "A voucher may only be issued with a value over 100 if the reason is fire.",
    "Never issue a voucher if the value is over two weeks.",
    "Vouchers must not exceed 500.", "Only vouchers over 500 must be issued.",
    "The refunded deposit amount must equal the deposit amount.",
])  # fmt: skip
def test_what_may_be_meant_otherwise_is_refused(sentence: str) -> None:
    with pytest.raises(BadInput):
        reading(sentence)
