"""Policy files of three domains with one slip of the pen each, and tools that are rightly never called."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from synth.observed.run import Run, ToolCall
from synth.policies import PolicyResult, PolicySet, judge_policies, load_policies
from synth.policies.seen_names import all_tools_in, doubts, names_of_runs

TOOLS: dict[str, dict[str, Any]] = {
    "search_flights": {"origin": "ZRH"},
    "book_flight": {"flight_id": "LX1", "fare": 120},
    "charge_card": {"booking_id": 7, "amount": 120},
    "issue_boarding_pass": {"booking_id": 7},
    "verify_identity": {"customer_id": 1},
    "transfer_money": {"customer_id": 1, "amount": 300},
    "send_receipt": {"transfer_id": 5},
    "freeze_account": {"account": {"iban": "CH1"}},
    "run_tests": {"commit": "abc"},
    "scan_image": {"image": "web", "commit": "abc"},
    "deploy_production": {"image": "web", "replicas": 2},
    "notify_team": {"channel": "ops"},
}
OFFERED = (*TOOLS, "refund_ticket", "roll_back", "close_account")
"""The last three are never called."""


def run(*tools: str) -> Run:
    calls = (
        ToolCall(
            None, tool, TOOLS[tool], result="done", start=(i * 10**9,) * 2, end=(i * 10**9 + 5,) * 2, step=i
        )
        for i, tool in enumerate(tools)
    )
    return Run("-".join(tools), tuple(calls), tools=OFFERED)


RUNS = [run(*TOOLS), run(*reversed(TOOLS)), run("transfer_money", "deploy_production", "charge_card"), run()]


def file(actions: dict[str, str], **policy: Any) -> PolicySet:
    text = orjson.dumps({"actions": actions, "policies": [{"id": "P", **policy}]})
    return load_policies(f"{text.decode()}\n")


def verdicts(policies: PolicySet) -> list[PolicyResult]:
    names = names_of_runs(RUNS, all_tools_in(policies))
    return [judge_policies(policies, one, names=names)[0] for one in RUNS]


MISSPELT: list[tuple[PolicySet, str, str]] = [
    (file({"search": "search_flight", "book": "book_flight"}, rule="Search must happen before book."),
     "search_flight", "search_flights"),
    (file({"search": "search_flights", "book": "bookFlight"}, rule="Search must happen before book."),
     "bookFlight", "book_flight"),
    (file({"charge": "charge_crad"}, rule="Charge must happen at most 1 time."),
     "charge_crad", "charge_card"),
    (file({"board": "issue_bording_pass"}, rule="Board must happen exactly 1 time."),
     "issue_bording_pass", "issue_boarding_pass"),
    (file({"board": "boarding_pass_issue"}, rule="Board must happen at least 1 time."),
     "boarding_pass_issue", "issue_boarding_pass"),
    (file({"check": "verify-identity", "move": "transfer_money"},
          rule="Check must happen before move with the same customer_id."),
     "verify-identity", "verify_identity"),
    (file({"check": "verify_identity", "move": "TransferMoney"}, rule="Move must never happen after check."),
     "TransferMoney", "transfer_money"),
    (file({"move": "transfer_money", "receipt": "send_reciept"},
          rule="Move must be followed by receipt within 5 minutes."),
     "send_reciept", "send_receipt"),
    (file({"move": "transfer_money", "freeze": "freeze_acount"}, rule="Move must never happen after freeze."),
     "freeze_acount", "freeze_account"),
    (file({"tests": "run_test", "deploy": "deploy_production"},
          rule="Tests must happen immediately before deploy."),
     "run_test", "run_tests"),
    (file({"scan": "image_scan", "deploy": "deploy_production"},
          rule="Deploy must start within 1 hour after scan."),
     "image_scan", "scan_image"),
    (file({"deploy": "deploy_prodution"}, rule="Deploy must happen before 16:00."),
     "deploy_prodution", "deploy_production"),
    (file({"deploy": "deploy.production"}, rule="Deploy must be alone in its turn."),
     "deploy.production", "deploy_production"),
    (file({"deploy": "deploy_production", "notify": "notifyteam"},
          rule="Deploy must not overlap notify."),
     "notifyteam", "notify_team"),
    (file({}, guard={"calls": "deploy_productoin", "check": "args.replicas > 3"}),
     "deploy_productoin", "deploy_production"),
    (file({}, guard={"calls": "deploy_production", "check": "last('scan_imgae') != null"}),
     "scan_imgae", "scan_image"),
]  # fmt: skip

WRONG_FIELDS: list[tuple[PolicySet, str, str]] = [
    (file({}, guard={"calls": "transfer_money", "check": "args.amuont > 1000"}), "amuont", "amount"),
    (file({}, guard={"calls": "deploy_production", "check": "args.replica > 9"}), "replica", "replicas"),
    (file({}, guard={"calls": "freeze_account", "check": "args.account.ibann == 'x'"}),
     "account.ibann", "account.iban"),
    (file({}, guard={"calls": "charge_card", "check": "args.bookingId == 8"}), "bookingId", "booking_id"),
    (file({"check": "verify_identity", "move": "transfer_money"},
          rule="Check must happen before move with the same custmer_id."),
     "custmer_id", "customer_id"),
    (file({"scan": "scan_image", "deploy": "deploy_production"},
          rule="Scan must be followed by deploy with the same imgae."),
     "imgae", "image"),
]  # fmt: skip


@pytest.mark.parametrize(("policies", "said", "meant"), MISSPELT, ids=[said for _, said, _ in MISSPELT])
def test_a_misspelt_tool_is_named_and_breaks_nothing(policies: PolicySet, said: str, meant: str) -> None:
    (doubt,) = doubts(policies, names_of_runs(RUNS))["P"]
    assert (doubt.tool, doubt.meant, doubt.misspelt) == (said, meant, True)
    for result in verdicts(policies):
        assert (result.verdict, result.violations) == ("unsupported", ())
        assert result.explanation.endswith(f"{said!r}, which was never seen; did you mean {meant!r}?")


@pytest.mark.parametrize(
    ("policies", "said", "meant"), WRONG_FIELDS, ids=[said for _, said, _ in WRONG_FIELDS]
)
def test_a_misspelt_field_is_named_and_breaks_nothing(policies: PolicySet, said: str, meant: str) -> None:
    results = verdicts(policies)
    assert {result.verdict for result in results} <= {"unsupported", "not_applicable"}
    for result in (results[0], results[1]):
        assert result.verdict == "unsupported"
        assert f"{said!r}; did you mean {meant!r}?" in result.explanation


NEVER_CALLED: list[tuple[str, str, str]] = [
    ("Refund must never happen.", "refund_ticket", "not_applicable"),
    ("Refund must happen at most 1 time.", "refund_ticket", "not_applicable"),
    ("Refund must happen at least 1 time.", "refund_ticket", "violated"),
    ("Refund must happen exactly 1 time.", "refund_ticket", "violated"),
    ("Refund must happen before charge.", "refund_ticket", "violated"),
    ("Charge must be followed by refund.", "refund_ticket", "violated"),
    ("Charge must happen before refund.", "refund_ticket", "not_applicable"),
    ("Charge must never happen after refund.", "refund_ticket", "not_applicable"),
    ("Refund must never happen after charge.", "refund_ticket", "ok"),
    ("Refund must happen immediately before charge.", "roll_back", "violated"),
    ("Charge must start within 5 minutes after refund.", "roll_back", "violated"),
    ("Charge must happen at least 5 minutes after refund.", "roll_back", "violated"),
    ("Refund must be alone in its turn.", "roll_back", "not_applicable"),
    ("Refund must not overlap charge.", "roll_back", "not_applicable"),
    ("Refund must happen before 16:00.", "roll_back", "not_applicable"),
    ("Refund must happen before charge with the same booking_id.", "close_account", "violated"),
    ("Charge must be followed by refund with the same booking_id.", "close_account", "violated"),
    ("Refund must be followed by charge.", "close_account", "not_applicable"),
    ("Refund must never happen.", "erase_everything", "not_applicable"),
    ("Refund must happen before charge.", "ask_supervisor", "violated"),
    ("Charge must be followed by refund.", "archive_documents", "violated"),
    ("Refund must happen at least 1 time.", "archive_documents", "violated"),
]


@pytest.mark.parametrize(("rule", "tool", "verdict"), NEVER_CALLED)
def test_a_tool_that_is_never_called_is_judged(rule: str, tool: str, verdict: str) -> None:
    policies = file({"refund": tool, "charge": "charge_card"}, rule=rule)
    for result in verdicts(policies)[:3]:
        assert result.verdict == verdict
        assert ("was never seen" in result.explanation) is (tool not in OFFERED)
    assert "unsupported" not in {result.verdict for result in verdicts(policies)}
