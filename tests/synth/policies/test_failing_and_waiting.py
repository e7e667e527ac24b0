"""Sentences about failed calls, pauses, hours and what runs at once: read as meant, or refused."""

from __future__ import annotations

import pytest

from synth.errors import BadInput
from synth.observed import run_from_json
from synth.policies import judge_policies, load_policies
from synth.policies.meanings import demands_of
from synth.policies.names import Names, Tools
from synth.policies.refused import read_rule
from synth.policies.sentences import OURS

ACTIONS = (
    "charge card", "verify guest", "book room", "release room", "notify manager", "send receipt",
    "ship order", "pack order", "cancel order", "approve order", "send newsletter", "send sms", "reject ad",
    "approve ad",
)  # fmt: skip
NAMES = Names({phrase: Tools(phrase, (phrase.replace(" ", "_"),)) for phrase in ACTIONS})
HEAD = "actions:\n" + "".join(f"  {phrase}: {phrase.replace(' ', '_')}\n" for phrase in ACTIONS)

MEANT = """
If charging a card fails three times, notify the manager. | If charge card fails 3 times, notify manager must follow.
After two failed charges of a card, do not charge that card again. | If charge card fails 2 times, charge card must never happen with the same card.
Give up charging a card after 2 failed charges of it. | If charge card fails 2 times, charge card must never happen with the same card.
Three failed charges and the manager must be notified. | If charge card fails 3 times, notify manager must follow.
Three failed ad approvals in a row and approving ads stops. | If approve ad fails 3 times in a row, approve ad must never happen.
If charge card failed twice for a customer, notify the manager for it. | If charge card fails 2 times, notify manager must follow with the same customer.
After three unsuccessful attempts at charging a card, cancel the order. | If charge card fails 3 times, cancel order must follow.
After 3 failed attempts to verify the guest, the agent has to notify the manager. | If verify guest fails 3 times, notify manager must follow.
Once a charge has failed, don't try to charge the same order id again. | If charge card fails, charge card must never happen afterwards with the same order_id.
If a charge fails wait at least 5 minutes before charging that order_id again. | Charge card must never happen within 5 minutes after charge card fails with the same order_id.
When a charge fails, wait a minute before charging again. | Charge card must never happen within 1 minute after charge card fails.
After a failed charge leave at least 30 seconds before the next one. | Charge card must never happen within 30 seconds after charge card fails.
Wait at least 10 minutes after a failed charge before charging again. | Charge card must never happen within 10 minutes after charge card fails.
If charging a card fails, try again after 30 seconds at the earliest. | Charge card must never happen within 30 seconds after charge card fails.
A failed charge may be retried only after 5 minutes. | Charge card must never happen within 5 minutes after charge card fails.
If verifying a guest failed, don't send its receipt until verifying it worked. | If verify guest fails, send receipt must never happen until verify guest succeeds with the same guest.
After a failed charge no second one on that order without a new packing of it. | If charge card fails, charge card must never happen until pack order succeeds with the same order.
After a failed charge, verify the guest again before trying to charge a card. | If charge card fails, charge card must never happen until verify guest succeeds.
If a booking fails, release the room before booking again. | If book room fails, book room must never happen until release room succeeds.
A charge that failed must be followed by a notification of the manager. | If charge card fails, notify manager must follow.
If the attempt to charge a card fails, the manager has to be notified within 5 minutes. | If charge card fails, notify manager must follow within 5 minutes.
Don't send a second receipt for an order unless the first one failed. | Send receipt must never happen after send receipt with the same order.
No second newsletter unless the first one failed. | Send newsletter must never happen after send newsletter.
No order may be cancelled a second time unless the first cancellation failed. | Cancel order must never happen after cancel order with the same order.
Newsletters go out between 08:00 and 18:00 only. | Send newsletter must happen between 08:00 and 18:00.
Newsletters don't go out before 8 am. | Send newsletter must never happen before 08:00.
No newsletters go out on Sundays. | Send newsletter must not happen on Sundays.
Orders don't get shipped between 22:00 and 06:00. | Ship order must never happen between 22:00 and 06:00.
Orders get shipped on weekdays only. | Ship order must happen on weekdays.
Ship order is blocked on Fridays and on weekends. | Ship order must not happen on Fridays, Saturdays and Sundays.
Shipping is closed on Sundays. | Ship order must not happen on Sundays.
On weekends orders can be packed but not shipped. | Ship order must not happen on Saturdays and Sundays.
No call of pack order on Fridays or Saturdays between 18:00 and 21:00. | Pack order must never happen on Fridays and Saturdays between 18:00 and 21:00.
No reminders, no thanks: no newsletters on Sundays, please. | ?
No newsletters on Sundays, please. | Send newsletter must not happen on Sundays.
Rule: no newsletters on Sundays! | Send newsletter must not happen on Sundays.
Please note: newsletters only on weekdays, thanks. | Send newsletter must happen on weekdays.
1. Kindly do not ship orders after 6 pm. | Ship order must never happen after 18:00.
After a charge, please send a receipt. | Charge card must be followed by send receipt.
wait 60 seconds or longer between two shipments in one zone | Ship order must never happen within 60 seconds after ship order with the same zone.
between shipments for one customer there must be 24 hours | Ship order must never happen within 24 hours after ship order with the same customer.
Leave 5 minutes or more between two calls of ship order. | Ship order must never happen within 5 minutes after ship order.
Shipments must be at least 10 minutes apart. | Ship order must never happen within 10 minutes after ship order.
A packed order must not be cancelled for the next 15 minutes. | Cancel order must never happen within 15 minutes after pack order with the same order.
Cancelling an order needs a packing of the same order_id no more than 5 minutes earlier. | Cancel order must start within 5 minutes after pack order with the same order_id.
Every packed order must get its newsletter within 30 minutes, same order id. | Pack order must be followed by send newsletter with the same order_id within 30 minutes.
No ad approvals in the 10 minutes after an ad rejection. | Approve ad must never happen within 10 minutes after reject ad.
Failed charges must be followed by a notification of the manager. | If charge card fails, notify manager must follow.
Two failed charges: notify the manager. | If charge card fails 2 times, notify manager must follow.
No two shipments in parallel. | Ship order must not overlap each other.
Shipments run one at a time. | Ship order must not overlap each other.
Shipping must not run in parallel with packing. | Ship order must not overlap pack order.
Never ship an order during the packing of it. | Ship order must not overlap pack order with the same order.
No shipment during a packing. | Ship order must not overlap pack order.
Never ship an order at night (22:00 to 06:00)! | Ship order must never happen between 22:00 and 06:00.
Send no more than three sms in any 60 minutes. | Send sms must happen at most 3 times within 60 minutes.
Only one shipment at a time. | Ship order must not overlap each other.
If a charge fails, do not release the room. | ?
No charge after a failed verification. | ?
A failed charge must not be retried. | ?
If a charge keeps failing, notify the manager. | ?
Ship order must not start while pack order is still running. | Ship order must not start while pack order runs.
Charge a card a second time only if the last charge failed. | ?
An order is cancelled at most once, a second time only if the first cancellation failed. | ?
""".strip().splitlines()  # noqa: E501


