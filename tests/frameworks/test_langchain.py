"""LangChain `create_agent` and LangGraph on a scripted model behind the real OpenAI SDK."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ToolRetryMiddleware, after_model
from langchain.agents.structured_output import ToolStrategy
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, StructuredTool
from langchain_openai import ChatOpenAI
from openai import DefaultAsyncHttpxClient, DefaultHttpxClient
from pydantic import BaseModel

import pdoctor_trace
from tests.frameworks.conformance import QUERY, TOLD, Conformance, Driver, Outcome, ToolLog, limit
from tests.frameworks.refusals import assert_run_with_other_arguments, changing
from tests.support.models import FakeModels
from tests.support.sick_models import sick_models
from tests.support.sink import OtlpSink

QUIET: Any = {"max_retries": 0, "api_key": "x"}


def asked() -> Any:
    return {"messages": [{"role": "user", "content": QUERY}]}


def as_tools(functions: Sequence[Callable[..., Any]]) -> list[BaseTool]:
    return [f if isinstance(f, BaseTool) else StructuredTool.from_function(f) for f in functions]


def with_agent(models: FakeModels, model: str, tools: Any, use: Callable[[Any], Any], **options: Any) -> Any:
    """Use an agent with an HTTP client of its own, closed afterwards."""
    with DefaultHttpxClient() as client:
        chat = ChatOpenAI(model=model, base_url=models.openai, http_client=client, **QUIET)
        return use(create_agent(chat, as_tools(tools), name="tester", **options))


async def with_async_agent(
    models: FakeModels, model: str, tools: Any, use: Callable[[Any], Any], **options: Any
) -> Any:
    async with DefaultAsyncHttpxClient() as client:
        chat = ChatOpenAI(model=model, base_url=models.openai, http_async_client=client, **QUIET)
        return await use(create_agent(chat, as_tools(tools), name="tester", **options))


def last_text(state: Any) -> str:
    return state["messages"][-1].content


def stream(agent: Any) -> Any:
    final = None
    for state in agent.stream(asked(), stream_mode="values"):
        assert pdoctor_trace.runs.CURRENT.get() is None or pdoctor_trace.runs.current().call is None
        final = state
    return final


def stream_messages(agent: Any) -> Any:
    """Token by token; the text of the last message comes in pieces."""
    text, message_id = "", None
    for chunk, _ in agent.stream(asked(), stream_mode="messages"):
        if chunk.type == "tool" or chunk.id != message_id:
            text, message_id = "", chunk.id
        text += chunk.content
    return {"messages": [HumanMessage(text)]}


async def astream(agent: Any) -> Any:
    final = None
    async for state in agent.astream(asked(), stream_mode="values"):
        final = state
    return final


async def aevents(agent: Any) -> Any:
    final = None
    async for event in agent.astream_events(asked(), version="v2"):
        if event["event"] == "on_chain_end" and not event["parent_ids"]:
            final = event["data"]["output"]
    return final


SYNC = {"invoke": lambda agent: agent.invoke(asked()), "stream": stream, "messages": stream_messages}
ASYNC = {"ainvoke": lambda agent: agent.ainvoke(asked()), "astream": astream, "aevents": aevents}


class LangChainDriver(Driver):
    source = "langchain"
    modes = (*SYNC, *ASYNC)
    heavy_modes = ("messages", "aevents")
    streaming = ("messages", "stream", "astream", "aevents")
    sync_mode = "invoke"
    unreadable = ("a list", "a text")
    malformed_is_seen_in = ("invoke", "stream", "ainvoke", "astream")

    def run(self, models: FakeModels, script: str, tools: Any, mode: str) -> Outcome:
        try:
            if mode in SYNC:
                state = with_agent(models, script, tools, SYNC[mode])
            else:
                state = asyncio.run(with_async_agent(models, script, tools, ASYNC[mode]))
        except BaseException as error:
            return Outcome(error=error)
        return Outcome(text=last_text(state))

    async def arun(self, models: FakeModels, script: str, tools: Any) -> Outcome:
        made = [StructuredTool.from_function(coroutine=tool, name=tool.__name__) for tool in tools]
        return Outcome(text=last_text(await with_async_agent(models, script, made, ASYNC["ainvoke"])))

    def nested(self, models: FakeModels, log: ToolLog) -> Outcome:
        def ask_sub(text: str) -> str:
            """Ask another agent."""
            return last_text(with_agent(models, "fake.par", log.functions(), SYNC["invoke"]))

        return self.run(models, "fake.nest", [ask_sub], "invoke")

    def ask(self, models: FakeModels, script: str, tools: Any) -> None:
        with DefaultHttpxClient() as client:
            chat = ChatOpenAI(model=script, base_url=models.openai, http_client=client, **QUIET)
            chat.bind_tools(as_tools(tools)).invoke(QUERY)


class TestLangChain(Conformance):
    driver = LangChainDriver()


def test_retries_by_middleware_are_attempts_of_one_call(models: FakeModels, sink: OtlpSink) -> None:
    log = ToolLog()
    retry = ToolRetryMiddleware(max_retries=2, initial_delay=0.01, jitter=False)
    with_agent(models, "fake.boom", log.functions(), SYNC["invoke"], middleware=[retry])
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert (call["pdoctor.tool.attempts"], len(log.entries)) == (3, 3)
    assert (call.failed, call.kind) == (True, "tool_raised")


def test_structured_output_is_no_tool_call(models: FakeModels, sink: OtlpSink) -> None:
    class Answer(BaseModel):
        text: str

    log = ToolLog()
    strategy: Any = ToolStrategy(Answer)
    with_agent(models, "fake.one.structured", log.functions(), SYNC["invoke"], response_format=strategy)
    pdoctor_trace.flush()
    assert [call.tool for call in sink.calls] == ["add"]
    assert sink.runs[0]["pdoctor.run.calls"] == 1


def test_calls_that_a_failing_sibling_cut_off_are_reported(models: FakeModels, sink: OtlpSink) -> None:
    """The exception of one tool ends the run; a later message's calls are not lost either."""
    log = ToolLog()
    outcome = TestLangChain.driver.run(models, "fake.par.boom", log.functions(), "invoke")
    pdoctor_trace.flush()
    assert isinstance(outcome.error, RuntimeError)
    (run,) = sink.runs
    assert (run.failed, run["error.type"], run["pdoctor.run.calls"]) == (True, "RuntimeError", 3)
    assert len(sink.calls) == 3


