"""Google ADK on a scripted Chat Completions model, through LiteLLM."""

from __future__ import annotations

import asyncio
import os
import warnings
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

import pdoctor_trace
from tests.frameworks.conformance import (
    LEAVES_ASYNCIO_BROKEN,
    MCP_SERVER,
    QUERY,
    AsyncDriver,
    Conformance,
    ToolLog,
    assert_mcp_calls_are_one_span_each,
    assert_unreadable_replies_raise,
    limit,
)
from tests.frameworks.refusals import denying
from tests.support.models import STEPS, FakeModels
from tests.support.sink import OtlpSink

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("ADK_DISABLE_LOAD_DOTENV", "1")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from google.adk.agents import BaseAgent, LlmAgent, SequentialAgent
    from google.adk.agents.run_config import RunConfig, StreamingMode
    from google.adk.events import Event
    from google.adk.models.lite_llm import LiteLlm
    from google.adk.models.llm_request import LlmRequest
    from google.adk.runners import InMemoryRunner
    from google.adk.tools.agent_tool import AgentTool
    from google.adk.tools.function_tool import FunctionTool
    from google.adk.tools.mcp_tool.mcp_session_manager import StdioConnectionParams
    from google.adk.tools.mcp_tool.mcp_toolset import McpToolset
    from google.adk.tools.tool_context import ToolContext
    from google.genai import types
    from mcp import StdioServerParameters

# ADK and LiteLLM use what they themselves call deprecated or doubtful, and never close their clients.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def agent(models: FakeModels, script: str, tools: Any, **options: Any) -> LlmAgent:
    model = language_model(models, script)
    return LlmAgent(**{"name": "tester", "model": model, "tools": list(tools), **options})


def language_model(models: FakeModels, script: str) -> LiteLlm:
    return LiteLlm(model=f"openai/{script}", api_base=models.openai, api_key="x", num_retries=0)


async def run(root: LlmAgent, mode: str) -> str:
    runner = InMemoryRunner(agent=root, app_name="lab")
    session = await runner.session_service.create_session(app_name="lab", user_id="u")
    streaming = StreamingMode.SSE if mode == "streaming" else StreamingMode.NONE
    given: dict[str, Any] = {
        "user_id": "u",
        "session_id": session.id,
        "new_message": types.Content(role="user", parts=[types.Part(text=QUERY)]),
        "run_config": RunConfig(streaming_mode=streaming),
    }
    if mode == "sync":
        events = await asyncio.to_thread(lambda: list(runner.run(**given)))
    else:
        events = [event async for event in runner.run_async(**given)]
    parts = (events[-1].content.parts if events[-1].content else None) or []
    return "".join(part.text or "" for part in parts)


class AdkDriver(AsyncDriver):
    source = "google_adk"
    modes = ("async", "streaming", "sync")
    streaming = ("streaming",)
    sync_mode = "async"
    unreadable = ("huge int", "deep")
    fatal = LEAVES_ASYNCIO_BROKEN

    async def answer(self, models: FakeModels, script: str, tools: Any, mode: str) -> str:
        return await run(agent(models, script, tools), mode)

    async def aask(self, models: FakeModels, script: str, tools: Any) -> None:
        request = LlmRequest(contents=[types.Content(role="user", parts=[types.Part(text=QUERY)])])
        request.append_tools([FunctionTool(tool) for tool in tools])
        assert [reply async for reply in language_model(models, script).generate_content_async(request)]


