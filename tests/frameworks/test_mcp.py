"""MCP client, in memory and over stdio; alone, below a raw loop's answers and below other frameworks."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import sys
import urllib.request
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from mcp import ClientSession, MCPError, StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_server import MCPServer, server

import pdoctor_trace
from tests.frameworks.conformance import QUERY, Conformance, Driver, Outcome, ToolLog, limit
from tests.frameworks.refusals import TEXT, assert_run_with_other_arguments, changing, denying
from tests.support.models import FakeModels
from tests.support.sink import OtlpSink
from tests.support.unchanged import patched, problems

SERVER = [str(Path(__file__).with_name("mcp_server.py"))]


@asynccontextmanager
async def in_memory() -> AsyncIterator[Any]:
    async with Client(server) as client:
        yield client


@asynccontextmanager
async def in_memory_session() -> AsyncIterator[Any]:
    async with Client(server) as client:
        yield client.session


@asynccontextmanager
async def stdio() -> AsyncIterator[Any]:
    parameters = StdioServerParameters(command=sys.executable, args=SERVER)
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        yield session


@asynccontextmanager
async def http() -> AsyncIterator[Any]:
    """A session over HTTP, which the server gives a name."""
    if hasattr(server, "settings") and hasattr(server.settings, "host"):  # version 1
        app = server.streamable_http_app()
    else:
        app = server.streamable_http_app(stateless_http=False)
    listening = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", lifespan="on"))
    serving = asyncio.create_task(listening.serve())
    while not listening.started:
        await asyncio.sleep(0.01)
    port = listening.servers[0].sockets[0].getsockname()[1]
    async with (
        streamable_http_client(f"http://127.0.0.1:{port}/mcp") as (read, write, *_),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        yield session
    listening.should_exit = True
    await serving


WAYS = {"in memory": in_memory, "session": in_memory_session, "stdio": stdio, "http": http}


def call_all(way: str, calls: list[tuple[str, dict[str, Any]]]) -> None:
    async def main() -> None:
        async with WAYS[way]() as client:
            for tool, arguments in calls:
                await client.call_tool(tool, arguments)

    asyncio.run(asyncio.wait_for(main(), 30))


@pytest.mark.parametrize("way", WAYS)
def test_each_call_is_one_span(sink: OtlpSink, way: str) -> None:
    with pdoctor_trace.run():
        call_all(way, [("add", {"a": 1, "b": 2}), ("slow_echo", {"text": "hi"})])
    pdoctor_trace.flush()
    add, echo = sink.calls
    assert (add.tool, add.arguments, add.failed, add.call_id) == ("add", {"a": 1, "b": 2}, False, None)
    assert "3" in str(add.result)
    assert echo.end - echo.start > 25e6
    assert {call["pdoctor.source"] for call in sink.calls} == {"mcp"}
    assert {call["mcp.method.name"] for call in sink.calls} == {"tools/call"}
    assert all(re.fullmatch(r"20\d\d-\d\d-\d\d", call["mcp.protocol.version"]) for call in sink.calls)
    (session,) = {call["mcp.session.id"] for call in sink.calls}
    assert (session is not None) == (way == "http")
    assert {call.parent_id for call in sink.calls} == {sink.runs[0].span_id}


@pytest.mark.parametrize("way", ["stdio", "http"])
def test_a_request_has_the_number_that_the_server_saw(sink: OtlpSink, way: str) -> None:
    """Sessions make requests of their own between."""
    with pdoctor_trace.run():
        call_all(way, [("number", {}), ("add", {"a": 1, "b": 2}), ("number", {})])
    pdoctor_trace.flush()
    first, other, last = sink.calls
    for call in (first, last):
        assert re.findall(r"\d+", str(call.result)) == [call["jsonrpc.request.id"]]
    assert len({call["jsonrpc.request.id"] for call in (first, other, last)}) == 3


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("tool", "arguments"), [("boom", {"x": "kaput"}), ("add", {"a": "nope", "b": 2}), ("no_such_tool", {})]
)
def test_failures_that_come_as_results_are_failures(
    sink: OtlpSink, way: str, tool: str, arguments: dict[str, Any]
) -> None:
    with contextlib.suppress(MCPError):
        call_all(way, [(tool, arguments)])
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert (call.tool, call.failed, call.kind) == (tool, True, "tool_raised")
    assert call.message
    code = call["rpc.response.status_code"]
    assert call["error.type"] == "tool_error" if code is None else code == "-32602"


def test_a_framework_above_has_the_span_and_learns_of_the_error(sink: OtlpSink) -> None:
    """The wrapped function stands for a framework's tool call that drops the error flag."""

    @pdoctor_trace.tool
    def boom(x: str) -> str:
        call_all("in memory", [("boom", {"x": x})])
        return "fine"

    assert boom("kaput") == "fine"
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert (call.failed, "boom kaput" in call.message or bool(call.message)) == (True, True)
    assert (call["mcp.method.name"], call["error.type"]) == ("tools/call", "tool_error")
    assert call["mcp.protocol.version"]


