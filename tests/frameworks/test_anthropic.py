"""Raw loops on the Anthropic SDK, and its own tool runner."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import anthropic
import pytest

import pdoctor_trace
from pdoctor_trace import pauses, raw_loops
from tests.frameworks.conformance import QUERY, Driver, Outcome, RawLoop, ToolLog, limit
from tests.frameworks.refusals import assert_run_with_other_arguments, changing
from tests.support.hostile import ARGUMENTS
from tests.support.models import FINAL, FakeModels
from tests.support.sick_models import ANTHROPIC_TOOLS, SickModels, sick_models, words
from tests.support.sink import OtlpSink

MESSAGE = {"role": "user", "content": QUERY}


def schema(tool: Callable[..., Any]) -> dict[str, Any]:
    shape = {"type": "object", "properties": {}}
    return {"name": tool.__name__, "description": tool.__doc__ or tool.__name__, "input_schema": shape}


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
    blocked = "loop"
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


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_person_may_give_a_tool_of_the_runner_other_arguments(
    models: FakeModels, sink: OtlpSink, asynchronous: bool
) -> None:
    log = ToolLog()
    plain = log.functions()[0]

    async def add(a: int, b: int) -> str:
        """Add two integers."""
        return str(plain(a, b))

    def add_now(a: int, b: int) -> str:
        """Add two integers."""
        return str(plain(a, b))

    asked: dict[str, Any] = {"model": "fake.one", "max_tokens": 99, "messages": [MESSAGE]}

    async def main() -> None:
        async with anthropic.AsyncAnthropic(base_url=models.anthropic, api_key="x", max_retries=0) as sdk:
            await sdk.beta.messages.tool_runner(tools=[anthropic.beta_async_tool(add)], **asked).until_done()

    with changing(a=40, b=3) as questions:
        if asynchronous:
            asyncio.run(main())
        else:
            with anthropic.Anthropic(base_url=models.anthropic, api_key="x", max_retries=0) as sdk:
                tool = anthropic.beta_tool(add_now, name="add")
                sdk.beta.messages.tool_runner(tools=[tool], **asked).until_done()
    assert_run_with_other_arguments(log, sink, questions)
    _, body = models.requests[-1]
    assert "43" in json.dumps(body["messages"][-1])


NOTED = """
actions: {echo: slow_echo, add: add}
policies: [{id: NOTED, rule: Echo must be followed by add.}]
"""


def test_the_tool_runner_cannot_hold_an_answer_back_and_a_second_one_goes_on(
    models: FakeModels, sink: OtlpSink
) -> None:
    """It stops at the model's last word, whatever was appended; in `run()` it is told what is owed."""

    @anthropic.beta_tool
    def add(a: int, b: int) -> str:
        """Add two integers."""
        return str(a + b)

    tools = [anthropic.beta_tool(ToolLog().functions()[1]), add]
    owed: list[tuple[str, ...]] = []
    with (
        pdoctor_trace.guard(NOTED) as guard,
        anthropic.Anthropic(base_url=models.anthropic, api_key="x", max_retries=0) as sdk,
        pdoctor_trace.run(),
    ):
        for model in ("fake.sleepy", "fake.one"):
            question: Any = {"role": "user", "content": QUERY}
            runner = sdk.beta.messages.tool_runner(
                model=model, max_tokens=99, messages=[question], tools=tools
            )
            for message in runner:
                if message.stop_reason == "end_turn" and guard.owed():
                    runner.append_messages(message, question)
            owed.append(tuple(one.policy for one in guard.owed()))
    pdoctor_trace.flush()
    assert owed == [("NOTED",), ()]
    assert [call.tool for call in sink.calls] == ["slow_echo", "slow_echo", "add"]


