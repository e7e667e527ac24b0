"""Values that stand where a thing does, one thing for a whole run, and who may not be who."""

from __future__ import annotations

import pytest

from synth.errors import BadInput
from synth.policies import load_policies
from synth.policies.meanings import demands_of

HEAD = (
    "actions: {deploy service: deploy_service, restart service: restart_service, run tests: run_tests,"
    " grant access: grant_access, approve loan: approve_loan, pay out loan: pay_out_loan,"
    " change limit: change_limit, issue card: issue_card, sign prescription: sign_prescription,"
    " dispense drug: dispense_drug, delete rows: delete_rows, apply terraform: apply_terraform,"
    " approve transfer: approve_transfer}\npolicies:\n"
)


def reading(rule: str) -> str:
    return demands_of(load_policies(f"{HEAD}  - {{id: P, rule: {rule!r}}}\n").policies[0].rule)


VALUES = (
    ("deploy", "deploying", "deployed", "deploy_service", "version", "latest"),
    ("grant", "granting", "granted", "grant_access", "role", "admin"),
)
FRAMES = (
    ("Never {do} {f} {v}", "No call of {t} with {f} \"{v}\"."),
    ("{F} {v} must never be {done}", "No call of {t} with {f} \"{v}\"."),
    ("No {f} other than {v} may be {done}", "No call of {t} with {f} other than \"{v}\"."),
    ("{Do} {f} {v} at most twice", "At most 2 calls of {t} with {f} \"{v}\", failed ones included."),
    ("{Do} {f} {v} only after running the tests",
     "Each call of {t} with {f} \"{v}\" needs an earlier success of run_tests."),
    ("{F} {v} may only be {done} after the tests were run",
     "Each call of {t} with {f} \"{v}\" needs an earlier success of run_tests."),
    ("Run the tests before {doing} {f} {v}",
     "Each call of {t} with {f} \"{v}\" needs an earlier success of run_tests."),
    ("After {doing} {f} {v}, run the tests",
     "After each success of {t} with {f} \"{v}\", run_tests must succeed; without one it need not."),
    ("{Do} {f} {v} only with approved_by cto",
     "No call of {t} with approved_by other than \"cto\" and with {f} \"{v}\"."),
    ("{F} {v} may be {done} only if approved_by is cto or cso",
     "No call of {t} with approved_by other than \"cto\" or \"cso\" and with {f} \"{v}\"."),
)  # fmt: skip


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("words", VALUES)
def test_a_value_stands_where_a_thing_does(frame: tuple[str, str], words: tuple[str, ...]) -> None:
    do, doing, done, tool, field, value = words
    parts = {"do": do, "Do": do.capitalize(), "doing": doing, "done": done, "t": tool, "f": field,
             "F": field.capitalize(), "v": value}  # fmt: skip
    said, means = (one.format(**parts) for one in frame)
    assert reading(said) == means


@pytest.mark.parametrize("sentence", [
    "No service other than checkout or search may be restarted.",
    "Only checkout and search may be restarted.",
    "Restart checkout and search only.", "Restart only checkout or search.",
    "Never restart a service other than checkout or search.",
])  # fmt: skip
def test_a_thing_may_be_told_by_its_name(sentence: str) -> None:
    assert reading(sentence) == 'No call of restart_service with service other than "checkout" or "search".'


@pytest.mark.parametrize("sentence", [
    "Never issue both card type gold and card type platinum to one customer id.",
    "Never issue card type gold and card type platinum to the same customer id.",
])  # fmt: skip
def test_two_values_may_exclude_each_other(sentence: str) -> None:
    one, other = 'issue_card with type "gold"', 'issue_card with type "platinum"'
    assert reading(sentence) == " ".join(
        f"Once {a} has succeeded, {b} must not be called any more with the same customer_id."
        for a, b in ((one, other), (other, one))
    )


@pytest.mark.parametrize("sentence", [
    "One account id per conversation, never a second one.",
    "Stay with one account id for the whole conversation.",
    "Stick to the same account_id throughout the conversation.", "Only use one account id per conversation.",
    "Never work on two account ids in one conversation.",
    "Do not switch the account id during a conversation.",
    "The account id must not change during a conversation.", "No second account id in a conversation.",
    "All account ids of a conversation must be the same.", "A conversation must not touch two account ids.",
])  # fmt: skip
def test_a_whole_conversation_may_be_about_one(sentence: str) -> None:
    assert reading(sentence) == (
        "The calls of any tool, failed ones included, have at most 1 different account_id in one "
        "conversation."
    )


@pytest.mark.parametrize("sentence", [
    "Terraform applies must all use one and the same workspace.",
    "Every terraform apply has the same workspace.",
    "All terraform applies must use the same workspace.", "Terraform applies all use the same workspace.",
])  # fmt: skip
def test_all_calls_of_an_action_may_have_one_value(sentence: str) -> None:
    assert reading(sentence) == (
        "The calls of apply_terraform, failed ones included, have at most 1 different workspace."
    )


