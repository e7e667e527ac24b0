"""What calls may be given, said by sizes, beginnings and values behind what is done: in every frame."""

from __future__ import annotations

import pytest

from synth.errors import BadInput
from synth.observed import run_from_json
from synth.policies import judge_policies, load_policies
from synth.policies.meanings import demands_of

HEAD = (
    "actions: {send payment: send_payment, add payee: add_payee, raise limit: raise_limit,"
    " open account: open_account, pay bonus: pay_bonus, apply discount: apply_discount,"
    " scale service: scale_service, add nodes: add_nodes, take backup: take_backup, deploy release: deploy,"
    " run shell command: run_shell, push branch: push_branch, approve leave: approve_leave,"
    " page supervisor: page, copy config: copy, build image: build}\npolicies:\n"
)


def reading(rule: str) -> str:
    return demands_of(load_policies(f"{HEAD}  - {{id: P, rule: {rule!r}}}\n").policies[0].rule)


def verdict(rule: str, tool: str, **given: object) -> str:
    policies = load_policies(f"{HEAD}  - {{id: P, rule: {rule!r}}}\n")
    call = {"id": "0", "name": tool, "arguments": given, "result": "done"}
    [found] = judge_policies(policies, run_from_json({"run_id": "r", "calls": [call], "status": "ok"}))
    return "ok" if found.verdict == "not_applicable" else found.verdict


@pytest.mark.parametrize("sentence", [
    *(frame.format(part) for part in ("that start with RU", "starting with RU", "beginning with RU")
      for frame in ("Never send a payment to ibans {}.", "No payment may be sent to ibans {}.",
                    "Nobody sends payments to ibans {}.", "Payments to ibans {} are forbidden.")),
    "Nobody may send a payment to an iban that begins with RU.",
])  # fmt: skip
def test_what_an_argument_begins_with_is_banned(sentence: str) -> None:
    assert reading(sentence) == 'No call of send_payment with iban starting with "RU".'


@pytest.mark.parametrize("sentence", [
    "Backups only go to buckets that start with backup-",
    "Take backups only to buckets starting with backup-",
    "Backups may only be taken to buckets that begin with backup-.",
    "Backups go only to a bucket whose name starts with backup-.",
])  # fmt: skip
def test_what_an_argument_begins_with_is_allowed_alone(sentence: str) -> None:
    assert reading(sentence) == 'No call of take_backup with bucket not starting with "backup-".'


@pytest.mark.parametrize(("sentence", "read"), [
    ("deploy only versions starting with v", 'No call of deploy with version not starting with "v".'),
    ("Only ibans beginning with CH or LI may be added as payees.",
     'No call of add_payee with iban not starting with "CH" or "LI".'),
    ('No shell command containing "rm -rf".', 'No call of run_shell with command containing "rm -rf".'),
    ("Never run a shell command that contains sudo",
     'No call of run_shell with command containing "sudo".'),
    ("Discount codes must start with HTL-.",
     'No call of apply_discount with discount_code not starting with "HTL-".'),
])  # fmt: skip
def test_parts_of_texts_are_of_what_they_are_said_of(sentence: str, read: str) -> None:
    assert reading(sentence) == read


@pytest.mark.parametrize("sentence", [
    "A service may be scaled to 20 replicas at most.", "Services may be scaled to at most 20 replicas each.",
    "Services can be scaled to no more than 20 replicas.", "Scale services to at most 20 replicas.",
    "You may scale a service to at most 20 replicas.",
])  # fmt: skip
def test_a_bound_behind_what_is_done_forbids_what_is_beyond(sentence: str) -> None:
    assert reading(sentence) == "No call of scale_service with replicas over 20."


@pytest.mark.parametrize("sentence", [
    "Services may be scaled to at least 20 replicas.", "Services may be scaled to over 20 replicas.",
])  # fmt: skip
def test_what_is_merely_allowed_forbids_nothing(sentence: str) -> None:
    with pytest.raises(BadInput):
        reading(sentence)


@pytest.mark.parametrize(("sentence", "read"), [
    ("Add at least 1 and at most 8 nodes at a time.", "No call of add_nodes with nodes outside 1 and 8."),
    ("At most 10 nodes may be added in one call.", "No call of add_nodes with nodes over 10."),
    ("leave approvals are capped at 30 days each", "No call of approve_leave with days over 30."),
])  # fmt: skip
def test_so_many_at_a_time_is_of_each_call(sentence: str, read: str) -> None:
    assert reading(sentence) == read


@pytest.mark.parametrize("sentence", [
    "Zero or negative bonuses are forbidden.", "Bonuses must be positive.", "No zero or negative bonuses.",
    "Never pay a bonus of 0 or less.", "Bonuses of zero or less are forbidden.",
    "The amount of a bonus must be positive.",
])  # fmt: skip
def test_signs_are_sizes(sentence: str) -> None:
    assert reading(sentence) == "No call of pay_bonus with amount of at most 0."


@pytest.mark.parametrize("sentence", [
    "Accounts can be opened in EUR, CHF or GBP, no other currency.",
    "Accounts may be opened in EUR, CHF or GBP and in no other currency.",
    "Accounts may only be opened in EUR, CHF or GBP.",
])  # fmt: skip
def test_what_no_other_is_says_of_which_argument(sentence: str) -> None:
    assert reading(sentence) == 'No call of open_account with currency other than "EUR" or "CHF" or "GBP".'


