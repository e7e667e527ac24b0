"""Tools that answer as recorded, their misses, and the recorded user and agent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from synth.agents.mock_tools import ToolFailed, ToolLog, as_callable, as_langchain, run_tool
from synth.agents.model import Settings, Unreachable
from synth.agents.recorded_tools import OnMiss, RecordedTool, User, play, recorded_tools
from synth.agents.tasks import Task, job_of, own_functions
from synth.cases.recorded import Found, RecordedCase, tools_of
from synth.errors import BadInput
from synth.observed.run import run_from_json

MESSAGES = [
    {"role": "user", "content": "Book it.", "before_call": 0},
    {"role": "assistant", "content": "Shall I?", "before_call": 2},
    {"role": "user", "content": "Yes.", "before_call": 2},
    {"role": "user", "content": "Thanks.", "before_call": 4},
]
SEARCH = {"to": "SEA", "day": 3, "class": "economy"}


def call(
    name: str, arguments: Any, result: Any = None, error: str | None = None, **more: Any
) -> dict[str, Any]:
    answer = {"result": result} if error is None else {"error": error}
    return {"id": None, "name": name, "arguments": arguments, **answer, **more}


CALLS = [
    call("search", SEARCH, {"flights": ["A1"]}),
    call("status", {"id": "A1"}, "open"),
    call("status", {"id": "A1"}, "booked"),
    call("pay", {"id": "A1"}, error="card refused"),
    call("search", {**SEARCH, "day": 9, "to": "JFK"}, {"flights": ["B7"]}),
    call("unheard", {}, executed=False),
]


def case(calls: list[dict[str, Any]] = CALLS, **more: Any) -> RecordedCase:
    run = run_from_json({"run_id": "r", "query": "Book it.", "calls": calls, "messages": MESSAGES, **more})
    return RecordedCase("r", "Book it.", tools_of(run), run, (), Found("unbound"))


def tools(
    on_miss: OnMiss = "error", calls: list[dict[str, Any]] = CALLS, **live: Any
) -> tuple[dict[str, RecordedTool], ToolLog]:
    log = ToolLog()
    return {tool.name: tool for tool in recorded_tools(case(calls), log, on_miss, live)}, log


def ways(log: ToolLog) -> list[str | None]:
    return [one.way for one in log.calls]


def test_equal_arguments_get_the_recorded_answers_in_their_order_and_then_the_last() -> None:
    found, log = tools()
    assert found["search"](**dict(reversed(SEARCH.items()))) == {"flights": ["A1"]}
    assert [found["status"](id="A1") for _ in range(3)] == ["open", "booked", "booked"]
    assert ways(log) == ["exact"] * 4


def test_an_answer_that_the_agent_changes_is_the_recorded_one_the_next_time() -> None:
    found, _ = tools()
    found["search"](**SEARCH)["flights"].clear()
    assert found["search"](**SEARCH) == {"flights": ["A1"]}


def test_a_recorded_error_is_raised_and_written_down() -> None:
    found, log = tools()
    with pytest.raises(ToolFailed, match="card refused"):
        found["pay"](id="A1")
    (one,) = log.calls
    assert (one.way, one.failed, one.result) == ("exact", True, "card refused")


def test_the_nearest_arguments_answer_where_at_most_a_third_is_changed() -> None:
    found, log = tools()
    assert found["search"](**{**SEARCH, "class": "business"}) == {"flights": ["A1"]}
    with pytest.raises(ToolFailed, match="no answer of search to these arguments was recorded"):
        found["search"](to="LAX", day=4, **{"class": "economy"})
    with pytest.raises(ToolFailed):
        found["status"](id="A2")
    assert ways(log) == ["nearest", "miss", "miss"]


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({"to": "LAX", "day": 4, "class": "economy"}, id="two of three"),
        pytest.param(
            {"to": "SEA", "day": 4, "class": "economy", "late": True, "seat": 3}, id="three of five"
        ),
    ],
)
def test_where_more_than_a_third_is_changed_it_is_another_question(arguments: dict[str, Any]) -> None:
    found, log = tools(calls=[call("search", SEARCH, 1)])
    with pytest.raises(ToolFailed):
        found["search"](**arguments)
    assert ways(log) == ["miss"]


def test_a_tie_is_a_miss() -> None:
    two = [call("search", {**SEARCH, "day": day}, day) for day in (1, 9)]
    found, log = tools(calls=two)
    with pytest.raises(ToolFailed):
        found["search"](**SEARCH)
    assert ways(log) == ["miss"]


def test_a_miss_may_get_the_last_answer_of_its_tool() -> None:
    found, log = tools("last")
    assert found["search"](to="LAX") == {"flights": ["B7"]}
    with pytest.raises(ToolFailed, match="card refused"):
        found["pay"](id="Z")
    with pytest.raises(ToolFailed, match="no answer of unheard"):
        found["unheard"]()
    assert ways(log) == ["miss"] * 3


def test_a_miss_may_ask_the_live_tool() -> None:
    found, log = tools("live", status=lambda id: f"{id} is live")
    assert found["status"](id="Q") == "Q is live"
    assert found["status"](id="A1") == "open"
    with pytest.raises(ToolFailed):
        found["pay"](id="Q")
    assert ways(log) == ["miss", "exact", "miss"]


def test_every_form_of_a_tool_tells_answers_and_errors() -> None:
    found, _ = tools()
    given = list(found.values())
    assert json.loads(run_tool(given, "search", json.dumps(SEARCH))) == {"flights": ["A1"]}
    assert run_tool(given, "pay", '{"id": "A1"}') == "Error: card refused"
    assert as_callable(found["search"])(**SEARCH) == {"flights": ["A1"]}
    assert as_langchain(found["pay"]).run({"id": "A1"}) == "card refused"


def test_schemas_come_from_definitions_else_from_the_calls() -> None:
    schema = {"type": "object", "properties": {"id": {"type": "string"}}}
    run = case().run
    nested = {"type": "function", "function": {"name": "pay", "description": "Pays.", "parameters": schema}}
    by_name = {tool.name: tool for tool in tools_of(run, [nested, {"name": "status"}])}
    assert (by_name["pay"].description, by_name["pay"].parameters) == ("Pays.", schema)
    assert by_name["pay"].known_from == "definition"
    guessed = by_name["search"]
    assert guessed.known_from == "calls"
    assert guessed.parameters["properties"]["day"] == {"type": "number"}
    assert guessed.parameters["required"] == ["to", "day", "class"]
    some = run_from_json({"run_id": "x", "calls": [call("a", {"b": 1}), call("a", {"c": []})]})
    assert tools_of(some)[0].parameters["required"] == []


def test_the_user_answers_as_recorded_and_it_is_written_down(tmp_path: Path) -> None:
    log = ToolLog()
    (search, *_) = recorded_tools(case(), log)
    user = User(case(), log, tmp_path / "heard")
    search(**SEARCH)
    assert [user("Shall I?"), user(), user()] == ["Yes.", "Thanks.", None]
    written = [json.loads(line) for line in (tmp_path / "heard").read_text().splitlines()]
    assert [(said["content"], said["before_call"]) for said in written] == [("Yes.", 1), ("Thanks.", 1)]


def test_the_recorded_agent_does_what_it_did(tmp_path: Path) -> None:
    log = ToolLog()
    user = User(case(), log, tmp_path / "heard")
    play(case(), recorded_tools(case(), log), user)
    assert [one.name for one in log.calls] == ["search", "status", "status", "pay", "search"]
    assert set(ways(log)) == {"exact"}
    written = [json.loads(line) for line in (tmp_path / "heard").read_text().splitlines()]
    assert [said["before_call"] for said in written] == [2, 4]


def ping(host: str, times: int = 1) -> dict[str, Any]:
    """Asks a host."""
    if host == "nowhere":
        raise LookupError(host)
    return {"host": host, "times": times}


def test_own_functions_are_tools_with_the_schema_of_their_parameters() -> None:
    log = ToolLog()
    job = job_of(Task("Ping it", "k", tools=(f"{__name__}:ping",)).to_json(), Settings("m"), log)
    (tool,) = job.tools
    assert (tool.name, tool.description) == ("ping", "Asks a host.")
    kinds = {"host": {"type": "string"}, "times": {"type": "integer"}}
    assert tool.parameters == {"type": "object", "properties": kinds, "required": ["host"]}
    assert as_callable(tool)("there", times=2) == {"host": "there", "times": 2}
    with pytest.raises(LookupError):
        tool(host="nowhere")
    assert [(one.arguments, one.failed) for one in log.calls] == [
        ({"host": "there", "times": 2}, False), ({"host": "nowhere"}, True),
    ]  # fmt: skip
    assert run_tool(job.tools, "ping", '{"host": "nowhere"}') == "Error: nowhere"
    assert job.user("Hello?") is None


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param("no_such_module:f", "cannot import 'no_such_module'", id="module"),
        pytest.param("json:no_such", "'json' has no function 'no_such'", id="function"),
    ],
)
def test_tools_that_are_not_there_are_named(name: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        own_functions([name])
    with pytest.raises(Unreachable, match=f"the tools cannot be had: {message}"):
        job_of(Task("Ask.", "k", tools=(name,)).to_json(), Settings("m"), ToolLog())
