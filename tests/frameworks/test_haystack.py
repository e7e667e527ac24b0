"""Haystack 2 and 3 on a scripted Chat Completions model."""

from __future__ import annotations

import asyncio
import contextlib
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import pdoctor_trace
from tests.frameworks.conformance import (
    FIVE_IDS,
    QUERY,
    Conformance,
    Driver,
    Outcome,
    ToolLog,
    by_turn,
    limit,
)
from tests.support.models import FakeModels
from tests.support.sink import OtlpSink

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "false")
from haystack import component
from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import Tool, create_tool_from_function
from haystack.utils import Secret

try:  # version 3
    from haystack.hooks.human_in_the_loop import ConfirmationHook, ToolExecutionDecision
except ImportError:
    from haystack.human_in_the_loop import ToolExecutionDecision

    ConfirmationHook = None
NATIVE_ASYNC = "async_function" in Tool.__dataclass_fields__
"""Version 3 has tools of coroutine functions."""

# Haystack never closes its clients.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def generator(models: FakeModels, script: str) -> OpenAIChatGenerator:
    return OpenAIChatGenerator(
        api_key=Secret.from_token("x"), model=script, api_base_url=models.openai, max_retries=0
    )


def agent(models: FakeModels, script: str, tools: Any, **options: Any) -> Agent:
    made = [tool if isinstance(tool, Tool) else create_tool_from_function(tool) for tool in tools]
    one = Agent(chat_generator=generator(models, script), tools=made, max_agent_steps=20, **options)
    if hasattr(one, "warm_up"):
        one.warm_up()
    return one


def run(one: Agent, mode: str) -> str:
    messages = [ChatMessage.from_user(QUERY)]
    streaming = {"streaming_callback": lambda chunk: None} if mode == "streaming" else {}
    if mode == "async":
        done = asyncio.run(one.run_async(messages=messages))
    else:
        done = one.run(messages=messages, **streaming)
    return str(done["messages"][-1].text)


class HaystackDriver(Driver):
    source = "haystack"
    modes = ("sync", "streaming", "async")
    streaming = ("streaming",)
    sync_mode = "sync"

    def run(self, models: FakeModels, script: str, tools: Any, mode: str) -> Outcome:
        try:
            return Outcome(text=run(agent(models, script, tools), mode))
        except BaseException as error:
            return Outcome(error=error)

    def nested(self, models: FakeModels, log: ToolLog) -> Outcome:
        def ask_sub(text: str) -> str:
            """Ask another agent."""
            return run(agent(models, "fake.par", log.functions()), "sync")

        return self.run(models, "fake.nest", [ask_sub], "sync")

    async def arun(self, models: FakeModels, script: str, tools: Any) -> Outcome:
        made = [coroutine_tool(tool) for tool in tools]
        done = await agent(models, script, made).run_async(messages=[ChatMessage.from_user(QUERY)])
        return Outcome(text=str(done["messages"][-1].text))

    def ask(self, models: FakeModels, script: str, tools: Any) -> None:
        offered = [create_tool_from_function(tool) for tool in tools]
        generator(models, script).run(messages=[ChatMessage.from_user(QUERY)], tools=offered)


def coroutine_tool(function: Any) -> Tool:
    types = {"int": "integer", "str": "string"}
    names = {name: kind for name, kind in function.__annotations__.items() if name != "return"}
    properties = {name: {"type": types[kind]} for name, kind in names.items()}
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    name, about = function.__name__, function.__doc__ or ""
    return Tool(name=name, description=about, parameters=parameters, async_function=function)


class TestHaystack(Conformance):
    driver = HaystackDriver()

    if not NATIVE_ASYNC:

        @limit("haystack", "no coroutines")
        def test_tools_of_coroutine_functions(self, models: FakeModels, sink: OtlpSink, log: ToolLog) -> None:
            with pytest.raises((ValueError, TypeError)):
                create_tool_from_function(log.coroutines()[0])

        @limit("haystack", "no coroutines")
        def test_runs_in_one_event_loop_stay_apart(self, models: FakeModels, sink: OtlpSink) -> None:
            """The runs can be coroutines, their tools cannot."""
            logs = [ToolLog() for _ in range(4)]

            async def one(log: ToolLog) -> None:
                given = agent(models, "fake.par.one.same", log.functions())
                await given.run_async(messages=[ChatMessage.from_user(QUERY)])

            async def main() -> None:
                await asyncio.gather(*(one(log) for log in logs))

            asyncio.run(main())
            pdoctor_trace.flush()
            assert len(sink.runs) == 4
            for run in sink.runs:
                calls = by_turn([call for call in sink.calls if call.run_id == run.run_id])
                assert [call.call_id for call in calls] == FIVE_IDS

    @limit("haystack", "unchecked types")
    def test_wrong_arguments(self, models: FakeModels, sink: OtlpSink, log: ToolLog, mode: str) -> None:
        """Haystack does not check arguments: the tool itself gets the string, and raises."""
        self._run(models, "badtype", log, mode)
        assert [(call.arguments, call.executed, call.kind, call["error.type"]) for call in sink.calls] == [
            ({"a": "not-a-number", "b": 2}, True, "tool_raised", "TypeError")
        ]
        assert len(log.entries) == 1

    def test_a_missing_argument(self, models: FakeModels, sink: OtlpSink, log: ToolLog, mode: str) -> None:
        self._run(models, "missing", log, mode)
        assert [(call.arguments, call.executed, call.kind) for call in sink.calls] == [
            ({"a": 1}, False, "bad_arguments")
        ]
        assert log.entries == []


