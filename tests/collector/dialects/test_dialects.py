"""Every vocabulary against spans that its own library produced (see recorded/README.md).

Each recording comes with the log of the tools and of the model server, which knows nothing of spans: the
run that is rebuilt must tell the same.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from collector.model import ModelCall, Run, Span, ToolCall
from collector.otlp.files import runs_from_otlp
from collector.otlp.json_in import from_json
from collector.otlp.segments import from_protobuf
from collector.otlp.spans import spans_of
from collector.rebuild import rebuild
from collector.settings import Limits
from synth.errors import BadInput
from tests.support.traces import JSON, T0, Client, agent_spans, new_id, request

RECORDED = Path(__file__).parents[1] / "recorded"
LOGS = ".log.json"
TICK = 2_000_000
"""Nanoseconds by which the clock of an instrumentation may differ from that of the tools' own log."""


@dataclass(frozen=True)
class Carried:
    """What a vocabulary tells; the rest is None, as it must be."""

    agent: str | None = "travel_agent"
    exact: bool = True
    """It has a span per execution; otherwise calls are rebuilt from the model's messages, with bounds."""
    ids: bool = True
    query: bool = True
    tools: bool = True
    content: bool = True
    """Arguments and results."""
    unknown: str | None = "refused"
    """How the request for a tool that does not exist is told: `refused` = it never ran; `answered` = as
    an answered call, since the vocabulary does not say what was offered; `failed` = as one that failed and of
    which it is not known whether it ran; `ran` = as one that ran and failed; None = not at all."""
    failure: str = "no room in Oslo"
    """What is told of the tool that failed."""


RAW = Carried(agent=None, exact=False, unknown="answered")
REDACTED = "Error running tool (non-fatal)"
"""The OpenAI Agents SDK keeps the reason to itself."""
AGENTS = Carried(failure=REDACTED)
TOLD: dict[str, Carried] = {
    "genai_agents_nested": Carried(ids=False, query=False, tools=False, unknown=None, failure=REDACTED),
    "genai_agents_plain": Carried(ids=False, query=False, tools=False, unknown=None, failure=REDACTED),
    "genai_anthropic_messages": RAW,
    "genai_anthropic_stream": RAW,
    "genai_langchain_nested": Carried(),
    "genai_langchain_plain": Carried(),
    "genai_langchain_stream": Carried(),
    "genai_openai_chat": RAW,
    "genai_openai_responses": RAW,
    "genai_openai_stream": RAW,
    "langsmith_langchain_nested": Carried(),
    "langsmith_langchain_plain": Carried(),
    "logfire_agents_nested": AGENTS,
    "logfire_agents_plain": AGENTS,
    "logfire_agents_stream": AGENTS,
    "logfire_pydantic_ai_nested": Carried(),
    "logfire_pydantic_ai_plain": Carried(),
    "mlflow_agents_nested": AGENTS,
    "mlflow_agents_plain": AGENTS,
    "mlflow_langchain_nested": Carried(),
    "mlflow_langchain_plain": Carried(),
    "mlflow_openai_chat": Carried(exact=False, unknown="answered"),
    "native+openinference_anthropic_messages": RAW,
    "native+openinference_anthropic_stream": RAW,
    "native_anthropic_messages": Carried(agent=None, exact=False, unknown="answered", tools=False),
    "native_anthropic_runner": Carried(
        agent="anthropic.messages.tool_runner", tools=False, unknown="answered"
    ),
    "native_anthropic_stream": Carried(agent=None, exact=False, unknown="answered", tools=False),
    "native_mcp": Carried(
        agent=None, ids=False, query=False, tools=False, content=False, unknown="ran", failure="tool_error"
    ),
    "native_pydantic_ai_nested": Carried(),
    "native_pydantic_ai_plain": Carried(),
    "official_google_genai": Carried(agent=None, ids=False),
    "official_openai_chat": Carried(agent=None, exact=False, unknown="answered", tools=False),
    "official_openai_stream": Carried(agent=None, exact=False, unknown="answered", tools=False),
    "openinference+openllmetry_langchain_plain": Carried(),
    "openinference_agents_mcp": Carried(failure="tool_error"),
    "openinference_agents_nested": AGENTS,
    "openinference_agents_plain": AGENTS,
    "openinference_agents_stream": AGENTS,
    "openinference_anthropic_messages": RAW,
    "openinference_anthropic_stream": RAW,
    "openinference_langchain_nested": Carried(),
    "openinference_langchain_plain": Carried(),
    "openinference_langchain_stream": Carried(),
    "openinference_langgraph_js": Carried(agent=None, tools=False, unknown="failed"),
    "openinference_openai_chat": RAW,
    "openinference_openai_responses": RAW,
    "openinference_openai_stream": RAW,
    "openinference_smolagents": Carried(),
    "openllmetry_agents_nested": AGENTS,
    "openllmetry_agents_plain": AGENTS,
    "openllmetry_agents_stream": AGENTS,
    "openllmetry_anthropic_messages": RAW,
    "openllmetry_anthropic_stream": RAW,
    "openllmetry_langchain_nested": Carried(),
    "openllmetry_langchain_plain": Carried(),
    "openllmetry_langchain_stream": Carried(),
    "openllmetry_openai_chat": RAW,
    "openllmetry_openai_responses": RAW,
    "openllmetry_openai_stream": RAW,
    "pdoctor+openinference_langchain_plain": Carried(),
    "vercel_generate": Carried(),
    "vercel_stream": Carried(),
}
SILENT = ["official_old_openai_chat", "official_old_openai_stream", "openinference_google_genai"]
"""Their spans hold no message (the older ones send them as log records): no call can be known."""
TWICE = ["openinference+genai_langchain_plain", "pdoctor+openllmetry_langchain_plain"]
"""Each instrumentation opens a trace of its own, so there are two runs."""