@pytest.mark.parametrize("sentence", [
    "The payout must not be higher than the amount approved for that loan id.",
    "Never pay out more than was approved for the same loan id.",
    "A payout must not exceed the amount approved, same loan id.",
    "A loan must not be paid out for more than was approved, same loan id.",
    "Pay out only up to the approved amount, same loan id.",
])  # fmt: skip
def test_what_was_approved_is_of_the_same_thing(sentence: str) -> None:
    assert reading(sentence) == (
        "The amount of pay_out_loan must be at most the amount of the latest success of approve_loan with "
        "the same loan_id before it; without one nothing is asked."
    )


@pytest.mark.parametrize("sentence", [
    "Payouts over 20000 need approve loan twice, by different officers, for the same loan id",
    "Payouts over 20000 need approve loan twice for the same loan id, by different officers",
    "Paying out more than 20000 needs loan approvals by 2 different officers for the same loan id.",
])  # fmt: skip
def test_so_many_different_people_may_have_to_approve(sentence: str) -> None:
    assert reading(sentence) == (
        "Before each call of pay_out_loan with amount over 20000, 2 successes of approve_loan with the same "
        "loan_id, with different officer must have ended."
    )


@pytest.mark.parametrize("sentence", [
    "Every card needs a different card number.", "No two cards may have the same card number.",
    "The card numbers of cards must be unique.",
])  # fmt: skip
def test_each_call_may_need_a_value_of_its_own(sentence: str) -> None:
    assert reading(sentence) == (
        "At most 1 call of issue_card with the same card_number, failed ones included."
    )


@pytest.mark.parametrize("sentence", [
    "The pharmacist who dispenses must not be the doctor who signed, same prescription id.",
    "The doctor who signed must not be the pharmacist who dispenses, same prescription id.",
    "The pharmacist who dispenses a drug must differ from the doctor who signed, same prescription id.",
])  # fmt: skip
def test_two_people_may_not_be_one(sentence: str) -> None:
    assert reading(sentence) == (
        "The pharmacist of dispense_drug must differ from the doctor of the latest success of "
        "sign_prescription with the same prescription_id before it; without one nothing is asked."
    )


@pytest.mark.parametrize(("sentence", "means"), [
    ("Approve transfer is never allowed with approver bot",
     'No call of approve_transfer with approver "bot".'),
    ("Dispense drug only in a quantity that is a multiple of 10.",
     "No call of dispense_drug with quantity no multiple of 10."),
    ("A new_limit over 3000 only after approving a loan.",
     "Each call of change_limit with new_limit over 3000 needs an earlier success of approve_loan."),
    ("A single delete may not hit more than 1000 rows.", "No call of delete_rows with rows over 1000."),
    ("Deleting more than 1000 rows needs approve loan first.",
     "Each call of delete_rows with rows over 1000 needs an earlier success of approve_loan."),
])  # fmt: skip
def test_values_in_other_words(sentence: str, means: str) -> None:
    assert reading(sentence) == means


@pytest.mark.parametrize(("sentence", "means"), [
    ("Nobody grants access to himself: granted_by and user must differ.",
     "No call of grant_access with granted_by equal to its user."),
    ("All calls must use environment staging.",
     'No call of any tool whose environment is given and with environment other than "staging".'),
    ("No call may use environment prod.",
     'No call of any tool whose environment is given and with environment "prod".'),
    ("Grant access never with role admin", 'No call of grant_access with role "admin".'),
    ("Cards only of 50 or 100.", "No call of issue_card with amount other than 50 or 100."),
    ("Deletions of over 1000 rows: approve the transfer first",
     "Each call of delete_rows with rows over 1000 needs an earlier success of approve_transfer."),
    ("Role admin accesses need approve loan first.",
     'Each call of grant_access with role "admin" needs an earlier success of approve_loan.'),
    ("Loans over 5000 need two approvals by different officers for the same loan id.",
     "Before each call of pay_out_loan with amount over 5000, 2 successes of approve_loan with the same "
     "loan_id, with different officer must have ended."),
])  # fmt: skip
def test_which_calls_are_meant_is_told_by_what_is_said_of_them(sentence: str, means: str) -> None:
    assert reading(sentence) == means


@pytest.mark.parametrize("sentence", [
    "Never change the account number.", "Restart only stateless services.", "Only admins may be restarted.",
    "Never deploy and restart.", "Never approve a transfer with approver consent.",
    "Only production may be restarted.", "No service but one may be restarted.",
    "Never grant both readers and writers to one user.",
    "Never deploy both before and after a run of the tests.",
    "Never issue gold and platinum cards.", "The officer who pays out a loan must not be the officer.",
    "The doctor who signs must not be the pharmacist who dispenses, same prescription id.",
])  # fmt: skip
def test_what_may_be_no_value_is_refused(sentence: str) -> None:
    with pytest.raises(BadInput):
        reading(sentence)


def test_the_unit_tells_which_of_two_actions_is_meant() -> None:
    head = HEAD.replace("delete rows: delete_rows", "delete rows: delete_rows, delete volume: delete_volume")
    text = f"{head}  - {{id: P, rule: Delete more than 1000 rows only after approve loan}}\n"
    assert demands_of(load_policies(text).policies[0].rule) == (
        "Each call of delete_rows with rows over 1000 needs an earlier success of approve_loan."
    )
