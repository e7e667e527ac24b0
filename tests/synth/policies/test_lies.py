"""Sentences that sound like a rule of the language and mean another: they are refused, with what to write."""

from __future__ import annotations

import pytest

from synth.errors import BadInput
from synth.policies import load_policies
from synth.policies.meanings import demands_of
from synth.policies.names import Names, Tools
from synth.policies.refused import read_rule
from synth.policies.sentences import OURS

ACTIONS = {
    "verify the customer": "verify_customer",
    "look up the order": "get_order",
    "issue a refund": "issue_refund",
    "approve the refund": "approve_refund",
    "cancel the order": "cancel_order",
    "send an email": "send_email",
    "close the ticket": "close_ticket",
    "open the gate": "open_gate",
    "transfer money": "transfer_money",
    "run the tests": "run_tests",
    "deploy": "deploy",
    "escalate to a human": "escalate",
    "get approval": "get_approval",
    "freeze the card": "freeze_card",
}
NAMES = Names({phrase: Tools(phrase, (tool,)) for phrase, tool in ACTIONS.items()})

LIES = """
The agent may issue a refund before verifying the customer.
Before verifying the customer the agent can issue a refund.
The agent may transfer money at least twice.
You might not verify the customer.
Deploy only if the tests are run afterwards.
Deploy only if tests are run afterwards.
After a refund, only an email may be sent.
Verify the customer before issuing a refund, and look up the order after it.
Verify the customer before issuing a refund and send an email afterwards.
Every refund precedes a cancellation.
Each refund precedes a cancellation.
After both a refund and a cancellation send an email.
Transfer less than 500.
Never transfer 500.
The refunds of one run must not exceed 500.
After cancelling an order over 500, get approval before the refund.
By the time a refund is issued the ticket must not be closed.
Look up the order before cancelling another order.
On Fridays, deploy only before 12:00.
On Fridays, deployments are allowed only after 12:00.
At most two customers may be verified.
Never verify more than 3 customers.
After a refund and a cancellation send an email.
Once a refund has been issued and an order has been cancelled, send an email.
Never cancel another order after a refund.
No money may be transferred while the card is not frozen.
Transfer money only as long as the card is frozen.
Run all tests before deploying.
All our tests have to be run before a deployment.
Do not issue a refund until before the order is cancelled.
Don't run the tests again before deploying.
Never run the tests again until you deploy.
Don't issue another refund until an email was sent.
If the tests fail, do not deploy.
No deployment after a failed test run.
If the refund or the cancellation fails twice, escalate to a human.
The refund failed, so send an email.
Retry a failed refund only with the same amount.
Issue a refund a second time only if the last refund failed.
Wait 5 minutes before deploying.
Deploy again before a failed deployment.
Without a new approval no refund.
No order may be cancelled more than once for the same customer.
all refunds together: 1000 tops
Never transfer money to the service desk.
Don't deploy or run the tests in 'production'.
No emails of policy violations.
Stop issuing refunds before the ticket is closed.
Stop deploying before 18:00.
Run the tests before deploying and after a refund.
Never cancel an order that is cancelled.
A refund needs verification after 18:00.
Cancel no more than 20 per customer.
At most 2 refunds per customer and day.
On Sundays only deployments with region EU may be made.
Only deploy with region EU if owner is Ann.
If all refunds fail, escalate to a human.
After two failed refunds within 10 minutes escalate to a human.
If two refunds fail within 10 minutes, escalate to a human.
Escalate to a human if two refunds fail within 10 minutes.
Deploy on Mondays only after 10:00.
Emails are sent from 8 to 10 only.
Run at most 300 tests.
Never more than 2 open gates.
Refunds and cancellations must not happen in the same run.
Deploying is forbidden on weekends and after 18:00.
No transfer of money during a card freeze.
Deployments must stop before 18:00.
If you fail to verify the customer, send an email.
Every issued refund must get an approval.
A second refund may be issued if the first one failed.
Issue a second refund unless the first one failed.
No second refund only if the first one failed.
""".strip().splitlines()

TRUE = {
    "The agent may issue a refund only after verifying the customer.":
        "Each call of issue_refund needs an earlier success of verify_customer.",
    "A refund precedes every cancellation.":
        "Each call of cancel_order needs an earlier success of issue_refund.",
    "Only deploy after running the tests.": "Each call of deploy needs an earlier success of run_tests.",
    "After each refund and each cancellation send an email.":
        "After each success of issue_refund, send_email must succeed; without one it need not. "
        "After each success of cancel_order, send_email must succeed; without one it need not.",
    "Both get approval and run the tests must happen before deploy.":
        "Each call of deploy needs an earlier success of get_approval. "
        "Each call of deploy needs an earlier success of run_tests.",
    "A deployment needs the tests run afterwards.":
        "After each success of deploy, run_tests must succeed; without one it need not.",
    "After two failed refunds escalate to a human within 10 minutes.":
        "Once issue_refund has failed 2 times, escalate must succeed after that within 10 minutes.",
    "Never transfer more than 200 in a single money transfer.":
        "No call of transfer_money with amount over 200.",
    "After refunds no other refund may be issued.":
        "Once issue_refund has succeeded, issue_refund must not be called any more.",
    "All refunds must be approved before they are issued.":
        "Each call of issue_refund needs an earlier success of approve_refund with the same refund.",
    "The customer must be verified before the agent may issue a refund.":
        "Each call of issue_refund needs an earlier success of verify_customer.",
    "Never look up an order twice for the same customer.":
        "At most 1 call of get_order with the same customer, failed ones included.",
    "No refund may be issued twice for the same customer.":
        "At most 1 call of issue_refund with the same customer, failed ones included.",
    "Both run the tests and get approval must happen before deploy.":
        "Each call of deploy needs an earlier success of run_tests. "
        "Each call of deploy needs an earlier success of get_approval.",
}  # fmt: skip


@pytest.mark.parametrize("sentence", LIES)
def test_what_means_another_thing_is_refused(sentence: str) -> None:
    with pytest.raises(BadInput):
        read_rule(sentence, NAMES, OURS)


@pytest.mark.parametrize(("sentence", "demanded"), TRUE.items())
def test_what_is_meant_is_read(sentence: str, demanded: str) -> None:
    assert demands_of(read_rule(sentence, NAMES, OURS)) == demanded


def test_any_other_tool_is_no_other_one_of_the_same() -> None:
    text = "actions: {deploy: d, roll back: r}\npolicies:\n- {id: a, rule: %s}\n"
    [policy] = load_policies(text % '"After deploy, the agent must not call any other tool."').policies
    assert demands_of(policy.rule) == "Once d has succeeded, any tool must not be called any more."