def recorded_spans(name: str) -> list[tuple[str, list[Span]]]:
    segments = from_json((RECORDED / f"{name}.json").read_bytes(), Limits()).segments
    return [(segment.run_id, list(spans_of([segment.payload]))) for segment in segments]


@cache
def recorded_run(name: str) -> Run:
    path = RECORDED / f"{name}.json"
    with path.open("rb") as stream:
        (run,) = runs_from_otlp(stream, file=str(path))
    return run


def log_of(name: str) -> dict[str, Any]:
    said: dict[str, Any] = json.loads((RECORDED / f"{name}{LOGS}").read_text())
    return said


def test_every_recording_is_tested() -> None:
    names = {path.name.removesuffix(".json") for path in RECORDED.glob("*.json")}
    recordings = {name for name in names if not name.endswith(".log")}
    assert recordings == {*TOLD, *SILENT, *TWICE}
    assert {f"{name}.log" for name in recordings} <= names


def split(run: Run) -> tuple[list[ToolCall], list[ToolCall]]:
    """(the calls that the tools' log can know, the request for a tool that does not exist)."""
    known = [call for call in run.calls if call.tool not in ("find_flight", "final_answer")]
    return known, [call for call in run.calls if call.tool == "find_flight"]


def differences(run: Run, log: dict[str, Any], told: Carried) -> list[str]:
    """What the run tells otherwise than the log of its tools and its model server."""
    calls, _ = split(run)
    flaws = [f"{len(calls)} calls for {len(log['executed'])} executions"]
    if len(calls) == len(log["executed"]):
        flaws = []
    free = list(calls)
    found: list[ToolCall] = []
    for entry in log["executed"]:
        same = [call for call in free if tells(call, entry, told)]
        if not same:
            flaws.append(f"no call tells of {entry}")
            continue
        free.remove(same[0])
        found.append(same[0])
    for (one, call), (other, later) in zip(
        zip(log["executed"], found, strict=False),
        zip(log["executed"][1:], found[1:], strict=False),
        strict=False,
    ):
        if one["end"] < other["start"] and calls.index(call) > calls.index(later):
            flaws.append(f"{call.tool} comes after {later.tool}")
    return flaws


def tells(call: ToolCall, entry: dict[str, Any], told: Carried) -> bool:
    """The call is of this execution: tool, arguments, result or error, and times that hold it."""
    assert call.start is not None
    assert call.end is not None
    failed = "error" in entry
    outcome = str(call.error if told.exact else call.result) if failed else call.result
    return (
        call.tool == entry["tool"]
        and call.executed
        and call.start[0] - TICK <= entry["start"]
        and entry["end"] <= call.end[1] + TICK
        and (call.start[0] == call.start[1]) == told.exact
        and (not told.content or call.arguments == entry["arguments"])
        and (call.error is not None) == (failed and told.exact)
        and (
            (failed and told.failure in str(outcome))
            or (not failed and outcome == (entry["result"] if told.content else None))
        )
    )


@pytest.mark.parametrize("name", TOLD)
def test_the_run_tells_what_the_tools_log_tells(name: str) -> None:
    run = recorded_run(name)
    assert differences(run, log_of(name), TOLD[name]) == []
    assert run.problems == ()


@pytest.mark.parametrize("name", TOLD)
def test_call_ids_are_the_ones_the_model_gave(name: str) -> None:
    log = log_of(name)
    calls = [call for call in recorded_run(name).calls if call.tool != "final_answer"]
    if not TOLD[name].ids:
        assert {call.id for call in calls} == {None}
        return
    asked = [(r["id"], r["tool"], r["arguments"]) for r in log["requested"] if r["tool"] != "final_answer"]
    assert sorted((c.id, c.tool, c.arguments) for c in calls) == sorted(asked, key=lambda one: one[:2])


