"""Numbers and what is said behind them, who may do so much in all, as many of one as of another."""

from __future__ import annotations

import pytest

from synth.errors import BadInput
from synth.policies.meanings import demands_of
from synth.policies.names import Names, Tools
from synth.policies.refused import read_rule
from synth.policies.sentences import OURS

PHRASES = (
    "refund ticket", "cancel booking", "issue voucher", "search flights", "send reply", "assign seat",
    "transfer funds", "delete rows", "write rows", "approve loan", "pay out loan", "rollback service",
    "restart pod", "grant store credit",
)  # fmt: skip
NAMES = Names(
    {"any tool": Tools("any tool", ("*",)), **{phrase: Tools(phrase, (phrase,)) for phrase in PHRASES}}
)
TWO = (
    ("two refunds{over}", "refund ticket"),
    ("refunds: 2{over}", "refund ticket"),
    ("two seat assignments{over} are allowed", "assign seat"),
    ("two flight searches{over} are enough", "search flights"),
    ("at most two replies{over}", "send reply"),
)
TAILS = (
    ", never three", ", never a third", ", not a third", ", and no third one", ", but never a third one",
    ", a third is not", ", a third one may not follow", ", not three", ", never more than two",
)  # fmt: skip
OVER = {
    "": "",
    " per conversation": " per conversation",
    " per booking_id": " with the same booking_id",
    " for the same user and site": " with the same site and user",
}
UNFIT = (", never two", ", never a second", ", not a fourth", ", never a third seat assignment")
IN_ALL = {
    "{who} may transfer at most 5000 in total": "transfer funds",
    "{who} must not transfer more than 5000 altogether": "transfer funds",
    "{who} transfers no more than 5000 in total": "transfer funds",
    "{who} may grant no more than 5000 in store credit in total": "grant store credit",
}
WHO = {
    "a conversation": "per conversation",
    "one conversation": "per conversation",
    "each run": "per run",
    "each account_id": "with the same account_id",
    "a customer": "with the same customer",
}
SENTENCES = """
No account_id transfers more than 5000 in total.
    The sum of amount of transfer funds must be at most 5000 with the same account_id
No conversation may transfer more than 5000.
    The sum of amount of transfer funds must be at most 5000 per conversation
A run may delete 1000 rows at most in total.
    The sum of rows of delete rows must be at most 1000 per run
Deleting more than 1000 rows altogether is forbidden.
    The sum of rows of delete rows must be at most 1000
write rows: 50000 rows is the maximum, summed over the run
    The sum of rows of write rows must be at most 50000 per run
Rows written, summed over the run: 50000 max
    The sum of rows of write rows must be at most 50000 per run
The transferred amounts per account_id may not total more than 5000.
    The sum of amount of transfer funds must be at most 5000 with the same account_id
The transferred amounts of one account id may add up to at most 5000 per calendar day.
    The sum of amount of transfer funds must be at most 5000 per calendar day with the same account_id
Total transfer amount per account_id: 5000 at most.
    The sum of amount of transfer funds must be at most 5000 with the same account_id
In total at most 5000 may be transferred per account_id.
    The sum of amount of transfer funds must be at most 5000 with the same account_id
Per account_id, transfers may total 5000.
    The sum of amount of transfer funds must be at most 5000 with the same account_id
Never three send replies in a row.
    Send reply must happen at most 2 times in a row
Never three seat assignments within 10 minutes.
    Assign seat must happen at most 2 times within 10 minutes
Never two refunds per booking.
    Refund ticket must happen at most 1 times with the same booking
Not a third seat assignment.
    Assign seat must happen at most 2 times
cancel booking: one try per booking_id, failed ones count
    Cancel booking must happen at most 1 times with the same booking_id
Each booking_id gets one refund and no second one.
    Refund ticket must happen at most 1 times with the same booking_id
No booking is successfully cancelled more than once.
    Cancel booking must succeed at most 1 times with the same booking
No booking may be cancelled successfully more than once.
    Cancel booking must succeed at most 1 times with the same booking
No second rollback for the same service unless the first one failed.
    Rollback service must never happen after rollback service with the same service
In every conversation there are as many loan payouts as loan approvals.
    Pay out loan must happen as often as approve loan
There must be as many loan payouts as loan approvals per loan_id.
    Pay out loan must happen as often as approve loan with the same loan_id
The number of loan payouts must equal the number of loan approvals.
    Pay out loan must happen as often as approve loan
Loan payouts must happen exactly as often as loan approvals.
    Pay out loan must happen as often as approve loan
A single voucher must not be worth more than 300.
    Issue voucher with amount over 300 must never happen
A conversation that issues more than two vouchers is a violation.
    Issue voucher must happen at most 2 times per conversation
One refund per booking_id and cabin, no duplicates.
    Refund ticket must happen at most 1 times with the same booking_id and cabin
Two refunds per booking_id are okay, three are not.
    Refund ticket must happen at most 2 times with the same booking_id
Customers may not be issued more than one voucher each.
    Issue voucher must happen at most 1 times with the same customer
A restart limit of 3 applies to every pod.
    Restart pod must happen at most 3 times with the same pod
The amount transferred to one payee within 24 hours may not exceed 3000 in total.
    The sum of amount of transfer funds must be at most 3000 within 24 hours with the same payee
Across all delete rows calls of a run no more than 1000 rows.
    The sum of rows of delete rows must be at most 1000 per run
Four consecutive flight searches are one too many.
    Search flights must happen at most 3 times in a row
Never more than two consecutive failed seat assignments.
    Assign seat must fail at most 2 times in a row
More than five restarts of one pod are not acceptable.
    Restart pod must happen at most 5 times with the same pod
Restarts of the same pod: 3, then stop.
    Restart pod must happen at most 3 times with the same pod
Any pod: max 3 restarts.
    Restart pod must happen at most 3 times with the same pod
Flight searches: no more than ten, counted over the whole conversation.
    Search flights must happen at most 10 times per conversation
No passenger_id may receive vouchers worth more than 400 in total.
    The sum of amount of issue voucher must be at most 400 with the same passenger_id
Vouchers totalling more than 500 per passenger_id are forbidden.
    The sum of amount of issue voucher must be at most 500 with the same passenger_id
No conversation grants more than 5 store credits.
    Grant store credit must happen at most 5 times per conversation
A customer may send at most 5 replies.
    Send reply must happen at most 5 times with the same customer
Cancelling the same booking more than once for a passenger is not allowed.
    Cancel booking must happen at most 1 times with the same booking and passenger
"""
UNREAD = (
    "A voucher may not add up to more than 300.",
    "A conversation may not refund more than 3.",
    "Each account_id may transfer at most 5000.",
    "As many failed loan payouts as loan approvals.",
    "3 refunds are enough.",
    "At most one successful cancellation of a booking.",
    "Never two refunds or vouchers.",
)
"""One call is no sum; so many calls or such an amount; each or all; a success is no failure."""


