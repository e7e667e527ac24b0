"""What calls may be given, as the main statement of a sentence."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from synth.errors import BadInput
from synth.formal.partly import Unknown
from synth.observed.run import Run, ToolCall
from synth.policies import judge_policies, load_policies
from synth.policies.explain import explained
from synth.policies.meanings import demands_of
from synth.policies.model import PolicySet
from synth.policies.nouns import Meant
from synth.policies.texts import clock_of, has_part, length_of
from synth.policies.where import Comparison, Where

HEAD = (
    "actions: {issue refund: issue_refund, book room: book_room, send message: send_message,"
    " create ticket: create_ticket, close ticket: close_ticket, transfer money: transfer_money,"
    " deploy service: deploy, rename file: rename_file, update price: update_price,"
    " approve loan: approve_loan, check identity: check_identity, suspend user: suspend_user,"
    " move stock: move_stock, resize cluster: resize_cluster, delete namespace: delete_namespace,"
    " drop table: drop_table, contact courier: contact_courier, take snapshot: take_snapshot,"
    " delete volume: delete_volume, launch campaign: launch_campaign}\npolicies:\n"
)


def policies(rule: str) -> PolicySet:
    return load_policies(f"{HEAD}  - {{id: P, rule: {rule!r}}}\n")


def reading(rule: str) -> str:
    return demands_of(policies(rule).policies[0].rule)


def verdict(rule: str, tool: str, given: dict[str, Any]) -> str:
    run = Run("r", (ToolCall(None, tool, given),), status="ok")
    return judge_policies(policies(rule), run)[0].verdict


@pytest.mark.parametrize(
    ("sentences", "means"),
    [
        (
            (
                "Refunds: amount between 5 and 500.",
                "The amount of each refund has to lie between 5 and 500.",
                "issue refund: amount must lie between 5 and 500, both allowed",
                "refund amount: 5 to 500",
                "For refunds, amount must be at least 5 and at most 500.",
                "A refund's amount must be at least 5 and may not be over 500.",
            ),
            "No call of issue_refund with amount outside 5 and 500.",
        ),
        (
            (
                "For refunds, currency must be EUR or USD.",
                "Refund currency has to be EUR or USD.",
                "Currency must be EUR or USD when you issue a refund.",
                "Refunds must be in EUR or USD.",
                "The currency of a refund may only be EUR or USD.",
                "issue refund: currency EUR or USD only",
            ),
            'No call of issue_refund with currency other than "EUR" or "USD".',
        ),
        (
            (
                "A room booking needs a guest_name.",
                "Booking a room requires guest_name to be set.",
                "book room: guest_name is mandatory",
                "Never book a room without guest_name.",
                "A booked room must have a non-empty guest_name.",
            ),
            "No call of book_room whose guest_name is missing.",
        ),
        (
            (
                "send message: body at most 500 characters",
                "The body of a message has 500 characters at most.",
                "The body of a message may have 500 characters at most.",
                "The body of a message must not be longer than 500 characters.",
            ),
            "No call of send_message with body over 500 characters.",
        ),
        (
            ("Messages must not be longer than 500 characters.",),
            "No call of send_message with text over 500 characters.",
        ),
        (
            (
                "Never create a ticket with priority urgent.",
                "A ticket's priority is never urgent.",
                "Ticket priority must not be urgent.",
            ),
            'No call of create_ticket with priority "urgent".',
        ),
        (
            (
                "Tickets can't be closed with an empty resolution.",
                "close ticket: resolution must not be empty",
                "No ticket may be closed with an empty resolution.",
            ),
            "No call of close_ticket whose resolution is missing.",
        ),
        (
            (
                "from_account and to_account of a transfer must differ",
                "When money is transferred, from_account must not equal to_account.",
                "transfer money: from_account and to_account must never be the same",
            ),
            "No call of transfer_money with from_account equal to its to_account.",
        ),
        (
            ("old_name and new_name must be different", "old_name must not be the same as new_name"),
            "No call of any tool whose new_name is given and whose old_name is given and with "
            "old_name equal to its new_name.",
        ),
        (
            (
                "The version of a deployment must start with v.",
                "deploy service: version must start with v",
                "Deploy the service only with version starting with v.",
            ),
            'No call of deploy with version not starting with "v".',
        ),
        (
            ("the new_name of a renamed file has to start with docs/ and end in .md",),
            'No call of rename_file with new_name not starting with "docs/". '
            'No call of rename_file with new_name not ending in ".md".',
        ),
        (
            (
                "Loans over 10000 need an approved_by.",
                "Approving a loan of more than 10000 needs approved_by.",
                "approve loan over 10000: approved_by must be set",
                "Approving a loan by over 10000 requires approved_by to be filled in.",
            ),
            "No call of approve_loan with amount over 10000 and whose approved_by is missing.",
        ),
        (
            (
                "Loans of more than 30 have to be confirmed_by board.",
                "Approving a loan of more than 30 needs confirmed_by = board.",
            ),
            "No call of approve_loan with amount over 30 and whose confirmed_by is missing. "
            'No call of approve_loan with amount over 30 and with confirmed_by other than "board".',
        ),
        (
            ("suspend user: days must be a multiple of 7 and never over 28",),
            "No call of suspend_user with days no multiple of 7. No call of suspend_user with days over 28.",
        ),
        (
            ("Refund or loan amount must be under 100.",),
            "No call of issue_refund with amount of at least 100. "
            "No call of approve_loan with amount of at least 100.",
        ),
        (("a suspension runs 1 to 30 days",), "No call of suspend_user with days outside 1 and 30."),
        (
            (
                "Never resize the cluster to more than 20 nodes.",
                "The nodes of a resized cluster must be 20 or less.",
            ),
            "No call of resize_cluster with nodes over 20.",
        ),
        (
            ("Never move more than 500 units of stock in one go.",),
            "No call of move_stock with units over 500.",
        ),
        (
            ("Never delete the namespaces kube-system, kube-public or default.",),
            'No call of delete_namespace with namespace "kube-system" or "kube-public" or "default".',
        ),
        (
            ("Drop table must never be called with table customers.",),
            'No call of drop_table with table "customers".',
        ),
        (
            (
                "Never write the word cash in a message to the courier.",
                "The word cash must not appear in the message of a contacted courier.",
            ),
            'No call of contact_courier with message containing the word "cash".',
        ),
        (
            ("Snapshots and volume deletions stay in region eu-west-1 or eu-central-1.",),
            'No call of take_snapshot with region other than "eu-west-1" or "eu-central-1". '
            'No call of delete_volume with region other than "eu-west-1" or "eu-central-1".',
        ),
        (
            ("delete volume: approver is mandatory and never agent",),
            "No call of delete_volume whose approver is missing. "
            'No call of delete_volume with approver "agent".',
        ),
        (
            ("Never book a room with a time earlier than 12:00 or later than 21:30.",),
            "No call of book_room with time earlier than 12:00. "
            "No call of book_room with time later than 21:30.",
        ),
        (
            ("country is never RU or BY in launch campaign",),
            'No call of launch_campaign with country "RU" or "BY".',
        ),
        (
            ("A loan over 100 must carry a reason of at least 20 characters.",),
            "No call of approve_loan with amount over 100 and whose reason is missing. "
            "No call of approve_loan with amount over 100 and with reason under 20 characters.",
        ),
        (
            (
                "The currency of a refund must be neither USD nor GBP.",
                "The currency of a refund must not be USD or GBP.",
            ),
            None,
        ),
        (("Never issue more than 200 in a single refund.",), "No call of issue_refund with amount over 200."),
        (
            ("Messages must never contain the word invoice.",),
            'No call of send_message with text containing the word "invoice".',
        ),
        (
            ("Refunds of kind express are issued with currency EUR or USD only.",),
            'No call of issue_refund with currency other than "EUR" or "USD" and with kind "express".',
        ),
        (
            (
                "refund currency must be EUR or USD unless approved_by is manager",
                "Unless approved_by is manager, refund currency must be EUR or USD.",
            ),
            'No call of issue_refund with approved_by other than "manager" and with currency other '
            'than "EUR" '
            'or "USD".',
        ),
        (
            ("When kind is express, issue refund needs a reason.",),
            'No call of issue_refund with kind "express" and whose reason is missing.',
        ),
        (
            ("Deltas under -50 are forbidden in price updates.",),
            "No call of update_price with deltas under -50.",
        ),
        (
            ("issue refund: class A, B, C or F",),
            'No call of issue_refund with class other than "A" or "B" or "C" or "F".',
        ),
        (
            ("issue refund: kind fast or slow, never slow",),
            'No call of issue_refund with kind other than "fast" or "slow". '
            'No call of issue_refund with kind "slow".',
        ),
        (
            ("update price: price has to be a multiple of 0.05",),
            "No call of update_price with price no multiple of 0.05.",
        ),
    ],
)
def test_what_calls_may_be_given_is_read(sentences: tuple[str, ...], means: str | None) -> None:
    rules = {policies(one).policies[0].rule for one in sentences}
    assert {reading(one) for one in sentences} <= {means} if means else len(rules) == 1


@pytest.mark.parametrize(
    "sentence",
    [
        "The amount of a refund must be verified.",
        "The amount of a refund must be correct.",
        "A refund must be confirmed.",
        "The refund must be EUR.",
        "The amount of a refund may be over 500.",
        "The currency of a refund may be EUR.",
        "The amount of a refund must be under 10 or over 100.",
        "The priority of a ticket must be high or its severity low.",
        "A refund needs supervisor approval.",
        "The number of open tickets must be at most 5.",
        "The old price must be different.",
        "old and new must be different",
        "The technician assigned must be senior.",
        "Rooms with breakfast included must be booked.",
        "Never rename a file with attachments enabled.",
        "The same currency must be EUR for a refund.",
        "The currency of a failed refund must be EUR.",
        "The currency of a refund must be EUR and USD.",
        "The amount of a refund must not be between 5 and 10 and over 100.",
        "A room lasts 1 to 30 minutes.",
        "Never close tickets quickly.",
        "name must be given",
        "transfer money: source must not be target",
        "rename file: new_name must not be old_name",
        "Refunds need no approved_by.",
        "Only loans over 100 need an approved_by.",
        "Refunds and loans over 100 need an approved_by.",
        "Refunds never need an approved_by.",
        "Some refunds must be in EUR.",
        "Ticket status must be closed or resolved when a refund is issued.",
        "Users must have at most 3 refunds.",
        "The refund amount must be the same as the loan amount.",
        "Never book a room for guests under 18.",
        "Never deploy the service with flags after 17:00.",
        "Every refund but the first must have an approved_by.",
        "Bookings: at most 3 rooms",
        "The amount of the first refund must be under 100.",
        "Prices must be updated in steps of 50.",
        "Approving the loan is not final.",
        "When a ticket is closed, a letter has to be sent.",
        "A message is not conditional on a refund.",
    ],
)
def test_what_is_no_value_of_an_argument_is_not_read_as_one(sentence: str) -> None:
    with pytest.raises(BadInput):
        policies(sentence)


@pytest.mark.parametrize(
    ("rule", "tool", "given", "expected"),
    [
        ("Refund currency must be EUR or USD.", "issue_refund", {"currency": "EUR"}, "ok"),
        ("Refund currency must be EUR or USD.", "issue_refund", {"currency": "CHF"}, "violated"),
        ("Refund currency must be EUR or USD.", "issue_refund", {"currency": ""}, "violated"),
        ("Refund currency must be EUR or USD.", "issue_refund", {"amount": 5}, "undecided"),
        ("Approving a loan needs confirmed = true.", "approve_loan", {"confirmed": True}, "ok"),
        ("Approving a loan needs confirmed = true.", "approve_loan", {"confirmed": False}, "violated"),
        ("Approving a loan needs confirmed = true.", "approve_loan", {}, "violated"),
        ("old_name and new_name must be different", "rename_file", {"old_name": "a", "new_name": "b"}, "ok"),
        (
            "old_name and new_name must be different",
            "rename_file",
            {"old_name": "a", "new_name": "a"},
            "violated",
        ),
        (
            "old_name and new_name must be different",
            "rename_file",
            {"old_name": "a", "new_name": "A"},
            "undecided",
        ),
        ("old_name and new_name must be different", "issue_refund", {"old_name": "a"}, "ok"),
        (
            "when a file is renamed, source and target must differ",
            "rename_file",
            {"source": "a"},
            "undecided",
        ),
        ("Never move more than 500 units of stock in one go.", "move_stock", {"quantity": 501}, "violated"),
        ("Never move more than 500 units of stock in one go.", "move_stock", {"quantity": 500}, "ok"),
        ("Never move more than 500 units of stock in one go.", "move_stock", {"amount": 501}, "undecided"),
        ("Messages must not be longer than 5 characters.", "send_message", {"body": "123456"}, "violated"),
        (
            "Messages must not be longer than 5 characters.",
            "send_message",
            {"body": "12345", "to": "me me me"},
            "ok",
        ),
        ("suspend user: days must be a multiple of 7", "suspend_user", {"days": 14}, "ok"),
        ("suspend user: days must be a multiple of 7", "suspend_user", {"days": 15}, "violated"),
        ("update price: price has to be a multiple of 0.05", "update_price", {"price": 0.15}, "ok"),
        ("Never book a room with a time later than 21:30.", "book_room", {"time": "21:30"}, "ok"),
        (
            "Never book a room with a time later than 21:30.",
            "book_room",
            {"time": "2026-03-01T21:31"},
            "violated",
        ),
        ("Never book a room with a time later than 21:30.", "book_room", {"time": "9 pm"}, "undecided"),
        (
            "Never write the word cash in a message to the courier.",
            "contact_courier",
            {"message": "Cash at the door"},
            "violated",
        ),
        (
            "Never write the word cash in a message to the courier.",
            "contact_courier",
            {"message": "ask the cashier"},
            "ok",
        ),
        ("The version of a deployment must start with v.", "deploy", {"version": "V2"}, "undecided"),
    ],
)
def test_calls_are_judged_by_what_they_are_given(
    rule: str, tool: str, given: dict[str, Any], expected: str
) -> None:
    found = verdict(rule, tool, given)
    assert ("ok" if found == "not_applicable" else found) == expected


PATH, ITEM = (Meant("path"),), (Meant("item"),)
COMPARISONS = (
    *(
        Comparison(PATH, op, "text", ("ab", "b c"))
        for op in ("starts", "not starts", "ends", "not ends", "contains", "not contains", "word", "no word")
    ),
    *(Comparison(PATH, op, "length", (2,)) for op in ("<", "<=", ">", ">=")),
    *(Comparison(PATH, op, "clock", (9 * 60,)) for op in ("<", "<=", ">", ">=")),
    *(Comparison(PATH, op, kind, (2, 4)) for op in ("inside", "outside") for kind in ("length", "clock")),
    *(Comparison(PATH, op, "number", (3,)) for op in ("multiple", "no multiple")),
    *(Comparison(PATH, op, other=ITEM) for op in ("same", "differs")),
)


@pytest.mark.parametrize("one", COMPARISONS, ids=lambda one: one.words)
def test_a_comparison_is_said_in_words_that_are_read_as_it(one: Comparison) -> None:
    rule: Any = policies(f"Issue refund {one.words} must never happen.").policies[0].rule
    assert rule.what[0].where.every == (one,)


@pytest.mark.parametrize("one", COMPARISONS, ids=lambda one: one.words)
def test_an_explanation_shows_a_call_that_breaks_it_and_one_that_does_not(one: Comparison) -> None:
    [said] = explained(policies(f"Issue refund {one.words} must never happen."))
    assert said.broken is not None
    assert Where((one,)).met({}, so=False) is not None


VALUES = (
    None,
    "",
    "ab",
    "abc",
    "xab",
    "ab b c",
    "b c",
    "Ab",
    "09:00",
    "08:59",
    "09:01",
    3,
    4,
    True,
    0.1,
    ["ab"],
)


@pytest.mark.parametrize("one", COMPARISONS, ids=lambda one: one.words)
def test_a_comparison_and_its_contrary_agree_on_every_value(one: Comparison) -> None:
    for path, item in product(VALUES, VALUES):
        given = {PATH: path, ITEM: item}
        held, other = one.met(given.__getitem__), one.contrary.met(given.__getitem__)
        assert (held is None) is (other is None)
        assert held is None or held is not other


@pytest.mark.parametrize(
    ("value", "part", "wanted", "found"),
    [
        ("manifests/a.yaml", "starts", ["manifests/"], True),
        ("/etc/manifests/a", "starts", ["manifests/"], False),
        ("Manifests/a", "starts", ["manifests/"], None),
        ("a.YAML", "ends", [".yaml"], None),
        ("a.json", "ends", [".yaml", ".json"], True),
        ("no cashier", "word", ["cash"], False),
        ("CASH!", "word", ["cash"], True),
        (12, "contains", ["1"], None),
        (Unknown("cut", begins="manifests/we"), "starts", ["manifests/"], True),
        (Unknown("cut", begins="etc/manifests"), "starts", ["manifests/"], False),
        (Unknown("cut", begins="m"), "starts", ["manifests/"], None),
        (Unknown("cut", begins="pay in cash or"), "contains", ["cash"], True),
        (Unknown("cut", begins="pay by card"), "contains", ["cash"], None),
        (Unknown("cut", begins="a.yaml"), "ends", [".yaml"], None),
    ],
)
def test_a_part_of_a_text(value: Any, part: Any, wanted: list[str], found: bool | None) -> None:
    assert has_part(value, part, wanted) is found


def test_the_length_of_a_cut_text_is_known_where_it_was_kept() -> None:
    assert length_of(Unknown("cut", begins="ab", length=70)) == 70
    assert length_of(Unknown("cut", begins="ab")) is None


@pytest.mark.parametrize(
    ("text", "minute"),
    [
        ("9:05", 545),
        ("21:30:30", 1290.5),
        ("2026-01-05 07:00", 420),
        ("2026-01-05T07:00Z", None),
        ("7 pm", None),
        ("25:00", None),
    ],
)
def test_the_clock_time_of_a_text(text: str, minute: float | None) -> None:
    assert clock_of(text) == minute
