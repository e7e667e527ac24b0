"""What is known of calls of which only a model's messages tell, as the Vercel AI SDK writes them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.model import ToolCall
from collector.otlp.segments import from_protobuf
from collector.otlp.spans import spans_of
from collector.rebuild import rebuild
from collector.settings import Limits
from tests.support.traces import MS, T0, new_id, request

CITY = {"city": "Oslo"}
USER = {"role": "user", "content": [{"type": "text", "text": "Pay for it."}]}
ASKED = {"type": "tool-call", "toolCallId": "a", "toolName": "pay", "input": CITY}
RESULT = {"type": "tool-result", "toolCallId": "a", "toolName": "pay"}
WAITS = {"type": "tool-approval-request", "approvalId": "p", "toolCallId": "a"}


def answered(kind: str, **said: Any) -> list[dict[str, Any]]:
    """The messages of the next request."""
    result = {**RESULT, "output": {"type": kind, **said}}
    return [USER, {"role": "assistant", "content": [ASKED, WAITS]}, {"role": "tool", "content": [result]}]


def step(trace: str, number: int, messages: Any, *asked: str, tools: tuple[str, ...] = ()) -> dict[str, Any]:
    calls = [
        {"toolCallId": call_id, "toolName": tool, "input": json.dumps(CITY)}
        for call_id, tool in (one.split() for one in asked)
    ]
    at = {"ai.operationId": "ai.generateText.doGenerate", "ai.prompt.messages": json.dumps(messages)}
    if tools:
        at["ai.prompt.tools"] = json.dumps([{"name": name} for name in tools])
    if calls:
        at["ai.response.toolCalls"] = json.dumps(calls)
    start = T0 + number * 100 * MS
    return {"trace": trace, "id": 10 + number, "parent": 1, "start": start, "end": start + MS, "at": at}


def tool(trace: str, call_id: str, name: str) -> dict[str, Any]:
    at = {"ai.operationId": "ai.toolCall", "ai.toolCall.id": call_id, "ai.toolCall.name": name}
    return {"trace": trace, "id": 5, "parent": 1, "start": T0 + 20 * MS, "end": T0 + 30 * MS, "at": at}


def calls(trace: str, *spans: dict[str, Any]) -> list[ToolCall]:
    top = {"trace": trace, "id": 1, "end": T0 + 500 * MS, "at": {"ai.operationId": "ai.generateText"}}
    (segment,) = from_protobuf(request(*spans, top, scope="ai").SerializeToString(), Limits()).segments
    return list(rebuild(trace, list(spans_of([segment.payload]))).run.calls)


def test_a_call_that_waits_for_a_person_or_a_browser_may_have_run() -> None:
    trace = new_id()
    (call,) = calls(trace, step(trace, 0, [USER], "a pay", tools=("pay",)))
    assert (call.tool, call.arguments, call.executed) == ("pay", CITY, None)


def test_a_call_of_a_tool_that_was_not_offered_did_not_run() -> None:
    trace = new_id()
    (call,) = calls(trace, step(trace, 0, [USER], "a pay", tools=("search",)))
    assert (call.tool, call.executed) == ("pay", False)


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside a tool that ran"])
def test_a_call_that_a_person_denies_did_not_run(beside: bool) -> None:
    trace = new_id()
    asked = ("a pay", "b search") if beside else ("a pay",)
    ran = [tool(trace, "b", "search")] if beside else []
    denied = answered("execution-denied", reason="too much")
    told = calls(trace, step(trace, 0, [USER], *asked), *ran, step(trace, 1, denied))
    (call,) = (one for one in told if one.id == "a")
    assert (call.executed, call.error, call.result) == (False, "too much", None)


@pytest.mark.parametrize(
    "answer",
    [
        answered("json", value={"type": "execution-denied", "reason": "the bank"}),
        [
            USER,
            {"role": "assistant", "content": [ASKED]},
            {"role": "tool", "content": [{**RESULT, "result": {"type": "execution-denied"}}]},
        ],
    ],
    ids=["in the SDK's envelope", "of a release without one"],
)
def test_a_result_of_a_tools_own_that_looks_like_a_denial_is_a_result(answer: Any) -> None:
    trace = new_id()
    (call,) = calls(trace, step(trace, 0, [USER], "a pay"), step(trace, 1, answer))
    assert (call.executed, call.error, call.result["type"]) == (True, None, "execution-denied")


def test_a_call_that_is_answered_without_a_span_ran() -> None:
    trace = new_id()
    (call,) = calls(trace, step(trace, 0, [USER], "a pay"), step(trace, 1, answered("text", value="paid")))
    assert (call.executed, call.error, call.result) == (True, None, "paid")


@pytest.mark.parametrize(
    ("kind", "value", "error"),
    [("error-text", "no card", "no card"), ("error-json", {"code": 4}, '{"code":4}')],
)
def test_a_call_whose_answer_is_flagged_as_an_error_ran_and_failed(kind: str, value: Any, error: str) -> None:
    trace = new_id()
    (call,) = calls(trace, step(trace, 0, [USER], "a pay"), step(trace, 1, answered(kind, value=value)))
    assert (call.executed, call.error, call.result) == (True, error, None)


def test_a_call_whose_answer_anthropic_flags_as_an_error_ran_and_failed() -> None:
    trace = new_id()
    failed = {
        "type": "tool_result",
        "tool_use_id": "a",
        "is_error": True,
        "content": [{"type": "text", "text": "no"}],
    }
    later = step(trace, 1, [USER, {"role": "user", "content": [failed]}])
    (call,) = calls(trace, step(trace, 0, [USER], "a pay"), later)
    assert (call.executed, call.error, call.result) == (True, "no", None)


def test_beside_tools_that_were_recorded_a_request_without_an_answer_is_not_told() -> None:
    """It may be a tool that ends the loop, or the form of the answer; docs/verdicts.md says so."""
    trace = new_id()
    told = calls(trace, step(trace, 0, [USER], "a finish", "b search"), tool(trace, "b", "search"))
    assert [(call.id, call.tool, call.executed) for call in told] == [("b", "search", True)]
