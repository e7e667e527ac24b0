"""Every vocabulary against spans that its own library produced (see recorded/README.md)."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from traces import JSON, T0, Client, agent_spans, new_id, request

from collector.model import Run
from collector.otlp.files import runs_from_otlp
from collector.otlp.json_in import from_json
from collector.otlp.segments import from_protobuf
from collector.otlp.spans import spans_of
from collector.rebuild import rebuild
from collector.settings import Limits
from synth.errors import BadInput

RECORDED = Path(__file__).parent / "recorded"
EXACT = [
    "langsmith", "openinference_agents", "openinference_langchain", "openllmetry_agents",
    "openllmetry_langchain", "pydantic_ai",
]  # fmt: skip
RAW_LOOPS = ["openinference_raw", "openllmetry_raw"]
QUERY = "What is the weather in Oslo and Rome? Then book a hotel in Oslo."


def recorded_run(name: str) -> Run:
    path = RECORDED / f"{name}.json"
    with path.open("rb") as stream:
        (run,) = runs_from_otlp(stream, file=str(path))
    return run


def test_every_recording_is_tested() -> None:
    assert {path.stem for path in RECORDED.glob("*.json")} == {*EXACT, *RAW_LOOPS}


@pytest.mark.parametrize("name", EXACT + RAW_LOOPS)
def test_calls_ids_arguments_and_results_are_read(name: str) -> None:
    run = recorded_run(name)
    assert [(call.id, call.tool, call.arguments) for call in run.calls] == [
        ("call_1", "get_weather", {"city": "Oslo"}),
        ("call_2", "get_weather", {"city": "Rome"}),
        ("call_3", "book_hotel", {"city": "Oslo"}),
    ]
    assert [call.result for call in run.calls[:2]] == ["sunny in Oslo", "sunny in Rome"]
    assert run.query == QUERY
    assert run.problems == ()


@pytest.mark.parametrize("name", EXACT)
def test_a_tool_span_is_a_call_with_exact_times_and_its_error(name: str) -> None:
    run = recorded_run(name)
    assert [call.error is None for call in run.calls] == [True, True, False]
    assert all(call.start and call.end and call.start[0] == call.start[1] for call in run.calls)
    assert run.agent == "travel_agent"


@pytest.mark.parametrize("name", RAW_LOOPS)
def test_requests_and_answers_of_a_raw_loop_become_calls_with_bounds(name: str) -> None:
    run = recorded_run(name)
    assert run.tools == ("get_weather", "book_hotel")
    assert [call.step for call in run.calls] == [0, 0, 1]
    first, _, last = run.calls
    assert first.start is not None
    assert last.start is not None
    assert first.start == first.end
    assert first.start[0] < first.start[1] <= last.start[0]


def test_a_request_that_is_never_answered_never_ran() -> None:
    document = json.loads((RECORDED / "openllmetry_raw.json").read_text())
    spans = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
    last = max(range(len(spans)), key=lambda at: int(spans[at]["startTimeUnixNano"]))
    spans.pop(last)  # the model call that was given the answer to call_3
    (segment,) = from_json(json.dumps(document).encode(), Limits()).segments
    run = rebuild(segment.run_id, list(spans_of([segment.payload]))).run
    assert [(call.id, call.executed) for call in run.calls] == [
        ("call_1", True), ("call_2", True), ("call_3", False),
    ]  # fmt: skip


def calls_of(*spans: dict[str, Any], scope: str) -> list[tuple[Any, ...]]:
    (segment,) = from_protobuf(request(*spans, scope=scope).SerializeToString(), Limits()).segments
    run = rebuild(segment.run_id, list(spans_of([segment.payload]))).run
    return [(call.id, call.tool, call.arguments, call.result, call.error) for call in run.calls]


def test_vercels_tool_calls_are_read() -> None:
    span = {
        "trace": new_id(), "id": 2, "parent": 1, "name": "ai.toolCall",
        "at": {
            "operation.name": "ai.toolCall", "ai.operationId": "ai.toolCall", "ai.toolCall.name": "search",
            "ai.toolCall.id": "c1", "ai.toolCall.args": '{"q": 1}', "ai.toolCall.result": '{"hits": []}',
        },
    }  # fmt: skip
    assert calls_of(span, scope="ai") == [("c1", "search", {"q": 1}, {"hits": []}, None)]


def test_mlflows_tool_spans_are_read() -> None:
    span = {
        "trace": new_id(), "id": 2, "parent": 1, "name": "search", "error": "boom",
        "at": {
            "mlflow.spanType": '"TOOL"', "mlflow.spanFunctionName": '"search"',
            "mlflow.spanInputs": '{"q": 1}', "mlflow.spanOutputs": '"none"',
        },
    }  # fmt: skip
    assert calls_of(span, scope="mlflow") == [(None, "search", {"q": 1}, "none", "boom")]


def test_mcp_client_spans_are_read() -> None:
    span = {
        "trace": new_id(), "id": 2, "name": "tools/call search",
        "at": {"mcp.method.name": "tools/call", "gen_ai.tool.name": "search", "error.type": "tool_error"},
    }  # fmt: skip
    listing = {**span, "id": 3, "name": "tools/list", "at": {"mcp.method.name": "tools/list"}}
    assert calls_of(span, listing, scope="mcp") == [(None, "search", None, None, "tool_error")]


@pytest.mark.parametrize("ids", [True, False])
def test_calls_seen_by_our_tracer_and_by_another_library_count_once(ids: bool) -> None:
    """Ours around theirs, two of them parallel calls of one tool; their failed call knows no id."""
    (segment,) = from_json((RECORDED / "openinference_langchain.json").read_bytes(), Limits()).segments
    theirs = list(spans_of([segment.payload]))
    tools = [span for span in theirs if span.name in ("get_weather", "book_hotel")]
    ours = agent_spans(
        segment.run_id,
        [{"name": span.name, "id": f"call_{at + 1}" if ids else ""} for at, span in enumerate(tools)],
        root=False,
    )
    for span, tool in zip(ours, tools, strict=True):
        span.update(start=tool.start_ns - 1000, end=tool.end_ns + 1000)
    (own,) = from_protobuf(request(*ours).SerializeToString(), Limits()).segments
    run = rebuild(segment.run_id, [*theirs, *spans_of([own.payload])]).run
    assert [call.tool for call in run.calls] == ["get_weather", "get_weather", "book_hotel"]
    assert [call.id for call in run.calls] == (["call_1", "call_2", "call_3"] if ids else [None] * 3)


def test_a_hostile_mix_of_types_breaks_no_reader() -> None:
    """Every attribute that any dialect reads, with every kind of value."""
    keys = [
        "gen_ai.operation.name", "gen_ai.tool.name", "gen_ai.tool.call.arguments", "gen_ai.input.messages",
        "gen_ai.output.messages", "gen_ai.tool.definitions", "openinference.span.kind", "input.value",
        "output.value", "llm.input_messages.0.message.role", "llm.input_messages.x.message.role",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name", "traceloop.span.kind",
        "traceloop.entity.input", "traceloop.entity.output", "langsmith.span.kind", "gen_ai.prompt",
        "gen_ai.completion", "mlflow.spanType", "mlflow.spanInputs", "ai.operationId", "ai.prompt",
        "mcp.method.name", "pdoctor.step.index", "pdoctor.turn.index", "pdoctor.run.calls",
        "pdoctor.tool.attempts", "pdoctor.tool.timing", "error.type", "llm.tools.0.tool.json_schema",
    ]  # fmt: skip
    kinds = [
        "tool",
        "agent",
        "workflow",
        "chain",
        "TOOL",
        "AGENT",
        "LLM",
        "execute_tool",
        "invoke_agent",
        "chat",
    ]
    values: list[Any] = [
        1, 1.5, True, b"\xff", "", "{", "[]", "{}", "null", "[[]]", '["a", 1]', '{"messages": [[1]]}',
        [1, "x"], '{"input_str": "{"}', '{"input_str": 5}', '{"output": {"kwargs": 5}}',
        '[{"role": "user", "parts": 5}]',
        '[{"role": "user", "content": [5, {"text": 5}]}]', '[{"tool_calls": [5, {"function": 5}]}]', -1, "-1",
        '[{"parts": [{"type": "tool_call", "name": 5}, {"type": "tool_call_response", "id": 5}]}]',
    ]  # fmt: skip
    kind_keys = (
        "gen_ai.operation.name",
        "openinference.span.kind",
        "traceloop.span.kind",
        "langsmith.span.kind",
    )
    for value in values:
        spans = []
        for number, (kind_key, kind) in enumerate((key, kind) for key in kind_keys for kind in kinds):
            at = dict.fromkeys(keys, value) | {kind_key: kind}
            spans.append({"trace": "a" * 32, "id": number + 1, "start": T0, "end": T0 - 5, "at": at})
        (segment,) = from_protobuf(request(*spans, scope="x").SerializeToString(), Limits()).segments
        rebuilt = rebuild(segment.run_id, list(spans_of([segment.payload])))
        assert rebuilt.spans == len(spans)


def test_runs_from_files_of_protobuf_and_of_json_lines_are_the_same(tmp_path: Path) -> None:
    message = request(*agent_spans("b" * 32, ["search", "book"]), *agent_spans("c" * 32, ["book"]))
    binary = tmp_path / "spans.pb"
    binary.write_bytes(message.SerializeToString())
    lines = tmp_path / "spans.jsonl"
    lines.write_text(
        "\n".join((RECORDED / f"{name}.json").read_text() for name in ("pydantic_ai", "langsmith")) + "\n"
    )
    with binary.open("rb") as stream:
        runs = list(runs_from_otlp(stream, file="spans.pb"))
    assert [(run.id, [call.tool for call in run.calls], run.status) for run in runs] == [
        ("b" * 32, ["search", "book"], "ok"), ("c" * 32, ["book"], "ok"),
    ]  # fmt: skip
    with lines.open("rb") as stream:
        assert len(list(runs_from_otlp(stream, file="spans.jsonl"))) == 2


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b'{"resourceSpans": []}\n{broken', r"bad\.jsonl:2"),
        (b"\x0a\xff\xff", r"bad\.jsonl"),
        (b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "no ids"}]}]}]}', r"bad\.jsonl:1"),
    ],
)
def test_a_broken_file_is_named_with_its_line(tmp_path: Path, content: bytes, place: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content)
    with path.open("rb") as stream, pytest.raises(BadInput, match=place):
        list(runs_from_otlp(stream, file="bad.jsonl"))


def test_an_instrumented_fleet_needs_no_change(shared: Client) -> None:
    """A recording sent as it is, gzipped JSON, becomes a listed run with its calls."""
    document = (RECORDED / "openinference_langchain.json").read_bytes()
    answer = shared.send(gzip.compress(document), {**JSON, "content-encoding": "gzip"})
    assert answer.status_code == 200
    trace = json.loads(document)["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["traceId"]
    found = shared.judged(trace)
    assert (found["agent"], found["source"], len(found["calls"])) == ("travel_agent", "openinference", 3)