def test_a_tool_invoked_directly_is_one_call_without_an_id(sink: OtlpSink) -> None:
    log = ToolLog()
    add = as_tools(log.functions())[0]
    assert add.invoke({"a": 1, "b": 1}) == 2
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert (call.call_id, call.result, call.arguments) == (None, 2, {"a": 1, "b": 1})


def test_a_raw_loop_over_a_langchain_model_is_one_run_with_exact_calls(
    models: FakeModels, sink: OtlpSink
) -> None:
    log = ToolLog()
    tools = {tool.name: tool for tool in as_tools(log.functions())}
    with DefaultHttpxClient() as client:
        chat = ChatOpenAI(model="fake.par.one", base_url=models.openai, http_client=client, **QUIET)
        bound = chat.bind_tools(list(tools.values()))
        messages: list[Any] = [HumanMessage(QUERY)]
        while not messages or messages[-1].type != "ai" or messages[-1].tool_calls:
            reply = bound.invoke(messages)
            messages.append(reply)
            messages += [tools[asked["name"]].invoke(asked) for asked in reply.tool_calls]
    pdoctor_trace.flush()
    (run,) = sink.runs
    assert [call.call_id for call in sink.calls] == ["call_0_0", "call_0_1", "call_1_0"]
    assert {call.parent_id for call in sink.calls} == {run.span_id}
    assert {call["pdoctor.tool.timing"] for call in sink.calls} == {"exact"}
    assert all(isinstance(message, ToolMessage) for message in messages if message.type == "tool")