def demanded(sentence: str) -> str:
    return demands_of(read_rule(sentence, NAMES, OURS))


@pytest.mark.parametrize("line", MEANT)
def test_a_sentence_is_read_as_it_is_meant_or_refused(line: str) -> None:
    sentence, rule = line.split(" | ")
    if rule == "?":
        with pytest.raises(BadInput):
            demanded(sentence)
    else:
        assert demanded(sentence) == demanded(rule)


def judged(rule: str, calls: str) -> str:
    """`charge card o1!` is a call about an order that fails; a number before it is its minute."""
    made = []
    for n, call in enumerate(calls.split(", ")):
        minute, *words, order = call.split()
        start = int(minute) * 60 * 10**9
        made.append(
            {
                "id": str(n),
                "name": "_".join(words),
                "arguments": {"order": order.rstrip("!")},
                "start_ns": start,
                "end_ns": start + 10**9,
                ("error" if order.endswith("!") else "result"): "so",
            }
        )
    policies = load_policies(f"{HEAD}policies:\n  - id: P\n    rule: {rule!r}\n")
    [found] = judge_policies(policies, run_from_json({"run_id": "r", "calls": made, "status": "ok"}))
    return found.verdict


KEPT, BROKEN = ("ok", "not_applicable"), ("violated",)


@pytest.mark.parametrize(
    ("rule", "kept", "broken"),
    [
        (
            "After 3 failed charges of an order, notify the manager.",
            "1 charge card a!, 2 charge card a!, 3 charge card a",
            "1 charge card a!, 2 charge card a!, 3 charge card a, 4 charge card a!",
        ),
        (
            "Don't send a second receipt for an order unless the first one failed.",
            "1 send receipt a!, 2 send receipt a, 3 send receipt b",
            "1 send receipt a, 2 send receipt b, 3 send receipt a",
        ),
        (
            "A packed order must not be cancelled for the next 15 minutes.",
            "1 pack order a, 2 cancel order b, 17 cancel order a",
            "1 pack order a, 15 cancel order a",
        ),
        (
            "No ad approvals in the 10 minutes after an ad rejection.",
            "1 approve ad a, 2 reject ad a, 13 approve ad a",
            "2 reject ad a, 11 approve ad b",
        ),
        (
            "After a failed charge no second one on that order without a new packing of it.",
            "1 charge card a!, 2 pack order a, 3 charge card a, 4 charge card b",
            "1 pack order a, 2 charge card a!, 3 charge card a",
        ),
    ],
)
def test_runs_are_judged_as_the_sentence_means_them(rule: str, kept: str, broken: str) -> None:
    assert judged(rule, kept) in KEPT
    assert judged(rule, broken) in BROKEN