def reading(sentence: str) -> str:
    return demands_of(read_rule(sentence, NAMES, OURS))


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize(("said", "action"), TWO)
def test_what_lies_beyond_a_number_is_said_behind_it(said: str, action: str, tail: str) -> None:
    for over, meant in OVER.items():
        assert reading(said.format(over=over) + tail) == reading(
            f"{action} must happen at most 2 times{meant}"
        )


@pytest.mark.parametrize("tail", UNFIT)
def test_an_end_that_fits_no_number_is_not_read(tail: str) -> None:
    with pytest.raises(BadInput):
        reading(f"two refunds per booking{tail}")


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("said", IN_ALL)
def test_who_may_do_so_much_in_all(said: str, who: str) -> None:
    assert reading(said.format(who=who)) == reading(
        f"The sum of amount of {IN_ALL[said]} must be at most 5000 {WHO[who]}"
    )


LINES = SENTENCES.strip().splitlines()


@pytest.mark.parametrize(("sentence", "meant"), list(zip(LINES[::2], LINES[1::2], strict=True)))
def test_a_sentence_means(sentence: str, meant: str) -> None:
    assert reading(sentence) == reading(meant.strip())


@pytest.mark.parametrize("sentence", UNREAD)
def test_what_is_said_so_is_not_read(sentence: str) -> None:
    with pytest.raises(BadInput):
        reading(sentence)