def test_parallel_calls_overlap_in_their_spans(models: FakeModels, sink: OtlpSink) -> None:
    log = ToolLog()
    TestLangChain.driver.run(models, "fake.sleepy", log.functions(), "invoke")
    pdoctor_trace.flush()
    first, second = sorted(sink.calls, key=lambda call: call.start)
    assert second.start < first.end


def test_cancelling_an_async_run_closes_its_spans(models: FakeModels, sink: OtlpSink) -> None:
    started = asyncio.Event()

    async def add(a: int, b: int) -> int:
        """Never finishes."""
        started.set()
        await asyncio.sleep(60)
        return a + b

    async def main() -> None:
        tool = StructuredTool.from_function(coroutine=add, name="add")
        task = asyncio.create_task(with_async_agent(models, "fake.one", [tool], ASYNC["ainvoke"]))
        await asyncio.wait_for(started.wait(), 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    pdoctor_trace.flush()
    (call,), (run,) = sink.calls, sink.runs
    assert (call.failed, call.kind, run.failed) == (True, "cancelled", True)


def test_a_stream_left_early_still_ends_the_run(models: FakeModels, sink: OtlpSink) -> None:
    log = ToolLog()

    def read_two(agent: Any) -> None:
        states = agent.stream(asked(), stream_mode="values")
        next(states)
        next(states)
        states.close()

    with_agent(models, "fake.par", log.functions(), read_two)
    time.sleep(0.1)
    pdoctor_trace.flush()
    (run,) = sink.runs
    assert not run.failed
    assert run["pdoctor.run.calls"] == len(sink.calls)


@limit("langchain", "streamed malformed arguments")
def test_malformed_arguments_of_a_streamed_reply_are_known_only_as_repaired(
    models: FakeModels, sink: OtlpSink
) -> None:
    log = ToolLog()
    TestLangChain.driver.run(models, "fake.badjson", log.functions(), "messages")
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert (call.arguments, call.kind, call.executed) == ({"a": 1}, "bad_arguments", False)
    assert log.entries == []


@limit("langchain", "unreadable replies")
@pytest.mark.parametrize("script", ["args9", "args10"])
def test_arguments_that_are_no_object_end_the_run_before_there_is_a_call(
    models: FakeModels, sink: OtlpSink, script: str
) -> None:
    log = ToolLog()
    outcome = TestLangChain.driver.run(models, f"fake.{script}", [log.taking()], "invoke")
    pdoctor_trace.flush()
    assert (outcome.error is None, log.entries, sink.calls) == (False, [], [])
    assert [run.failed for run in sink.runs] == [True]


class Weather(Exception):
    """What an SDK that is not watched raises; it carries a status code."""

    def __init__(self, status_code: int) -> None:
        super().__init__(f"status {status_code}")
        self.status_code = status_code


class OtherProvider(BaseChatModel):
    """A chat model on an SDK of its own: its requests are seen through LangChain alone."""

    script: list[Any]

    @property
    def _llm_type(self) -> str:
        return "other"

    def bind_tools(self, tools: Any, **more: Any) -> Any:
        return self

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **more: Any) -> ChatResult:
        step = self.script.pop(0)
        if isinstance(step, int):
            raise Weather(step)
        if step == "unreadable":
            raise ValueError("no reply that can be read")
        calls = [{"name": "add", "args": {}, "id": "c1"}] if step == "ask" else []
        return ChatResult(generations=[ChatGeneration(message=AIMessage(step, tool_calls=calls))])


def sick_agent(tool: Callable[..., Any], *script: Any, other: bool = False) -> None:
    """An agent with one tool, whose model goes by the script; however it ends."""
    tools = [StructuredTool.from_function(tool, name="add", description="adds")]
    with sick_models(*script) as server, contextlib.suppress(Exception), DefaultHttpxClient() as client:
        url = f"{server.url}/v1"
        watched: Any = ChatOpenAI(model="m", base_url=url, http_client=client, **QUIET)
        create_agent(OtherProvider(script=[*script]) if other else watched, tools).invoke(asked())