@pytest.mark.parametrize("name", TOLD)
def test_agent_query_and_tools_are_read_where_they_are_told(name: str) -> None:
    run, log, told = recorded_run(name), log_of(name), TOLD[name]
    assert run.agent == told.agent
    assert run.query == (log["query"] if told.query else None)
    assert run.tools is None or set(log["offered"]) <= set(run.tools)
    assert (run.tools is not None) == told.tools


@pytest.mark.parametrize("name", TOLD)
def test_a_request_for_a_tool_that_does_not_exist_is_told(name: str) -> None:
    requested = [r for r in log_of(name)["requested"] if r["tool"] == "find_flight"]
    _, calls = split(recorded_run(name))
    how = TOLD[name].unknown
    assert len(calls) == (len(requested) if how else 0)
    for call in calls:
        assert call.executed is {"refused": False, "answered": True, "ran": True, "failed": None}[str(how)]
        assert (call.error is not None) == (how != "answered") or name == "openinference_smolagents"
        assert call.result is None or "find_flight" in call.result


@pytest.mark.parametrize("name", [name for name, told in TOLD.items() if told.ids])
def test_calls_of_one_message_share_a_step(name: str) -> None:
    by_step: dict[int, set[str]] = {}
    for call in recorded_run(name).calls:
        assert call.step is not None
        by_step.setdefault(call.step, set()).add(call.tool)
    assert all(len(tools) == 1 for tools in by_step.values())
    assert len(by_step) == len({call.tool for call in recorded_run(name).calls})


@pytest.mark.parametrize("name", SILENT)
def test_spans_without_messages_tell_of_no_call(name: str) -> None:
    ((run_id, spans),) = recorded_spans(name)
    assert rebuild(run_id, spans).run.calls == ()


@pytest.mark.parametrize("name", TWICE)
def test_two_instrumentations_with_a_trace_each_tell_the_same_twice(name: str) -> None:
    with (RECORDED / f"{name}.json").open("rb") as stream:
        runs = list(runs_from_otlp(stream, file=name))
    assert [differences(run, log_of(name), Carried()) for run in runs] == [[], []]


def test_the_comparison_with_the_log_finds_planted_defects() -> None:
    run, log = recorded_run("genai_langchain_plain"), log_of("genai_langchain_plain")
    first, second, *_ = log["executed"]
    for planted in (
        {"executed": [first, second]},
        {"executed": [*log["executed"], first]},
        {"executed": [{**first, "arguments": {"city": "Bergen"}}, *log["executed"][1:]]},
        {"executed": [{**first, "result": "rain"}, *log["executed"][1:]]},
        {"executed": [{**first, "start": first["start"] - 10**9}, *log["executed"][1:]]},
        {"executed": [*log["executed"][:2], {**log["executed"][2], "error": "", "tool": "get_weather"}]},
    ):
        assert differences(run, {**log, **planted}, Carried()) != []


def test_of_a_request_that_is_never_answered_it_is_not_known_whether_it_ran() -> None:
    """Here it did, and the span that tells so was lost."""
    document = json.loads((RECORDED / "openllmetry_openai_chat.json").read_text())
    lists = [scope["spans"] for said in document["resourceSpans"] for scope in said["scopeSpans"]]
    last = max(lists, key=lambda spans: int(spans[-1]["startTimeUnixNano"]))
    last.pop()  # the model call that was given the answer to call_2_0
    (segment,) = from_json(json.dumps(document).encode(), Limits()).segments
    run = rebuild(segment.run_id, list(spans_of([segment.payload]))).run
    assert [(call.id, call.executed) for call in run.calls] == [
        ("call_0_0", True), ("call_0_1", True), ("call_1_0", True), ("call_2_0", None),
    ]  # fmt: skip