@pytest.mark.parametrize("sentence", [
    "Urgency must be low, medium or high.", "The urgency may only be low, medium or high.",
])  # fmt: skip
def test_an_argument_may_be_named_without_its_action(sentence: str) -> None:
    assert [verdict(sentence, "page", urgency=one) for one in ("low", "extreme")] == ["ok", "violated"]
    assert verdict(sentence, "pay_bonus", amount=3) == "ok"


@pytest.mark.parametrize("sentence", [
    "Urgency must be clear.", "The branch must be protected.", "The department must be informed.",
    "The team must be notified.", "Policies must be followed.",
])  # fmt: skip
def test_a_word_alone_is_no_value_of_whatever_argument(sentence: str) -> None:
    with pytest.raises(BadInput):
        reading(sentence)


@pytest.mark.parametrize("sentence", [
    "When raising a limit, new_limit must be greater than old_limit.",
    "The new_limit of a limit raise must be above its old_limit.",
    "Raise limit with new_limit of at most its old_limit must never happen.",
    "new_limit must be higher than old_limit",
    "The new limit has to be higher than the old limit.",
])  # fmt: skip
def test_two_arguments_of_a_call_may_be_in_order(sentence: str) -> None:
    found = [verdict(sentence, "raise_limit", old_limit=100, new_limit=new) for new in (99, 100, 101)]
    assert found == ["violated", "violated", "ok"]
    assert verdict(sentence, "raise_limit", old_limit="100", new_limit=200) == "undecided"


@pytest.mark.parametrize(("given", "found"), [
    ({"branch": "main", "force": True}, "violated"), ({"branch": "main", "force": False}, "ok"),
    ({"branch": "fix", "force": True}, "ok"),
])  # fmt: skip
def test_a_branch_says_itself_what_it_is(given: dict[str, object], found: str) -> None:
    assert verdict("Never push to main with force true.", "push_branch", **given) == found


def test_a_value_on_the_only_side_of_its_kind_is_meant() -> None:
    rule = "Payments to US must never be sent."
    assert verdict(rule, "send_payment", target="US", approved_by="lena") == "violated"
    assert verdict(rule, "send_payment", target="US", source="CH") == "undecided"


def test_a_kind_said_before_a_thing_may_be_a_flag_which_is_open() -> None:
    rule = "Never send an express payment."
    assert verdict(rule, "send_payment", kind="express") == "violated"
    assert verdict(rule, "send_payment", kind="standard") == "ok"
    assert verdict(rule, "send_payment", kind="standard", express=True) == "undecided"


@pytest.mark.parametrize("sentence", [
    *(frame.format(pair) for pair in ("source and target are the same", "source equals target",
                                      "source and target are identical")
      for frame in ("Config must not be copied if {}.", "If {}, the config must not be copied.",
                    "No copying of config where {}", "Never copy config when {}.")),
    *(frame.format(pair) for pair in ("source and target are different", "source and target differ",
                                      "source differs from target")
      for frame in ("A config cannot be copied unless {}.", "Config may only be copied if {}.")),
    "Copying config with source identical to target is forbidden.",
    "Configs whose source and target are identical must not be copied.",
    "Make sure source is not the same as target when copying config.",
])  # fmt: skip
def test_two_arguments_side_by_side_are_a_condition(sentence: str) -> None:
    assert reading(sentence) == "No call of copy with source equal to its target."


@pytest.mark.parametrize("sentence", [
    "From and to account of a payment can't be the same.",
    "Never send a payment if from and to account are the same.",
])  # fmt: skip
def test_two_sides_of_one_name_are_two_arguments(sentence: str) -> None:
    assert reading(sentence) == "No call of send_payment with from_account equal to its to_account."


@pytest.mark.parametrize("sentence", [
    "The releaser must differ from the approver of the same payment_id.",
    "The releaser must not be the approver of the same payment_id.",
])  # fmt: skip
def test_who_does_something_says_which_call_is_meant(sentence: str) -> None:
    calls = [
        {"id": "0", "name": "approve", "arguments": {"payment_id": "P", "approved_by": "ann"}, "result": 1},
        {"id": "1", "name": "release", "arguments": {"payment_id": "P", "releaser": "ann"}, "result": 1},
    ]
    head = "actions: {approve payment: approve, release payment: release}\npolicies:\n"
    policies = load_policies(f"{head}  - {{id: P, rule: {sentence!r}}}\n")
    [found] = judge_policies(policies, run_from_json({"run_id": "r", "calls": calls, "status": "ok"}))
    assert found.verdict == "violated"


@pytest.mark.parametrize("sentence", [
    "Calls that scale a service with replicas above 20 are forbidden.",
    "The number of replicas a service is scaled to must be no more than 20.",
    "For scaling a service the upper limit is 20 replicas.", "Never scale a service past twenty replicas.",
])  # fmt: skip
def test_calls_and_what_they_come_to_are_named_in_more_words(sentence: str) -> None:
    assert reading(sentence) == "No call of scale_service with replicas over 20."


def test_what_is_named_in_the_plural_may_be_any_of_them() -> None:
    assert reading("Only build images from the branches main and hotfix.") == (
        'No call of build with branch other than "main" or "hotfix".'
    )


def test_a_size_is_not_said_twice_of_what_it_counts() -> None:
    assert reading("Page the supervisor before scaling a service to more than 100 replicas.") == (
        "Each call of scale_service with replicas over 100 needs an earlier success of page."
    )
