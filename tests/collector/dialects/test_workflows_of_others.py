"""`invoke_workflow` spans of other vendors' tracers: roots of runs, with or without agents inside."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.model import Run
from collector.otlp.segments import from_protobuf
from collector.otlp.spans import spans_of
from collector.rebuild import rebuild
from collector.settings import Limits
from tests.support.traces import new_id, request

ASKED = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Plan it."}]}])
TOOLS = json.dumps([{"type": "function", "name": "search"}, {"type": "function", "name": "book"}])
GENAI = "gen_ai.operation.name"


def spans(**root: Any) -> list[dict[str, Any]]:
    """A workflow with one call in it."""
    trace = new_id()
    called = {GENAI: "execute_tool", "gen_ai.tool.name": "search", "gen_ai.tool.call.id": "c1"}
    around = {GENAI: "invoke_workflow", **root}
    return [
        {"trace": trace, "id": 1, "name": "invoke_workflow", "start": 0, "end": 90, "at": around},
        {"trace": trace, "id": 3, "parent": 1, "name": "execute_tool", "start": 20, "end": 30, "at": called},
    ]


def read(*sent: dict[str, Any]) -> Run:
    segments = from_protobuf(request(*sent, scope="somebody").SerializeToString(), Limits()).segments
    return rebuild("r", list(spans_of([segment.payload for segment in segments]))).run


@pytest.mark.parametrize("key", ["gen_ai.workflow.name", "gen_ai.agent.name"])
def test_a_workflow_alone_is_the_run(key: str) -> None:
    """The name was the workflow's and is the agent's, by the version of the conventions."""
    said = {key: "trip", "gen_ai.input.messages": ASKED, "gen_ai.conversation.id": "s1"}
    run = read(*spans(**said, **{"gen_ai.tool.definitions": TOOLS}))
    assert (run.agent, run.query, run.tools) == ("trip", "Plan it.", ("search", "book"))
    assert (run.extra["session"], [call.tool for call in run.calls], run.problems) == ("s1", ["search"], ())
    assert [message["content"] for message in run.extra["messages"]] == ["Plan it."]


def test_its_name_may_stand_in_the_spans_name_alone() -> None:
    root, call = spans()
    assert read({**root, "name": "invoke_workflow trip"}, call).agent == "trip"
    assert read(root, call).agent is None


def test_agents_inside_tell_who_they_are_and_what_they_may_call() -> None:
    """A tracer may put a workflow around each single agent, so the agent's own name counts."""
    root, call = spans(**{"gen_ai.workflow.name": "Agent workflow"})
    told = {GENAI: "invoke_agent", "gen_ai.agent.name": "travel", "gen_ai.tool.definitions": TOOLS}
    agent = {**root, "id": 2, "parent": 1, "name": "invoke_agent travel", "start": 10, "end": 80, "at": told}
    run = read(root, agent, {**call, "parent": 2})
    assert (run.agent, run.query, run.tools) == ("travel", None, ("search", "book"))
    asked = {**root, "at": {**root["at"], "gen_ai.input.messages": ASKED}}
    assert read(asked, agent, {**call, "parent": 2}).query == "Plan it."


def test_an_agent_that_does_not_say_its_tools_leaves_them_open() -> None:
    root, call = spans(**{"gen_ai.workflow.name": "trip", "gen_ai.tool.definitions": TOOLS})
    told = {GENAI: "invoke_agent", "gen_ai.agent.name": "travel"}
    agent = {**root, "id": 2, "parent": 1, "name": "invoke_agent travel", "start": 10, "end": 80, "at": told}
    assert read(root, agent, {**call, "parent": 2}).tools is None
