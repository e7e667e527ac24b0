"""Numbers as they are typed: what is said behind them, of several actions together, of which things."""

from __future__ import annotations

import pytest

from synth.errors import BadInput
from synth.policies.meanings import demands_of
from synth.policies.names import Names, Tools
from synth.policies.refused import read_rule
from synth.policies.sentences import OURS

PHRASES = (
    "refund order", "send payment", "restart service", "terminate instance", "expand volume", "create index",
    "issue voucher", "open change ticket", "trigger failover", "add nodes", "scale service", "charge card",
    "edit file", "add bag", "reserve table", "book room",
)  # fmt: skip
NAMES = Names(
    {"any tool": Tools("any tool", ("*",)), **{phrase: Tools(phrase, (phrase,)) for phrase in PHRASES}}
)

TAILS = (
    ", that's the maximum", ", which is the limit", " is the limit", " is the maximum", ", not one more",
    ", and not one more", ", a fourth is too many", ", a fourth one is not allowed", ", that's all",
)  # fmt: skip
COUNTS = (
    ("three refunds{over}", "refund order"),
    ("refunds: 3{over}", "refund order"),
    ("three restarts{over}", "restart service"),
    ("we allow three payments{over}", "send payment"),
)
OVER = {" per run": " per run", " per region": " with the same region", " within an hour": " within 1 hour"}
SENTENCES = """
exactly one refund per run, no more, no less
    Refund order must happen exactly 1 times per run
Open one change ticket per run, neither more nor fewer.
    Open change ticket must happen exactly 1 times per run
Open one, and only one, change ticket per run.
    Open change ticket must happen exactly 1 times per run
A change ticket must be opened exactly once.
    Open change ticket must happen exactly 1 times
Trigger a failover at most once per run.
    Trigger failover must happen at most 1 times per run
No more than four scaling operations per run.
    Scale service must happen at most 4 times per run
Don't scale services more than 4 times in total.
    Scale service must happen at most 4 times
One refund per order, failed ones don't count
    Refund order must succeed at most 1 times with the same order
One payment per iban, failed payments don't count
    Send payment must succeed at most 1 times with the same iban
Three payments per iban, failed ones included
    Send payment must happen at most 3 times with the same iban
payments: <= 4 / run
    Send payment must happen at most 4 times per run
max 5 payments per hour and iban
    Send payment must happen at most 5 times within 1 hour with the same iban
Restart a service no more often than 3 times per region.
    Restart service must happen at most 3 times with the same region
Restarts of any given service must not exceed two.
    Restart service must happen at most 2 times with the same service
No more than two restarts of each service.
    Restart service must happen at most 2 times with the same service
Restarts plus terminations: 3 altogether at most.
    Restart service or terminate instance must happen at most 3 times
Counting refunds and vouchers together, three per run is the limit.
    Refund order or issue voucher must happen at most 3 times per run
At most 3 refunds plus vouchers.
    Refund order or issue voucher must happen at most 3 times
Not two indexes with the same name on the same table.
    Create index must happen at most 1 times with the same name and table
No two indexes with the same name on the same table.
    Create index must happen at most 1 times with the same name and table
There shall be no second payment to the same iban.
    Send payment must happen at most 1 times with the same iban
Every refund must be for a different order.
    Refund order must happen at most 1 times with the same order
Do not repeat a refund with the same order_id.
    Refund order must happen at most 1 times with the same order_id
A run gets 12 tool calls, tops
    Any tool must happen at most 12 times per run
Keep it to 15 tool calls.
    Any tool must happen at most 15 times
Payments go to at most 2 different ibans in one run.
    Send payment must happen with at most 2 different iban per run
Payments to at most 3 ibans per run.
    Send payment must happen with at most 3 different iban per run
Restarts happen in no more than one region per run.
    Restart service must happen with at most 1 different region per run
Edits touch no more than 3 different paths.
    Edit file must happen with at most 3 different path
All payments of a run go out from one and the same account id.
    Send payment must happen with at most 1 different account_id per run
Only one region may be touched in a run.
    Any tool must happen with at most 1 different region per run
One run, one customer id
    Any tool must happen with at most 1 different customer_id per run
Everything in a run happens on one branch.
    Any tool must happen with at most 1 different branch per run
Expand each volume by at most 500 GB in total.
    The sum of gb of expand volume must be at most 500 with the same volume
Never expand any one volume by more than 500 GB altogether.
    The sum of gb of expand volume must be at most 500 with the same volume
No volume may be expanded by more than 500 GB in total.
    The sum of gb of expand volume must be at most 500 with the same volume
Volumes may be expanded by no more than 500 GB each in total.
    The sum of gb of expand volume must be at most 500 with the same volume
Limit the total expansion of each volume to 500 GB.
    The sum of gb of expand volume must be at most 500 with the same volume
What is charged to one card has to add up to less than 1000.
    The sum of amount of charge card must be below 1000 with the same card
All edits of a run together change fewer than 400 lines.
    The sum of lines of edit file must be below 400 per run
No more than 20 nodes in total may be added per cluster.
    The sum of nodes of add nodes must be at most 20 with the same cluster
Total weight of the bags of one passenger: 46 kg at most.
    The sum of weight of add bag must be at most 46 with the same passenger
Total covers reserved at the same restaurant: 20 at most.
    The sum of covers of reserve table must be at most 20 with the same restaurant
"""
UNREAD = (
    "three refunds per run, a fifth is too many",
    "At least three refunds per run, no more, no less",
    "Do not repeat a refund.",
    "One run, one refund",
    "Restarts must never exceed 400 in total for one run, a third is too many",
)
"""What is said behind contradicts the number, or is of another action; or leaves open what is counted."""


def reading(sentence: str) -> str:
    return demands_of(read_rule(sentence, NAMES, OURS))


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize(("said", "action"), COUNTS)
def test_what_stands_behind_a_number_says_that_it_is_the_most(said: str, action: str, tail: str) -> None:
    for over, meant in OVER.items():
        assert reading(said.format(over=over) + tail) == reading(
            f"{action} must happen at most 3 times{meant}"
        )


LINES = SENTENCES.strip().splitlines()


@pytest.mark.parametrize(("said", "meant"), list(zip(LINES[::2], LINES[1::2], strict=True)))
def test_a_number_in_passing_is_read(said: str, meant: str) -> None:
    assert reading(said) == reading(meant.strip())


@pytest.mark.parametrize("said", UNREAD)
def test_a_number_that_is_contradicted_or_open_is_not_read(said: str) -> None:
    with pytest.raises(BadInput):
        reading(said)
