"""Semantic Kernel on a scripted Chat Completions model."""

from __future__ import annotations

import asyncio
import warnings
from typing import Any

import pytest

import pdoctor_trace
from tests.frameworks.conformance import (
    LEAVES_ASYNCIO_BROKEN,
    QUERY,
    AsyncDriver,
    Conformance,
    ToolLog,
    limit,
)
from tests.support.models import FINAL, STEPS, FakeModels
from tests.support.sink import OtlpSink

with warnings.catch_warnings():
    # Semantic Kernel overrides what its pydantic calls deprecated.
    warnings.simplefilter("ignore", DeprecationWarning)
    from openai import AsyncOpenAI
    from semantic_kernel import Kernel
    from semantic_kernel.agents import ChatCompletionAgent
    from semantic_kernel.connectors.ai import FunctionChoiceBehavior
    from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion, OpenAIChatPromptExecutionSettings
    from semantic_kernel.contents import ChatHistory, FunctionCallContent
    from semantic_kernel.filters import FilterTypes
    from semantic_kernel.functions import FunctionResult, kernel_function

# Semantic Kernel copies models whose fields pydantic calls deprecated.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


def service(client: AsyncOpenAI, script: str) -> OpenAIChatCompletion:
    return OpenAIChatCompletion(ai_model_id=script, async_client=client)


def kernel(tools: Any) -> Kernel:
    made = Kernel()
    made.add_plugin({tool.__name__: kernel_function(tool) for tool in tools}, plugin_name="P")
    return made


async def respond(agent: ChatCompletionAgent) -> str:
    return str((await agent.get_response(QUERY)).message.content)


async def invoke(agent: ChatCompletionAgent) -> str:
    return "".join([str(item.message.content) async for item in agent.invoke(QUERY)])


async def stream(agent: ChatCompletionAgent) -> str:
    return "".join([str(item.message.content) async for item in agent.invoke_stream(QUERY)])


MODES = {"get_response": respond, "invoke": invoke, "stream": stream}


async def with_agent(models: FakeModels, script: str, tools: Any, mode: str) -> str:
    async with AsyncOpenAI(base_url=models.openai, api_key="x", max_retries=0) as client:
        choice = FunctionChoiceBehavior.Auto(maximum_auto_invoke_attempts=20)
        options: Any = {"kernel": kernel(tools), "function_choice_behavior": choice}
        agent = ChatCompletionAgent(service=service(client, script), name="tester", **options)
        return await MODES[mode](agent)


class KernelDriver(AsyncDriver):
    source = "semantic_kernel"
    modes = tuple(MODES)
    streaming = ("stream",)
    sync_mode = "get_response"
    named = "P-{}"
    fatal = LEAVES_ASYNCIO_BROKEN

    async def answer(self, models: FakeModels, script: str, tools: Any, mode: str) -> str:
        return await with_agent(models, script, tools, mode)

    async def aask(self, models: FakeModels, script: str, tools: Any) -> None:
        history = ChatHistory()
        history.add_user_message(QUERY)
        choice = FunctionChoiceBehavior.Auto(auto_invoke=False)
        options = OpenAIChatPromptExecutionSettings(function_choice_behavior=choice)
        async with AsyncOpenAI(base_url=models.openai, api_key="x", max_retries=0) as client:
            asked = service(client, script)
            await asked.get_chat_message_contents(history, options, kernel=kernel(tools))


class TestSemanticKernel(Conformance):
    driver = KernelDriver()

    def test_the_run_has_the_query_the_tools_and_the_number_of_calls(
        self, models: FakeModels, sink: OtlpSink, log: ToolLog, mode: str
    ) -> None:
        """Functions are offered with the name of their plugin."""
        self._run(models, "par", log, mode)
        (run,) = sink.runs
        assert {(span.run_id, span.trace_id) for span in sink.spans} == {(run.run_id, run.trace_id)}
        assert {call.parent_id for call in sink.calls} == {run.span_id}
        assert QUERY in run["gen_ai.input.messages"]
        assert all(f'"P-{name}"' in run["gen_ai.tool.definitions"] for name in ("add", "slow_echo", "boom"))
        assert (run["pdoctor.run.calls"], run.failed) == (2, False)


def test_a_call_has_the_name_that_the_model_gave(models: FakeModels, sink: OtlpSink) -> None:
    STEPS["plugin"] = [("P-add", '{"a": 1, "b": 2}'), ("P-sub", "{}"), ("Q-add", '{"a": 1, "b": 2}')]
    asyncio.run(with_agent(models, "fake.plugin", ToolLog().functions(), "get_response"))
    pdoctor_trace.flush()
    calls = sorted((call.call_id, call.tool, call.executed, call.kind) for call in sink.calls)
    assert calls == [
        ("call_0_0", "P-add", True, None),
        ("call_0_1", "P-sub", False, "unknown_tool"),
        ("call_0_2", "Q-add", False, "unknown_tool"),
    ]


