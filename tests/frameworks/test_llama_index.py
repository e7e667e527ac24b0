"""LlamaIndex workflow agents on scripted Chat Completions models."""

from __future__ import annotations

import asyncio
import contextlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, CodeActAgent, FunctionAgent, ReActAgent
from llama_index.core.llms import ChatMessage, CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.memory import Memory
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import (
    Context,
    HumanResponseEvent,
    InputRequiredEvent,
    StartEvent,
    StopEvent,
    Workflow,
    step,
)
from llama_index.llms.openai_like import OpenAILike

import pdoctor_trace
from tests.frameworks.conformance import (
    QUERY,
    AsyncDriver,
    Conformance,
    ToolLog,
    apart,
    assert_unreadable_replies_raise,
    limit,
)
from tests.support.hostile import OUTLAWS
from tests.support.models import STEPS, FakeModels
from tests.support.sink import OtlpSink

# LlamaIndex itself looks at every attribute of its pydantic models, and never closes its clients.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

MODES = ("agent", "agent stream", "workflow")


def model(models: FakeModels, script: str) -> Any:
    return OpenAILike(
        model=script,
        api_base=models.openai,
        api_key="x",
        is_chat_model=True,
        is_function_calling_model=True,
        max_retries=0,
    )


async def with_agent(models: FakeModels, script: str, tools: Any, mode: str) -> str:
    made = [FunctionTool.from_defaults(**{_kind(tool): tool}) for tool in tools]
    streaming = mode.endswith("stream")
    agent: Any = FunctionAgent(
        name="tester", description="t", llm=model(models, script), tools=made, streaming=streaming
    )
    if mode == "workflow":
        agent = AgentWorkflow(agents=[agent], root_agent="tester")
    return str(await agent.run(user_msg=QUERY))


def _kind(tool: Any) -> str:
    return "async_fn" if asyncio.iscoroutinefunction(tool) else "fn"


class LlamaIndexDriver(AsyncDriver):
    source = "llama_index"
    modes = MODES
    streaming = ("agent stream",)
    fatal = tuple(OUTLAWS)
    endless = ("StopIteration",)
    sync_mode = "agent"
    unreadable = ("deep",)
    answers_in_order = False

    async def answer(self, models: FakeModels, script: str, tools: Any, mode: str) -> str:
        return await with_agent(models, script, tools, mode)

    async def aask(self, models: FakeModels, script: str, tools: Any) -> None:
        """An agent's tools and its model, without running it."""
        made = [FunctionTool.from_defaults(tool) for tool in tools]
        agent = FunctionAgent(name="inner", description="i", llm=model(models, script), tools=made)
        await model(models, script).achat_with_tools(await agent.get_tools(), user_msg=QUERY)


class TestLlamaIndex(Conformance):
    driver = LlamaIndexDriver()

    @limit("llama_index", "unchecked types")
    def test_wrong_arguments(self, models: FakeModels, sink: OtlpSink, log: ToolLog, mode: str) -> None:
        """Types are not checked against the schema, so the tool itself runs and fails."""
        self._run(models, "badtype", log, mode)
        (call,) = sink.calls
        assert call.arguments == {"a": "not-a-number", "b": 2}
        assert (call.executed, call.kind, call["error.type"]) == (True, "tool_raised", "TypeError")
        assert log.names == ["add"]

    @limit("llama_index", "repaired arguments")
    def test_malformed_arguments(self, models: FakeModels, sink: OtlpSink, log: ToolLog, mode: str) -> None:
        """LlamaIndex repairs the text (here to a null) and runs the tool with that."""
        self._run(models, "badjson", log, mode)
        (call,) = sink.calls
        assert call.arguments == {"a": 1, "b": None}
        assert (call.executed, call.kind, log.names) == (True, "tool_raised", ["add"])

    def test_a_missing_argument_is_no_execution(
        self, models: FakeModels, sink: OtlpSink, log: ToolLog, mode: str
    ) -> None:
        self._run(models, "missing", log, mode)
        (call,) = sink.calls
        assert (call.executed, call.kind, log.names) == (False, "bad_arguments", [])