def calls_of(*spans: dict[str, Any], scope: str) -> list[tuple[Any, ...]]:
    (segment,) = from_protobuf(request(*spans, scope=scope).SerializeToString(), Limits()).segments
    run = rebuild(segment.run_id, list(spans_of([segment.payload]))).run
    return [(call.id, call.tool, call.arguments, call.result, call.error) for call in run.calls]


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
    (segment,) = from_json((RECORDED / "openinference_langchain_plain.json").read_bytes(), Limits()).segments
    theirs = list(spans_of([segment.payload]))
    tools = sorted(
        (span for span in theirs if span.name in ("get_weather", "book_hotel")),
        key=lambda span: span.start_ns,
    )
    known = ["call_0_0", "call_0_1", "call_2_0"]
    ours = agent_spans(
        segment.run_id,
        [{"name": span.name, "id": said if ids else ""} for span, said in zip(tools, known, strict=True)],
        root=False,
    )
    for span, tool in zip(ours, tools, strict=True):
        span.update(start=tool.start_ns - 1000, end=tool.end_ns + 1000)
    (own,) = from_protobuf(request(*ours).SerializeToString(), Limits()).segments
    run = rebuild(segment.run_id, [*theirs, *spans_of([own.payload])]).run
    assert [call.tool for call in run.calls] == ["get_weather", "get_weather", "book_hotel"]
    assert [call.id for call in run.calls] == (known if ids else [None] * 3)


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
        "\n".join(
            (RECORDED / f"{name}.json").read_text()
            for name in ("native_pydantic_ai_plain", "langsmith_langchain_plain")
        )
        + "\n"
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
    document = (RECORDED / "openinference_langchain_plain.json").read_bytes()
    answer = shared.send(gzip.compress(document), {**JSON, "content-encoding": "gzip"})
    assert answer.status_code == 200
    trace = json.loads(document)["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["traceId"]
    found = shared.judged(trace)
    assert (found["agent"], found["source"], len(found["calls"])) == ("travel_agent", "openinference", 4)


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("gen_ai.operation.name=chat", {"gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 2}),
        ("gen_ai.operation.name=chat", {"gen_ai.usage.prompt_tokens": "5", "llm.usage.completion_tokens": 2}),
        ("langsmith.span.kind=llm", {"gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 2}),
        ("openinference.span.kind=LLM", {"llm.token_count.prompt": 5, "llm.token_count.completion": 2}),
        ("mlflow.spanType=LLM", {"mlflow.chat.tokenUsage": '{"input_tokens": 5, "output_tokens": 2}'}),
        (
            "ai.operationId=ai.generateText.doGenerate",
            {"ai.usage.promptTokens": 5, "ai.usage.outputTokens": 2},
        ),
    ],
)
def test_each_vocabulary_tells_the_tokens_of_a_model_call(kind: str, told: dict[str, Any]) -> None:
    name, _, value = kind.partition("=")
    span = Span("a" * 32, "b" * 16, None, "model", T0, T0 + 1, "ok", "", {name: value, **told})
    assert rebuild("a" * 32, [span]).models == (ModelCall(T0, T0 + 1, 5, 2),)
    unused = Span("a" * 32, "b" * 16, None, "model", T0, T0 + 1, "ok", "", {name: value, "other": 7})
    assert rebuild("a" * 32, [unused]).models == (ModelCall(T0, T0 + 1),)


def test_a_count_that_is_none_is_passed_over() -> None:
    said = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": -1, "gen_ai.usage.prompt_tokens": 3}
    span = Span(
        "a" * 32, "b" * 16, None, "chat", T0, T0, "ok", "", {**said, "gen_ai.usage.output_tokens": "x"}
    )
    assert rebuild("a" * 32, [span]).models == (ModelCall(T0, T0, 3, None),)


ENVELOPES = {
    "python": {"type": "tool", "data": {"content": "no", "status": "error", "tool_call_id": "call_7"}},
    "javascript": {
        "output": {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain_core", "messages", "ToolMessage"],
            "kwargs": {"content": "no", "status": "error", "tool_call_id": "call_7"},
        }
    },
}


@pytest.mark.parametrize("language", ENVELOPES)
def test_a_tool_message_in_the_output_is_unwrapped(language: str) -> None:
    said = {
        "openinference.span.kind": "TOOL",
        "tool.name": "pay",
        "input.value": "{}",
        "output.value": json.dumps(ENVELOPES[language]),
    }
    span = Span("a" * 32, "b" * 16, None, "pay", T0, T0 + 1, "ok", "", said)
    call = rebuild("a" * 32, [span]).run.calls[0]
    assert (call.id, call.result, call.error) == ("call_7", None, "no")
    fine = {**said, "output.value": said["output.value"].replace('"error"', '"success"')}
    call = rebuild("a" * 32, [span._replace(attributes=fine)]).run.calls[0]
    assert (call.id, call.result, call.error) == ("call_7", "no", None)


def test_other_objects_are_results_as_they_are() -> None:
    for output in ({"output": 3}, {"id": ["x", "Thing"], "kwargs": {"content": 1}}, {"kwargs": {}}):
        said = {"openinference.span.kind": "TOOL", "tool.name": "t", "output.value": json.dumps(output)}
        span = Span("a" * 32, "b" * 16, None, "t", T0, T0 + 1, "ok", "", said)
        assert rebuild("a" * 32, [span]).run.calls[0].result == output
