"""Haystack 2 and 3 on a scripted Chat Completions model."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Iterator
from typing import Any

import pytest
from conformance import QUERY, Conformance, Driver, Outcome, ToolLog
from fake_models import FakeModels
from otlp_sink import OtlpSink

import pdoctor_trace

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "false")
pytest.importorskip("haystack")
from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import Tool, create_tool_from_function
from haystack.utils import Secret

NATIVE_ASYNC = "async_function" in Tool.__dataclass_fields__
"""Version 3 has tools of coroutine functions."""

# Haystack never closes its clients.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module", autouse=True)
def _collected() -> Iterator[None]:
    """What Haystack leaves open is collected while the filters above still hold."""
    yield
    gc.collect()


def agent(models: FakeModels, script: str, tools: Any, **options: Any) -> Agent:
    generator = OpenAIChatGenerator(
        api_key=Secret.from_token("x"), model=script, api_base_url=models.openai, max_retries=0
    )
    made = [tool if isinstance(tool, Tool) else create_tool_from_function(tool) for tool in tools]
    one = Agent(chat_generator=generator, tools=made, max_agent_steps=20, **options)
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


class TestHaystack(Conformance):
    driver = HaystackDriver()

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


@pytest.mark.skipif(not NATIVE_ASYNC, reason="version 2 has no tools of coroutine functions")
def test_a_tool_of_a_coroutine_function_is_one_call(models: FakeModels, sink: OtlpSink) -> None:
    async def add(a: int, b: int) -> int:
        await asyncio.sleep(0)
        return a + b

    parameters = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
    tool = Tool(name="add", description="Add.", parameters=parameters, async_function=add)
    run(agent(models, "fake.same", [tool]), "async")
    pdoctor_trace.flush()
    assert [(call.call_id, call.result) for call in sink.calls] == [("call_0_0", 10), ("call_0_1", 10)]
    assert {call.parent_id for call in sink.calls} == {sink.runs[0].span_id}


def test_a_tool_invoked_without_an_agent_is_a_call(sink: OtlpSink) -> None:
    assert create_tool_from_function(ToolLog().functions()[0]).invoke(a=1, b=2) == 3
    pdoctor_trace.flush()
    assert [(call.tool, call.arguments, call.result) for call in sink.calls] == [("add", {"a": 1, "b": 2}, 3)]
