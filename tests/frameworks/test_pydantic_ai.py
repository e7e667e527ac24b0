"""PydanticAI on scripted Chat Completions and Responses models."""

from __future__ import annotations

import asyncio
from typing import Any

from openai import AsyncOpenAI
from pydantic import BaseModel
from pydantic_ai import Agent, Tool
from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelRequest
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

import pdoctor_trace
from tests.frameworks.conformance import (
    LEAVES_ASYNCIO_BROKEN,
    QUERY,
    AsyncDriver,
    Conformance,
    ToolLog,
    limit,
)
from tests.support.models import FakeModels
from tests.support.sink import OtlpSink


async def run(agent: Any) -> Any:
    return (await agent.run(QUERY)).output


async def run_stream(agent: Any) -> Any:
    async with agent.run_stream(QUERY) as result:
        return await result.get_output()


async def iterate(agent: Any) -> Any:
    async with agent.iter(QUERY) as nodes:
        async for _ in nodes:
            pass
        return nodes.result.output


MODES = {"chat": run, "chat stream": run_stream, "chat iter": iterate, "responses": run}


async def with_agent(models: FakeModels, script: str, tools: Any, mode: str, **options: Any) -> Any:
    async with AsyncOpenAI(base_url=models.openai, api_key="x", max_retries=0) as client:
        kind: Any = OpenAIChatModel if mode.startswith("chat") else OpenAIResponsesModel
        model = kind(script, provider=OpenAIProvider(openai_client=client))
        return await MODES[mode](Agent(model, tools=list(tools), name="tester", retries=3, **options))


class PydanticDriver(AsyncDriver):
    source = "pydantic_ai"
    modes = tuple(MODES)
    streaming = ("chat stream",)
    sync_mode = "chat"
    fatal = LEAVES_ASYNCIO_BROKEN

    async def answer(self, models: FakeModels, script: str, tools: Any, mode: str) -> str:
        return await with_agent(models, script, tools, mode)

    async def aask(self, models: FakeModels, script: str, tools: Any) -> None:
        async with AsyncOpenAI(base_url=models.openai, api_key="x", max_retries=0) as client:
            await model_request(
                OpenAIChatModel(script, provider=OpenAIProvider(openai_client=client)),
                [ModelRequest.user_text_prompt(QUERY)],
                model_request_parameters=ModelRequestParameters(
                    function_tools=[Tool(tool).tool_def for tool in tools]
                ),
            )


class TestPydanticAI(Conformance):
    driver = PydanticDriver()

    def test_text_beside_calls_is_noted(
        self, models: FakeModels, sink: OtlpSink, log: ToolLog, mode: str
    ) -> None:
        if mode != "chat stream":
            super().test_text_beside_calls_is_noted(models, sink, log, mode)

    @limit("pydantic_ai", "streamed text")
    def test_a_stream_that_ends_with_text_and_calls_reports_each_call_once(
        self, models: FakeModels, sink: OtlpSink, log: ToolLog
    ) -> None:
        self._run(models, "one.talk.par", log, "chat stream")
        assert sorted(call.tool for call in sink.calls if call.executed) == sorted(log.names)
        assert (
            len({(call["pdoctor.turn.index"], call.call_id) for call in sink.calls}) == len(sink.calls) == 3
        )


def test_an_output_tool_is_no_tool_call(models: FakeModels, sink: OtlpSink) -> None:
    class Answer(BaseModel):
        text: str

    async def main() -> Any:
        from tests.support.models import STEPS

        STEPS["final_result"] = [("final_result", '{"text": "ok"}')]
        tools = ToolLog().functions()
        return await with_agent(models, "fake.one.final_result", tools, "chat", output_type=Answer)

    assert asyncio.run(main()) == Answer(text="ok")
    pdoctor_trace.flush()
    assert [call.tool for call in sink.calls] == ["add"]
    assert sink.runs[0]["pdoctor.run.calls"] == 1