def test_a_chat_service_with_a_kernel_is_a_run(models: FakeModels, sink: OtlpSink) -> None:
    async def main() -> str:
        async with AsyncOpenAI(base_url=models.openai, api_key="x", max_retries=0) as client:
            chat, history = service(client, "fake.par.one"), ChatHistory()
            history.add_user_message(QUERY)
            auto = FunctionChoiceBehavior.Auto()
            settings = OpenAIChatPromptExecutionSettings(function_choice_behavior=auto)
            made = kernel(ToolLog().functions())
            return str(await chat.get_chat_message_content(history, settings, kernel=made))

    assert asyncio.run(main()) == FINAL
    pdoctor_trace.flush()
    (run,) = sink.runs
    assert QUERY in run["gen_ai.input.messages"]
    assert [(call.tool, call.parent_id) for call in sorted(sink.calls, key=lambda call: call.call_id)] == [
        ("add", run.span_id),
        ("slow_echo", run.span_id),
        ("add", run.span_id),
    ]


def test_a_function_invoked_without_a_model_is_a_call(sink: OtlpSink) -> None:
    made = kernel(ToolLog().functions())
    assert asyncio.run(made.invoke(made.get_function("P", "add"), a=1, b=2)).value == 3
    pdoctor_trace.flush()
    assert [(call.tool, call.arguments, call.result) for call in sink.calls] == [
        ("P-add", {"a": 1, "b": 2}, 3)
    ]


@limit("semantic_kernel", "provider agents")
def test_a_call_that_a_provider_asks_for_has_no_run_above(sink: OtlpSink) -> None:
    """Agents that run at a provider hand its calls to the kernel one by one, as this does."""
    made = kernel(ToolLog().functions())
    asked = FunctionCallContent(id="c1", name="P-add", arguments='{"a": 1, "b": 2}')
    asyncio.run(made.invoke_function_call(asked, ChatHistory()))
    pdoctor_trace.flush()
    assert [(call.tool, call.arguments, call.result) for call in sink.calls] == [
        ("P-add", {"a": 1, "b": 2}, 3)
    ]
    assert [run for run in sink.runs if run["gen_ai.input.messages"] is not None] == []


def test_a_thread_is_the_conversation(models: FakeModels, sink: OtlpSink) -> None:
    async def main() -> Any:
        async with AsyncOpenAI(base_url=models.openai, api_key="x", max_retries=0) as client:
            made = kernel(ToolLog().functions())
            agent = ChatCompletionAgent(service=service(client, "fake"), name="tester", kernel=made)
            first = await agent.get_response(QUERY)
            return [await agent.get_response(QUERY, thread=first.thread) for _ in range(2)]

    answers = asyncio.run(main())
    pdoctor_trace.flush()
    named = [run["gen_ai.conversation.id"] for run in sink.runs]
    assert named == [answers[0].thread.id] * 3


def test_filters_may_answer_for_a_function_or_change_what_it_gets(models: FakeModels, sink: OtlpSink) -> None:
    log = ToolLog()
    made = kernel(log.functions())

    async def guard(context: Any, next: Any) -> None:
        if context.function.name == "slow_echo":
            context.result = FunctionResult(function=context.function.metadata, value="cached")
            return
        context.arguments["b"] = 40
        await next(context)

    made.add_filter(FilterTypes.FUNCTION_INVOCATION, guard)
    STEPS["p_par"] = [(f"P-{tool}", given) for tool, given in STEPS["par"]]

    async def main() -> None:
        async with AsyncOpenAI(base_url=models.openai, api_key="x", max_retries=0) as client:
            agent = ChatCompletionAgent(service=service(client, "fake.p_par"), name="tester", kernel=made)
            await respond(agent)

    asyncio.run(main())
    pdoctor_trace.flush()
    assert [(entry.tool, entry.arguments) for entry in log.entries] == [("add", {"a": 1, "b": 40})]
    added, skipped = sorted(sink.calls, key=lambda call: str(call.call_id))
    assert (added.executed, added.arguments, added.result) == (True, {"a": 1, "b": 40}, 41)
    assert added["pdoctor.tool.asked_arguments"] == '{"a":1,"b":2}'
    assert (skipped.executed, skipped.result) == (False, "cached")


@limit("semantic_kernel", "loops by hand")
def test_calls_of_a_loop_by_hand_are_runs_of_their_own(models: FakeModels, sink: OtlpSink) -> None:
    async def main() -> None:
        async with AsyncOpenAI(base_url=models.openai, api_key="x", max_retries=0) as client:
            tools, history = kernel(ToolLog().functions()), ChatHistory()
            history.add_user_message(QUERY)
            STEPS["ppar"] = [("P-add", '{"a": 1, "b": 2}'), ("P-slow_echo", '{"text": "x"}')]
            choice = FunctionChoiceBehavior.Auto(auto_invoke=False)
            settings = OpenAIChatPromptExecutionSettings(function_choice_behavior=choice)
            asked = await service(client, "fake.ppar").get_chat_message_content(
                history, settings, kernel=tools
            )
            history.add_message(asked)
            for item in asked.items:
                if isinstance(item, FunctionCallContent):
                    await tools.invoke_function_call(item, history)

    asyncio.run(main())
    with pdoctor_trace.run(query=QUERY):
        asyncio.run(main())
    pdoctor_trace.flush()
    runs = [
        sorted(call.tool for call in sink.calls if call.run_id == run)
        for run in {c.run_id for c in sink.calls}
    ]
    assert sorted(runs) == [["P-add"], ["P-add", "P-slow_echo"], ["P-slow_echo"]]