@pytest.mark.cell("workflow")
@pytest.mark.cell("hand-over")
@pytest.mark.parametrize("how", ["agent", "workflow"])
def test_arguments_that_the_host_gives_a_tool_are_what_it_runs_with(
    models: FakeModels, sink: OtlpSink, how: str
) -> None:
    """Those of the model go before them."""
    add = ToolLog().functions()[0]
    tool = FunctionTool.from_defaults(lambda a, b, unit: f"{add(a, b)} {unit}", name="add", description="d")
    tool.partial_params = {"unit": "EUR", "b": 7}

    async def main() -> None:
        agent: Any = FunctionAgent(name="t", description="t", llm=model(models, "fake.one"), tools=[tool])
        await (AgentWorkflow(agents=[agent]) if how == "workflow" else agent).run(user_msg=QUERY)

    asyncio.run(main())
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert (call.arguments, call.result) == ({"unit": "EUR", "a": 40, "b": 2}, "42 EUR")
    assert call["pdoctor.tool.asked_arguments"] == '{"a":40,"b":2}'


def test_a_hand_over_is_a_call_of_the_same_run(models: FakeModels, sink: OtlpSink) -> None:
    STEPS["over"] = [("handoff", '{"to_agent": "beta", "reason": "r"}')]
    tools = [FunctionTool.from_defaults(tool) for tool in ToolLog().functions()]
    alpha = FunctionAgent(
        name="alpha", description="a", llm=model(models, "fake.over"), tools=tools, can_handoff_to=["beta"]
    )
    beta = FunctionAgent(name="beta", description="b", llm=model(models, "fake.over.one"), tools=tools)

    async def main() -> None:
        await AgentWorkflow(agents=[alpha, beta], root_agent="alpha").run(user_msg=QUERY)

    asyncio.run(main())
    pdoctor_trace.flush()
    assert [(call.tool, call["gen_ai.agent.name"], call.executed, call.failed) for call in sink.calls] == [
        ("handoff", "alpha", True, False),
        ("add", "beta", True, False),
    ]
    (run,) = sink.runs
    assert run["pdoctor.run.calls"] == 2
    (around,) = sink.workflows
    assert (around.parent_id, run.parent_id) == ("", around.span_id)


class Twice(Workflow):
    """Two agents, one after the other."""

    def __init__(self, work: Any) -> None:
        super().__init__(timeout=60)
        self.work = work

    @step
    async def begin(self, ev: StartEvent) -> StopEvent:
        return StopEvent(result=[await self.work(), await self.work()])


Twice.begin.__annotations__.update(ev=StartEvent, **{"return": StopEvent})


def fails() -> Any:
    raise RuntimeError("boom")


@pytest.mark.cell("workflow")
def test_a_workflow_of_your_own_is_one_run_of_what_stands_in_its_steps(
    models: FakeModels, sink: OtlpSink
) -> None:
    def work() -> Any:
        return with_agent(models, "fake.one", ToolLog().functions(), "agent")

    async def main() -> None:
        await Twice(work).run(topic=QUERY, limit=3)

    asyncio.run(main())
    pdoctor_trace.flush()
    assert len({span.run_id for span in sink.spans}) == 1
    assert [(call.tool, call["gen_ai.agent.name"]) for call in sink.calls] == [("add", "tester")] * 2
    run, *inner = sink.runs
    assert (run["gen_ai.agent.name"], run["pdoctor.run.calls"]) == ("Twice", 2)
    assert [one.parent_id for one in inner] == [run.span_id] * 2
    (around,) = sink.workflows
    assert (around.parent_id, run.parent_id) == ("", around.span_id)
    assert QUERY in around["gen_ai.input.messages"]


def test_a_workflow_of_your_own_that_fails(sink: OtlpSink) -> None:
    async def main() -> None:
        with contextlib.suppress(RuntimeError):
            await Twice(fails).run(topic=QUERY, title="other")

    asyncio.run(main())
    pdoctor_trace.flush()
    (run,) = sink.runs
    assert (run.failed, run["gen_ai.input.messages"]) == (True, None)


async def ask_a_person(ctx: Context, text: str) -> str:
    """Echo what a person says."""
    answer = await ctx.wait_for_event(HumanResponseEvent, waiter_event=InputRequiredEvent(prefix=text))
    return str(answer.response)


ask_a_person.__annotations__["ctx"] = Context  # LlamaIndex does not read the names of types


def asking(models: FakeModels) -> FunctionAgent:
    STEPS["person"] = [("ask_a_person", '{"text": "sure?"}')]
    made = [FunctionTool.from_defaults(async_fn=ask_a_person)]
    return FunctionAgent(name="asker", description="a", llm=model(models, "fake.person"), tools=made)


