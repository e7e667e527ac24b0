"""Exports of other products become the runs that a second, simple reading of the same file finds."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from collector.otlp import exports
from collector.otlp.exports import rows as rows_of_files
from collector.otlp.exports.told import instant, trace_hex
from collector.otlp.files import runs_from_otlp
from synth.errors import BadInput
from synth.observed import Run, inspect_logs

HERE = Path(__file__).parent.parent / "exports"
FILES = {
    "phoenix": "phoenix_frame.jsonl",
    "langfuse": "langfuse_observations.json",
    "langsmith": "langsmith_runs.jsonl",
    "agents": "agents_traces.jsonl",
}
Made = tuple[str, Any, Any]
"""Tool, arguments, and the result or None for a call that failed."""


def told(name: str, text: bytes | None = None) -> tuple[list[Run], list[str]]:
    """The runs of an export, and what was refused."""
    stream = BytesIO((HERE / FILES[name]).read_bytes() if text is None else text)
    form, refused = exports.form_of(stream), []  # type: ignore[var-annotated]
    if form is None:
        raise BadInput("no export that is known")
    found = exports.runs_from_export(
        stream, form, file="x", refused=lambda place, why: refused.append(f"{place}: {why}")
    )
    return list(found), refused


def made(run: Run) -> list[Made]:
    return [(c.tool, c.arguments, c.result if c.error is None else None) for c in run.calls]


def rows(name: str) -> list[dict[str, Any]]:
    text = (HERE / FILES[name]).read_text()
    return json.loads(text)["data"] if name == "langfuse" else [*map(json.loads, text.splitlines())]


def text_of(name: str, listed: list[Any]) -> bytes:
    if name == "langfuse":
        return json.dumps({"data": listed}).encode()
    return "\n".join(map(json.dumps, listed)).encode()


# ---------------------------------------------------------------- second readings, which know nothing of ours


def parsed(value: Any) -> Any:
    try:
        return json.loads(value)
    except (TypeError, ValueError):
        return value


def of_phoenix(row: dict[str, Any]) -> Made | None:
    if row["span_kind"] != "TOOL":
        return None
    said = parsed(row["attributes.output.value"])
    failed = row["status_code"] == "ERROR"
    return (
        row["attributes.tool.name"],
        row["attributes.input.value"],
        None if failed else said["data"]["content"],
    )


def of_langfuse(row: dict[str, Any]) -> Made | None:
    return (row["name"], row["input"], row.get("output")) if row["type"] == "TOOL" else None


def of_langsmith(row: dict[str, Any]) -> Made | None:
    out = row["outputs"]
    result = out["output"] if out and set(out) == {"output"} else out
    return (
        (row["name"], row["inputs"], None if row["error"] else result) if row["run_type"] == "tool" else None
    )


def of_agents(row: dict[str, Any]) -> Made | None:
    data = row.get("span_data", {})
    if data.get("type") != "function":
        return None
    return data["name"], parsed(data["input"]), None if row["error"] else parsed(data["output"])


READINGS: dict[str, tuple[Callable[[dict[str, Any]], Made | None], str, str]] = {
    "phoenix": (of_phoenix, "context.trace_id", "start_time"),
    "langfuse": (of_langfuse, "traceId", "startTime"),
    "langsmith": (of_langsmith, "trace_id", "start_time"),
    "agents": (of_agents, "trace_id", "started_at"),
}


def second_reading(name: str) -> dict[str, list[Made]]:
    """Run -> its calls in the order in which they began.

    Arguments of LangChain's tools are texts in the frame; what the model asked for is in its server's log.
    """
    read, trace, start = READINGS[name]
    found: dict[str, list[Made]] = {}
    for row in sorted((one for one in rows(name) if trace in one), key=lambda one: str(one[start])):
        if (call := read(row)) is not None:
            found.setdefault(trace_hex(row[trace]), []).append(call)
    if name == "phoenix":
        [calls] = found.values()
        asked = json.loads((HERE.parent / "recorded" / "openinference_langchain_nested.log.json").read_text())
        pairs = zip(calls, asked["requested"], strict=True)
        calls[:] = [(tool, one["arguments"], result) for (tool, _, result), one in pairs]
    return found


@pytest.mark.parametrize("name", FILES)
def test_the_calls_are_those_of_a_second_reading(name: str) -> None:
    runs, refused = told(name)
    assert ({run.id: made(run) for run in runs}, refused) == (second_reading(name), [])
    assert sum(len(run.calls) for run in runs) >= 4
    assert all(call.start is not None and call.end is not None for run in runs for call in run.calls)


def test_a_call_that_failed_says_why() -> None:
    errors = {name: [c.error for run in told(name)[0] for c in run.calls if c.error] for name in FILES}
    assert errors == {
        "phoenix": ["no room in Oslo"],
        "langfuse": ["over the limit"],
        "langsmith": ["ValueError('over the limit')"],
        "agents": ["Error running tool (non-fatal): Tool execution failed. Error details are redacted."],
    }


def test_a_failed_row_of_a_frame_is_a_failed_call_without_an_event() -> None:
    listed = [{**row, "events": None, "status_message": "full"} for row in rows("phoenix")]
    runs, _ = told("phoenix", text_of("phoenix", listed))
    assert [c.error for c in runs[0].calls if c.error] == ["full"]


@pytest.mark.parametrize("name", FILES)
def test_ids_queries_and_turns_come_with_the_requests_to_models(name: str) -> None:
    runs, _ = told(name)
    assert all(run.query for run in runs)
    assert all(call.id is not None and call.step is not None for run in runs for call in run.calls)
    assert all(run.extra["messages"] for run in runs)


def test_versions_sessions_agents_and_facts_come_along() -> None:
    first, second = told("agents")[0]
    assert (first.extra["tier"], first.extra["session"]) == ("gold", "talk-1")
    assert [call.agent for call in first.calls] == ["triage", "billing", "billing"]
    assert first.versions["prompt"] != second.versions["prompt"]
    for name, version in (("langfuse", "7"), ("langsmith", "1.4")):
        assert [(run.version, "prompt" in run.versions) for run in told(name)[0]] == [(version, True)] * 2
    assert [run.environment for run in told("langfuse")[0]] == ["staging"] * 2
    assert [run.extra["session"] for run in told("langfuse")[0]] == ["talk-1", "talk-2"]


def test_arguments_of_functions_under_observe_have_their_names_where_all_were_given_by_name() -> None:
    def of(given: Any, kind: str = "TOOL") -> Run:
        listed = rows("langfuse")
        row = next(row for row in listed if row["type"] == kind)
        row["input"] = given
        found, _ = told("langfuse", text_of("langfuse", listed))
        return next(run for run in found if run.id == trace_hex(row["traceId"]))

    named = {"args": [], "kwargs": {"code": "A17"}}
    for given, seen in (
        (named, {"code": "A17"}),
        ({"args": ["A17"], "kwargs": {}}, {"args": ["A17"], "kwargs": {}}),
        ({"args": 1, "kwargs": {"a": 1}}, {"args": 1, "kwargs": {"a": 1}}),
    ):
        assert seen in [call.arguments for call in of(given).calls]
    assert of({"args": ["Refund A17"], "kwargs": {}}, "AGENT").query == "Refund A17"
    assert of({"args": [], "kwargs": {"asked": "Refund A17"}}, "AGENT").query == "Refund A17"
    assert of({"args": [1], "kwargs": {"question": "Refund A17"}}, "AGENT").query == "Refund A17"


def test_a_call_whose_arguments_the_agents_sdk_could_not_read_did_not_run() -> None:
    def calls(reason: str) -> list[tuple[str, bool | None]]:
        listed = rows("agents")
        spans = (row for row in listed if row.get("span_data", {}).get("type") == "function")
        span = next(spans)
        span["span_data"]["input"] = "{not json"
        span["error"] = {"message": "Error running tool (non-fatal)", "data": {"error": reason}}
        found, _ = told("agents", text_of("agents", listed))
        every = [call for run in found for call in run.calls]
        return [(call.tool, call.executed) for call in every if reason in (call.error or "")]

    ((tool, executed),) = calls("Invalid JSON input for tool refund: {not json")
    assert executed is False
    assert calls("it failed by itself") == [(tool, True)]


def test_what_langfuses_sdk_sends_is_read_as_its_export_is() -> None:
    with (HERE / "langfuse_otlp.pb").open("rb") as stream:
        sent = list(runs_from_otlp(stream, file="x"))
    exported, _ = told("langfuse")
    assert [(r.id, made(r), r.query, r.versions) for r in sent] == [
        (r.id, made(r), r.query, r.versions) for r in exported
    ]


@pytest.mark.parametrize(
    ("said", "arguments"),
    [
        ("{'city': \"O'Hare\", 'fast': True, 'via': None}", {"city": "O'Hare", "fast": True, "via": None}),
        ('{"city": "O\'Hare", "n": [1, 2.5]}', {"city": "O'Hare", "n": [1, 2.5]}),
        ("{'a': {'b': ('x', 1)}}", {"a": {"b": ["x", 1]}}),
        ("weather in Oslo", {"input": "weather in Oslo"}),
        ("{'a': open('x')}", {"input": "{'a': open('x')}"}),
        ("{'a'", {"input": "{'a'"}),
        ("{'a': 99999999999999999999}", {"input": "{'a': 99999999999999999999}"}),
        ("{1, 2}", {"input": "{1, 2}"}),
        ("{" * 600, {"input": "{" * 600}),
        ("{'a': '" + "x" * 70_000 + "'}", {"input": "{'a': '" + "x" * 70_000 + "'}"}),
    ],
)
def test_arguments_of_langchains_tools_are_read_as_python_spells_them(said: str, arguments: Any) -> None:
    [run] = told("langsmith", text_of("langsmith", [{**tool_row("langsmith"), "inputs": {"input": said}}]))[0]
    assert run.calls[0].arguments == arguments


@pytest.mark.parametrize("orient", ["list", "columns", "index", "split", "table"])
def test_a_data_frame_may_be_spelled_in_every_way_of_pandas(orient: str) -> None:
    listed = rows("phoenix")
    names = list(listed[0])
    spelled: dict[str, Any] = {
        "list": listed,
        "columns": {name: {str(k): row[name] for k, row in enumerate(listed)} for name in names},
        "index": {str(k): row for k, row in enumerate(listed)},
        "split": {"columns": names, "index": [0], "data": [[row[name] for name in names] for row in listed]},
        "table": {"schema": {"fields": []}, "data": listed},
    }
    runs, refused = told("phoenix", json.dumps(spelled[orient], indent=1).encode())
    assert ({run.id: made(run) for run in runs}, refused) == (second_reading("phoenix"), [])


def test_parquet_is_read_where_pyarrow_is_there(tmp_path: Path) -> None:
    parquet.write_table(pyarrow.Table.from_pylist(rows("phoenix")), tmp_path / "frame.parquet")
    runs, _ = told("phoenix", (tmp_path / "frame.parquet").read_bytes())
    assert {run.id: made(run) for run in runs} == second_reading("phoenix")


@pytest.mark.parametrize(
    ("said", "ns"),
    [
        ("1970-01-01T00:00:01.000002Z", 1_000_002_000),
        ("1970-01-01T01:00:01+01:00", 1_000_000_000),
        ("1970-01-01 00:00:01", 1_000_000_000),
        (1_790_000_000, 1_790_000_000 * 10**9),
        (1_790_000_000_123, 1_790_000_000_123 * 10**6),
        (1_790_000_000_123_456, 1_790_000_000_123_456 * 10**3),
        (1_790_000_000_123_456_789, 1_790_000_000_123_456_789),
        (None, 0),
        (float("nan"), 0),
    ],
)
def test_times_are_read_in_every_unit(said: Any, ns: int) -> None:
    assert instant({"at": said}, "at") == ns


# ---------------------------------------------------------------- files that are broken

FIELDS = {
    "phoenix": ("context.span_id", "parent_id", "start_time", "name", "attributes.input.value"),
    "langfuse": ("id", "parentObservationId", "startTime", "name", "input"),
    "langsmith": ("id", "parent_run_id", "start_time", "name", "inputs"),
    "agents": ("id", "parent_id", "started_at", "trace_id", "span_data"),
}


def tool_row(name: str) -> dict[str, Any]:
    """The first tool call of the file."""
    read = READINGS[name][0]
    return next(row for row in rows(name) if read(row) is not None)


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def with_field(at: int, value: Any) -> Callable[[str], list[Any]]:
    """The file with another value in a field of its first tool call."""

    def change(name: str) -> list[Any]:
        changed = tool_row(name)
        own = FIELDS[name][0]
        return [
            {**row, FIELDS[name][at]: value} if row.get(own) == changed[own] else row for row in rows(name)
        ]

    return change


BROKEN: dict[str, tuple[Callable[[str], list[Any]], str | None]] = {
    "id_missing": (with_field(0, None), "needs"),
    "id_a_number": (with_field(0, 7), "expected text, got 7"),
    "id_a_list": (with_field(0, []), "expected text, got a list"),
    "id_empty": (with_field(0, ""), "needs"),
    "parent_a_number": (with_field(1, 7), "expected text, got 7"),
    "parent_missing": (with_field(1, "feedfeedfeedfeed"), None),
    "start_no_time": (with_field(2, "yesterday"), "expected a time such as"),
    "start_a_flag": (with_field(2, True), "expected a time, got True"),
    "start_an_object": (with_field(2, {}), "expected a time, got an object"),
    "start_in_3000": (with_field(2, "3000-01-01T00:00:00Z"), "no time between 1970 and 2262"),
    "start_before_1970": (with_field(2, "1869-01-01T00:00:00Z"), "no time between 1970 and 2262"),
    "start_missing": (with_field(2, None), None),
    "fourth_a_number": (with_field(3, 7), "expected text, got 7"),
    "fourth_a_list": (with_field(3, [1]), "expected text, got a list"),
    "row_a_number": (lambda name: [*rows(name), 7], "expected an object, got 7"),
    "row_nothing": (lambda name: [*rows(name), None], "expected an object, got nothing"),
    "row_a_list": (lambda name: [*rows(name), [rows(name)[0]]], None),
    "same_row_twice": (lambda name: [*rows(name), tool_row(name)], None),
    "same_id_twice": (
        lambda name: [*rows(name), {**tool_row(name), FIELDS[name][2]: "2026-01-01T00:00:00Z"}],
        "stands there twice and says different things",
    ),
    "own_parent": (lambda name: with_field(1, tool_row(name)[FIELDS[name][0]])(name), None),
    "deep_values": (with_field(4, {"a": deep(150)}), None),
}


@pytest.mark.parametrize("flaw", BROKEN)
@pytest.mark.parametrize("name", FILES)
def test_a_row_that_is_broken_is_refused_by_name_and_the_others_are_read(name: str, flaw: str) -> None:
    change, words = BROKEN[flaw]
    runs, refused = told(name, text_of(name, change(name)))
    assert runs
    if words is not None:
        assert len(refused) == 1
        assert re.search(words, refused[0])
        assert re.match(r"(line|item) \d+|[0-9a-f]{16}|[0-9a-f-]{36}|span_", refused[0])


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_cut_is_refused_where_it_ends(name: str) -> None:
    text = (HERE / FILES[name]).read_bytes()
    cut = text[: len(text) - 40]
    if name == "langfuse":  # one document: there is no telling what it would have said
        with pytest.raises(BadInput, match=r"not JSON|no export"):
            told(name, cut)
        return
    _, [refused] = told(name, cut)
    assert refused.startswith(f"line {len(text.splitlines())}: not JSON: ")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("text", [b"", b"\n", b"[]", b"{}", b"null", b"\xff\xfe", b"[[[[", b'{"data": 7}'])
def test_what_is_no_export_is_known_as_none(name: str, text: bytes) -> None:
    with pytest.raises(BadInput, match="no export"):
        told(name, text)


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_nothing_but_broken_rows_is_bad_input(name: str) -> None:
    own = FIELDS[name][0]
    with pytest.raises(BadInput, match="no row of it could be read as"):
        told(name, text_of(name, [{**row, own: 7} for row in rows(name)]))


def no_refusal(place: str, why: str) -> None:
    raise AssertionError(f"{place}: {why}")


def test_a_file_that_is_too_big_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_of_files, "MOST_MIB", 0)
    stream = BytesIO(b"[1]")
    with pytest.raises(BadInput, match="over 0 MiB"):
        list(rows_of_files.rows_in(stream, "x", no_refusal))


def test_rows_that_nest_too_deep_are_no_json_of_ours() -> None:
    with pytest.raises(BadInput, match="nested deeper"):
        list(rows_of_files.rows_in(BytesIO(json.dumps(deep(300)).encode()), "x", no_refusal))


# ---------------------------------------------------------------- Inspect


def inspected(text: bytes) -> list[Run]:
    stream = BytesIO(text)
    assert inspect_logs.is_log(stream)
    return list(inspect_logs.read(stream, name="x"))


def changed(change: Callable[[dict[str, Any]], Any]) -> bytes:
    log = json.loads((HERE / "inspect.json").read_text())
    change(log)
    return json.dumps(log).encode()


STORY = {
    "Refund booking A17.": [
        ("find_booking", {"code": "A17"}), ("refund", {"code": "A17", "amount": 900.0}),
        ("refund", {"code": "A17", "amount": 120.5}),
    ],
    "What fares are B2 and B3?": [("find_booking", {"code": "B2"}), ("find_booking", {"code": "B3"})],
}  # fmt: skip


@pytest.mark.parametrize("ending", ["json", "eval"])
def test_a_log_of_inspect_has_a_run_for_each_sample(ending: str) -> None:
    if ending == "eval":
        pytest.importorskip("zstandard")
    runs = inspected((HERE / f"inspect.{ending}").read_bytes())
    assert {run.query: [(c.tool, c.arguments) for c in run.calls] for run in runs} == STORY
    refund = next(run for run in runs if run.query == "Refund booking A17.")
    assert [call.error for call in refund.calls] == [None, "over the limit", None]
    assert [call.step for call in refund.calls] == [0, 1, 2]
    assert all(call.start and call.end and call.start <= call.end for call in refund.calls)
    assert (refund.extra["tier"], refund.agent, refund.model) == ("gold", "refunds", "mockllm/model")
    assert (set(refund.tools or ()), refund.status) == ({"find_booking", "refund"}, "ok")
    assert refund.extra["messages"][0] == {"role": "user", "content": "Refund booking A17.", "before_call": 0}


def test_a_call_that_inspect_could_not_read_did_not_run() -> None:
    """As inspect-ai 0.3.170 writes it of a tool that there is not."""

    def unread(log: dict[str, Any]) -> None:
        said = [message for sample in log["samples"] for message in sample["messages"]]
        answer = next(one for one in said if one["role"] == "tool" and one["function"] == "refund")
        answer["error"] = {"type": "parsing", "message": "Tool refund not found"}

    before, after = (
        [call for run in inspected(text) for call in run.calls]
        for text in ((HERE / "inspect.json").read_bytes(), changed(unread))
    )
    assert all(call.executed for call in before)
    assert [(c.tool, c.error) for c in after if not c.executed] == [("refund", "Tool refund not found")]


def test_the_calls_of_a_log_are_those_of_its_events() -> None:
    log = json.loads((HERE / "inspect.json").read_text())
    for run, sample in zip(inspected(json.dumps(log).encode()), log["samples"], strict=True):
        events = [event for event in sample["events"] if event["event"] == "tool"]
        assert [(c.id, c.tool, c.arguments) for c in run.calls] == [
            (event["id"], event["function"], event["arguments"]) for event in events
        ]


def put(*path: Any) -> Callable[[dict[str, Any]], None]:
    """The last is put at the path of the others."""

    def change(log: dict[str, Any]) -> None:
        inner: Any = log
        for key in path[:-2]:
            inner = inner[key]
        inner[path[-2]] = path[-1]

    return change


BROKEN_LOGS: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "samples_missing": (put("samples", None), "expected a list of samples, got nothing"),
    "samples_an_object": (put("samples", {}), "expected a list of samples, got an object"),
    "sample_a_number": (put("samples", 0, 7), r"samples\[0\]: expected a sample, got 7"),
    "sample_nothing": (put("samples", 1, None), r"samples\[1\]: expected a sample, got nothing"),
    "messages_missing": (put("samples", 0, "messages", None), r"samples\[0\]: expected a list of messages"),
    "messages_text": (put("samples", 0, "messages", "hi"), r"samples\[0\]: expected a list of messages"),
    "message_a_number": (
        put("samples", 0, "messages", 0, 7),
        r"messages\[0\]: samples\[0\]: expected a message",
    ),
    "eval_a_list": (put("eval", ['"eval_id"', "task_id", "eval_id"]), "expected an object, got a list"),
}
BENT_LOGS: dict[str, Callable[[dict[str, Any]], None]] = {
    "events_missing": put("samples", 0, "events", None),
    "events_numbers": put("samples", 0, "events", [1, None, "x", {}]),
    "event_time_junk": put("samples", 0, "events", [{"event": "tool", "id": "c1", "timestamp": "soon"}]),
    "calls_text": put("samples", 0, "messages", 2, "tool_calls", "none"),
    "calls_numbers": put("samples", 0, "messages", 2, "tool_calls", [1, {"function": 7}]),
    "uuid_missing": put("samples", 0, "uuid", None),
    "metadata_a_list": put("samples", 0, "metadata", [1]),
    "content_a_number": put("samples", 0, "messages", 2, "content", 7),
    "role_unknown": put("samples", 0, "messages", 2, "role", "bystander"),
    "task_a_number": put("eval", "task", 7),
    "model_a_list": put("eval", "model", []),
    "limit_text": put("samples", 0, "limit", "x"),
    "deep_arguments": put("samples", 0, "metadata", {"a": deep(150)}),
}


@pytest.mark.parametrize("flaw", BROKEN_LOGS)
def test_a_broken_log_is_bad_input_that_names_the_sample(flaw: str) -> None:
    change, words = BROKEN_LOGS[flaw]
    with pytest.raises(BadInput) as caught:
        inspected(changed(change))
    assert re.search(words, str(caught.value))


@pytest.mark.parametrize("flaw", BENT_LOGS)
def test_a_log_that_says_less_is_read_as_far_as_it_says(flaw: str) -> None:
    assert len(inspected(changed(BENT_LOGS[flaw]))) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"PK\x03\x04", "no log that can be read"),
        (b"PK\x03\x04" + b"x" * 400, "no log that can be read"),
        (b'{"eval": {"eval_id": 1, "task_id": 2}', "not JSON"),
    ],
    ids=["cut", "junk", "half"],
)
def test_what_only_begins_as_a_log_is_bad_input(text: bytes, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        inspected(text)


@pytest.mark.parametrize("at", range(200, 10_000, 650))
def test_an_eval_file_with_a_damaged_byte_is_read_or_refused(at: int) -> None:
    text = bytearray((HERE / "inspect.eval").read_bytes())
    text[at] ^= 0xFF
    with suppress(BadInput):
        inspected(bytes(text))


def test_calls_of_one_id_have_each_its_own_time() -> None:
    def same_ids(log: dict[str, Any]) -> None:
        for sample in log["samples"]:
            for message in sample["messages"]:
                for call in message.get("tool_calls") or []:
                    call["id"] = "c"
                if "tool_call_id" in message:
                    message["tool_call_id"] = "c"
            for event in sample["events"]:
                if event["event"] == "tool":
                    event["id"] = "c"

    for run in inspected(changed(same_ids)):
        assert len({call.start for call in run.calls}) == len(run.calls)


def test_how_a_sample_ended_is_how_the_run_ended() -> None:
    def end(log: dict[str, Any]) -> None:
        log["samples"][0]["error"] = {"message": "boom"}
        log["samples"][1]["limit"] = {"type": "time", "limit": 3}

    assert [run.status for run in inspected(changed(end))] == ["crash", "timeout"]
