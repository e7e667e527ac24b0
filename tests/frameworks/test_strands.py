"""Strands Agents on a scripted Chat Completions model."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client
from strands import Agent, tool
from strands.event_loop.streaming import process_stream
from strands.hooks import BeforeToolCallEvent
from strands.models.openai import OpenAIModel
from strands.tools.executors import SequentialToolExecutor
from strands.tools.mcp import MCPClient

import pdoctor_trace
from tests.frameworks.conformance import (
    MCP_SERVER,
    QUERY,
    Conformance,
    Driver,
    Outcome,
    ToolLog,
    apart,
    assert_mcp_calls_are_one_span_each,
    assert_unreadable_replies_raise,
    limit,
)
from tests.support.models import STEPS, FakeModels
from tests.support.sink import OtlpSink

try:
    from strands.middleware import ExecuteToolStage
    from strands.types.events import ToolResultEvent
except ImportError:  # the release before has no middleware
    ExecuteToolStage = None  # type: ignore[assignment, misc]

# Strands never closes its clients.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def agent(models: FakeModels, script: str, tools: Any, **options: Any) -> Agent:
    settings = {"api_key": "x", "base_url": models.openai, "max_retries": 0}
    model = OpenAIModel(client_args=settings, model_id=script)
    made = [tool(function) for function in tools]
    return Agent(model=model, tools=made, callback_handler=None, name="tester", **options)


async def stream(one: Agent) -> Any:
    return [event async for event in one.stream_async(QUERY)][-1]["result"]


MODES = {
    "call": lambda one: one(QUERY),
    "async": lambda one: asyncio.run(one.invoke_async(QUERY)),
    "stream": lambda one: asyncio.run(stream(one)),
    "sequential": lambda one: one(QUERY),
}


class StrandsDriver(Driver):
    source = "strands"
    blocked = "tells"
    modes = tuple(MODES)
    streaming = ("stream",)
    fatal = ("StopIteration", "GeneratorExit")
    endless = fatal
    sync_mode = "call"
    unreadable = ("deep",)

    def run(self, models: FakeModels, script: str, tools: Any, mode: str) -> Outcome:
        options = {"tool_executor": SequentialToolExecutor()} if mode == "sequential" else {}
        try:
            return Outcome(text=str(MODES[mode](agent(models, script, tools, **options))).strip())
        except BaseException as error:
            return Outcome(error=error)

    async def arun(self, models: FakeModels, script: str, tools: Any) -> Outcome:
        return Outcome(text=str(await agent(models, script, tools).invoke_async(QUERY)).strip())

    def nested(self, models: FakeModels, log: ToolLog) -> Outcome:
        def ask_sub(text: str) -> str:
            """Ask another agent."""
            return str(agent(models, "fake.par", log.functions())(QUERY))

        return self.run(models, "fake.nest", [ask_sub], "call")

    def ask(self, models: FakeModels, script: str, tools: Any) -> None:
        """A model's reply, put together as the event loop does it."""
        inner = agent(models, script, tools)
        offered = inner.tool_registry.get_all_tool_specs()
        asked: Any = [{"role": "user", "content": [{"text": QUERY}]}]

        async def read() -> None:
            assert [event async for event in process_stream(inner.model.stream(asked, offered))]

        asyncio.run(read())


class TestStrands(Conformance):
    driver = StrandsDriver()


def test_what_a_reply_asks_for_did_not_run_where_the_stream_is_left_at_it(
    models: FakeModels, sink: OtlpSink
) -> None:
    log = ToolLog()

    async def main() -> None:
        events = agent(models, "fake.one.par", log.functions()).stream_async(QUERY)
        async for event in events:
            if "slow_echo" in str(event.get("message")):
                break
        await events.aclose()

    asyncio.run(main())
    pdoctor_trace.flush()
    told = [(call.call_id, call.tool, call.executed, call["pdoctor.turn.index"]) for call in sink.calls]
    assert told == [
        ("call_0_0", "add", True, 0),
        ("call_1_0", "add", False, 1),
        ("call_1_1", "slow_echo", False, 1),
    ]
    assert log.names == ["add"]


def test_a_direct_tool_call_is_a_call(models: FakeModels, sink: OtlpSink) -> None:
    one = agent(models, "fake", ToolLog().functions())
    one.tool.add(a=1, b=2)
    pdoctor_trace.flush()
    assert [(call.tool, call.arguments, call.result) for call in sink.calls] == [
        ("add", {"a": 1, "b": 2}, "3")
    ]


