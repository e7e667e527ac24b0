"""Recorded conversations become the runs that they show."""

from __future__ import annotations

import io
from typing import Any

import orjson
import pytest

from synth.errors import BadInput
from synth.observed.run import Run
from synth.observed.transcripts import read_any

ASKED = {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": '{"amount": 3}'}}
OPENAI: list[dict[str, Any]] = [
    {"role": "system", "content": "You pay."},
    {"role": "user", "content": "Pay 3."},
    {"role": "assistant", "content": None, "tool_calls": [ASKED, {**ASKED, "id": "c2"}]},
    {"role": "tool", "tool_call_id": "c2", "content": '{"paid": 3}'},
    {"role": "tool", "tool_call_id": "c1", "content": "no money"},
    {"role": "assistant", "content": "Shall I try again?"},
    {"role": "user", "content": "Yes."},
    {"role": "assistant", "content": "Once more.", "tool_calls": [{**ASKED, "id": "c3"}]},
]
ANTHROPIC: list[dict[str, Any]] = [
    {"role": "user", "content": "Pay 3."},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "I pay."},
            {"type": "tool_use", "id": "t1", "name": "pay", "input": {"amount": 3}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": [{"text": "broke"}]}
        ],
    },
]


def runs_in(*values: Any, as_list: bool = False) -> list[Run]:
    text = orjson.dumps([*values]) if as_list else b"\n".join(map(orjson.dumps, values))
    return list(read_any(io.BufferedReader(io.BytesIO(text)), name="runs.jsonl"))  # type: ignore[arg-type]


def test_openai_messages_show_who_answered_what_and_what_nobody_answered() -> None:
    [run] = runs_in({"messages": OPENAI, "tools": [{"type": "function", "function": {"name": "pay"}}]})
    assert (run.id, run.query, run.tools) == ("runs.jsonl#1", "Pay 3.", ("pay",))
    assert [(call.id, call.result, call.step, call.executed) for call in run.calls] == [
        ("c1", "no money", 0, True),
        ("c2", {"paid": 3}, 0, True),
        ("c3", None, 1, None),
    ]
    assert {orjson.dumps(call.arguments) for call in run.calls} == {b'{"amount":3}'}
    assert [call.with_text for call in run.calls] == [False, False, True]
    said = [(one["role"], one["content"], one["before_call"]) for one in run.extra["messages"]]
    assert said == [
        ("user", "Pay 3.", 0),
        ("assistant", "Shall I try again?", 2),
        ("user", "Yes.", 2),
        ("assistant", "Once more.", 2),
    ]


def test_anthropic_blocks_are_read_with_the_errors_that_they_mark() -> None:
    [run] = runs_in({"id": "conv-1", "messages": ANTHROPIC})
    [call] = run.calls
    assert (run.id, call.id, call.arguments, call.error, call.result) == (
        "conv-1", "t1", {"amount": 3}, "broke", None,
    )  # fmt: skip


def test_a_list_of_tau_bench_results_is_one_run_a_trial() -> None:
    trials = [{"task_id": 4, "trial": trial, "reward": 0.0, "traj": OPENAI} for trial in range(2)]
    first, second = runs_in(*trials, as_list=True)
    assert (first.id, second.id) == ("runs.jsonl-4-0", "runs.jsonl-4-1")
    assert first.extra["reward"] == 0.0
    assert first.tools is None
    assert first.calls == second.calls


def test_calls_without_ids_are_answered_in_order_by_tool() -> None:
    old = [
        {"role": "assistant", "function_call": {"name": "pay", "arguments": "not json"}},
        {"role": "function", "name": "pay", "content": "1"},
        {"role": "assistant", "function_call": {"name": "look", "arguments": "{}"}},
        {"role": "function", "name": "pay", "content": "nobody asked"},
    ]
    [run] = runs_in({"messages": old})
    assert [(c.tool, c.arguments, c.result, c.executed, c.step) for c in run.calls] == [
        ("pay", "not json", "1", True, 0),
        ("look", {}, None, None, 1),
    ]


def test_records_and_conversations_may_stand_in_one_file() -> None:
    runs = runs_in({"run_id": "r", "calls": []}, {"messages": ANTHROPIC}, as_list=True)
    assert [run.id for run in runs] == ["r", "runs.jsonl#item 2"]


def test_one_value_over_several_lines_is_read() -> None:
    text = orjson.dumps({"messages": ANTHROPIC}, option=orjson.OPT_INDENT_2)
    [run] = read_any(io.BufferedReader(io.BytesIO(text)), name="one.json")  # type: ignore[arg-type]
    assert [call.tool for call in run.calls] == ["pay"]


@pytest.mark.parametrize(
    ("values", "as_list", "said"),
    [
        pytest.param([{"rows": []}], False, "runs.jsonl:1: neither a run record", id="neither"),
        pytest.param([{"messages": []}, 3], False, "runs.jsonl:2: a run record must", id="number"),
        pytest.param([{"messages": [3]}], True, "messages[0]: item 1: expected a message", id="message"),
        pytest.param([{"messages": []}, {"calls": []}], True, "item 2: a run needs", id="second"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_told_with_its_place(values: list[Any], as_list: bool, said: str) -> None:
    with pytest.raises(BadInput) as bad:
        runs_in(*values, as_list=as_list)
    assert said in str(bad.value)