def test_a_tool_that_waits_for_a_person_is_one_call(models: FakeModels, sink: OtlpSink) -> None:
    async def main() -> None:
        memory = Memory.from_defaults(session_id="s1", token_limit=40_000)
        handler = asking(models).run(user_msg=QUERY, memory=memory)
        async for event in handler.stream_events():
            if isinstance(event, InputRequiredEvent):
                handler.ctx.send_event(HumanResponseEvent(response="yes"))
        await handler

    asyncio.run(main())
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert (call.call_id, call.result, call.executed) == ("call_0_0", "yes", True)
    (run,) = sink.runs
    assert (run["pdoctor.run.calls"], run["pdoctor.run.state"]) == (1, None)
    assert run["gen_ai.conversation.id"] == "s1"


@limit("llama_index", "stored waits")
@pytest.mark.cell("other process")
@pytest.mark.cell("pause")
def test_a_run_that_is_ended_while_a_person_is_waited_for_is_paused(
    models: FakeModels, sink: OtlpSink
) -> None:
    async def main() -> None:
        handler = asking(models).run(user_msg=QUERY)
        async for event in handler.stream_events():
            if isinstance(event, InputRequiredEvent):
                break
        await asyncio.sleep(0.05)
        await handler.cancel_run()
        with contextlib.suppress(BaseException):
            await handler

    asyncio.run(main())
    pdoctor_trace.flush()
    (run,) = sink.runs
    assert (run["pdoctor.run.state"], run["pdoctor.run.pause_reason"]) == ("paused", "input")
    assert run["pdoctor.run.token"] is None
    assert (run["pdoctor.run.calls"], sink.calls) == (0, [])


class Scripted(CustomLLM):
    """A model without tool calling: says the given texts in order."""

    replies: list[str]

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="scripted")

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=self.replies.pop(0))

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        text = self.replies.pop(0)
        return iter([CompletionResponse(text=text, delta=text)])


def test_a_react_agent_writes_its_calls_as_text(sink: OtlpSink) -> None:
    log = ToolLog()
    replies = [
        'Thought: go.\nAction: add\nAction Input: {"a": 1, "b": 2}\n',
        'Thought: go.\nAction: no_such_tool\nAction Input: {"q": 2}\n',
        'Thought: go.\nAction: boom\nAction Input: {"x": "kaput"}\n',
        "Thought: I can answer.\nAnswer: done",
    ]
    tools = [FunctionTool.from_defaults(tool) for tool in log.functions()]

    async def main() -> str:
        return str(await ReActAgent(name="react", llm=Scripted(replies=replies), tools=tools).run(QUERY))

    assert asyncio.run(main()) == "done"
    pdoctor_trace.flush()
    assert [(call.tool, call.executed, call.kind) for call in sink.calls] == [
        ("add", True, None),
        ("no_such_tool", False, "unknown_tool"),
        ("boom", True, "tool_raised"),
    ]
    assert log.names == ["add", "boom"]
    assert QUERY in sink.runs[0]["gen_ai.input.messages"]


async def asked_for(llm: Any, tools: Any) -> None:
    await llm.apredict_and_call(tools, user_msg=QUERY, allow_parallel_tool_calls=True)
    pdoctor_trace.flush()  # ends the conversation of this task


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_predict_and_call_outside_an_agent(models: FakeModels, sink: OtlpSink, kind: str) -> None:
    log = ToolLog()
    tools = [FunctionTool.from_defaults(tool) for tool in log.functions()]
    llm = model(models, "fake.par")
    if kind == "sync":
        llm.predict_and_call(tools, user_msg=QUERY, allow_parallel_tool_calls=True)
    else:
        asyncio.run(asked_for(llm, tools))
    pdoctor_trace.flush()
    assert [(call.tool, call.executed, call["pdoctor.tool.timing"]) for call in sink.calls] == [
        ("add", True, "exact"),
        ("slow_echo", True, "exact"),
    ]
    assert sorted(log.names) == ["add", "slow_echo"]


def given_to_hands(tool: Any, mode: str) -> Any:
    if mode == "by place":
        return tool(1, 2)
    return asyncio.run(tool.acall(a=1, b=2)) if mode == "async" else tool.call(a=1, b=2)


@pytest.mark.parametrize("mode", ["sync", "async", "by place"])
def test_a_tool_that_your_own_code_starts_is_a_call(sink: OtlpSink, mode: str) -> None:
    given_to_hands(FunctionTool.from_defaults(ToolLog().functions()[0]), mode)
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert (call.tool, call.executed, call.arguments, call.result) == ("add", True, {"a": 1, "b": 2}, 3)


