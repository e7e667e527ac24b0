"""OpenAI Agents SDK on scripted Chat Completions and Responses models."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from pathlib import Path
from typing import Any

import agents
import pytest
from agents import (
    Agent,
    GuardrailFunctionOutput,
    Model,
    ModelResponse,
    ModelSettings,
    ModelTracing,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    OutputGuardrail,
    OutputGuardrailTripwireTriggered,
    RunConfig,
    Runner,
    Usage,
    WebSearchTool,
    function_tool,
)
from agents.mcp import MCPServerStdio
from openai import AsyncOpenAI
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseFunctionWebSearch,
    ResponseOutputMessage,
    ResponseOutputText,
)

import pdoctor_trace
from tests.frameworks.conformance import (
    LEAVES_ASYNCIO_BROKEN,
    MCP_SERVER,
    QUERY,
    TOLD,
    AsyncDriver,
    Conformance,
    ToolLog,
    apart,
    assert_mcp_calls_are_one_span_each,
    limit,
)
from tests.support.models import FakeModels
from tests.support.sink import OtlpSink


def config() -> Any:
    return RunConfig(tracing_disabled=True, tool_not_found_behavior="return_error_to_model")


async def run(agent: Any) -> str:
    return (await Runner.run(agent, QUERY, run_config=config())).final_output


async def streamed(agent: Any) -> str:
    result = Runner.run_streamed(agent, QUERY, run_config=config())
    async for _ in result.stream_events():
        pass
    await asyncio.sleep(0)
    return str(result.final_output)


MODES = {"chat": run, "chat streamed": streamed, "responses": run, "responses streamed": streamed}


async def with_agent(models: FakeModels, script: str, tools: Any, mode: str) -> str:
    async with AsyncOpenAI(base_url=models.openai, api_key="x", max_retries=0) as client:
        kind: Any = OpenAIChatCompletionsModel if mode.startswith("chat") else OpenAIResponsesModel
        made = [function_tool(tool) if not hasattr(tool, "params_json_schema") else tool for tool in tools]
        agent = Agent(name="tester", model=kind(model=script, openai_client=client), tools=made)
        return await MODES[mode](agent)


class AgentsDriver(AsyncDriver):
    source = "openai_agents"
    modes = tuple(MODES)
    streaming = ("chat streamed", "responses streamed")
    sync_mode = "chat"
    fatal = (*LEAVES_ASYNCIO_BROKEN, "StopIteration")
    endless = ("StopIteration",)

    async def answer(self, models: FakeModels, script: str, tools: Any, mode: str) -> str:
        return await with_agent(models, script, tools, mode)

    async def aask(self, models: FakeModels, script: str, tools: Any) -> None:
        async with AsyncOpenAI(base_url=models.openai, api_key="x", max_retries=0) as client:
            await OpenAIChatCompletionsModel(model=script, openai_client=client).get_response(
                system_instructions=None,
                input=QUERY,
                model_settings=ModelSettings(),
                tools=[function_tool(tool) for tool in tools],
                output_schema=None,
                handoffs=[],
                tracing=ModelTracing.DISABLED,
                previous_response_id=None,
                conversation_id=None,
                prompt=None,
            )


class TestAgents(Conformance):
    driver = AgentsDriver()

    @limit("openai_agents", "reused call ids")
    def test_reused_call_ids_still_give_one_span_per_call(
        self, models: FakeModels, sink: OtlpSink, log: ToolLog, mode: str
    ) -> None:
        """The SDK itself runs a call id only once."""
        self._run(models, "one.par.same.reuse", log, mode)
        assert sorted(call.tool for call in sink.calls if call.executed) == sorted(log.names)


def test_an_unknown_tool_that_ends_the_run_is_still_reported(models: FakeModels, sink: OtlpSink) -> None:
    """By default the SDK raises before any tool of that turn runs, siblings too."""

    async def main() -> None:
        async with AsyncOpenAI(base_url=models.openai, api_key="x", max_retries=0) as client:
            model = OpenAIChatCompletionsModel(model="fake.mixed", openai_client=client)
            made = [function_tool(tool) for tool in ToolLog().functions()]
            await Runner.run(Agent(name="t", model=model, tools=made), QUERY)

    agents.set_tracing_disabled(True)
    with pytest.raises(agents.ModelBehaviorError):
        asyncio.run(main())
    pdoctor_trace.flush()
    assert [(call.tool, call.executed, call.kind) for call in sink.calls] == [
        ("add", False, None),
        ("no_such_tool", False, "unknown_tool"),
    ]
    assert sink.runs[0].failed


class Searching(Model):
    """A model whose provider has searched the web by itself."""

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        action: Any = {"type": "search", "query": "q"}
        search = ResponseFunctionWebSearch(id="ws", action=action, status="completed", type="web_search_call")
        part = ResponseOutputText(text="found", type="output_text", annotations=[])
        options: Any = {"role": "assistant", "status": "completed", "type": "message"}
        message = ResponseOutputMessage(id="m", content=[part], **options)
        return ModelResponse(output=[search, message], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


@limit("openai_agents", "built-in tools")
def test_what_the_provider_runs_is_no_call(sink: OtlpSink) -> None:
    agent = Agent(name="searcher", model=Searching(), tools=[WebSearchTool()])
    assert asyncio.run(run(agent)) == "found"
    pdoctor_trace.flush()
    assert (sink.calls, [one["pdoctor.run.calls"] for one in sink.runs]) == ([], [0])


@pytest.mark.parametrize("how", ["error_as_result", "own text", "raise_exception"])
def test_a_tool_that_takes_too_long_has_failed(models: FakeModels, sink: OtlpSink, how: str) -> None:
    """Whatever the SDK tells the model of it."""
    behaviour: Any = how if how != "own text" else "error_as_result"
    tell = None if how != "own text" else lambda context, error: "busy"

    @function_tool(timeout=0.05, timeout_behavior=behaviour, timeout_error_function=tell)
    async def add(a: int, b: int) -> int:
        """Add two integers."""
        await asyncio.sleep(60)
        return a + b

    ended = contextlib.nullcontext() if how != "raise_exception" else pytest.raises(agents.ToolTimeoutError)
    with ended:
        asyncio.run(with_agent(models, "fake.one", [add], "chat"))
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert (call.executed, call.failed, call.kind, call.result) == (True, True, "timeout", None)
    assert "timed out" in call.message


@limit("openai_agents", "endless tools")
def test_a_tool_that_never_ends_for_the_framework_has_no_span() -> None:
    told = apart(TestAgents)["StopIteration"]
    assert (told["traced"]["calls"], told["traced"]["ran"]) == ([], ["hostile"])
    assert told["traced"]["ending"] == told["untraced"]["ending"] == "stuck"


def test_tools_that_are_offered_under_their_servers_name_are_one_span_each(
    models: FakeModels, sink: OtlpSink
) -> None:
    command, *arguments = MCP_SERVER

    async def main() -> None:
        async with (
            MCPServerStdio(params={"command": command, "args": arguments}, name="math") as tools,
            AsyncOpenAI(base_url=models.openai, api_key="x", max_retries=0) as client,
        ):
            model = OpenAIChatCompletionsModel(model="fake.served", openai_client=client)
            named: Any = {"include_server_in_tool_names": True}
            agent = Agent(name="over mcp", model=model, mcp_servers=[tools], mcp_config=named)
            await Runner.run(agent, QUERY, run_config=config())

    asyncio.run(asyncio.wait_for(main(), 60))
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert (call.tool, call.call_id, call.arguments) == ("mcp_math__add", "call_0_0", {"a": 40, "b": 2})


def test_tools_of_an_mcp_server_are_one_span_each_with_the_servers_error(
    models: FakeModels, sink: OtlpSink
) -> None:
    command, *arguments = MCP_SERVER

    async def main() -> None:
        async with (
            MCPServerStdio(params={"command": command, "args": arguments}) as tools,
            AsyncOpenAI(base_url=models.openai, api_key="x", max_retries=0) as client,
        ):
            model = OpenAIChatCompletionsModel(model="fake.par.boom", openai_client=client)
            agent = Agent(name="over mcp", model=model, mcp_servers=[tools])
            await Runner.run(agent, QUERY, run_config=config())

    asyncio.run(asyncio.wait_for(main(), 60))
    assert_mcp_calls_are_one_span_each(sink, "openai_agents")


class AsksAtOnce(Model):
    """A model that asks for so many calls in its first reply, and is done in its second."""

    def __init__(self, calls: int) -> None:
        part = ResponseOutputText(text="done", type="output_text", annotations=[])
        options: Any = {"role": "assistant", "status": "completed", "type": "message"}
        asked = [
            ResponseFunctionToolCall(
                arguments='{"x": 1}', call_id=f"call_{n}", name="increased", type="function_call"
            )
            for n in range(calls)
        ]
        self.replies: list[Any] = [[ResponseOutputMessage(id="m", content=[part], **options)], asked]

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        return ModelResponse(output=self.replies.pop(), usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


def our_python_calls(tool_calls: int) -> int:
    """How often a function or coroutine of ours was entered, or gone on with, in a run of so many calls."""

    async def increased(x: int) -> int:
        return x + 1

    ours, entered = str(Path(pdoctor_trace.__file__).parent), 0

    def count(frame: Any, event: str, _: Any) -> None:
        nonlocal entered
        entered += event == "call" and frame.f_code.co_filename.startswith(ours)

    agent = Agent(name="t", model=AsksAtOnce(tool_calls), tools=[function_tool(increased)])
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        asyncio.run(Runner.run(agent, QUERY, run_config=config()))
    finally:
        sys.setprofile(before)
    return entered


def test_a_call_costs_few_calls_of_ours(sink: OtlpSink) -> None:
    """What is counted does not depend on the machine; what it costs in time is for `bench_overhead.py`."""
    our_python_calls(1)
    few, many = our_python_calls(5), our_python_calls(55)
    pdoctor_trace.flush()
    assert len(sink.calls) == 61
    assert (many - few) / 50 <= 29


class Scripted(Model):
    """Asks for a refund, then says that it is done."""

    def __init__(self) -> None:
        call = ResponseFunctionToolCall(type="function_call", call_id="c1", name="refund", arguments="{}")
        text = ResponseOutputText(type="output_text", text="done", annotations=[])
        done = ResponseOutputMessage(
            id="m1", type="message", role="assistant", status="completed", content=[text]
        )
        self.said: Any = iter([call, done])

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        return ModelResponse(output=[next(self.said)], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


def test_an_answer_is_held_back_while_a_rule_waits_for_a_call(sink: OtlpSink) -> None:
    def refund() -> str:
        return "refunded"

    with pdoctor_trace.guard(TOLD) as guard:

        async def nothing_is_open(context: Any, agent: Any, output: Any) -> GuardrailFunctionOutput:
            owed = guard.owed()
            return GuardrailFunctionOutput(output_info=owed, tripwire_triggered=bool(owed))

        agent = Agent(
            name="shop", model=Scripted(), tools=[function_tool(refund)],
            output_guardrails=[OutputGuardrail(nothing_is_open)],
        )  # fmt: skip
        with pytest.raises(OutputGuardrailTripwireTriggered) as held:
            asyncio.run(Runner.run(agent, "Refund it."))
    pdoctor_trace.flush()
    assert [one.policy for one in held.value.guardrail_result.output.output_info] == ["TOLD"]