class TestGoogleAdk(Conformance):
    driver = AdkDriver()

    @limit("google_adk", "unchecked types")
    def test_wrong_arguments(self, models: FakeModels, sink: OtlpSink, log: ToolLog, mode: str) -> None:
        """ADK does not check plain types: the tool itself gets the string, and raises."""
        self._run(models, "badtype", log, mode)
        assert [(call.arguments, call.executed, call.kind, call["error.type"]) for call in sink.calls] == [
            ({"a": "not-a-number", "b": 2}, True, "tool_raised", "TypeError")
        ]
        assert len(log.entries) == 1

    def test_a_missing_argument(self, models: FakeModels, sink: OtlpSink, log: ToolLog, mode: str) -> None:
        self._run(models, "missing", log, mode)
        assert [(call.arguments, call.executed, call.kind) for call in sink.calls] == [
            ({"a": 1}, False, "bad_arguments")
        ]
        assert log.entries == []

    def test_malformed_arguments(self, models: FakeModels, sink: OtlpSink, log: ToolLog, mode: str) -> None:
        if mode != "streaming":
            super().test_malformed_arguments(models, sink, log, mode)

    @limit("google_adk", "streamed malformed arguments")
    def test_malformed_arguments_of_a_streamed_reply(
        self, models: FakeModels, sink: OtlpSink, log: ToolLog
    ) -> None:
        """LiteLlm drops the whole reply, the tool's name included."""
        self._run(models, "badjson", log, "streaming")
        assert (sink.calls, log.entries) == ([], [])


def test_an_agent_as_tool_is_one_call_with_a_run_inside(models: FakeModels, sink: OtlpSink) -> None:
    STEPS["helper"] = [("helper", '{"request": "help"}')]
    helper = agent(models, "fake.one", ToolLog().functions(), name="helper", description="Helps.")
    asyncio.run(run(agent(models, "fake.helper", [AgentTool(helper)]), "async"))
    pdoctor_trace.flush()
    outer, inner = sink.runs
    ask, add = sink.calls
    assert (ask.tool, ask.parent_id, inner.parent_id) == ("helper", outer.span_id, ask.span_id)
    assert (add.tool, add.parent_id, add.run_id) == ("add", inner.span_id, outer.run_id)


def test_a_transfer_to_another_agent_stays_in_the_run(models: FakeModels, sink: OtlpSink) -> None:
    STEPS["transfer"] = [("transfer_to_agent", '{"agent_name": "helper"}')]
    helper = agent(models, "fake.one.one", ToolLog().functions(), name="helper", description="Helps.")
    asyncio.run(run(agent(models, "fake.transfer", [], sub_agents=[helper]), "async"))
    pdoctor_trace.flush()
    (only,) = sink.runs
    assert [(call.tool, call.parent_id) for call in sink.calls][:2] == [
        ("transfer_to_agent", only.span_id),
        ("add", only.span_id),
    ]


def test_what_a_callback_answers_is_a_call_that_no_tool_ran(models: FakeModels, sink: OtlpSink) -> None:
    def refuse(tool: Any, args: Any, tool_context: Any) -> dict[str, Any]:
        return {"result": "not today"}

    log = ToolLog()
    asyncio.run(run(agent(models, "fake.one", log.functions(), before_tool_callback=refuse), "async"))
    pdoctor_trace.flush()
    assert [(call.executed, call.failed, call.result) for call in sink.calls] == [
        (False, False, {"result": "not today"})
    ]
    assert log.entries == []


@pytest.mark.parametrize("awaited", [False, True], ids=["generator", "async generator"])
def test_a_tool_that_yields_is_a_call_that_ran(models: FakeModels, sink: OtlpSink, awaited: bool) -> None:
    def add(a: int, b: int) -> Iterator[int]:
        """Add two integers."""
        yield a + b

    async def add_later(a: int, b: int) -> AsyncIterator[int]:
        for value in add(a, b):
            yield value

    add_later.__name__ = "add"
    asyncio.run(run(agent(models, "fake.one", [add_later if awaited else add]), "async"))
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert (call.executed, call.failed, call.arguments) == (True, False, {"a": 40, "b": 2})
    assert "42" in str(call.result)


def test_a_guard_is_asked_before_a_tool_that_yields(models: FakeModels, sink: OtlpSink) -> None:
    ran = []

    def add(a: int, b: int) -> Iterator[int]:
        """Add two integers."""
        ran.append(a)
        yield a + b

    with denying("add"):
        asyncio.run(run(agent(models, "fake.one", [add]), "async"))
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert (call.executed, ran) == (False, [])


