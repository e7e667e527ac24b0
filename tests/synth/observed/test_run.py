"""Run records: round trip, strictness, bounds."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.errors import BadInput
from synth.observed.lines import MAX_DEPTH
from synth.observed.run import Run, ToolCall, Unseen, read_runs, run_from_json
from synth.policies import join_runs

texts = st.text(max_size=6)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda children: st.lists(children, max_size=3) | st.dictionaries(texts, children, max_size=3),
    max_leaves=6,
)
extras = st.dictionaries(st.text(min_size=1, max_size=4).map(lambda k: f"x_{k}"), json_values, max_size=2)
nanoseconds = st.integers(0, 2 * 10**18)
intervals = st.tuples(nanoseconds, nanoseconds).map(lambda p: (min(p), max(p))) | nanoseconds.map(
    lambda n: (n, n)
)


@st.composite
def calls(draw: st.DrawFn) -> ToolCall:
    start = draw(st.none() | intervals)
    end = draw(st.none() | intervals)
    if start and end:
        edges = sorted((*start, *end))
        start, end = (edges[0], edges[1]), (edges[2], edges[3])
    return ToolCall(
        id=draw(st.none() | texts),
        tool=draw(st.text(min_size=1, max_size=6)),
        arguments=draw(json_values),
        result=draw(json_values),
        error=draw(st.none() | texts),
        start=start,
        end=end,
        finished=draw(st.booleans()),
        step=draw(st.none() | st.integers(0, 9)),
        with_text=draw(st.none() | st.booleans()),
        executed=draw(st.none() | st.booleans()),
        asked_arguments=draw(st.none() | json_values),
        attempts=draw(st.integers(0, 3)),
        extra=draw(extras),
    )


runs = st.builds(
    Run,
    id=st.text(min_size=1, max_size=6),
    calls=st.lists(calls(), max_size=3).map(tuple),
    case_id=st.none() | texts,
    query=st.none() | texts,
    tools=st.none() | st.lists(texts, max_size=2).map(tuple),
    agent=st.none() | texts,
    source=st.none() | texts,
    model=st.none() | texts,
    status=st.sampled_from(["ok", "running", "timeout", "crash"]),
    wall_seconds=st.none() | st.floats(0, 1e6),
    iterations=st.none() | st.integers(0, 99),
    problems=st.lists(texts, max_size=2).map(tuple),
    labels=extras,
    extra=extras,
)


def with_gaps(run: Run) -> st.SearchStrategy[Run]:
    places = st.none() | st.integers(0, max(0, len(run.calls) - 1)) if run.calls else st.none()
    gap = st.builds(Unseen, texts, places, places, st.none() | st.integers(0, 5))
    return st.lists(gap, max_size=2).map(lambda gaps: replace(run, unseen=tuple(gaps)))


@given(runs.flatmap(with_gaps))
def test_a_run_survives_its_json(run: Run) -> None:
    assert run_from_json(orjson.loads(orjson.dumps(run.to_json()))) == run


def test_readers_that_do_not_know_of_possible_calls_take_them_for_calls_that_did_not_run() -> None:
    said = ToolCall("c", "pay", executed=None, start=(0, 0)).to_json()
    assert (said["executed"], said["execution"]) == (False, "unknown")
    assert "finished" not in said


def test_a_possible_call_is_a_gap_from_where_it_was_asked_for() -> None:
    run = Run("r", (ToolCall(None, "verify"), ToolCall(None, "pay", executed=None)))
    said = "it is not known whether these calls ran: 1 (pay)"
    assert run.gaps == (Unseen(said, after=1, calls=1, tool="pay"),)
    assert (run.lost, "unseen" in run.to_json(), run.calls[1].succeeded) == ((), False, False)


def test_runs_that_are_joined_have_each_possible_call_once() -> None:
    run = Run("r", (ToolCall(None, "verify"), ToolCall(None, "pay", executed=None)))
    assert [gap.after for gap in join_runs([run, run]).gaps] == [1, 3]


@pytest.mark.parametrize(
    ("unseen", "said"),
    [
        ({}, "unseen: expected a list of objects, got an object"),
        ([1], "unseen[0]: expected an object, got 1"),
        ([{"after": 1}], "unseen[0].after: there is no call 1"),
        ([{"before": -1}], "unseen[0].before: expected a number from 0 on, got -1"),
        ([{"calls": "two"}], "unseen[0].calls: expected a number from 0 on, got 'two'"),
        ([{"problem": 2}], "unseen[0].problem: expected text, got 2"),
    ],
)
def test_a_wrong_place_of_unseen_calls_is_refused(unseen: object, said: str) -> None:
    with pytest.raises(BadInput, match=re.escape(said)):
        run_from_json({"run_id": "r", "calls": [{"name": "t"}], "unseen": unseen})


def test_a_problem_without_a_place_may_hide_any_calls() -> None:
    located = Unseen("a hole", 0, None, 1)
    run = Run("r", (), problems=("a hole", "dropped"), unseen=(located,))
    assert run.gaps == (located, Unseen("dropped"))


def test_unknown_fields_are_kept() -> None:
    run = run_from_json({"run_id": "r", "facts": {"now": 1}, "calls": [{"name": "t", "assistant_step": 2}]})
    assert run.extra == {"facts": {"now": 1}}
    assert run.calls[0].extra == {"assistant_step": 2}


def test_seconds_are_read_as_written_and_bounds_as_intervals() -> None:
    call = run_from_json(
        {"run_id": "r", "calls": [{"name": "t", "start": 1700000000.1, "end": [1700000001, 1700000002.5]}]}
    )
    assert call.calls[0].start == (1700000000100000000, 1700000000100000000)
    assert call.calls[0].end == (1700000001000000000, 1700000002500000000)


@pytest.mark.parametrize(
    ("record", "finished"),
    [
        ({"start": 1}, False),
        ({"start": 1, "end": None}, False),
        ({"start": 1, "result": "done"}, True),
        ({"start": 1, "error": "no"}, True),
        ({"start": 1, "end": 2}, True),
        ({}, True),
        ({"start": 1, "executed": False}, True),
        ({"finished": False}, False),
    ],
)
def test_a_call_with_a_start_and_nothing_else_never_finished(
    record: dict[str, object], finished: bool
) -> None:
    assert run_from_json({"run_id": "r", "calls": [{"name": "t", **record}]}).calls[0].finished is finished


@pytest.mark.parametrize(
    ("record", "field", "said"),
    [
        ([], None, "must be a JSON object, got a list"),
        ({}, "run_id", "not empty"),
        ({"run_id": 7, "calls": []}, "run_id", "expected text, got 7"),
        ({"run_id": "r"}, "calls", "expected a list of calls, got nothing"),
        ({"run_id": "r", "calls": {}}, "calls", "got an object"),
        ({"run_id": "r", "calls": [3]}, "calls[0]", "must be an object, got 3"),
        ({"run_id": "r", "calls": [{}]}, "calls[0].name", "needs the name"),
        ({"run_id": "r", "calls": [{"name": 1}]}, "calls[0].name", "expected text, got 1"),
        (
            {"run_id": "r", "calls": [{"name": "t", "error": True}]},
            "calls[0].error",
            "expected text, got True",
        ),
        ({"run_id": "r", "calls": [{"name": "t", "start": "9"}]}, "calls[0].start", "expected seconds"),
        (
            {"run_id": "r", "calls": [{"name": "t", "start": float("nan")}]},
            "calls[0].start",
            "nan is no time",
        ),
        (
            {"run_id": "r", "calls": [{"name": "t", "start": 1e300}]},
            "calls[0].start",
            "1e+300 is no time in seconds",
        ),
        ({"run_id": "r", "calls": [{"name": "t", "start": [2, 1]}]}, "calls[0].start", "[earliest, latest]"),
        (
            {"run_id": "r", "calls": [{"name": "t", "start": 5, "end": 4}]},
            "calls[0].end",
            "ends before it starts",
        ),
        ({"run_id": "r", "calls": [{"name": "t", "step": -1}]}, "calls[0].step", "from 0 on"),
        ({"run_id": "r", "calls": [{"name": "t", "executed": 1}]}, "calls[0].executed", "true or false"),
        (
            {"run_id": "r", "calls": [{"name": "t", "execution": "maybe"}]},
            "calls[0].execution",
            "expected 'unknown', got 'maybe'",
        ),
        ({"run_id": "r", "calls": [], "tools": ["a", 1]}, "tools", "list of texts"),
        ({"run_id": "r", "calls": [], "status": "done"}, "status", "expected one of ok, running"),
        ({"run_id": "r", "calls": [], "iterations": 1.5}, "iterations", "from 0 on"),
        ({"run_id": "r", "calls": [], "labels": []}, "labels", "expected an object"),
    ],
)
def test_bad_records_name_file_line_and_field(record: object, field: str | None, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        run_from_json(record, file="runs.jsonl", line=3)
    assert (caught.value.file, caught.value.line, caught.value.field) == ("runs.jsonl", 3, field)
    assert said in caught.value.message


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (b'{"run_id":"a","calls":[]}\n\n{oops', 3, "not JSON"),
        (b'{"run_id":"a","calls":[NaN]}', 1, "not JSON"),
        (b"[" * 5000 + b"]" * 5000, 1, "not JSON"),
        (b'{"run_id":"a","calls":[],"x":' + b"[" * MAX_DEPTH + b"]" * MAX_DEPTH + b"}", 1, "nested deeper"),
        (b"\xff\xfe", 1, "UTF-16 and not UTF-8: save it as UTF-8"),
        (b'{"run_id":"caf\xe9"}', 1, "byte 0xe9 at 14"),
    ],
)
def test_lines_that_are_no_records_are_named(text: bytes, line: int, said: str) -> None:
    with pytest.raises(BadInput, match=said) as caught:
        list(read_runs(io.BytesIO(text)))
    assert caught.value.line == line


def test_a_line_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("synth.observed.lines.MAX_LINE_BYTES", 1 << 20)
    with pytest.raises(BadInput, match="longer than 1 MiB"):
        list(read_runs(io.BytesIO(b" " * (2 << 20))))


def test_files_are_read_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_bytes(b'{"run_id":"a","calls":[]}\n{"run_id":"b","calls":[]}')
    assert [run.id for run in read_runs(path)] == ["a", "b"]
    with pytest.raises(BadInput, match=r"none\.jsonl: cannot be read: No such file"):
        list(read_runs(tmp_path / "none.jsonl"))


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ('{"a": 1}', {"a": 1}),
        ('\n {"a": {"b": [2]}} ', {"a": {"b": [2]}}),
        ("{broken", "{broken"),
        ("plain text", "plain text"),
        ("[1]", "[1]"),
        ("5", "5"),
        ('{"a":' * 300 + "1" + "}" * 300, '{"a":' * 300 + "1" + "}" * 300),
    ],
)
def test_arguments_recorded_as_json_text_are_read(said: str, read: object) -> None:
    (call,) = run_from_json({"run_id": "r", "calls": [{"name": "t", "arguments": said}]}).calls
    assert call.arguments == read


@pytest.mark.parametrize(
    ("said", "partly"),
    [
        (
            {"arguments": '{"id": "F1", "note": "a lo', "result": '[{"id": "F1"}, {"id'},
            {"arguments": "cut", "result": "cut"},
        ),
        ({"arguments": {}, "result": '{"id": "F1"}'}, {}),
        ({"arguments": {}, "result": '"quoted" and said'}, {}),
        ({"arguments": {}, "result": "[done] as asked"}, {}),
        ({"arguments": '{"id": "F1"}}'}, {}),
        ({"arguments": '{"id": "F1', "executed": False}, {}),
        ({"arguments": '{"id": "F1', "error": "no JSON"}, {}),
        ({"arguments": '{"id": "F1', "partly": {}}, {}),
    ],
)
def test_json_that_ends_in_the_middle_is_partly_known(said: dict[str, Any], partly: dict[str, str]) -> None:
    run = run_from_json({"run_id": "r", "calls": [{"name": "t", **said}]})
    assert run.calls[0].partly == partly
    told = Run("r", (ToolCall(None, "t", said["arguments"], said.get("result")),))
    assert run_from_json(told.to_json()) == told
    if "arguments" in partly:
        assert run.calls[0].known_arguments["id"] == "F1"
