"""LiteLLM loops on scripted Chat Completions models: rebuilt from the traffic."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import pdoctor_trace
from tests.frameworks.conformance import QUERY, Driver, Outcome, RawLoop, ToolLog, limit
from tests.support.hostile import ARGUMENTS
from tests.support.models import FakeModels
from tests.support.sick_models import TOOLS, SickModels, sick_models, words
from tests.support.sink import OtlpSink

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # or it is fetched from the network
import litellm

# LiteLLM's own: its loggers outlive event loops, its models drop fields while they are dumped.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

NAMES = {"add": {"a": "integer", "b": "integer"}, "slow_echo": {"text": "string"}, "boom": {"x": "string"}}
MODES = ("completion", "stream", "acompletion", "astream")


def schema(tool: Callable[..., Any]) -> dict[str, Any]:
    name, about = tool.__name__, tool.__doc__ or ""
    parameters = NAMES.get(name, {"text": "string"})
    shape = {"type": "object", "properties": {key: {"type": kind} for key, kind in parameters.items()}}
    return {"type": "function", "function": {"name": name, "description": about, "parameters": shape}}


def execute(tools: dict[str, Callable[..., Any]], name: str, raw: str) -> str:
    """What user code does with a call: parse, run, turn any error into text."""
    try:
        arguments = json.loads(raw)
        if name == "add" and not isinstance(arguments["a"], int):
            raise TypeError("a must be an integer")
        return str(tools[name](**arguments))
    except Exception as error:
        return f"Error: {type(error).__name__}"


async def perform(tools: dict[str, Callable[..., Any]], name: str, raw: str) -> str:
    """The same; coroutine functions are awaited."""
    if asyncio.iscoroutinefunction(tools.get(name)):
        return str(await tools[name](**json.loads(raw)))
    return execute(tools, name, raw)


async def ask(request: dict[str, Any], mode: str) -> Any:
    if mode == "completion":
        reply = litellm.completion(**request)
    elif mode == "acompletion":
        reply = await litellm.acompletion(**request)
    elif mode == "stream":
        reply = litellm.stream_chunk_builder(list(litellm.completion(stream=True, **request)))
    else:
        stream = await litellm.acompletion(stream=True, **request)
        reply = litellm.stream_chunk_builder([chunk async for chunk in stream])
    return reply.choices[0].message


async def loop(models: FakeModels, model: str, tools: Sequence[Callable[..., Any]], mode: str) -> str:
    """The loop everybody writes."""
    by_name = {tool.__name__: tool for tool in tools}
    offered = [schema(tool) for tool in tools]
    messages: list[Any] = [{"role": "user", "content": QUERY}]
    where = {"model": f"openai/{model}", "api_base": models.openai, "api_key": "x", "max_retries": 0}
    while True:
        message = await ask({**where, "messages": messages, "tools": offered}, mode)
        if not message.tool_calls:
            return str(message.content)
        messages.append(message.model_dump())
        for call in message.tool_calls:
            content = await perform(by_name, call.function.name, call.function.arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": content})


def at_once(talk: Coroutine[Any, Any, str]) -> str:
    """The result of a coroutine that waits for nothing."""
    try:
        talk.send(None)
    except StopIteration as done:
        return str(done.value)
    raise AssertionError("it waited")


class LiteLlmDriver(Driver):
    source = "litellm"
    blocked = "loop"
    modes = MODES
    streaming = ("stream", "astream")
    sync_mode = "completion"
    unreadable = ("huge int", "deep")
    refusals_are_seen = False
    exact = False
    raising_tool_is_seen = False
    wrong_arguments_are_seen = False

    def run(self, models: FakeModels, script: str, tools: Any, mode: str) -> Outcome:
        try:
            talk = loop(models, script, tools, mode)
            return Outcome(text=at_once(talk) if mode in ("completion", "stream") else asyncio.run(talk))
        except BaseException as error:
            return Outcome(error=error)

    async def arun(self, models: FakeModels, script: str, tools: Any) -> Outcome:
        return Outcome(text=await loop(models, script, tools, "acompletion"))

    def nested(self, models: FakeModels, log: ToolLog) -> Outcome:
        def ask_sub(text: str) -> str:
            """Ask another agent, in a thread: its loop of events is its own."""
            with ThreadPoolExecutor(1) as pool:
                job = pool.submit(self.run, models, "fake.par", log.functions(), "completion")
                return str(job.result().text)

        return self.run(models, "fake.nest", [ask_sub], "completion")


@limit("litellm", "bounds")
class TestLiteLlm(RawLoop):
    driver = LiteLlmDriver()


def test_a_wrapped_tool_gives_exact_times_and_the_error_itself(models: FakeModels, sink: OtlpSink) -> None:
    log = ToolLog()
    asyncio.run(loop(models, "fake.one.boom", pdoctor_trace.wrap_tools(log.functions()), "completion"))
    pdoctor_trace.flush()
    assert [(c.tool, c["pdoctor.tool.timing"], c.kind, c["error.type"]) for c in sink.calls] == [
        ("add", "exact", None, None),
        ("boom", "exact", "tool_raised", "RuntimeError"),
    ]
    assert {call["pdoctor.source"] for call in sink.calls} == {"litellm"}


def test_a_plain_completion_without_tools_is_no_agent_run(models: FakeModels, sink: OtlpSink) -> None:
    request = {"model": "openai/fake", "api_base": models.openai, "api_key": "x"}
    litellm.completion(messages=[{"role": "user", "content": QUERY}], **request)
    pdoctor_trace.flush()
    assert sink.spans == []


def test_the_router_is_seen(models: FakeModels, sink: OtlpSink) -> None:
    params = {"model": "openai/fake.one", "api_base": models.openai, "api_key": "x", "max_retries": 0}
    router = litellm.Router(model_list=[{"model_name": "m", "litellm_params": params}])
    messages: list[Any] = [{"role": "user", "content": QUERY}]
    offered = [schema(ToolLog().functions()[0])]
    message = router.completion(model="m", messages=messages, tools=offered).choices[0].message
    answer = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "42"}
    router.completion(model="m", messages=[*messages, message.model_dump(), answer], tools=offered)
    pdoctor_trace.flush()
    assert [(call.tool, call.executed, call.result, call["pdoctor.source"]) for call in sink.calls] == [
        ("add", True, "42", "litellm")
    ]


@limit("litellm", "other surfaces")
def test_the_responses_surface_is_not_seen(models: FakeModels, sink: OtlpSink) -> None:
    where = {"model": "openai/fake.one", "api_base": models.openai, "api_key": "x"}
    tools: Any = [{"type": "function", **schema(ToolLog().functions()[0])["function"]}]
    reply = litellm.responses(input=QUERY, tools=tools, **where)
    assert [item.type for item in reply.output] == ["function_call"]
    pdoctor_trace.flush()
    assert sink.spans == []


@limit("litellm", "unreadable replies")
def test_replies_that_cannot_be_read_raise_before_there_is_a_call(models: FakeModels, sink: OtlpSink) -> None:
    log = ToolLog()
    for name in TestLiteLlm.driver.unreadable:
        script = f"fake.args{list(ARGUMENTS).index(name)}"
        outcome = TestLiteLlm.driver.run(models, script, [log.taking()], "completion")
        assert (outcome.error is None, log.entries) == (False, []), name
    pdoctor_trace.flush()
    assert sink.calls == []


def litellm_twice(server: SickModels) -> None:
    """A loop that answers the call of the first reply and asks again."""
    messages: list[Any] = [{"role": "user", "content": QUERY}]
    common = {"model": "openai/m", "api_key": "k", "api_base": f"{server.url}/v1", "tools": TOOLS}
    made = litellm.completion(messages=messages, max_retries=0, **common)
    call = made.choices[0].message.tool_calls[0]
    messages.append(made.choices[0].message.model_dump(exclude_none=True))
    messages.append({"role": "tool", "tool_call_id": call.id, "content": "3"})
    litellm.completion(messages=messages, max_retries=0, **common)


@pytest.mark.parametrize("scope", ["announced", "bare"])
@pytest.mark.parametrize(
    ("script", "kind"),
    [
        ((401,), "endpoint"),
        ((400,), "endpoint"),
        (("ask", 429), "endpoint"),
        (("ask", 500), "endpoint"),
        (("ask", "close"), "endpoint"),
        (("ask", 400), None),
        (("ask", "done"), None),
    ],
    ids=str,
)
def test_an_endpoint_that_ends_the_run_is_trouble(
    sink: OtlpSink, script: tuple[Any, ...], kind: str | None, scope: str
) -> None:
    with sick_models(*script) as server, contextlib.suppress(Exception):
        if scope == "bare":
            litellm_twice(server)
        else:
            with pdoctor_trace.run(agent="me"):
                litellm_twice(server)
    pdoctor_trace.flush()
    (root,) = [span for span in sink.runs if span["pdoctor.run.calls"] is not None]
    assert root["pdoctor.run.trouble.kind"] == kind
    if kind is not None and isinstance(script[-1], int):
        assert root["pdoctor.run.trouble.status"] == script[-1]
        assert words(script[-1]) in root["pdoctor.run.trouble.message"]
