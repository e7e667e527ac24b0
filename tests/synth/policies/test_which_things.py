"""Clauses and words that say which thing is meant, read with what happened to that one."""

from __future__ import annotations

import pytest

from synth.errors import BadInput
from synth.policies.action_forms import singular
from synth.policies.meanings import demands_of
from synth.policies.names import Names, Tools
from synth.policies.refused import read_rule
from synth.policies.sentences import OURS

PHRASES = (
    "book a room", "clean the room", "check in the guest", "check out the guest", "charge the guest's card",
    "issue a voucher", "cancel the booking", "confirm the booking", "message the guest",
    "upgrade the booking", "open the safe box", "close the safe box", "blacklist the guest",
)  # fmt: skip
NAMES = Names({phrase: Tools(phrase, (phrase,)) for phrase in PHRASES})


def reading(sentence: str) -> str:
    return demands_of(read_rule(sentence, NAMES, OURS))


UPGRADE_NEEDS = "Confirm the booking must happen before upgrade the booking with the same booking."
NO_UPGRADE = "Upgrade the booking must never happen after cancel the booking with the same booking."
VOUCHER_NEEDS = "'Check in the guest' must happen before issue a voucher with the same guest.".replace(
    "'", '"'
)
NO_VOUCHER = "Issue a voucher must never happen after blacklist the guest with the same guest."
ROOM_FIRST = 'Book a room must happen before "check in the guest" with the same guest.'
CARD_FIRST = 'Charge the guest\'s card must happen before "check in the guest" with the same guest.'


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("Never upgrade a booking which was not confirmed earlier in the run.", UPGRADE_NEEDS),
        ("Do not upgrade a booking that has not been confirmed.", UPGRADE_NEEDS),
        ("No booking may be upgraded that was not confirmed first.", UPGRADE_NEEDS),
        ("Only upgrade a booking that has been confirmed.", UPGRADE_NEEDS),
        ("Only upgrade confirmed bookings.", UPGRADE_NEEDS),
        ("Never upgrade a booking that was cancelled in the same run.", NO_UPGRADE),
        ("No booking may be upgraded that has been cancelled.", NO_UPGRADE),
        ("Never upgrade a cancelled booking.", NO_UPGRADE),
        ("You must not upgrade a cancelled booking.", NO_UPGRADE),
        ("A cancelled booking must not be upgraded again.", NO_UPGRADE),
        ("No voucher may be issued to a guest who has not been checked in.", VOUCHER_NEEDS),
        ("Do not issue vouchers to guests who have not been checked in.", VOUCHER_NEEDS),
        ("Issue a voucher only to a guest who has been checked in.", VOUCHER_NEEDS),
        ("Vouchers may be issued only to a guest who has been checked in.", VOUCHER_NEEDS),
        ("No voucher may be issued to a guest who has been blacklisted.", NO_VOUCHER),
        ("Never issue vouchers to a blacklisted guest.", NO_VOUCHER),
        ("Never check in a guest for whom no room was booked.", ROOM_FIRST),
        ("A guest for whom no room has been booked must not be checked in.", ROOM_FIRST),
        ("Never check in a guest whose card was not charged.", CARD_FIRST),
        ("Only guests whose card has been charged may be checked in.", CARD_FIRST),
        (
            "Do not book a room for a guest whose card has been charged.",
            "Book a room must never happen after charge the guest's card with the same guest.",
        ),
        (
            "A guest for whom a room was booked must be checked in.",
            'Book a room must be followed by "check in the guest" with the same guest.',
        ),
        (
            "Every guest who checks in must be messaged within 5 hours.",
            '"Check in the guest" must be followed by message the guest within 5 hours with the same guest.',
        ),
        (
            "A guest who has not checked in must not be checked out.",
            '"Check in the guest" must happen before "check out the guest" with the same guest.',
        ),
        (
            "Every safe box that is opened must be closed again.",
            "Open the safe box must be followed by close the safe box.",
        ),
        (
            "An upgraded booking must be confirmed again.",
            "Upgrade the booking must be followed by confirm the booking with the same booking.",
        ),
        (
            "A booking must have been confirmed before anyone issues a voucher for it.",
            "Confirm the booking must happen before issue a voucher with the same booking.",
        ),
        (
            "After a guest is checked out, do not charge anything to that guest.",
            'Charge the guest\'s card must never happen after "check out the guest" with the same guest.',
        ),
        (
            "Before issuing a voucher, close the box of that same safe.",
            "Close the safe box must happen before issue a voucher with the same safe.",
        ),
        (
            "Every upgrade of a booking needs a confirmation of its own.",
            "Upgrade the booking must not happen more often than confirm the booking with the same booking.",
        ),
        (
            "Each booking can be upgraded just once.",
            "Upgrade the booking must happen at most 1 time with the same booking.",
        ),
        (
            "Every guest may be messaged at most three times.",
            "Message the guest must happen at most 3 times with the same guest.",
        ),
        (
            "Everyone who has been checked out must be messaged afterwards.",
            '"Check out the guest" must be followed by message the guest with the same guest.',
        ),
        (
            "Everyone who was blacklisted must not be checked in again.",
            '"Check in the guest" must never happen after blacklist the guest with the same guest.',
        ),
        (
            "Anybody who receives a voucher must be messaged.",
            "Issue a voucher must be followed by message the guest with the same guest.",
        ),
        (
            "After a room is cleaned, nobody may be checked in any more.",
            '"Check in the guest" must never happen after clean the room.',
        ),
        (
            "Once a guest has checked out, their card must not be charged.",
            'Charge the guest\'s card must never happen after "check out the guest" with the same guest.',
        ),
        (
            "If a guest has not checked in, do not message the guest.",
            '"Check in the guest" must happen before message the guest.',
        ),
        (
            "Not more than two vouchers may be issued to one guest.",
            "Issue a voucher must happen at most 2 times with the same guest.",
        ),
        (
            "After a room booking has failed, do not attempt another one.",
            "If book a room fails, book a room must never happen afterwards.",
        ),
        ("No guest gets two vouchers.", "Issue a voucher must happen at most 1 time with the same guest."),
        (
            "No guest may receive more than two vouchers.",
            "Issue a voucher must happen at most 2 times with the same guest.",
        ),
        (
            "Never give one guest more than two vouchers.",
            "Issue a voucher must happen at most 2 times with the same guest.",
        ),
        (
            "One guest may book at most two rooms.",
            "Book a room must happen at most 2 times with the same guest.",
        ),
        (
            "A single guest can book two rooms per run and no more.",
            "Book a room must happen at most 2 times per run with the same guest.",
        ),
        (
            "Do not cancel a booking you confirmed.",
            "Cancel the booking must never happen after confirm the booking with the same booking.",
        ),
        (
            "Never upgrade a booking that you have not confirmed.",
            UPGRADE_NEEDS,
        ),
        (
            "You can cancel a given booking only once.",
            "Cancel the booking must happen at most 1 time with the same booking.",
        ),
        (
            "Wait at least 15 minutes between two vouchers to the same guest.",
            "Issue a voucher must never happen within 15 minutes after issue a voucher with the same guest.",
        ),
        (
            "Do not issue vouchers for a booking once it has been cancelled.",
            "Issue a voucher must never happen after cancel the booking with the same booking.",
        ),
        (
            "Do not issue vouchers to a guest once a room has been booked for that guest.",
            "Issue a voucher must never happen after book a room with the same guest.",
        ),
    ],
)
def test_it_is_read_as_it_is_meant(said: str, meant: str) -> None:
    assert reading(said) == reading(meant)


@pytest.mark.parametrize(
    "sentence",
    [
        "A booking may be upgraded at most once.",
        "Never upgrade an upgraded booking.",
        "Only rooms may be cleaned.",
        "Do not issue a voucher for a booking once it has been messaged.",
        "Two guests may be checked in.",
        "One guest may book two rooms.",
        "Do not message a guest who was not checked in and never check out a guest who was blacklisted.",
    ],
)
def test_what_is_not_sure_is_refused(sentence: str) -> None:
    with pytest.raises(BadInput):
        reading(sentence)


@pytest.mark.parametrize(
    ("several", "one"),
    [
        ("orders", "order"), ("statuses", "status"), ("status", "status"), ("addresses", "address"),
        ("address", "address"), ("policies", "policy"), ("boxes", "box"), ("batches", "batch"),
        ("invoices", "invoice"), ("basis", "basis"), ("user_ids", "user_ids"),
    ],
)  # fmt: skip
def test_of_a_noun_one_is_told(several: str, one: str) -> None:
    assert singular(several) == one