@pytest.mark.parametrize("mode", ["create", "helper", "ahelper"])
def test_a_message_that_pauses_for_the_providers_own_tools_does_not_end_the_run(
    models: FakeModels, sink: OtlpSink, mode: str
) -> None:
    """The loop sends the message back as it is, and the model goes on, streamed or not."""

    class Patient(Talk):
        def take(self, reply: Any) -> str | None:
            if reply.stop_reason != "pause_turn":
                return super().take(reply)
            self.messages.append({"role": "assistant", "content": reply.content})
            return None

        async def atake(self, reply: Any) -> str | None:
            return self.take(reply)

    talk = Patient("fake.pause.one", ToolLog().functions())
    if mode in SYNC:
        with anthropic.Anthropic(base_url=models.anthropic, api_key="x", max_retries=0) as sdk:
            while talk.take(SYNC[mode](sdk, talk.request())) is None:
                pass
    else:
        asyncio.run(pausing(models, talk, ASYNC[mode]))
    pdoctor_trace.flush()
    (run,), (call,) = sink.runs, sink.calls
    assert (call.executed, call["pdoctor.turn.index"], call.run_id) == (True, 1, run.run_id)


async def pausing(models: FakeModels, talk: Any, ask: Any) -> None:
    async with anthropic.AsyncAnthropic(base_url=models.anthropic, api_key="x", max_retries=0) as sdk:
        while await talk.atake(await ask(sdk, talk.request())) is None:
            pass


def test_steps_in_several_processes(models: FakeModels, sink: OtlpSink) -> None:
    talk = Talk("fake.one", ToolLog().functions())
    with anthropic.Anthropic(base_url=models.anthropic, api_key="x", max_retries=0) as sdk:
        while talk.take(create(sdk, talk.request())) is None:
            raw_loops.end()
            raw_loops.forget_everything()
            pauses.PAUSED.forget_all()
    pdoctor_trace.flush()
    before, after = sorted(sink.runs, key=lambda run: run.start)
    assert before["pdoctor.run.token"] == after["pdoctor.run.resumed"] != None  # noqa: E711
    asked, told = sorted(sink.calls, key=lambda call: call.start)
    assert (asked.executed, told.executed, told["pdoctor.tool.source_of_result"]) == (False, True, "history")


def trouble_of(sink: OtlpSink) -> tuple[Any, ...]:
    pdoctor_trace.flush()
    (root,) = [span for span in sink.runs if span["pdoctor.run.calls"] is not None]
    return tuple(root[f"pdoctor.run.trouble.{name}"] for name in ("kind", "status", "message"))


def ask_twice(server: SickModels, **more: Any) -> None:
    """A loop that answers the call of the first reply and asks again."""
    with anthropic.Anthropic(api_key="k", base_url=server.url, max_retries=0) as client:
        request: dict[str, Any] = {"model": "m", "max_tokens": 9, "tools": ANTHROPIC_TOOLS, **more}
        messages: list[Any] = [{"role": "user", "content": "add"}]
        made = client.messages.create(messages=messages, **request)
        if more:
            for _ in made:
                pass
            return
        answer = {"type": "tool_result", "tool_use_id": made.content[0].id, "content": "3"}
        messages.append({"role": "assistant", "content": [block.model_dump() for block in made.content]})
        client.messages.create(messages=[*messages, {"role": "user", "content": [answer]}], **request)


@pytest.mark.parametrize("scope", ["announced", "bare"])
@pytest.mark.parametrize(
    ("script", "told"),
    [
        ((401,), ("endpoint", 401, words(401))),
        ((400,), ("endpoint", 400, words(400))),
        (("ask", 429), ("endpoint", 429, words(429))),
        (("ask", 529), ("endpoint", 529, words(529))),
        (("ask", "close"), ("endpoint", None, "Connection error.")),
        (("ask", 400), (None, None, None)),
    ],
    ids=str,
)
def test_an_endpoint_that_ends_the_run_is_trouble(
    sink: OtlpSink, script: tuple[Any, ...], told: tuple[Any, ...], scope: str
) -> None:
    around = nullcontext() if scope == "bare" else pdoctor_trace.run(agent="me")
    with sick_models(*script) as server, pytest.raises(anthropic.APIError), around:
        ask_twice(server)
    assert trouble_of(sink) == told


def test_a_refused_stream_is_trouble(sink: OtlpSink) -> None:
    with sick_models(429) as server, pytest.raises(anthropic.RateLimitError):
        ask_twice(server, stream=True)
    assert trouble_of(sink) == ("endpoint", 429, words(429))