def test_a_tool_that_an_agent_of_your_own_starts_is_a_call(sink: OtlpSink) -> None:
    made = FunctionTool(ToolLog().functions()[0])

    class Own(BaseAgent):
        async def _run_async_impl(self, ctx: Any) -> Any:
            result = await made.run_async(args={"a": 1, "b": 2}, tool_context=ToolContext(ctx))
            yield Event(author="own", content=types.Content(parts=[types.Part(text=str(result))]))

    own: Any = Own(name="own")
    assert asyncio.run(run(own, "async")) == "3"
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert (call.tool, call.executed, call.arguments, call.result) == ("add", True, {"a": 1, "b": 2}, 3)
    assert sink.runs[0]["pdoctor.run.calls"] == 1


def test_a_tool_that_another_one_starts_is_a_call_of_its_own(models: FakeModels, sink: OtlpSink) -> None:
    made = FunctionTool(ToolLog().functions()[0])

    async def outer(a: int, b: int, tool_context: ToolContext) -> int:
        """Add with another tool."""
        return int(await made.run_async(args={"a": a, "b": b}, tool_context=tool_context))

    outer.__annotations__["tool_context"] = ToolContext
    STEPS["outer"] = [("outer", '{"a": 1, "b": 2}')]
    asyncio.run(run(agent(models, "fake.outer", [outer]), "async"))
    pdoctor_trace.flush()
    above, below = sink.calls
    assert [(call.tool, call.arguments, call.result) for call in (above, below)] == [
        ("outer", {"a": 1, "b": 2}, 3),
        ("add", {"a": 1, "b": 2}, 3),
    ]
    assert below.parent_id == above.span_id


@limit("google_adk", "unreadable replies")
def test_replies_that_cannot_be_read_raise_before_there_is_a_call(models: FakeModels, sink: OtlpSink) -> None:
    assert_unreadable_replies_raise(TestGoogleAdk.driver, models, sink)


def test_tools_of_an_mcp_server_are_one_span_each(models: FakeModels, sink: OtlpSink) -> None:
    command, *args = MCP_SERVER
    server = StdioServerParameters(command=command, args=args)

    async def main() -> None:
        tools = McpToolset(connection_params=StdioConnectionParams(server_params=server, timeout=30.0))
        try:
            await run(agent(models, "fake.par.boom", [tools]), "async")
        finally:
            await tools.close()

    asyncio.run(main())
    assert_mcp_calls_are_one_span_each(sink, "google_adk")


def test_a_callback_may_change_what_a_tool_gets(models: FakeModels, sink: OtlpSink) -> None:
    def less(tool: Any, args: dict[str, Any], tool_context: Any) -> None:
        args["b"] = 40

    asyncio.run(run(agent(models, "fake.one", ToolLog().functions(), before_tool_callback=less), "async"))
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert (call.executed, call.arguments, call.result) == (True, {"a": 40, "b": 40}, 80)
    assert call["pdoctor.tool.asked_arguments"] == '{"a":40,"b":2}'


@pytest.mark.cell("workflow")
def test_agents_in_a_row_are_a_workflow_and_one_is_none(models: FakeModels, sink: OtlpSink) -> None:
    tools = ToolLog().functions()
    asyncio.run(run(agent(models, "fake.one", tools), "async"))
    pdoctor_trace.flush()
    assert sink.workflows == []
    sink.clear()
    both = [agent(models, "fake.one", tools, name=name) for name in ("first", "second")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        row: Any = SequentialAgent(name="row", sub_agents=both)
    asyncio.run(run(row, "async"))
    pdoctor_trace.flush()
    (around,) = sink.workflows
    (root,) = (one for one in sink.runs if one["pdoctor.run.calls"] is not None)
    assert (around.name, around.parent_id, root.parent_id) == ("invoke_workflow row", "", around.span_id)
    assert [call["gen_ai.agent.name"] for call in sink.calls][:1] == ["first"]