def add() -> str:
    return "3"


@pytest.mark.parametrize("other", [False, True], ids=["openai", "another SDK"])
@pytest.mark.parametrize(
    ("script", "told"),
    [
        ((429,), ("endpoint", 429)),
        ((400,), ("endpoint", 400)),
        (("ask", 503), ("endpoint", 503)),
        (("ask", 400), (None, None)),
        (("ask", "done"), (None, None)),
    ],
    ids=str,
)
def test_an_endpoint_that_ends_the_run_is_trouble(
    sink: OtlpSink, script: tuple[Any, ...], told: tuple[Any, ...], other: bool
) -> None:
    sick_agent(add, *script, other=other)
    pdoctor_trace.flush()
    (run,) = sink.runs
    assert (run["pdoctor.run.trouble.kind"], run["pdoctor.run.trouble.status"]) == told


def test_a_reply_that_cannot_be_read_is_no_crash_before_the_start(sink: OtlpSink) -> None:
    sick_agent(add, "unreadable", other=True)
    pdoctor_trace.flush()
    (run,) = sink.runs
    assert (run["pdoctor.run.trouble.kind"], run.failed) == (None, True)


@pytest.mark.parametrize("other", [False, True], ids=["openai", "another SDK"])
def test_the_same_exception_out_of_a_tool_is_the_tools(sink: OtlpSink, other: bool) -> None:
    def limited() -> str:
        raise Weather(429)

    sick_agent(limited, "ask", other=other)
    pdoctor_trace.flush()
    (run,) = sink.runs
    assert (run["pdoctor.run.trouble.kind"], run.failed) == (None, True)


def test_an_answer_is_held_back_while_a_rule_waits_for_a_call(sink: OtlpSink) -> None:
    class Scripted(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self

    def asks(name: str) -> AIMessage:
        return AIMessage(content="", tool_calls=[{"name": name, "args": {}, "id": name}])

    def refund() -> str:
        """Refund."""
        return "refunded"

    def notify() -> str:
        """Tell."""
        return "told"

    model = Scripted(
        messages=iter([asks("refund"), AIMessage("done"), asks("notify"), AIMessage("all done")])
    )
    with pdoctor_trace.guard(TOLD) as guard:

        @after_model(can_jump_to=["model"])
        def nothing_is_open(state: Any, runtime: Any) -> dict[str, Any] | None:
            if state["messages"][-1].tool_calls or not (owed := guard.owed()):
                return None
            return {"messages": [HumanMessage(" ".join(one.text for one in owed))], "jump_to": "model"}

        agent = create_agent(model, [refund, notify], middleware=[nothing_is_open])
        *_, last = agent.invoke({"messages": [("user", "Refund it.")]})["messages"]
    pdoctor_trace.flush()
    assert (last.content, [call.tool for call in sink.calls]) == ("all done", ["refund", "notify"])


@pytest.mark.parametrize("mode", [*SYNC, *ASYNC])
def test_a_person_may_give_other_arguments(models: FakeModels, sink: OtlpSink, mode: str) -> None:
    log = ToolLog()
    with changing(a=40, b=3) as questions:
        TestLangChain.driver.run(models, "fake.one", log.functions(), mode)
    assert_run_with_other_arguments(log, sink, questions)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_tool_alone_takes_other_arguments_too(sink: OtlpSink, asynchronous: bool) -> None:
    log = ToolLog()
    add, _, _ = as_tools(log.functions())
    given = {"a": 40, "b": 2}
    with changing(a=40, b=3) as questions:
        said = asyncio.run(add.ainvoke(given)) if asynchronous else add.invoke(given)
    assert said == 43
    assert given == {"a": 40, "b": 2}
    assert_run_with_other_arguments(log, sink, questions)
