"""Cases over the user's own tools: from a file, a module, or a recorded run."""

from __future__ import annotations

import orjson
import pytest

from synth.cases.generate import Options, generate
from synth.cases.own_tools import actions_of, load_tools
from synth.errors import BadInput
from synth.language.parse import parse

OPENAI = [
    {
        "type": "function",
        "function": {"name": "get_user_details", "description": "Get the user.", "parameters": {}},
    },
    {"type": "function", "name": "bookFlight", "description": "Book it.", "parameters": {}},
]


def short(actions) -> list[tuple[str, str, str]]:
    return [(action.tool, action.phrase, action.description) for action in actions]


def test_definitions_names_and_named_phrases_are_tools():
    assert short(actions_of([*OPENAI, "cancel_trip", {"tool": "x9", "phrase": "seat change"}])) == [
        ("get_user_details", "get user details", "Get the user."),
        ("bookFlight", "book flight", "Book it."),
        ("cancel_trip", "cancel trip", ""),
        ("x9", "seat change", ""),
    ]


def test_langchain_tools_and_functions_are_tools():
    from langchain_core.tools import tool

    @tool
    def find_hotel(city: str) -> str:
        """Find a hotel."""
        return city

    def send_mail(text: str) -> None:
        """Send
        a mail."""

    assert short(actions_of([find_hotel, send_mail])) == [
        ("find_hotel", "find hotel", "Find a hotel."),
        ("send_mail", "send mail", "Send a mail."),
    ]


def test_a_json_file_has_a_list_or_an_object_with_one(tmp_path):
    path = tmp_path / "tools.json"
    for content in (OPENAI, {"tools": OPENAI}):
        path.write_bytes(orjson.dumps(content))
        assert [action.tool for action in load_tools(str(path))] == ["get_user_details", "bookFlight"]


def test_a_module_is_imported_by_path_or_by_name(tmp_path, monkeypatch):
    (tmp_path / "my_agent_tools.py").write_text("TOOLS = ['open_case', 'close_case']\n")
    assert [a.phrase for a in load_tools(f"{tmp_path}/my_agent_tools.py:TOOLS")] == [
        "open case",
        "close case",
    ]
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert [a.phrase for a in load_tools("my_agent_tools:TOOLS")] == ["open case", "close case"]


def test_a_recorded_run_names_its_tools(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text('{"run_id": "r", "tools": ["b_tool", "a_tool"], "calls": []}\n')
    assert [action.tool for action in load_tools(f"run:{path}")] == ["b_tool", "a_tool"]
    path.write_text('{"run_id": "r", "calls": [{"name": "z"}, {"name": "y"}, {"name": "z"}]}\n')
    assert [action.tool for action in load_tools(f"run:{path}")] == ["y", "z"]


def test_cases_are_drawn_over_them(tmp_path):
    path = tmp_path / "tools.json"
    path.write_bytes(orjson.dumps([*OPENAI, "check_in", "cancel_trip"]))
    for case in generate(20, 1, Options(actions=(2, 4), tools=str(path)), confirm=False):
        assert {action.tool for action in case.actions} <= {
            "get_user_details",
            "bookFlight",
            "check_in",
            "cancel_trip",
        }
        assert parse(case.paragraph, case.actions).constraints == case.constraints
        assert case.topic == "own tools"


def test_too_few_tools_are_refused():
    tools = actions_of(["a_b", "c_d"])
    with pytest.raises(BadInput, match="2 tools were given, but 3 actions asked for"):
        list(generate(1, 1, Options(actions=(3, 3), tools=tools), confirm=False))


def test_tools_that_read_the_same_are_refused():
    tools = actions_of(["get_user", "getUser"])
    with pytest.raises(BadInput, match="the names 'get user' and 'get user' read the same; rename one"):
        list(generate(1, 1, Options(actions=(2, 2), tools=tools), confirm=False))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("absent.json", "cannot read the tools: No such file"),
        ("absent.py:TOOLS", "cannot import: FileNotFoundError"),
        ("no_such_module_here:TOOLS", "cannot import: ModuleNotFoundError"),
        ("synth.cases.own_tools:NOTHING", "has no 'NOTHING'"),
        ("synth.cases.own_tools:load_tools", "is function, not a list"),
        ("run:absent.jsonl", "cannot read the tools"),
    ],
)
def test_what_is_not_there_is_said(source: str, message: str):
    with pytest.raises(BadInput, match=message):
        load_tools(source)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "not JSON"),
        (b"3", "expected a JSON list of tools"),
        (b"[]", "the list of tools is empty"),
        (b"[3]", "int is not a tool"),
        (b'[{"description": "x"}]', "a tool needs a name"),
        (b'["a", "a"]', "two tools are called 'a'"),
    ],
)
def test_a_file_without_tools_is_refused(content: bytes, message: str, tmp_path):
    path = tmp_path / "tools.json"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=message):
        load_tools(str(path))


def test_a_run_file_without_calls_is_refused(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text('{"run_id": "r", "calls": []}\n')
    with pytest.raises(BadInput, match="no run record here has tools or calls"):
        load_tools(f"run:{path}")
