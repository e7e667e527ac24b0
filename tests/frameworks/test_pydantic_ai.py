"""PydanticAI on scripted Chat Completions and Responses models."""

from __future__ import annotations

import asyncio
import sys
from types import ModuleType
from typing import Any

import pytest
from openai import AsyncOpenAI
from pydantic import BaseModel
from pydantic_ai import Agent, ModelRetry, SkipToolExecution, Tool
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset, ToolsetTool, WrapperToolset
from pydantic_core import SchemaValidator, core_schema

import pdoctor_trace
from tests.frameworks.conformance import (
    LEAVES_ASYNCIO_BROKEN,
    QUERY,
    TOLD,
    AsyncDriver,
    Conformance,
    ToolLog,
    limit,
)
from tests.support.models import STEPS, FakeModels
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
        STEPS["final_result"] = [("final_result", '{"text": "ok"}')]
        tools = ToolLog().functions()
        return await with_agent(models, "fake.one.final_result", tools, "chat", output_type=Answer)

    assert asyncio.run(main()) == Answer(text="ok")
    pdoctor_trace.flush()
    assert [call.tool for call in sink.calls] == ["add"]
    assert sink.runs[0]["pdoctor.run.calls"] == 1


class Guard(AbstractCapability[Any]):
    """Hooks around the tools: one is skipped, one gets other arguments."""

    async def before_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
        if call.tool_name == "slow_echo":
            raise SkipToolExecution("cached")
        return {**args, "b": 40}


class Guarding(WrapperToolset[Any]):
    """The same as a toolset around another one."""

    async def call_tool(self, name: str, tool_args: Any, ctx: Any, tool: Any) -> Any:
        if name == "slow_echo":
            return "cached"
        return await super().call_tool(name, {**tool_args, "b": 40}, ctx, tool)


def guarded_by(how: str, tools: list[Any]) -> dict[str, Any]:
    if how == "hooks":
        return {"tools": tools, "capabilities": [Guard()]}
    return {"tools": [], "toolsets": [Guarding(FunctionToolset(tools)).prefixed("my")]}


@pytest.mark.parametrize("how", ["hooks", "toolset"])
def test_hooks_and_toolsets_may_answer_for_a_tool_or_change_what_it_gets(
    models: FakeModels, sink: OtlpSink, how: str
) -> None:
    STEPS["my_par"] = [(f"my_{tool}", given) for tool, given in STEPS["par"]]
    log = ToolLog()
    script = "fake.par" if how == "hooks" else "fake.my_par"
    options = guarded_by(how, log.functions())
    asyncio.run(with_agent(models, script, options.pop("tools"), "chat", **options))
    pdoctor_trace.flush()
    assert [(entry.tool, entry.arguments) for entry in log.entries] == [("add", {"a": 1, "b": 40})]
    added, skipped = sorted(sink.calls, key=lambda call: str(call.call_id))
    assert (added.executed, added.arguments, added.result) == (True, {"a": 1, "b": 40}, 41)
    assert added["pdoctor.tool.asked_arguments"] == '{"a":1,"b":2}'
    assert (skipped.executed, skipped["pdoctor.tool.execution"]) == (False, None)


class Own(AbstractToolset[Any]):
    """A toolset that runs its tools by itself."""

    id = "own"

    async def get_tools(self, ctx: Any) -> Any:
        any_arguments = SchemaValidator(core_schema.any_schema())
        definition = ToolDefinition(name="add", parameters_json_schema={"type": "object", "properties": {}})
        options: Any = {"toolset": self, "max_retries": 1, "args_validator": any_arguments}
        return {"add": ToolsetTool(tool_def=definition, **options)}

    async def call_tool(self, name: str, tool_args: Any, ctx: Any, tool: Any) -> Any:
        return tool_args["a"] + tool_args["b"]


def test_a_toolset_of_ones_own_has_run_its_tool(models: FakeModels, sink: OtlpSink) -> None:
    asyncio.run(with_agent(models, "fake.one", [], "chat", toolsets=[Own()]))
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert (call.executed, call.result) == (True, 42)


def test_what_may_run_in_another_process_is_not_denied(
    models: FakeModels, sink: OtlpSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Toolsets for durable execution run functions where nobody here sees them start."""
    module = "pydantic_ai.durable_exec.temporal"
    monkeypatch.setitem(sys.modules, module, ModuleType(module))
    toolsets: Any = [Guarding(FunctionToolset(ToolLog().functions()))]
    asyncio.run(with_agent(models, "fake.sleepy", [], "chat", toolsets=toolsets))
    pdoctor_trace.flush()
    assert [(call.executed, call.result) for call in sink.calls] == [(True, "cached")] * 2


def test_an_answer_is_held_back_while_a_rule_waits_for_a_call(sink: OtlpSink) -> None:
    said = iter(
        [ToolCallPart("refund", {}), TextPart("done"), ToolCallPart("notify", {}), TextPart("all done")]
    )
    agent = Agent(FunctionModel(lambda messages, info: ModelResponse(parts=[next(said)])))

    @agent.tool_plain
    def refund() -> str:
        return "refunded"

    @agent.tool_plain
    def notify() -> str:
        return "told"

    with pdoctor_trace.guard(TOLD) as guard:

        @agent.output_validator
        def nothing_is_open(output: str) -> str:
            if owed := guard.owed():
                raise ModelRetry(" ".join(one.text for one in owed))
            return output

        assert asyncio.run(agent.run("Refund it.")).output == "all done"
    pdoctor_trace.flush()
    assert [call.tool for call in sink.calls] == ["refund", "notify"]
