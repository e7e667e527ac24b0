from __future__ import annotations

import itertools
import json
import threading
from pathlib import Path

import pytest

from synth.agents.mock_tools import (
    LoggedCall,
    ToolLog,
    as_callable,
    as_langchain,
    as_openai_chat,
    as_openai_responses,
    mock_tools,
)
from tests.support.bench_cases import order_case, timed_case

DURATIONS = {"the flour delivery": 120, "the oven inspection": 30}


RULE = "The flour delivery must precede the oven inspection."


def ticking_log(path: Path | None = None) -> ToolLog:
    return ToolLog(path, clock=itertools.count(100).__next__)


def test_a_tool_of_an_order_case_takes_no_argument_and_states_success() -> None:
    tool = mock_tools(order_case(), ticking_log())[0]
    assert (tool.name, tool.description) == ("flour_delivery", "Carries out the flour delivery.")
    assert tool.parameters["properties"] == {}
    assert tool() == "Success: the flour delivery is done."


def test_a_timed_tool_takes_a_start_time_and_tells_its_duration() -> None:
    tool = mock_tools(timed_case(RULE, DURATIONS), ticking_log())[0]
    assert tool.parameters["required"] == ["start_time"]
    assert tool(start_time="09:00") == "Success: the flour delivery started at 09:00 and took 120 minutes."


def test_a_timed_tool_judges_no_start_time() -> None:
    tool = mock_tools(timed_case(RULE, DURATIONS), ticking_log())[0]
    assert tool(start_time="noon").endswith("started at noon and took 120 minutes.")
    assert tool().endswith("started at an unknown time and took 120 minutes.")


def test_the_log_knows_every_call_with_arguments_times_and_thread() -> None:
    log = ticking_log()
    mock_tools(order_case(), log)[1](note="x")
    expected = LoggedCall(
        0,
        "oven_inspection",
        {"note": "x"},
        "Success: the oven inspection is done.",
        100,
        101,
        threading.get_ident(),
    )
    assert log.calls == (expected,)


def test_the_log_file_says_the_same_as_the_log(tmp_path: Path) -> None:
    log = ticking_log(tmp_path / "log.jsonl")
    for tool in mock_tools(order_case(), log):
        tool()
    log.close()
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == log.to_json()
    assert [call["index"] for call in log.to_json()] == [0, 1, 2, 3]


def test_arguments_that_are_not_json_are_logged_as_text() -> None:
    log = ticking_log()
    ring: list[object] = []
    ring.append(ring)
    mock_tools(order_case(), log)[1](kind=complex, ring=ring, pair=(1, 2))
    assert log.calls[0].arguments == {"kind": "<class 'complex'>", "ring": "[[...]]", "pair": [1, 2]}


def test_a_call_that_fails_is_not_in_the_log() -> None:
    log = ticking_log()
    with pytest.raises(ZeroDivisionError):
        log.record("bad", {}, lambda: str(1 / 0))
    assert log.calls == ()


def test_calls_from_many_threads_are_all_logged_once() -> None:
    log = ToolLog()
    tool = mock_tools(order_case(), log)[0]
    threads = [threading.Thread(target=lambda: [tool() for _ in range(50)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [call.index for call in log.calls] == list(range(400))


def test_every_form_runs_the_same_tool() -> None:
    log = ticking_log()
    tool = mock_tools(order_case(), log)[2]
    plain, langchain = as_callable(tool), as_langchain(tool)
    assert (plain.__name__, plain.__doc__) == (tool.name, tool.description)
    assert (langchain.name, langchain.description) == (tool.name, tool.description)
    assert plain() == langchain.invoke({}) == tool()
    assert [call.name for call in log.calls] == ["dough_kneading"] * 3


def test_langchain_passes_the_start_time_on() -> None:
    log = ticking_log()
    tool = mock_tools(timed_case(RULE, DURATIONS), log)[0]
    assert "took 120 minutes" in as_langchain(tool).invoke({"start_time": "10:30"})
    assert log.calls[0].arguments == {"start_time": "10:30"}


def test_openai_forms_carry_name_description_and_schema() -> None:
    tool = mock_tools(order_case(), ticking_log())[0]
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    assert as_openai_chat(tool) == {"type": "function", "function": function}
    assert as_openai_responses(tool) == {"type": "function", "strict": False, **function}