def test_a_loop_of_your_own_in_a_workflow_is_told_with_exact_times(
    models: FakeModels, sink: OtlpSink
) -> None:
    tools = {tool.metadata.name: tool for tool in map(FunctionTool.from_defaults, ToolLog().functions())}
    llm, history = model(models, "fake.par"), [ChatMessage(role="user", content=QUERY)]

    async def work() -> None:
        for _ in range(2):
            reply = await llm.achat_with_tools(
                list(tools.values()), chat_history=history, allow_parallel_tool_calls=True
            )
            history.append(reply.message)
            for asked in llm.get_tool_calls_from_response(reply, error_on_no_tool_call=False):
                content = tools[asked.tool_name](**asked.tool_kwargs).content
                more = {"tool_call_id": asked.tool_id}
                history.append(ChatMessage(role="tool", content=content, additional_kwargs=more))

    class Once(Workflow):
        @step
        async def begin(self, ev: StartEvent) -> StopEvent:
            return StopEvent(result=await work())

    async def main() -> None:
        await Once(timeout=60).run(topic=QUERY)

    Once.begin.__annotations__.update(ev=StartEvent, **{"return": StopEvent})
    asyncio.run(main())
    pdoctor_trace.flush()
    assert [(call.tool, call.call_id, call["pdoctor.tool.timing"]) for call in sink.calls] == [
        ("add", "call_0_0", "exact"),
        ("slow_echo", "call_0_1", "exact"),
    ]
    assert {span.run_id for span in sink.spans} == {sink.runs[0].run_id}


def test_a_tool_that_another_one_starts_is_a_call_of_its_own(models: FakeModels, sink: OtlpSink) -> None:
    """Even with equal arguments, and where it fails."""

    def boom(a: int, b: int) -> int:
        """Fail."""
        raise RuntimeError("boom")

    failing = FunctionTool.from_defaults(boom)

    def add(a: int, b: int) -> int:
        """Add with another tool."""
        return int(failing(a=a, b=b).raw_output)

    asyncio.run(with_agent(models, "fake.one", [add], "agent"))
    pdoctor_trace.flush()
    told = [(call.tool, call.arguments, call.failed, call.message) for call in sink.calls]
    ours = {"a": 40, "b": 2}
    assert told == [("add", ours, True, "boom"), ("boom", ours, True, "boom")]


@limit("llama_index", "code as a call")
def test_code_that_an_agent_writes_is_one_call(sink: OtlpSink) -> None:
    """Which tools the code uses is up to whoever runs it."""
    log = ToolLog()
    add = log.functions()[0]

    def run_code(code: str) -> str:
        return str(eval(code.strip(), {"add": add}))

    async def main() -> None:
        replies = ["<execute>add(1, 2)</execute>", "done"]
        tools = [FunctionTool.from_defaults(add)]
        await CodeActAgent(code_execute_fn=run_code, llm=Scripted(replies=replies), tools=tools).run(QUERY)

    asyncio.run(main())
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert (call.tool, "add(1, 2)" in str(call.arguments), log.names) == ("execute", True, ["add"])


@limit("llama_index", "endless tools")
@pytest.mark.parametrize("name", TestLlamaIndex.driver.endless)
def test_a_tool_that_never_ends_for_the_framework_has_no_span(name: str) -> None:
    told = apart(TestLlamaIndex)[name]
    assert (told["traced"]["calls"], told["traced"]["ran"]) == ([], ["hostile"])
    assert told["traced"]["ending"] == told["untraced"]["ending"]


@limit("llama_index", "unreadable replies")
def test_replies_that_cannot_be_read_raise_before_there_is_a_call(models: FakeModels, sink: OtlpSink) -> None:
    assert_unreadable_replies_raise(TestLlamaIndex.driver, models, sink)


@pytest.mark.parametrize("threads", [False, True])
def test_a_tool_that_misuses_another_one_ran(models: FakeModels, sink: OtlpSink, threads: bool) -> None:
    """Only the other one, which it gives what it does not take, did not."""
    log = ToolLog()
    inner = FunctionTool.from_defaults(log.functions()[0], name="inner")

    def add(a: int, b: int) -> str:
        """Add two integers."""
        log.record("outer", {}, lambda: None)
        if threads:
            with ThreadPoolExecutor() as pool:
                return str(pool.submit(log.functions()[0], a).result())
        return str(inner.call(a=a))

    asyncio.run(with_agent(models, "fake.one", [add], "agent"))
    pdoctor_trace.flush()
    told = [(call.tool, call.executed, call.kind) for call in sink.calls]
    assert told[0] == ("add", True, "tool_raised")
    assert told[1:] == ([] if threads else [("inner", False, "bad_arguments")])
    assert log.names == ["outer"]
