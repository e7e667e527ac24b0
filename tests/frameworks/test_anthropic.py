"""Raw loops on the Anthropic SDK, and its own tool runner."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import anthropic
import pytest

import pdoctor_trace
from tests.frameworks.conformance import QUERY, Driver, Outcome, RawLoop, ToolLog, limit
from tests.support.hostile import ARGUMENTS
from tests.support.models import FINAL, FakeModels
from tests.support.sink import OtlpSink


def schema(tool: Callable[..., Any]) -> dict[str, Any]:
    shape = {"type": "object", "properties": {}}
    return {"name": tool.__name__, "description": tool.__name__, "input_schema": shape}


def create(sdk: Any, request: Any) -> Any:
    return sdk.messages.create(**request)


def beta(sdk: Any, request: Any) -> Any:
    return sdk.beta.messages.create(**request)


def raw(sdk: Any, request: Any) -> Any:
    return sdk.messages.with_raw_response.create(**request).parse()


def helper(sdk: Any, request: Any) -> Any:
    with sdk.messages.stream(**request) as events:
        return events.get_final_message()


SYNC = {"create": create, "beta": beta, "raw": raw, "helper": helper}


async def acreate(sdk: Any, request: Any) -> Any:
    return await sdk.messages.create(**request)


async def ahelper(sdk: Any, request: Any) -> Any:
    async with sdk.messages.stream(**request) as events:
        return await events.get_final_message()


ASYNC = {"acreate": acreate, "ahelper": ahelper}


class Talk:
    """The loop everybody writes, one step at a time."""

    def __init__(self, model: str, tools: Sequence[Callable[..., Any]]) -> None:
        self.model, self.tools = model, tools
        self.by_name = {tool.__name__: tool for tool in tools}
        self.messages: list[Any] = [{"role": "user", "content": QUERY}]

    def request(self) -> dict[str, Any]:
        offered = [schema(tool) for tool in self.tools]
        return {"model": self.model, "max_tokens": 99, "messages": self.messages, "tools": offered}

    def take(self, reply: Any) -> str | None:
        calls = [block for block in reply.content if block.type == "tool_use"]
        return self._answer(reply, [self._result(call) for call in calls])

    async def atake(self, reply: Any) -> str | None:
        calls = [block for block in reply.content if block.type == "tool_use"]
        return self._answer(reply, [await self._aresult(call) for call in calls])

    def _answer(self, reply: Any, results: list[Any]) -> str | None:
        if not results:
            return "".join(block.text for block in reply.content)
        self.messages += [
            {"role": "assistant", "content": reply.content},
            {"role": "user", "content": results},
        ]
        return None

    async def _aresult(self, call: Any) -> dict[str, Any]:
        if not asyncio.iscoroutinefunction(self.by_name.get(call.name)):
            return self._result(call)
        content = str(await self.by_name[call.name](**call.input))
        return {"type": "tool_result", "tool_use_id": call.id, "content": content}

    def _result(self, call: Any) -> dict[str, Any]:
        block = {"type": "tool_result", "tool_use_id": call.id}
        try:
            if call.name == "add" and not isinstance(call.input.get("a"), int):
                raise TypeError("a must be an integer")
            return {**block, "content": str(self.by_name[call.name](**call.input))}
        except Exception as error:
            text = str(error) if type(error) in (RuntimeError, TypeError) else "failed"
            return {**block, "content": text, "is_error": True}


class AnthropicDriver(Driver):
    source = "anthropic"
    modes = (*SYNC, *ASYNC)
    streaming = ("helper", "ahelper")
    unreadable = ("deep",)
    sync_mode = "create"
    exact = False
    refusals_are_seen = False
    raising_tool_is_seen = False
    wrong_arguments_are_seen = False

    def run(self, models: FakeModels, script: str, tools: Any, mode: str) -> Outcome:
        talk = Talk(script, tools)
        try:
            if mode in ASYNC:
                return Outcome(text=asyncio.run(self._async(models, talk, ASYNC[mode])))
            with anthropic.Anthropic(base_url=models.anthropic, api_key="x", max_retries=0) as sdk:
                while (text := talk.take(SYNC[mode](sdk, talk.request()))) is None:
                    pass
                return Outcome(text=text)
        except BaseException as error:
            return Outcome(error=error)

    async def arun(self, models: FakeModels, script: str, tools: Any) -> Outcome:
        return Outcome(text=await self._async(models, Talk(script, tools), acreate))

    def nested(self, models: FakeModels, log: ToolLog) -> Outcome:
        def ask_sub(text: str) -> str:
            """Ask another agent."""
            return str(self.run(models, "fake.par", log.functions(), "create").text)

        return self.run(models, "fake.nest", [ask_sub], "create")

    async def _async(self, models: FakeModels, talk: Talk, ask: Any) -> str:
        async with anthropic.AsyncAnthropic(base_url=models.anthropic, api_key="x", max_retries=0) as sdk:
            while (text := await talk.atake(await ask(sdk, talk.request()))) is None:
                pass
            return text


@limit("anthropic", "bounds")
class TestAnthropic(RawLoop):
    driver = AnthropicDriver()

    @limit("anthropic", "parsed arguments")
    def test_malformed_arguments(self, models: FakeModels, sink: OtlpSink, log: ToolLog, mode: str) -> None:
        """A whole reply holds an object; what a model wrote before it was parsed only a stream shows."""
        self._run(models, "badjson", log, mode)
        (call,) = sink.calls
        if mode in self.driver.streaming:
            assert (call.tool, call.executed, call.kind) == ("add", False, "bad_arguments")
            assert call.arguments == '{"a": 1, "b": '
        else:
            assert (call.tool, call.executed, call.kind) == ("add", True, "tool_raised")
        assert log.entries == []


@limit("anthropic", "unreadable replies")
def test_a_reply_that_the_sdk_cannot_read_leaves_no_call(models: FakeModels, sink: OtlpSink) -> None:
    log, (name,) = ToolLog(), TestAnthropic.driver.unreadable
    script = f"fake.args{list(ARGUMENTS).index(name)}"
    outcome = TestAnthropic.driver.run(models, script, [log.taking()], "create")
    pdoctor_trace.flush()
    assert isinstance(outcome.error, RecursionError)
    assert (log.entries, sink.calls, len(sink.runs)) == ([], [], 1)


def test_the_error_flag_of_a_result_is_a_failed_call(models: FakeModels, sink: OtlpSink) -> None:
    TestAnthropic.driver.run(models, "fake.boom", ToolLog().functions(), "create")
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert (call.failed, call.kind, call.message) == (True, "tool_raised", "boom kaput")


@pytest.mark.parametrize("streaming", [False, True])
def test_the_tool_runner_gives_exact_times_and_errors(
    models: FakeModels, sink: OtlpSink, streaming: bool
) -> None:
    log = ToolLog()
    tools = [anthropic.beta_tool(tool) for tool in log.functions()]
    with anthropic.Anthropic(base_url=models.anthropic, api_key="x", max_retries=0) as sdk:
        runner = sdk.beta.messages.tool_runner(
            model="fake.sleepy.boom",
            max_tokens=99,
            messages=[{"role": "user", "content": QUERY}],
            tools=tools,
            stream=streaming,
        )
        final = runner.until_done()
    pdoctor_trace.flush()
    assert json.loads(final.model_dump_json())["content"][0]["text"] == FINAL
    assert [(c.tool, c["pdoctor.tool.timing"], c.failed) for c in sink.calls] == [
        ("slow_echo", "exact", False),
        ("slow_echo", "exact", False),
        ("boom", "exact", True),
    ]
    for call, entry in zip(sink.calls, log.entries, strict=True):
        assert call.start <= entry.start <= entry.end <= call.end
    assert len(sink.runs) == 1


@pytest.mark.parametrize("streaming", [False, True])
def test_the_async_tool_runner_gives_exact_times_and_errors(
    models: FakeModels, sink: OtlpSink, streaming: bool
) -> None:
    log = ToolLog()

    @anthropic.beta_async_tool
    async def slow_echo(text: str) -> str:
        """Echo a text slowly."""
        return str(await log.coroutines()[1](text))

    @anthropic.beta_async_tool
    async def boom(x: str) -> str:
        """Always fails."""
        return str(log.functions()[2](x))

    async def main() -> Any:
        async with anthropic.AsyncAnthropic(base_url=models.anthropic, api_key="x", max_retries=0) as sdk:
            runner = sdk.beta.messages.tool_runner(
                model="fake.sleepy.boom",
                max_tokens=99,
                messages=[{"role": "user", "content": QUERY}],
                tools=[slow_echo, boom],
                stream=streaming,
            )
            return await runner.until_done()

    final = asyncio.run(main())
    pdoctor_trace.flush()
    assert json.loads(final.model_dump_json())["content"][0]["text"] == FINAL
    calls = sorted(sink.calls, key=lambda call: str(call.arguments))
    assert sorted((c.tool, c["pdoctor.tool.timing"], c.failed) for c in calls) == [
        ("boom", "exact", True),
        ("slow_echo", "exact", False),
        ("slow_echo", "exact", False),
    ]
    for call, entry in zip(calls, sorted(log.entries, key=lambda e: str(e.arguments)), strict=True):
        assert call.arguments == entry.arguments
        assert call.start <= entry.start <= entry.end <= call.end
    assert len(sink.runs) == 1
