"""LangGraph for JavaScript under OpenInference, as release 4.1 records it: envelopes, pauses, calls without
a span."""

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

SCOPE = "@arizeai/openinference-instrumentation-langchain"
BOB = {"to": "Bob", "amount": 5}


def made(kind: str, **kwargs: Any) -> dict[str, Any]:
    return {"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", kind], "kwargs": kwargs}


def asks(*calls: tuple[str, str, Any]) -> dict[str, Any]:
    listed = [{"id": one, "name": tool, "args": args, "type": "tool_call"} for one, tool, args in calls]
    return made("AIMessage", content="", tool_calls=listed, invalid_tool_calls=[])


def answer(call_id: str, content: Any, **said: Any) -> dict[str, Any]:
    return made("ToolMessage", content=content, tool_call_id=call_id, **said)


USER = made("HumanMessage", content="Pay Bob.")
DONE = made("AIMessage", content="done", tool_calls=[])


def model(number: int, given: list[Any], reply: Any) -> dict[str, Any]:
    """The flattened messages have neither ids nor the calls, so these stand in the values alone."""
    roles = {"HumanMessage": "user", "AIMessage": "assistant", "ToolMessage": "tool"}
    at: dict[str, Any] = {
        "openinference.span.kind": "LLM",
        "input.value": json.dumps({"messages": [given]}),
        "output.value": json.dumps({"generations": [[{"text": "", "message": reply}]]}),
    }
    for place, message in enumerate(given):
        at[f"llm.input_messages.{place}.message.role"] = roles[message["id"][-1]]
        at[f"llm.input_messages.{place}.message.content"] = message["kwargs"]["content"]
    return span(number, "Scripted", at)


def tool(number: int, name: str, given: Any, output: Any, **more: Any) -> dict[str, Any]:
    at = {"openinference.span.kind": "TOOL", "tool.name": name, "input.value": json.dumps(given)}
    if output is not None:
        at["output.value"] = output if isinstance(output, str) else json.dumps(output)
    return {**span(number, name, at), **more}


def span(number: int, name: str, at: dict[str, Any]) -> dict[str, Any]:
    start = T0 + number * 100 * MS
    return {"id": 10 + number, "parent": 1, "name": name, "start": start, "end": start + MS, "at": at}


def calls(*spans: dict[str, Any], scope: str = SCOPE) -> list[ToolCall]:
    trace = new_id()
    top = {"id": 1, "name": "LangGraph", "end": T0 + 900 * MS, "at": {"openinference.span.kind": "CHAIN"}}
    told = [{"trace": trace, **one} for one in (*spans, top)]
    (segment,) = from_protobuf(request(*told, scope=scope).SerializeToString(), Limits()).segments
    return list(rebuild(trace, list(spans_of([segment.payload]))).run.calls)


def test_a_result_that_is_an_object_stands_in_an_envelope() -> None:
    """Where a node of one's own gives the tool nothing but arguments, there is no message."""
    asked = asks(("a", "search", {"query": "x"}))
    found = {"found": ["x", 1]}
    (call,) = calls(model(0, [USER], asked), tool(1, "search", {"query": "x"}, {"output": found}))
    assert (call.id, call.result, call.executed) == ("a", found, True)


@pytest.mark.parametrize(
    ("scope", "output"),
    [("openinference.instrumentation.openai_agents", {"output": 5}), (SCOPE, {"output": 5, "rows": 2})],
)
def test_an_object_of_the_tools_own_is_no_envelope(scope: str, output: Any) -> None:
    (call,) = calls(tool(1, "search", {}, output), scope=scope)
    assert call.result == output


@pytest.mark.parametrize(
    ("update", "result"),
    [
        ({"messages": [answer("a", "moved")]}, "moved"),
        ({"messages": [USER, answer("a", "moved")]}, "moved"),
    ],
)
def test_a_tool_that_gives_a_command_has_its_message_there(update: Any, result: Any) -> None:
    command = {"output": {"lg_name": "Command", "update": update, "goto": []}}
    (call,) = calls(model(0, [USER], asks(("a", "move", {}))), tool(1, "move", {}, command))
    assert (call.id, call.result, call.error) == ("a", result, None)


@pytest.mark.parametrize("update", [{}, None, {"messages": []}, {"messages": [3]}, [["messages", []]]])
def test_a_command_without_a_message_is_told_as_it_stands(update: Any) -> None:
    command = {"lg_name": "Command", "update": update, "goto": ["next"]}
    (call,) = calls(tool(1, "move", {}, {"output": command}))
    assert call.result == command


WAITS = json.dumps([{"id": "e", "value": BOB}], indent=2)
BROKE_OFF = f"{WAITS}\n\nGraphInterrupt: {WAITS}\n    at interrupt (interrupt.js:93:8)"


@pytest.mark.parametrize(
    ("status", "event"),
    [(BROKE_OFF, None), ("()", "langgraph.errors.GraphInterrupt"), ("()", "NodeInterrupt")],
)
def test_a_tool_that_waits_for_a_person_has_not_failed(status: str, event: str | None) -> None:
    """It begins anew in another trace when the graph goes on; what it did until then is not known."""
    raised = [("exception", {"exception.type": event, "exception.message": "()"})] if event else []
    more = {"error": status, "events": raised}
    (call,) = calls(model(0, [USER], asks(("a", "pay", BOB))), tool(1, "pay", BOB, None, **more))
    assert (call.id, call.executed, call.error, call.result) == ("a", None, None, None)


@pytest.mark.parametrize("status", ["no GraphInterrupt: here", "Error: card declined"])
def test_a_tool_that_fails_has_failed(status: str) -> None:
    (call,) = calls(tool(1, "pay", BOB, None, error=status))
    assert (call.executed, call.error) == (True, status)


def test_a_call_that_fails_without_a_span_beside_recorded_tools_may_not_have_run() -> None:
    """LangGraph's own errors, of arguments that do not fit, come before the tool begins."""
    asked = asks(("a", "pay", {"to": 3}), ("b", "search", {}))
    said = [answer("a", "Error: Received tool input did not match", status="error"), answer("b", "x")]
    recorded = tool(1, "search", {}, {"output": said[1]})
    pay, _ = sorted(
        calls(model(0, [USER], asked), recorded, model(2, [USER, asked, *said], DONE)),
        key=lambda call: call.id or "",
    )
    assert (pay.executed, pay.error, pay.result) == (None, "Error: Received tool input did not match", None)


def test_a_call_that_fails_where_no_tools_are_recorded_ran_and_failed() -> None:
    asked, said = asks(("a", "pay", BOB)), answer("a", "card declined", status="error")
    (call,) = calls(model(0, [USER], asked), model(2, [USER, asked, said], DONE))
    assert (call.executed, call.error, call.result) == (True, "card declined", None)


@pytest.mark.parametrize(("again", "told"), [("x", ["search"]), ("paid", ["search", "pay"])])
def test_an_id_that_comes_again_is_not_answered_by_what_was_there_before(again: str, told: list[str]) -> None:
    """LangGraph for JavaScript does not run a call whose id has an answer in the history."""
    first, second = asks(("x", "search", {})), asks(("x", "pay", BOB))
    old = answer("x", "x")
    new = [] if again == "x" else [answer("x", again)]
    found = calls(
        model(0, [USER], first),
        tool(1, "search", {}, {"output": old}),
        model(2, [USER, first, old], second),
        model(4, [USER, first, old, second, *new], DONE),
    )
    assert [call.tool for call in found] == told