@pytest.mark.parametrize(
    ("name", "given", "tools"),
    [
        ("math_add", {"a": 1, "b": 2}, ["math_add"]),
        ("add.remote", {"a": 1, "b": 2}, ["add.remote"]),
        ("sum", {"a": 1, "b": 2}, ["add", "sum"]),  # a tool that calls another one
        ("math_add", {"a": 2, "b": 2}, ["add", "math_add"]),  # and with other arguments
    ],
)
def test_a_renamed_tool_is_one_call_with_the_servers(
    sink: OtlpSink, name: str, given: dict[str, Any], tools: list[str]
) -> None:
    """Adapters and gateways put a server's name before or behind the tool's own."""

    @pdoctor_trace.tool(name=name)
    def gateway(a: int, b: int) -> str:
        call_all("in memory", [("add", {"a": 1, "b": 2})])
        return "fine"

    gateway(**given)
    pdoctor_trace.flush()
    assert sorted(call.tool for call in sink.calls) == tools


@limit("mcp", "no model")
def test_a_call_alone_has_no_id_and_nobody_asked_for_it(sink: OtlpSink) -> None:
    call_all("in memory", [("add", {"a": 1, "b": 2})])
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert (call.call_id, call["pdoctor.turn.index"]) == (None, None)
    assert [run for run in sink.runs if run["gen_ai.input.messages"] is not None] == []


def test_the_hosts_functions_stay_what_they_were() -> None:
    assert "mcp" in {row.framework for row in patched()}
    assert problems(patched()) == []


@pytest.mark.parametrize("way", WAYS)
def test_a_call_that_a_guard_refuses_is_answered_like_a_failure(sink: OtlpSink, way: str) -> None:
    async def call() -> Any:
        async with WAYS[way]() as session:
            return await session.call_tool("add", {"a": 1, "b": 2})

    with denying("add"):
        result = asyncio.run(call())
    pdoctor_trace.flush()
    assert getattr(result, "is_error", None) or result.isError
    assert [part.text for part in result.content] == [TEXT]
    (span,) = sink.calls
    assert span.executed is False
    assert span["pdoctor.guard.decision"] == "allowed"


@pytest.mark.parametrize("by_name", [False, True])
def test_a_person_may_give_other_arguments(sink: OtlpSink, by_name: bool) -> None:
    log, tasks = ToolLog(), MCPServer("tasks")
    tasks.tool()(log.functions()[0])

    async def call() -> None:
        async with Client(tasks) as client:
            given = {"a": 40, "b": 2}
            if by_name:
                await client.session.call_tool(name="add", arguments=given)
            else:
                await client.session.call_tool("add", given)

    with changing(a=40, b=3) as questions:
        asyncio.run(call())
    assert_run_with_other_arguments(log, sink, questions)


class LoopDriver(Driver):
    """A loop of one's own, without an SDK, whose tools are a server's."""

    source = "mcp"
    blocked = "loop"
    modes = ("one by one", "at once")
    sync_mode = "one by one"

    def run(self, models: FakeModels, script: str, tools: Sequence[Callable[..., Any]], mode: str) -> Outcome:
        tasks = MCPServer("tasks")
        for tool in tools:
            tasks.tool()(tool)
        try:
            return Outcome(text=asyncio.run(self._talk(models, script, tasks, mode)))
        except BaseException as error:
            return Outcome(error=error)

    async def _talk(self, models: FakeModels, script: str, tasks: Any, mode: str) -> str:
        messages: list[Any] = [{"role": "user", "content": QUERY}]
        async with Client(tasks) as client:
            with pdoctor_trace.run(query=QUERY):
                listed = (await client.list_tools()).tools
                offered = [{"type": "function", "function": _function(tool)} for tool in listed]
                request = {"model": script, "messages": messages, "tools": offered}
                while calls := (message := await asyncio.to_thread(_posted, models, request)).get(
                    "tool_calls"
                ):
                    answers = await self._answers(client, [call["function"]["name"] for call in calls], mode)
                    messages.append(message)
                    for call, answer in zip(calls, answers, strict=True):
                        said = " ".join(part.text for part in answer.content)
                        messages.append({"role": "tool", "tool_call_id": call["id"], "content": said})
        return str(message["content"])

    async def _answers(self, client: Any, names: list[str], mode: str) -> list[Any]:
        if mode == "at once":
            return await asyncio.gather(*(client.call_tool(name, {}) for name in names))
        return [await client.call_tool(name, {}) for name in names]


def _function(tool: Any) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description}


def _posted(models: FakeModels, request: dict[str, Any]) -> dict[str, Any]:
    asked = urllib.request.Request(f"{models.openai}/chat/completions", json.dumps(request).encode())
    with urllib.request.urlopen(asked) as reply:
        return dict(json.load(reply)["choices"][0]["message"])


class TestPlanners:
    driver = LoopDriver()
    _made = Conformance._made
    test_deaf_planners_run_no_violating_call_under_a_guard = (
        Conformance.test_deaf_planners_run_no_violating_call_under_a_guard
    )
    test_a_planner_that_heeds_refusals_does_what_it_never_did_without = (
        Conformance.test_a_planner_that_heeds_refusals_does_what_it_never_did_without
    )
