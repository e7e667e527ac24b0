"""What spans of any vocabulary have lost of their values: limits of OpenTelemetry, modes, redaction."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.dialects.names import SCOPE_NAME
from collector.model import Span, ToolCall
from collector.rebuild import rebuild
from tests.support.traces import MS, T0

TRACE = "cd" * 16
LONG = json.dumps({"flights": [f"F{number:05}" for number in range(300)]})
GENAI = ("gen_ai.tool.call.arguments", "gen_ai.tool.call.result")
VOCABULARIES: dict[str, tuple[dict[str, Any], str, str]] = {
    "genai": ({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"}, *GENAI),
    "openinference": ({"openinference.span.kind": "TOOL", "tool.name": "t"}, "input.value", "output.value"),
    "mlflow": ({"mlflow.spanType": '"TOOL"'}, "mlflow.spanInputs", "mlflow.spanOutputs"),
    "vercel": (
        {"ai.operationId": "ai.toolCall", "ai.toolCall.name": "t"}, "ai.toolCall.args", "ai.toolCall.result",
    ),
    "logfire": ({"logfire.msg_template": "Function: {name}", "name": "t"}, "input", "output"),
    "mcp": ({"mcp.method.name": "tools/call", "gen_ai.tool.name": "t"}, *GENAI),
    "langsmith": ({"langsmith.span.kind": "tool"}, "gen_ai.prompt", "gen_ai.completion"),
    "openllmetry": (
        {"traceloop.span.kind": "tool", "gen_ai.tool.name": "t"}, "traceloop.entity.input",
        "traceloop.entity.output",
    ),
}  # fmt: skip


def call_of(said: dict[str, Any], scope: str = "theirs", **more: Any) -> ToolCall:
    span = Span(TRACE, "a1", "root", "t", T0, T0 + MS, "unset", "", said, scope=scope)._replace(**more)
    root = Span(TRACE, "root", None, "x", T0 - MS, T0 + 9 * MS, "unset", "", {}, scope=scope)
    (call,) = rebuild(TRACE, (root, span)).run.calls
    return call


@pytest.mark.parametrize("name", VOCABULARIES)
def test_json_that_a_length_limit_cut_is_partly_known(name: str) -> None:
    head, arguments, result = VOCABULARIES[name]
    call = call_of({**head, arguments: '{"id": "F1", "note": "a long no', result: LONG[:1000]})
    assert call.partly == {"arguments": "cut", "result": "cut"}
    assert call.known_arguments["id"] == "F1"
    assert "F00001" in str(call.known_result)


@pytest.mark.parametrize("name", VOCABULARIES)
@pytest.mark.parametrize(
    ("length", "longer", "partly"),
    [(1024, 0, {"result": "cut"}), (128, 0, {"result": "cut"}), (1000, 0, {}), (1024, 1025, {}), (64, 0, {})],
)
def test_a_text_as_long_as_a_usual_limit_is_cut_where_nothing_is_longer(
    name: str, length: int, longer: int, partly: dict[str, str]
) -> None:
    head, arguments, result = VOCABULARIES[name]
    said = {**head, arguments: '{"id": "F1"}', result: "word " * length}
    cut = {key: value[:length] if isinstance(value, str) else value for key, value in said.items()}
    assert call_of({**cut, "note": "x" * longer}).partly == partly
    assert call_of({**cut, "note": "x" * longer}, scope=SCOPE_NAME).partly == {}


def test_arguments_that_were_cut_stay_so_beside_a_result_as_long_as_a_limit() -> None:
    head, arguments, result = VOCABULARIES["openinference"]
    said = {arguments: ('{"note": "' + "long " * 99)[:256], result: "word " * 60}
    call = call_of({**head, **{name: text[:256] for name, text in said.items()}})
    assert call.partly == {"arguments": "cut", "result": "cut"}


@pytest.mark.parametrize("name", VOCABULARIES)
def test_whole_values_have_no_mark(name: str) -> None:
    head, arguments, result = VOCABULARIES[name]
    for text in (LONG, "Booked {F1}.", '"said"', "[done]"):
        assert call_of({**head, arguments: '{"id": "F1"}', result: text}).partly == {}


@pytest.mark.parametrize("name", VOCABULARIES)
def test_attributes_that_the_sender_dropped_were_not_kept(name: str) -> None:
    head, arguments, _ = VOCABULARIES[name]
    assert call_of({**head, arguments: '{"id": "F1"}'}, dropped=1).partly == {"result": "absent"}
    assert call_of({**head, arguments: '{"id": "F1"}'}).partly == {}


@pytest.mark.parametrize(
    "mark", ["__REDACTED__", "[Scrubbed due to 'secret']", "[redacted]", "a [redacted: x] b"]
)
def test_what_was_hidden_scrubbed_or_redacted_is_not_known(mark: str) -> None:
    head, arguments, result = VOCABULARIES["openinference"]
    call = call_of({**head, arguments: json.dumps({"id": mark, "n": 1}), result: "fine"})
    assert call.partly == {"arguments": "cut"}
    assert call.known_arguments["n"] == 1
    assert call.known_arguments["id"] != mark


@pytest.mark.parametrize(
    ("said", "partly"),
    [
        ({"pdoctor.truncated": True}, {"result": "cut"}),
        ({"pdoctor.content": "shape", "pdoctor.hash.key": "k1"}, {"arguments": "hashed", "result": "hashed"}),
        ({"pdoctor.content": "none"}, {"arguments": "absent", "result": "absent"}),
        ({}, {}),
    ],
)
def test_our_tracer_says_what_it_left_out(said: dict[str, Any], partly: dict[str, str]) -> None:
    head, arguments, result = VOCABULARIES["genai"]
    own = {**head, "pdoctor.run.id": TRACE, "pdoctor.step.index": 0, **said}
    call = call_of({**own, arguments: '{"id":"F1"}', result: '["F1","… (+9 more)"]'}, scope=SCOPE_NAME)
    assert call.partly == partly
    assert call.hash_key == said.get("pdoctor.hash.key")


def model(said: dict[str, Any]) -> Span:
    head = {"gen_ai.operation.name": "chat", **said}
    return Span(TRACE, "m1", "root", "chat", T0, T0 + MS, "unset", "", head, scope="theirs")


def test_messages_that_were_cut_may_hide_calls() -> None:
    part = {"type": "tool_call", "id": "c1", "name": "t", "arguments": {"id": "F1"}}
    text = json.dumps([{"role": "assistant", "parts": [part]}])
    root = Span(TRACE, "root", None, "x", T0 - MS, T0 + 9 * MS, "unset", "", {}, scope="theirs")
    whole = rebuild(TRACE, (root, model({"gen_ai.output.messages": text}))).run
    assert (len(whole.calls), whole.problems) == (1, ())
    cut = rebuild(TRACE, (root, model({"gen_ai.output.messages": text[:60]}))).run
    assert cut.problems == ("the messages of a model call were cut: calls may be missing from them",)


def test_what_was_hidden_in_a_request_is_not_known() -> None:
    part = {"type": "tool_call", "id": "c1", "name": "t", "arguments": {"id": "[redacted]", "n": 1}}
    text = json.dumps([{"role": "assistant", "parts": [part]}])
    root = Span(TRACE, "root", None, "x", T0 - MS, T0 + 9 * MS, "unset", "", {}, scope="theirs")
    (call,) = rebuild(TRACE, (root, model({"gen_ai.output.messages": text}))).run.calls
    assert call.partly == {"arguments": "cut"}


def test_arguments_of_a_request_are_whole_where_those_of_the_span_were_dropped() -> None:
    part = {"type": "tool_call", "id": "c1", "name": "t", "arguments": {"id": "F1"}}
    asked = model({"gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [part]}])})
    head = VOCABULARIES["openinference"][0]
    root = Span(TRACE, "root", None, "x", T0 - MS, T0 + 9 * MS, "unset", "", {}, scope="theirs")
    ran = Span(TRACE, "a1", "root", "t", T0 + 2 * MS, T0 + 3 * MS, "unset", "", head, scope="oi", dropped=2)
    (call,) = rebuild(TRACE, (root, asked, ran)).run.calls
    assert call.arguments == {"id": "F1"}
    assert call.partly == {"result": "absent"}


def test_a_value_from_another_sighting_brings_what_is_known_of_it() -> None:
    head, arguments, _ = VOCABULARIES["openinference"]
    other = {**VOCABULARIES["mcp"][0], GENAI[1]: LONG[:100], GENAI[0]: '{"id": "F1"}'}
    spans = (
        Span(TRACE, "root", None, "x", T0 - MS, T0 + 9 * MS, "unset", "", {}, scope="theirs"),
        Span(
            TRACE, "a1", "root", "t", T0, T0 + MS, "unset", "", {**head, arguments: '{"id": "F'}, scope="oi"
        ),
        Span(TRACE, "a2", "a1", "t", T0, T0 + MS, "unset", "", other, scope="mcp"),
    )
    (call,) = rebuild(TRACE, spans).run.calls
    assert call.partly == {"arguments": "cut", "result": "cut"}
    assert call.result == LONG[:100]