def test_what_a_hook_cancels_is_a_call_that_no_tool_ran(models: FakeModels, sink: OtlpSink) -> None:
    def cancel(event: BeforeToolCallEvent) -> None:
        event.cancel_tool = "not today"

    log = ToolLog()
    one = agent(models, "fake.one", log.functions())
    one.hooks.add_callback(BeforeToolCallEvent, cancel)
    one(QUERY)
    pdoctor_trace.flush()
    assert [(call.executed, call.failed, call.result) for call in sink.calls] == [(False, False, "not today")]
    assert log.entries == []


@limit("strands", "background tools")
def test_a_tool_sent_to_the_background_is_a_call_until_it_is_dispatched(
    models: FakeModels, sink: OtlpSink
) -> None:
    STEPS["behind"] = [("slow_echo", '{"text": "x", "_background_execution": true}')]
    log = ToolLog()
    agent(models, "fake.behind", log.functions(), background_tasks=True)(QUERY)
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert (call.tool, call.executed, call.failed, log.names) == ("slow_echo", True, False, ["slow_echo"])
    assert call.result != "x"


@limit("strands", "endless tools")
@pytest.mark.parametrize("name", TestStrands.driver.endless)
def test_a_tool_that_never_ends_for_the_framework_has_no_span(name: str) -> None:
    told = apart(TestStrands)[name]
    assert (told["traced"]["calls"], told["traced"]["ran"]) == ([], ["hostile"])
    assert told["traced"]["ending"] == told["untraced"]["ending"]


@limit("strands", "unreadable replies")
def test_replies_that_cannot_be_read_raise_before_there_is_a_call(models: FakeModels, sink: OtlpSink) -> None:
    assert_unreadable_replies_raise(TestStrands.driver, models, sink)


def test_tools_of_an_mcp_server_are_one_span_each(models: FakeModels, sink: OtlpSink) -> None:
    command, *args = MCP_SERVER
    server = StdioServerParameters(command=command, args=args)
    with MCPClient(lambda: stdio_client(server)) as client:
        model = OpenAIModel(
            client_args={"api_key": "x", "base_url": models.openai, "max_retries": 0},
            model_id="fake.par.boom",
        )
        Agent(model=model, tools=client.list_tools_sync(), callback_handler=None, name="tester")(QUERY)
    assert_mcp_calls_are_one_span_each(sink, "strands")


def less(event: BeforeToolCallEvent) -> None:
    event.tool_use["input"]["b"] = 40


def other(event: BeforeToolCallEvent) -> None:
    event.tool_use = {**event.tool_use, "name": "slow_echo", "input": {"text": "hi"}}


def changed(models: FakeModels, hook: Any) -> ToolLog:
    log = ToolLog()
    one = agent(models, "fake.one", log.functions())
    one.hooks.add_callback(BeforeToolCallEvent, hook)
    one(QUERY)
    pdoctor_trace.flush()
    return log


def test_a_hook_may_change_what_a_tool_gets(models: FakeModels, sink: OtlpSink) -> None:
    changed(models, less)
    (call,) = sink.calls
    assert (call.executed, call.arguments, call.result) == (True, {"a": 40, "b": 40}, "80")
    assert call["pdoctor.tool.asked_arguments"] == '{"a":40,"b":2}'


def test_a_hook_may_have_another_tool_run(models: FakeModels, sink: OtlpSink) -> None:
    log = changed(models, other)
    assert log.names == ["slow_echo"]
    asked, ran = sorted(sink.calls, key=lambda call: call.tool)
    assert (asked.tool, asked.arguments, asked.executed) == ("add", {"a": 40, "b": 2}, False)
    assert (ran.tool, ran.arguments, ran.executed, ran.result) == ("slow_echo", {"text": "hi"}, True, "hi")
    assert (asked.call_id, ran.call_id) == ("call_0_0", "call_0_0")
    assert (asked["pdoctor.turn.index"], ran["pdoctor.turn.index"]) == (0, 0)


if ExecuteToolStage is not None:

    def test_middleware_that_answers_for_the_tool(models: FakeModels, sink: OtlpSink) -> None:
        async def answer(context: Any, following: Any) -> Any:
            content = [{"text": "cached"}]
            told: Any = {"toolUseId": context.tool_use["toolUseId"], "status": "success", "content": content}
            yield ToolResultEvent(told)

        log = ToolLog()
        one = agent(models, "fake.one", log.functions())
        one.add_middleware(ExecuteToolStage, answer)
        one(QUERY)
        pdoctor_trace.flush()
        (call,) = sink.calls
        assert (call.executed, call.failed, call.result, log.names) == (False, False, "cached", [])
