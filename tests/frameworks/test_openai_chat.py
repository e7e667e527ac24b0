"""Raw OpenAI Chat Completions loops: rebuilt from the traffic, or seen exactly with `wrap_tools`."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import openai
import pytest

import pdoctor_trace
from tests.frameworks.conformance import QUERY, Conformance, Driver, Outcome, RawLoop, ToolLog, limit
from tests.support.models import FakeModels
from tests.support.sink import OtlpSink

NAMES = {"add": {"a": "integer", "b": "integer"}, "slow_echo": {"text": "string"}, "boom": {"x": "string"}}


def schema(name: str, parameters: dict[str, str], **extra: Any) -> dict[str, Any]:
    properties = {key: {"type": kind} for key, kind in parameters.items()}
    shape = {"type": "object", "properties": properties, "required": list(parameters)}
    function = {"name": name, "description": name, "parameters": shape, **extra}
    return {"type": "function", "function": function}


TOOLS = [schema(name, parameters) for name, parameters in NAMES.items()]


def offered(tools: Sequence[Callable[..., Any]]) -> list[dict[str, Any]]:
    about = {tool.__name__: tool.__doc__ or tool.__name__ for tool in tools}
    return [schema(n, NAMES.get(n, {"text": "string"}), description=said) for n, said in about.items()]


def execute(tools: dict[str, Callable[..., Any]], name: str, raw: str) -> str:
    """What user code does with a call: parse, run, turn any error into text."""
    try:
        arguments = json.loads(raw)
        if name == "add" and not isinstance(arguments["a"], int):
            raise TypeError("a must be an integer")
        return str(tools[name](**arguments))
    except Exception as error:
        return f"Error: {type(error).__name__}"


async def execute_async(tools: dict[str, Callable[..., Any]], name: str, raw: str) -> str:
    """The same; coroutine functions are awaited, others run in threads."""
    if asyncio.iscoroutinefunction(tools.get(name)):
        return str(await tools[name](**json.loads(raw)))
    return await asyncio.to_thread(execute, tools, name, raw)


Call = tuple[str, str, str]
Asked = tuple[list[Call], str | None]


def calls_of(message: Any) -> Asked:
    asked = message.tool_calls or []
    return [(c.id, c.function.name, c.function.arguments) for c in asked], message.content


def create(client: Any, request: dict[str, Any]) -> Asked:
    return calls_of(client.chat.completions.create(**request).choices[0].message)


def raw(client: Any, request: dict[str, Any]) -> Asked:
    return calls_of(client.chat.completions.with_raw_response.create(**request).parse().choices[0].message)


def streaming_response(client: Any, request: dict[str, Any]) -> Asked:
    with client.chat.completions.with_streaming_response.create(**request) as response:
        return calls_of(response.parse().choices[0].message)


def merged(chunks: Any) -> Asked:
    parts: dict[int, list[str]] = {}
    text = ""
    for chunk in chunks:
        for choice in chunk.choices:
            text += choice.delta.content or ""
            for fragment in choice.delta.tool_calls or []:
                part = parts.setdefault(fragment.index, ["", "", ""])
                part[0] = fragment.id or part[0]
                part[1] += fragment.function.name or ""
                part[2] += fragment.function.arguments or ""
    return [(part[0], part[1], part[2]) for part in parts.values()], text or None


def stream(client: Any, request: dict[str, Any]) -> Asked:
    return merged(client.chat.completions.create(stream=True, **request))


def raw_stream(client: Any, request: dict[str, Any]) -> Asked:
    return merged(client.chat.completions.with_raw_response.create(stream=True, **request).parse())


def helper(client: Any, request: dict[str, Any]) -> Asked:
    with client.chat.completions.stream(**request) as events:
        chunks = [event.chunk for event in events if event.type == "chunk"]
    return merged(chunks)


def strict(tool: dict[str, Any]) -> dict[str, Any]:
    return {**tool, "function": {**tool["function"], "strict": True}}


def parse(client: Any, request: dict[str, Any]) -> Asked:
    """The SDK parses arguments of strict tools itself; text that is no JSON makes it raise."""
    request = {**request, "tools": [strict(tool) for tool in request["tools"]]}
    return calls_of(client.chat.completions.parse(**request).choices[0].message)


SYNC = {
    "create": create,
    "parse": parse,
    "raw": raw,
    "streaming_response": streaming_response,
    "stream": stream,
    "raw_stream": raw_stream,
    "helper": helper,
}


async def acreate(client: Any, request: dict[str, Any]) -> Asked:
    return calls_of((await client.chat.completions.create(**request)).choices[0].message)


async def araw(client: Any, request: dict[str, Any]) -> Asked:
    response = await client.chat.completions.with_raw_response.create(**request)
    return calls_of(response.parse().choices[0].message)


async def astream(client: Any, request: dict[str, Any]) -> Asked:
    return merged([chunk async for chunk in await client.chat.completions.create(stream=True, **request)])


ASYNC = {"acreate": acreate, "araw": araw, "astream": astream}


def assistant(calls: list[Call], text: str | None) -> dict[str, Any]:
    asked = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in calls]
    return {"role": "assistant", "content": text, "tool_calls": asked}


def loop(
    client: Any, model: str, tools: Sequence[Callable[..., Any]], ask: Any, messages: list[Any] | None = None
) -> str:
    """The loop everybody writes."""
    by_name = {tool.__name__: tool for tool in tools}
    messages = messages if messages is not None else [{"role": "system", "content": "You are an agent."}]
    messages.append({"role": "user", "content": QUERY})
    while True:
        calls, text = ask(client, {"model": model, "messages": messages, "tools": offered(tools)})
        if not calls:
            messages.append({"role": "assistant", "content": text})
            return str(text)
        messages.append(assistant(calls, text))
        for call_id, name, arguments in calls:
            content = execute(by_name, name, arguments)
            messages.append({"role": "tool", "tool_call_id": call_id, "content": content})


async def aloop(models: FakeModels, model: str, tools: Sequence[Callable[..., Any]], ask: Any) -> str:
    """The async loop, parallel calls in threads."""
    by_name = {tool.__name__: tool for tool in tools}
    messages: list[Any] = [{"role": "user", "content": QUERY}]
    async with openai.AsyncOpenAI(base_url=models.openai, api_key="x", max_retries=0) as client:
        while True:
            calls, text = await ask(client, {"model": model, "messages": messages, "tools": offered(tools)})
            if not calls:
                return str(text)
            messages.append(assistant(calls, text))
            jobs = [execute_async(by_name, name, arguments) for _, name, arguments in calls]
            for (call_id, _, _), content in zip(calls, await asyncio.gather(*jobs), strict=True):
                messages.append({"role": "tool", "tool_call_id": call_id, "content": content})


def client(models: FakeModels) -> Any:
    return openai.OpenAI(base_url=models.openai, api_key="x", max_retries=0)


class ChatDriver(Driver):
    source = "openai"
    blocked = "loop"
    modes = (*SYNC, *ASYNC)
    heavy_modes: tuple[str, ...] = ("parse", "raw", "raw_stream", "helper", "araw")
    streaming = ("stream", "raw_stream", "helper", "astream")
    malformed_ends_the_run_in = ("parse",)
    sync_mode = "create"
    exact = False
    refusals_are_seen = False
    raising_tool_is_seen = False
    wrong_arguments_are_seen = False

    async def arun(self, models: FakeModels, script: str, tools: Any) -> Outcome:
        return Outcome(text=await aloop(models, script, self.prepared(tools), acreate))

    def prepared(self, tools: Sequence[Callable[..., Any]]) -> Sequence[Callable[..., Any]]:
        return tools

    def run(self, models: FakeModels, script: str, tools: Any, mode: str) -> Outcome:
        tools = self.prepared(tools)
        try:
            if mode in ASYNC:
                return Outcome(text=asyncio.run(aloop(models, script, tools, ASYNC[mode])))
            with client(models) as sdk:
                return Outcome(text=loop(sdk, script, tools, SYNC[mode]))
        except BaseException as error:
            return Outcome(error=error)

    def nested(self, models: FakeModels, log: ToolLog) -> Outcome:
        def ask_sub(text: str) -> str:
            """Ask another agent."""
            with client(models) as sdk:
                return loop(sdk, "fake.par", self.prepared(log.functions()), create)

        return self.run(models, "fake.nest", [ask_sub], "create")

    def ask(self, models: FakeModels, script: str, tools: Sequence[Callable[..., Any]]) -> None:
        messages = [{"role": "user", "content": QUERY}]
        with client(models) as sdk:
            create(sdk, {"model": script, "messages": messages, "tools": offered(tools)})


class WrappedChatDriver(ChatDriver):
    """The same loops over tools that the user wrapped: exact times and real errors."""

    exact = True
    raising_tool_is_seen = True
    heavy_modes = ("parse", "raw", "raw_stream", "helper", "araw", "streaming_response", "stream", "astream")

    def prepared(self, tools: Sequence[Callable[..., Any]]) -> Sequence[Callable[..., Any]]:
        return pdoctor_trace.wrap_tools(list(tools))


@limit("openai", "bounds")
class TestChat(RawLoop):
    driver = ChatDriver()


class TestWrappedChat(Conformance):
    """What the traffic does not tell, the wrapped tools do."""

    driver = WrappedChatDriver()


@limit("openai", "unparsable replies")
def test_arguments_that_parse_cannot_read_raise_before_there_is_a_call(
    models: FakeModels, sink: OtlpSink
) -> None:
    log = ToolLog()
    outcome = TestChat.driver.run(models, "fake.badjson", log.functions(), "parse")
    pdoctor_trace.flush()
    assert (isinstance(outcome.error, ValueError), sink.calls, log.entries) == (True, [], [])


def ask(client: Any, model: str, messages: list[Any], tools: Any = TOOLS) -> Any:
    return client.chat.completions.create(model=model, messages=messages, tools=tools).choices[0].message


def answers(message: Any, text: str = "done") -> list[Any]:
    return [{"role": "tool", "tool_call_id": c.id, "content": f"{text} {c.id}"} for c in message.tool_calls]


def test_sdk_objects_put_back_into_the_history_are_read(models: FakeModels, sink: OtlpSink) -> None:
    with client(models) as sdk:
        messages: list[Any] = [{"role": "user", "content": QUERY}]
        while (reply := ask(sdk, "fake.par.one", messages)).tool_calls:
            messages += [reply, *answers(reply)]
    pdoctor_trace.flush()
    assert [call.result for call in sink.calls] == ["done call_0_0", "done call_0_1", "done call_1_0"]


def test_a_second_question_in_the_same_conversation_is_a_second_run(
    models: FakeModels, sink: OtlpSink
) -> None:
    log = ToolLog()
    messages: list[Any] = [{"role": "system", "content": "s"}]
    with client(models) as sdk:
        for _ in range(2):
            loop(sdk, "fake.par", log.functions(), create, messages)
    pdoctor_trace.flush()
    first, second = sink.runs
    assert first.run_id != second.run_id
    assert [call.run_id for call in sorted(sink.calls, key=lambda call: call.start)] == [
        *[first.run_id] * 2,
        *[second.run_id] * 2,
    ]


def test_a_rewritten_system_prompt_does_not_break_the_run(models: FakeModels, sink: OtlpSink) -> None:
    with client(models) as sdk:
        messages: list[Any] = [{"role": "system", "content": "0"}, {"role": "user", "content": QUERY}]
        while (reply := ask(sdk, "fake.par.one", messages)).tool_calls:
            messages += [reply, *answers(reply)]
            messages[0] = {"role": "system", "content": str(len(messages))}
    pdoctor_trace.flush()
    assert len(sink.runs) == 1
    assert len(sink.calls) == 3


def test_calls_that_are_never_answered_are_reported_as_not_executed(
    models: FakeModels, sink: OtlpSink
) -> None:
    with client(models) as sdk:
        ask(sdk, "fake.mixed", [{"role": "user", "content": QUERY}])
    pdoctor_trace.flush()
    assert [(call.tool, call.executed, call.failed, call.kind) for call in sink.calls] == [
        ("add", False, False, None),
        ("no_such_tool", False, True, "unknown_tool"),
    ]
    assert sink.runs[0]["pdoctor.run.calls"] == 2


def test_a_new_question_closes_what_was_never_answered(models: FakeModels, sink: OtlpSink) -> None:
    with client(models) as sdk:
        messages: list[Any] = [{"role": "user", "content": QUERY}]
        reply = ask(sdk, "fake.one", messages)
        messages += [
            {"role": "assistant", "content": reply.content},
            {"role": "user", "content": "never mind"},
        ]
        ask(sdk, "fake.none", messages)
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert not call.executed
    assert [run["pdoctor.run.calls"] for run in sink.runs] == [1, 0]


def test_a_repeated_request_is_not_a_second_run_or_call(models: FakeModels, sink: OtlpSink) -> None:
    """The first attempt failed, or its reply was thrown away; the application asks again."""
    with client(models) as sdk:
        messages: list[Any] = [{"role": "user", "content": QUERY}]
        reply = ask(sdk, "fake.one", messages)
        messages += [reply, *answers(reply)]
        with pytest.raises(openai.APIError):
            openai.OpenAI(base_url="http://127.0.0.1:9", api_key="x", max_retries=0).chat.completions.create(
                model="fake.one", messages=messages, tools=TOOLS
            )
        ask(sdk, "fake.one", messages)
    pdoctor_trace.flush()
    assert len(sink.runs) == len(sink.calls) == 1


def test_a_stream_left_half_way_reports_what_had_come(models: FakeModels, sink: OtlpSink) -> None:
    with client(models) as sdk:
        chunks = sdk.chat.completions.create(
            model="fake.par", messages=[{"role": "user", "content": QUERY}], tools=TOOLS, stream=True
        )
        for _ in range(3):
            next(chunks)
        chunks.close()
        del chunks
        gc.collect()
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert (call.tool, call.executed) == ("add", False)


def test_a_reply_read_as_raw_bytes_is_rebuilt_from_the_next_request(
    models: FakeModels, sink: OtlpSink
) -> None:
    with client(models) as sdk:
        messages: list[Any] = [{"role": "user", "content": QUERY}]
        request: Any = {"model": "fake.one", "messages": messages, "tools": TOOLS}
        with sdk.chat.completions.with_streaming_response.create(**request) as response:
            message = json.loads(response.read())["choices"][0]["message"]
        (asked,) = message["tool_calls"]
        messages += [message, {"role": "tool", "tool_call_id": asked["id"], "content": "42"}]
        sdk.chat.completions.create(**request)
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert (call.tool, call.call_id, call.result) == ("add", "call_0_0", "42")


def test_a_plain_completion_without_tools_is_no_agent_run(models: FakeModels, sink: OtlpSink) -> None:
    with client(models) as sdk:
        sdk.chat.completions.create(model="fake", messages=[{"role": "user", "content": "hi"}])
    pdoctor_trace.flush()
    assert sink.spans == []


def test_an_agent_that_calls_no_tool_is_still_a_run(models: FakeModels, sink: OtlpSink) -> None:
    with client(models) as sdk:
        ask(sdk, "fake", [{"role": "user", "content": "hi"}])
    pdoctor_trace.flush()
    (run,) = sink.runs
    assert run["pdoctor.run.calls"] == 0


def test_an_old_answer_does_not_close_an_open_call_of_another_conversation(
    models: FakeModels, sink: OtlpSink
) -> None:
    with client(models) as sdk:
        first: list[Any] = [{"role": "user", "content": "first?"}]
        reply = ask(sdk, "fake.one", first)
        first += [reply, *answers(reply, "first")]
        first.append(ask(sdk, "fake.one", first))
        second: list[Any] = [{"role": "user", "content": "second?"}]
        waiting = ask(sdk, "fake.one", second)
        ask(sdk, "fake", [*first, {"role": "user", "content": "third?"}])
        ask(sdk, "fake.one", [*second, waiting, *answers(waiting, "second")])
    pdoctor_trace.flush()
    by_start = sorted(sink.calls, key=lambda call: call.start)
    assert [call.result for call in by_start] == ["first call_0_0", "second call_0_0"]


def test_six_identical_loops_at_once_stay_apart_as_tasks(models: FakeModels, sink: OtlpSink) -> None:
    logs = [ToolLog() for _ in range(6)]

    async def many() -> None:
        loops = [aloop(models, "fake.par.one.same", log.functions(), acreate) for log in logs]
        await asyncio.gather(*loops)

    asyncio.run(many())
    pdoctor_trace.flush()
    per_run = [[c.call_id for c in sink.calls if c.run_id == run.run_id] for run in sink.runs]
    assert per_run == [["call_0_0", "call_0_1", "call_1_0", "call_2_0", "call_2_1"]] * 6


def test_a_wrapped_tool_that_is_tried_again_is_one_call_with_attempts(
    models: FakeModels, sink: OtlpSink
) -> None:
    tries = []

    @pdoctor_trace.tool
    def add(a: int, b: int) -> int:
        tries.append(a)
        if len(tries) < 3:
            raise ConnectionError("flaky")
        return a + b

    def stubborn(a: int, b: int) -> int:
        for _ in range(5):
            try:
                return add(a, b)
            except ConnectionError:
                pass
        raise AssertionError

    stubborn.__name__ = "add"
    with client(models) as sdk:
        loop(sdk, "fake.one", [stubborn], create)
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert (call["pdoctor.tool.attempts"], call.result, call.failed) == (3, 42, False)


def test_parallel_wrapped_tools_in_threads_find_their_calls(models: FakeModels, sink: OtlpSink) -> None:
    log = ToolLog()
    tools = {t.__name__: t for t in pdoctor_trace.wrap_tools(log.functions())}
    with client(models) as sdk:
        messages: list[Any] = [{"role": "user", "content": QUERY}]
        reply = ask(sdk, "fake.sleepy", messages)
        threads = [
            threading.Thread(target=tools[c.function.name], kwargs=json.loads(c.function.arguments))
            for c in reply.tool_calls
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        messages += [reply, *answers(reply)]
        ask(sdk, "fake.sleepy", messages)
    pdoctor_trace.flush()
    assert [(c.call_id, c.result, c["pdoctor.tool.timing"]) for c in sink.calls] == [
        ("call_0_0", "x", "exact"),
        ("call_0_1", "y", "exact"),
    ]


def test_a_framework_run_above_does_not_hide_a_raw_loop_inside_a_tool(
    models: FakeModels, sink: OtlpSink
) -> None:
    log = ToolLog()

    @pdoctor_trace.tool
    def research(topic: str) -> str:
        with client(models) as sdk:
            return loop(sdk, "fake.par", log.functions(), create)

    with pdoctor_trace.run(query="outer"):
        research("x")
    pdoctor_trace.flush()
    outer, inner = sink.runs
    assert [(call.tool, call.parent_id) for call in sink.calls] == [
        ("research", outer.span_id),
        ("add", inner.span_id),
        ("slow_echo", inner.span_id),
    ]
    assert inner.parent_id == sink.calls[0].span_id


def test_the_text_of_a_custom_tool_is_no_malformed_json(models: FakeModels, sink: OtlpSink) -> None:
    tools: Any = [{"type": "custom", "custom": {"name": "sql"}}]
    with client(models) as sdk:
        for streamed in (False, True):
            messages: list[Any] = [{"role": "user", "content": QUERY}]
            request: Any = {"model": "fake.custom", "messages": messages, "tools": tools}
            if streamed:
                for _ in sdk.chat.completions.create(stream=True, **request):
                    pass
            else:
                sdk.chat.completions.create(**request)
            asked = {"id": "call_0_0", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
            messages.append({"role": "assistant", "tool_calls": [asked]})
            messages.append({"role": "tool", "tool_call_id": "call_0_0", "content": "1"})
            sdk.chat.completions.create(**request)
    pdoctor_trace.flush()
    told = [(call.tool, call.arguments, call.executed, call.result) for call in sink.calls]
    assert told == [("sql", {"input": "select 1"}, True, "1")] * 2
    assert len(sink.runs) == 2


def function_call(client: Any, request: dict[str, Any]) -> tuple[str, str] | None:
    """The call of one reply in the form that came before `tool_calls`."""
    asked = client.chat.completions.create(**request).choices[0].message.function_call
    return None if asked is None else (asked.name, asked.arguments)


def streamed_function_call(client: Any, request: dict[str, Any]) -> tuple[str, str] | None:
    tool = arguments = ""
    for chunk in client.chat.completions.create(stream=True, **request):
        for choice in chunk.choices:
            part = choice.delta.function_call
            if part is not None:
                tool, arguments = tool + (part.name or ""), arguments + (part.arguments or "")
    return (tool, arguments) if tool else None


def function_loop(client: Any, model: str, query: str, ask: Any) -> Iterator[str]:
    """The loop of `functions`; yields before each answer."""
    functions = [tool["function"] for tool in TOOLS]
    messages: list[Any] = [{"role": "user", "content": query}]
    while (asked := ask(client, {"model": model, "messages": messages, "functions": functions})) is not None:
        call = {"name": asked[0], "arguments": asked[1]}
        messages.append({"role": "assistant", "content": None, "function_call": call})
        yield asked[0]
        messages.append({"role": "function", "name": asked[0], "content": f"{query} {len(messages)}"})


@limit("openai", "calls without ids")
@pytest.mark.parametrize("ask", [function_call, streamed_function_call], ids=["whole", "streamed"])
def test_calls_without_ids_are_told_by_their_place(models: FakeModels, sink: OtlpSink, ask: Any) -> None:
    """Two loops in turns, whose calls are the same but for the question."""
    with client(models) as sdk:
        loops = [function_loop(sdk, "fake.one.one.boom", query, ask) for query in ("A", "B")]
        for _ in range(4):
            for one in loops:
                next(one, None)
    pdoctor_trace.flush()
    called = sorted((call.result, call.tool, call.call_id) for call in sink.calls)
    assert called == [
        (f"{query} {2 * at}", tool, f"function_call:{at}")
        for query in "AB"
        for at, tool in enumerate(("add", "add", "boom"), 1)
    ]
    assert all(call.executed for call in sink.calls)
    written = [json.loads(chat["gen_ai.output.messages"])[0]["parts"][-1] for chat in sink.chats]
    assert written[0] == {"type": "tool_call", "name": "add", "arguments": {"a": 40, "b": 2}}
    assert len({(call.run_id, call.result[0]) for call in sink.calls}) == 2
    assert {run["pdoctor.run.calls"] for run in sink.runs} == {3}


def test_calls_without_ids_keep_their_number_where_the_history_is_trimmed(
    models: FakeModels, sink: OtlpSink
) -> None:
    """The host sends its question and the newest call alone; two of the calls are the same."""
    functions = [tool["function"] for tool in TOOLS]
    question = {"role": "user", "content": QUERY}
    newest: list[Any] = []
    with client(models) as sdk:
        for at, script in enumerate(("fake.one", "fake.one.one", "fake.one.boom", "fake.one")):
            request: Any = {"model": script, "messages": [question, *newest], "functions": functions}
            asked = function_call(sdk, request)
            assert (asked is None) == (at == 3)
            if asked is not None:
                newest = [
                    {
                        "role": "assistant",
                        "content": None,
                        "function_call": {"name": asked[0], "arguments": asked[1]},
                    },
                    {"role": "function", "name": asked[0], "content": f"result {at}"},
                ]
    pdoctor_trace.flush()
    (run,) = sink.runs
    assert run["pdoctor.run.calls"] == 3
    assert [(call.call_id, call.tool, call.result) for call in sink.calls] == [
        ("function_call:1", "add", "result 0"),
        ("function_call:2", "add", "result 1"),
        ("function_call:3", "boom", "result 2"),
    ]