@limit("haystack", "other generators")
def test_malformed_arguments_that_another_generator_drops(models: FakeModels, sink: OtlpSink) -> None:
    """A generator of one's own that gives up on the text leaves nothing of the call."""

    @component
    class Dropping:
        @component.output_types(replies=list[ChatMessage])
        def run(self, messages: list[ChatMessage], tools: Any = None, **kwargs: Any) -> dict[str, Any]:
            return {"replies": [ChatMessage.from_assistant("the call could not be read")]}

    log = ToolLog()
    tools = [create_tool_from_function(tool) for tool in log.functions()]
    one = Agent(chat_generator=Dropping(), tools=tools)
    if hasattr(one, "warm_up"):
        one.warm_up()
    run(one, "sync")
    pdoctor_trace.flush()
    assert (sink.calls, log.entries, len(sink.runs)) == ([], [], 1)


def test_a_tool_invoked_without_an_agent_is_a_call(sink: OtlpSink) -> None:
    assert create_tool_from_function(ToolLog().functions()[0]).invoke(a=1, b=2) == 3
    pdoctor_trace.flush()
    assert [(call.tool, call.arguments, call.result) for call in sink.calls] == [("add", {"a": 1, "b": 2}, 3)]


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_tool_that_misuses_a_function_in_a_pool_ran(models: FakeModels, sink: OtlpSink, mode: str) -> None:
    log = ToolLog()

    def add(a: int, b: int) -> str:
        """Add two integers."""
        with ThreadPoolExecutor() as pool:
            return str(pool.submit(log.functions()[0], a).result())

    with contextlib.suppress(Exception):
        run(agent(models, "fake.one", [add]), mode)
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert (call.tool, call.executed, call.kind) == ("add", True, "tool_raised")


class Person:
    """A confirmation strategy: approves, rejects, or has the tool run with other arguments."""

    def __init__(self, said: str) -> None:
        self.said = said

    def run(self, *, tool_name: str, tool_params: Any, tool_call_id: Any = None, **options: Any) -> Any:
        given = {"text": "less"} if self.said == "edit" else tool_params
        return ToolExecutionDecision(
            tool_name=tool_name,
            execute=self.said != "reject",
            tool_call_id=tool_call_id,
            final_tool_params=given,
        )

    async def run_async(self, **asked: Any) -> Any:
        return self.run(**asked)


def gated(said: str) -> dict[str, Any]:
    strategies: Any = {"slow_echo": Person(said)}
    if ConfirmationHook is None:
        return {"confirmation_strategies": strategies}
    return {"hooks": {"before_tool": [ConfirmationHook(strategies)]}}


@pytest.mark.cell("pause")
@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("said", ["approve", "edit", "reject"])
def test_what_a_person_decides_about_a_call_is_told(
    models: FakeModels, sink: OtlpSink, mode: str, said: str
) -> None:
    log = ToolLog()
    run(agent(models, "fake.par", log.functions(), **gated(said)), mode)
    pdoctor_trace.flush()
    calls = {call.call_id: call for call in sink.calls}
    add, echo = calls["call_0_0"], calls["call_0_1"]
    assert len(sink.calls) == 2
    assert (add.executed, add.arguments) == (True, {"a": 1, "b": 2})
    assert (echo.executed, echo["pdoctor.tool.execution"]) == (said != "reject", None)
    assert echo.arguments == {"text": "less" if said == "edit" else "hi"}
    assert echo["pdoctor.tool.asked_arguments"] == ('{"text":"hi"}' if said == "edit" else None)
    assert [call["pdoctor.turn.index"] for call in sink.calls] == [0, 0]
    assert sorted(log.names) == sorted(call.tool for call in sink.calls if call.executed)
    assert len({span.run_id for span in sink.spans}) == 1
