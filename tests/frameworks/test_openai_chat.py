"""Raw OpenAI Chat Completions loops: executions rebuilt from the traffic, or seen exactly with `wrap_tools`."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from conformance import QUERY, Conformance, Driver, Outcome, ToolLog
from fake_models import FakeModels
from otlp_sink import OtlpSink

import pdoctor_trace

openai = pytest.importorskip("openai")

NAMES = {"add": {"a": "integer", "b": "integer"}, "slow_echo": {"text": "string"}, "boom": {"x": "string"}}


def schema(name: str, parameters: dict[str, str], **extra: Any) -> dict[str, Any]:
    properties = {key: {"type": kind} for key, kind in parameters.items()}
    shape = {"type": "object", "properties": properties, "required": list(parameters)}
    function = {"name": name, "description": name, "parameters": shape, **extra}
    return {"type": "function", "function": function}


TOOLS = [schema(name, parameters) for name, parameters in NAMES.items()]
STRICT = [schema(name, parameters, strict=True) for name, parameters in NAMES.items()]


def offered(tools: Sequence[Callable[..., Any]]) -> list[dict[str, Any]]:
    known = [schema(t.__name__, NAMES.get(t.__name__, {"text": "string"})) for t in tools]
    return known


def execute(tools: dict[str, Callable[..., Any]], name: str, raw: str) -> str:
    """What user code does with a call: parse, run, turn any error into text."""
    try:
        arguments = json.loads(raw)
        if name == "add" and not isinstance(arguments["a"], int):
            raise TypeError("a must be an integer")
        return str(tools[name](**arguments))
    except Exception as error:
        return f"Error: {type(error).__name__}"


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


SYNC = {
    "create": create,
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
            jobs = [asyncio.to_thread(execute, by_name, name, arguments) for _, name, arguments in calls]
            for (call_id, _, _), content in zip(calls, await asyncio.gather(*jobs), strict=True):
                messages.append({"role": "tool", "tool_call_id": call_id, "content": content})


def client(models: FakeModels) -> Any:
    return openai.OpenAI(base_url=models.openai, api_key="x", max_retries=0)


class ChatDriver(Driver):
    source = "openai"
    modes = (*SYNC, *ASYNC)
    sync_mode = "create"
    exact = False
    raising_tool_is_seen = False
    wrong_arguments_are_seen = False

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


class WrappedChatDriver(ChatDriver):
    """The same loops over tools that the user wrapped: exact times and real errors."""

    exact = True
    raising_tool_is_seen = True

    def prepared(self, tools: Sequence[Callable[..., Any]]) -> Sequence[Callable[..., Any]]:
        return pdoctor_trace.wrap_tools(list(tools))


class TestChat(Conformance):
    driver = ChatDriver()
    limits = {
        "test_a_nested_agent_belongs_to_its_callers_run": "the traffic does not show which tool is running",
        "test_a_hostile_exception_leaves_as_it_came": "see TestWrappedChat: the traffic ends there",
    }


class TestWrappedChat(Conformance):
    driver = WrappedChatDriver()
