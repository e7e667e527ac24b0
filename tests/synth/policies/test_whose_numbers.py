"""Numbers that may be others than those of a rule: they are refused, with both."""

from __future__ import annotations

import pytest

from synth.errors import BadInput
from synth.policies.meanings import demands_of
from synth.policies.names import Names, Tools
from synth.policies.refused import read_rule
from synth.policies.sentences import OURS

ACTIONS = (
    "issue refund", "cancel booking", "issue voucher", "create payment", "get approval", "run payroll",
    "transfer to human",
)  # fmt: skip
NAMES = Names({phrase: Tools(phrase, (phrase.replace(" ", "_"),)) for phrase in ACTIONS})


def read(sentence: str) -> str:
    return demands_of(read_rule(sentence, NAMES, OURS))


FRAMES = (
    "A refund must be less than {}.",
    "Refund amount at most {}.",
    "Refunds over {} are forbidden.",
    "The sum of amount of issue refund must be at most {}.",
    "Refunds may not add up to more than {}.",
    "Issue refund with an amount over {} must never happen.",
    "Refunds over {} need an approval first.",
)


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize(
    ("number", "ways"),
    [("1.000", ("'1000'", "'1'")), ("12.500", ("'12500'", "'12.5'")), ("1.000.000", ("'1000000'",)),
     ("1.000,50", ("'1000.50'",)), ("2,5", ("'2.5'",))],
)  # fmt: skip
def test_dots_and_commas_that_differ_from_country_to_country(
    frame: str, number: str, ways: tuple[str, ...]
) -> None:
    with pytest.raises(BadInput) as bad:
        read(frame.format(number))
    assert all(way in bad.value.message for way in (repr(number), *ways))


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("number", ["1,000", "1.5", "0.125", "1000", "12,500.50", "1.25"])
def test_numbers_of_one_meaning(frame: str, number: str) -> None:
    assert read(frame.format(number)) == read(frame.format(number.replace(",", "")))


@pytest.mark.parametrize(
    "sentence",
    [
        "A refund must be between 20 and 10.",
        "The refund amount must be between 20 and 10.",
        "Refunds: from 20 to 10.",
        "Issue refund with an amount between 20 and 10 must never happen.",
    ],
)
def test_what_lies_between_a_number_and_a_smaller_one(sentence: str) -> None:
    with pytest.raises(BadInput, match=r"nothing lies.*'(between 10 and 20|from 10 to 20)'"):
        read(sentence)


def test_hours_over_midnight_are_no_such_numbers() -> None:
    assert "over midnight" in read("Refunds only between 10 pm and 6 am.")


@pytest.mark.parametrize(
    "sentence",
    ["No more refunds than cancellations.", "At most as many refunds as cancellations.",
     "No more issue refund calls than cancel booking calls."],
)  # fmt: skip
def test_at_each_moment_or_in_the_end(sentence: str) -> None:
    with pytest.raises(BadInput):
        read(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "Never more refunds than cancellations.",
        "At no time may there be more refunds than cancellations.",
        "No more refunds than cancellations so far.",
        "The number of refunds must not exceed the number of cancellations.",
        "Refunds must not outnumber cancellations.",
    ],
)
def test_what_is_so_at_each_moment(sentence: str) -> None:
    assert read(sentence) == read("Issue refund must not happen more often than cancel booking.")


def test_an_approval_comes_before_what_it_is_for() -> None:
    own = "Issue refund must not happen more often than get approval."
    assert read("No more refunds than approvals.") == read(own)


@pytest.mark.parametrize(
    ("sentence", "hint"),
    [
        ("At most 3 refunds per cancellation.", "so many for each call of 'cancel booking'"),
        ("At most one refund per cancellation.", "not happen more often than cancel booking"),
        ("Each cancellation may get at most 3 refunds.", ""),
        ("Issue at most 2 vouchers for each cancellation.", "with the same cancellation"),
    ],
)
def test_an_argument_or_an_action(sentence: str, hint: str) -> None:
    with pytest.raises(BadInput) as bad:
        read(sentence)
    assert hint in bad.value.message


def test_of_an_argument_of_that_name() -> None:
    same = read("Issue refund must happen at most 3 times with the same cancellation.")
    assert "same cancellation" in same
    assert "same cancellation_id" in read("At most 3 refunds per cancellation id.")
    assert "same booking" in read("At most 3 refunds per booking.")


@pytest.mark.parametrize(
    "sentence",
    ["Refund limit: at least 3", "The refund limit must be at most 3.", "Refund cap is at least two."],
)
def test_a_limit_of_calls_or_an_argument(sentence: str) -> None:
    with pytest.raises(BadInput):
        read(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "At most 3 refunds, failed payments don't count.",
        "At most 3 refunds per booking; failed vouchers don't count.",
        "Max 3 refunds per booking, not counting failed payments.",
        "Max 3 refunds per booking, failed cancellations count too.",
        "At most 3 refunds, only successful payments count.",
    ],
)
def test_failures_of_something_else_count_nowhere(sentence: str) -> None:
    with pytest.raises(BadInput):
        read(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "Two refunds per booking, not a third voucher.",
        "Two refunds per booking, a third payment is too many.",
        "At most two refunds per booking, never a third payroll.",
    ],
)
def test_what_is_too_many_of_something_else(sentence: str) -> None:
    with pytest.raises(BadInput):
        read(sentence)


@pytest.mark.parametrize("field", ["booking ref", "booking reference", "booking id", "booking_ref"])
def test_the_whole_name_of_an_argument_must_be_the_same(field: str) -> None:
    same = read(f"Issue refund must happen at most 2 times with the same {field.replace(' ', '_')}.")
    assert read(f"Same {field}: at most 2 refunds.") == same
    assert read(f"At most 2 refunds, same {field}.") == same


@pytest.mark.parametrize("third", ["a third", "a third one", "a third refund", "a third call"])
def test_what_is_too_many_of_what_is_counted(third: str) -> None:
    two = read("Issue refund must happen at most 2 times with the same booking.")
    assert read(f"Two refunds per booking, never {third}.") == two


@pytest.mark.parametrize(
    "sentence",
    ["Payroll runs must finish after 10 minutes.", "Payroll runs end after 10 minutes.",
     "Payroll runs are completed after 10 minutes."],
)  # fmt: skip
def test_no_sooner_or_no_later(sentence: str) -> None:
    with pytest.raises(BadInput):
        read(sentence)


def test_over_after_so_long() -> None:
    took = read("Run payroll must take at most 10 minutes.")
    assert read("Payroll runs must be over after 10 minutes.") == took
    assert read("Payroll runs must finish after at most 10 minutes.") == took


def test_so_many_calls_or_an_amount_of_what_nobody_pays() -> None:
    with pytest.raises(BadInput, match="at most 60 times"):
        read("A run may cancel bookings up to 60 in all.")


@pytest.mark.parametrize("what", ["refunds", "tries", "attempts", "ones", "calls"])
def test_failures_of_what_is_counted(what: str) -> None:
    assert read(f"At most 3 refunds, failed {what} don't count.") == read(
        "Issue refund must succeed at most 3 times."
    )


def test_what_is_tried_again_compares_no_argument_that_is_not_said() -> None:
    again = read("If run payroll fails, it must be tried again within 5 minutes.")
    assert read("If a payroll fails, it must be tried again within 5 minutes.") == again
    assert read("A payroll that failed has to be tried again within 5 minutes.") == again
