"""Rules of some calls alone: clauses about arguments in front, behind and beside, and whose these are."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from synth.errors import BadInput
from synth.observed.run import Run, ToolCall
from synth.policies import judge_policies, load_policies
from synth.policies.meanings import demands_of

HEAD = (
    "actions: {pay claim: pay, refund: refund, approve claim: approve, close claim: close, "
    "drain node: drain, send letter: letter, hand over to a human: hand_over, call the restaurant: ring, "
    "pause restaurant: pause, set reserve: reserve, assign adjuster: assign, print label: print, "
    "flag post: flag, remove post: remove, launch campaign: launch, notify customer: notify, "
    "adjust inventory: adjust, trigger pipeline: trigger, book flight: book, take snapshot: snap, "
    "delete volume: delete, scale deployment: scale}\npolicies:\n"
)


def rule(sentence: str) -> Any:
    return load_policies(f"{HEAD}  - {{id: P, rule: {sentence!r}}}\n")


def reading(sentence: str) -> str:
    return demands_of(rule(sentence).policies[0].rule)


def verdict(sentence: str, *calls: tuple[str, Any]) -> str:
    run = Run("r", tuple(ToolCall(None, tool, given) for tool, given in calls), status="ok")
    return judge_policies(rule(sentence), run)[0].verdict


@pytest.mark.parametrize(
    ("sentence", "means"),
    [
        ("In cluster prod no drains with force true.",
         'No call of drain with cluster "prod" and with force true.'),
        ("Unless cluster is sandbox, draining is not allowed.",
         'No call of drain with cluster other than "sandbox".'),
        ("No letters by channel fax unless the template is legal_notice.",
         'No call of letter with channel "fax" and with template other than "legal_notice".'),
        ("Drain node is forbidden from 22:00 to 06:00 when cluster is prod.",
         'Each call of drain with cluster "prod" starts no earlier than 06:00 and has ended by 22:00.'),
        ("Pay claim only after approve claim for the same claim_id, unless urgency is emergency.",
         'Each call of pay with urgency other than "emergency" needs an earlier success of approve with the '
         "same claim_id."),
        ("Unless the topic is allergy, hand over to a human needs a call to the restaurant first.",
         'Each call of hand_over with topic other than "allergy" needs an earlier success of ring.'),
        ("Only pause restaurants if requested_by is restaurant or ops.",
         'No call of pause with requested_by other than "restaurant" or "ops".'),
        ("Labels of carrier DHL are printed with service standard or express only.",
         'No call of print with carrier "DHL" and with service other than "standard" or "express".'),
        ("An adjuster of grade senior must be assigned before a reserve over 100000 is set.",
         'Each call of reserve with amount over 100000 needs an earlier success of assign with grade '
         '"senior".'),
        ("Payments, if the amount is over 10, need an approval first.",
         "Each call of pay with amount over 10 needs an earlier success of approve."),
        ("No payment without an approval unless amount is below 50.",
         "Each call of pay with amount of at least 50 needs an earlier success of approve."),
        ("Once a claim is closed, no payment may be made unless approver is lead.",
         'Once close has succeeded, pay with approver other than "lead" must not be called any more.'),
        ("Pay claim must be followed by close claim, except when method is cash.",
         'After each success of pay with method other than "cash", close must succeed; without one it need '
         "not."),
        ("No payments or refunds if the method is wire.", 'No call of pay or refund with method "wire".'),
        ("No payments unless method is wire or amount is under 100.",
         'No call of pay with amount of at least 100 and with method other than "wire".'),
        ("Payments are only made if method is wire.", 'No call of pay with method other than "wire".'),
        ("In region north or south, at most 3 payments within 1 hour.",
         'At most 3 calls of pay with region "north" or "south" within any 1 hour, failed ones included.'),
        ("Pay claims only between 9:00 and 17:00 unless priority is high.",
         'Each call of pay with priority other than "high" starts no earlier than 09:00 and has ended by '
         "17:00."),
        ("If a payment has an amount over 500, the claim must be approved before it is paid.",
         "Each call of pay with amount over 500 needs an earlier success of approve with the same claim."),
    ],
)  # fmt: skip
def test_a_clause_says_which_calls_are_meant(sentence: str, means: str) -> None:
    assert reading(sentence) == means


@pytest.mark.parametrize(
    ("sentence", "means"),
    [
        ("Moderator auto must not do removals under policy hate.",
         'No call of remove with moderator "auto" and with policy "hate".'),
        ("Deltas under -50 are forbidden in inventory adjustments unless approved_by is inventory_manager.",
         'No call of adjust with approved_by other than "inventory_manager" and with deltas under -50.'),
        ("A post flagged with severity high must be removed within 5 minutes.",
         'After each success of flag with severity "high", remove must succeed within 5 minutes with the '
         "same post; without one it need not."),
        ("US campaigns launch with a budget of at least 100.",
         'No call of launch with an argument "US" and with budget under 100.'),
        ("No sms notifications before 8:00 or after 21:00.",
         'Each call of notify with an argument "sms" starts no earlier than 08:00 and has ended by 21:00.'),
        ("A pipeline has to be triggered in staging before it is triggered in prod.",
         'Each call of trigger with an argument "prod" needs an earlier success of trigger with an argument '
         '"staging" with the same pipeline.'),
        ("Book flight is only allowed in economy or business cabin.",
         'No call of book with cabin other than "economy" or "business".'),
        ("Snapshots and volume deletions stay in region eu-west-1 or eu-central-1.",
         'No call of snap with region other than "eu-west-1" or "eu-central-1". No call of delete with '
         'region other than "eu-west-1" or "eu-central-1".'),
        ("Unless cluster is sandbox, scaling to 0 replicas is not allowed.",
         'No call of scale with cluster other than "sandbox" and with replicas 0.'),
        ("An adjuster of grade senior must be assigned to the claim_id before a reserve over 100000 is set "
         "on it.",
         "Each call of reserve with amount over 100000 needs an earlier success of assign with grade "
         '"senior" with the same claim_id.'),
        ("If pay claim has an amount over 1000, close claim has to happen afterwards.",
         "After each success of pay with amount over 1000, close must succeed; without one it need not."),
        ("Unless the requester is an admin, no refunds.",
         'No call of refund with requester other than "admin".'),
        ("Except for region EU, payments need an approval first.",
         'Each call of pay with region other than "EU" needs an earlier success of approve.'),
        ("A payment requested_by support needs an approval first.",
         'Each call of pay with requested_by "support" needs an earlier success of approve.'),
        ("After close claim only send letter may be called, nothing else.",
         "Once close has succeeded, any tool other than letter must not be called any more."),
        ("Before a claim is closed, nothing but send letter may be called.",
         "Each call of any tool other than close or letter needs an earlier success of close."),
        ("Every call except send letter needs approve claim first.",
         "Each call of any tool other than approve or letter needs an earlier success of approve."),
        ("No tools other than send letter or refund may be used.",
         "No call of any tool other than letter or refund."),
        ("Every payment except with reason gdpr needs an approval first.",
         'Each call of pay with reason other than "gdpr" needs an earlier success of approve.'),
        ("All payments except those with method card need an approval first.",
         'Each call of pay with method other than "card" needs an earlier success of approve.'),
        ("In region EU claims may only be paid after an approval.",
         'Each call of pay with region "EU" needs an earlier success of approve.'),
        ("Letters may be sent in any format except pdf.", 'No call of letter with format "pdf".'),
        ("No letters except in language en.", 'No call of letter with language other than "en".'),
        ("At most one letter of kind final within 1 hour.",
         'At most 1 call of letter with kind "final" within any 1 hour, failed ones included.'),
        ("No drains with cluster prod and force true.",
         'No call of drain with cluster "prod" and with force true.'),
        ("After close claim, nothing but send letter may be called.",
         "Once close has succeeded, any tool other than letter must not be called any more."),
        ("Once a claim is closed, nothing is allowed except sending letters or refunding.",
         "Once close has succeeded, any tool other than letter or refund must not be called any more."),
    ],
)  # fmt: skip
def test_what_calls_are_given_may_stand_apart_from_their_action(sentence: str, means: str) -> None:
    assert reading(sentence) == means


@pytest.mark.parametrize(
    ("sentence", "why"),
    [
        ("After close claim no pay claim, unless approver is lead.", "whose argument is meant"),
        ("After pay claim, close claim must follow, except when method is cash.", "whose argument is meant"),
        ("Pay claim and refund must never both happen if the method is wire.", "whose argument is meant"),
        ("Wait 10 minutes between two payments unless method is wire.", "whose argument is meant"),
        ("No payments unless method is wire and amount is under 100.", "of several conditions"),
        ("No payments if method is cash or amount is over 100.", ""),
        ("No payments if the claim is late.", ""),
        ("No payments if the customer is angry.", ""),
        ("No payments if the payment is refused.", ""),
        ("Payments may be made if the method is wire.", ""),
        ("Pay claim must happen at least once if the method is wire.", ""),
        ("Payments only between 9:00 and 17:00 only if method is wire.", ""),
        ("Refund or pay claim in region north must never happen.", "a rule about all calls"),
        ("Moderator auto may do removals.", ""),
        ("Claims closed with reason fraud must be approved first.", ""),
        ("After close claim, nothing but a letter is needed.", ""),
        ("Snapshots do not stay in region north.", ""),
        ("No letters to VIP customers.", ""),
        ("VIP customers must be notified within 5 minutes after pay claim.", ""),
        ("No refunds with customer approval.", ""),
        ("No refunds while status is open.", ""),
        ("Drain nodes in US and EU only after approve claim.", ""),
        ("No letters to UN and WHO.", ""),
        ("No payments if the customer is an admin.", ""),
        ("In case of emergency no payments.", ""),
        ("Nothing but a letter is needed after close claim.", ""),
        ("Only send letter may be called after close claim.", ""),
        ("Nothing but letters and parcels may be sent.", ""),
        ("Letters may be sent in any format.", ""),
        ("After 3 failed payments, nothing but close claim is allowed.", ""),
    ],
)  # fmt: skip
def test_what_may_be_meant_of_other_calls_is_refused(sentence: str, why: str) -> None:
    with pytest.raises(BadInput) as caught:
        rule(sentence)
    assert why in caught.value.message


@pytest.mark.parametrize(
    ("sentence", "calls", "expected"),
    [
        ("In cluster prod no drains with force true.",
         [("drain", {"cluster": "prod", "force": True})], "violated"),
        ("In cluster prod no drains with force true.",
         [("drain", {"cluster": "prod", "force": False})], "not_applicable"),
        ("In cluster prod no drains with force true.",
         [("drain", {"cluster": "dev", "force": True})], "not_applicable"),
        ("In cluster prod no drains with force true.", [("drain", {"force": True})], "undecided"),
        ("Payments need an approval unless approved_by is manager.",
         [("pay", {"approved_by": "manager"})], "not_applicable"),
        ("Payments need an approval unless approved_by is manager.",
         [("pay", {"approved_by": "agent"})], "violated"),
        ("Payments need an approval unless approved_by is manager.", [("pay", {"approved_by": ""})],
         "violated"),
        ("Payments need an approval unless approved_by is manager.", [("pay", {})], "undecided"),
        ("Only pause restaurants if requested_by is restaurant or ops.",
         [("pause", {"requested_by": "ops"})], "not_applicable"),
        ("Only pause restaurants if requested_by is restaurant or ops.",
         [("pause", {"requested_by": "guest"})], "violated"),
    ],
)  # fmt: skip
def test_calls_are_judged_by_the_clause(sentence: str, calls: list[tuple[str, Any]], expected: str) -> None:
    assert verdict(sentence, *calls) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"environment": "prod"}, "violated"),
        ({"target": "Prod", "environment": "x"}, "violated"),
        ({"from_env": "prod", "to_env": "staging"}, "undecided"),
        ({"from_env": "staging", "to_env": "prod"}, "undecided"),
        ({"from_env": "staging", "to_env": "test"}, "not_applicable"),
        ({"environment": "staging"}, "not_applicable"),
        ({"environment": "production"}, "not_applicable"),
        ({"pipeline": "p1", "where": {"environment": "prod"}}, "undecided"),
        ({"pipeline": "p1", "tags": ["a", "b"]}, "not_applicable"),
        ({"pipeline": "p1", "tags": ["a", "prod"]}, "undecided"),
        ({"count": 3}, "undecided"),
        ({}, "undecided"),
        (None, "undecided"),
    ],
)
def test_a_value_whose_argument_is_not_named_is_that_of_any(given: Any, expected: str) -> None:
    assert verdict("No pipelines may be triggered in prod.", ("trigger", given)) == expected


def test_a_value_that_was_cut_may_be_the_one_that_is_not_named() -> None:
    call = ToolCall(None, "trigger", {"environment": "pr"}, partly={"arguments": "hashed"})
    found = judge_policies(rule("No pipelines may be triggered in prod."), Run("r", (call,), status="ok"))
    assert found[0].verdict == "undecided"


def test_what_is_read_of_any_argument_is_said_and_read_again() -> None:
    for said in (
        'Trigger pipeline with an argument "prod" must never happen.',
        'Trigger pipeline with no argument "prod" or "dev" must never happen.',
    ):
        policies = rule(said)
        assert reading(said) == f"No call of {said[:1].lower()}{said[1:]}".replace(
            "trigger pipeline", "trigger"
        ).replace(" must never happen", "")
        assert pickle.loads(pickle.dumps(policies)).policies == policies.policies


def test_all_tools_but_one_are_those_that_are_not_named() -> None:
    sentence = "After close claim, nothing but send letter may be called."
    assert verdict(sentence, ("close", {}), ("letter", {}), ("letter", {})) == "ok"
    assert verdict(sentence, ("close", {}), ("letter", {}), ("whatever", {})) == "violated"
    assert verdict(sentence, ("whatever", {}), ("close", {})) == "ok"
    assert verdict(sentence, ("letter", {}), ("whatever", {})) == "not_applicable"
