"""Answers that say that a person did not let a tool run, and those that only sound like it."""

from __future__ import annotations

from typing import Any

import pytest

from pdoctor_trace.rejections import says_no


@pytest.mark.parametrize(
    "content",
    [
        "The user said no.",
        "User rejected this action.",
        "user declined",
        "The user has rejected the tool call",
        "Tool call denied by user.",
        "Rejected by the human reviewer: too expensive",
        "Action cancelled by the user.",
        "The user doesn't want to proceed with this tool use. The tool use was rejected.",
        "Tool execution was not approved.",
        "User did not approve the request",
        "Human denied permission",
        "User rejected the tool call for `transfer` with id call_1",
        "Permission denied by user",
        "Error: User declined to run this command",
        "The operator refused to approve this",
        "Approval denied.",
        "The user rejected the transfer call",
        '{"status": "error", "error": "Denied by operator"}',
        '{"status": "rejected by user"}',
        [{"type": "text", "text": "User rejected the call."}],
    ],
)
def test_a_person_said_no(content: Any) -> None:
    assert says_no("transfer", content)


@pytest.mark.parametrize(
    "content",
    [
        "Permission denied for user postgres",
        "bash: ./deploy.sh: Permission denied",
        "Card declined.",
        "Permission denied.",
        "Request denied.",
        "Command aborted.",
        "The user declined the invitation to the meeting.",
        "The user rejected 3 of 5 proposals",
        "Order 12 was cancelled by the customer.",
        "HTTP 403: request blocked",
        "Your request was denied because the quota is used up",
        "request denied due to rate limiting",
        "User not found",
        "The user declined the friend request",
        "The user did not accept cookies",
        "Approved by the user.",
        "The user cancelled the subscription.",
        "no",
        "x" * 500 + " rejected by user",
        '["rejected by user"]',
        '{"rejected_by": "user"}',
        "{",
        "",
        None,
        7,
        [{"type": "image"}],
        [],
    ],
)
def test_results_that_are_results(content: Any) -> None:
    assert not says_no("transfer", content)


@pytest.mark.parametrize("tool", ["delete_user", "create_task", "set_permission", "approve_payment"])
def test_a_tool_that_only_sounds_like_asking(tool: str) -> None:
    assert says_no(tool, "The user said no.")


@pytest.mark.parametrize(
    "tool", ["ask_user", "human_input", "request_approval", "confirmPayment", "AskHuman"]
)
def test_what_a_person_says_is_the_result_of_a_tool_that_asks(tool: str) -> None:
    assert not says_no(tool, "The user said no.")
