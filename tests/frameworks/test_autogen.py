"""AutoGen's assistant and team on scripted Chat Completions models, and core's ToolAgent."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import HandoffTermination, TextMentionTermination
from autogen_agentchat.messages import HandoffMessage, TextMessage
from autogen_agentchat.teams import RoundRobinGroupChat, Swarm
from autogen_agentchat.tools import AgentTool
from autogen_core import AgentId, CancellationToken, FunctionCall, SingleThreadedAgentRuntime
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    ModelInfo,
    UserMessage,
)
from autogen_core.tool_agent import ToolAgent
from autogen_core.tools import FunctionTool, StaticWorkbench, ToolOverride
from autogen_ext.models.openai import OpenAIChatCompletionClient
from autogen_ext.tools.mcp import McpWorkbench, StdioServerParams

import pdoctor_trace
from tests.frameworks.conformance import (
    MCP_SERVER,
    QUERY,
    AsyncDriver,
    Conformance,
    ToolLog,
    apart,
    assert_mcp_calls_are_one_span_each,
    limit,
)
from tests.support.hostile import OUTLAWS
from tests.support.models import FINAL, STEPS, FakeModels
from tests.support.sink import OtlpSink

# AutoGen leaves its clients and executors to the garbage collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


MODES = ("agent", "agent stream", "team")
INFO = ModelInfo(
    vision=False, function_calling=True, json_output=True, family="unknown", structured_output=False
)


def assistant(models: FakeModels, script: str, tools: Any, name: str = "tester", **options: Any) -> Any:
    client = OpenAIChatCompletionClient(
        model=script, base_url=models.openai, api_key="x", model_info=INFO, max_retries=0
    )
    made = [
        tool if not callable(tool) else FunctionTool(tool, description=tool.__doc__ or "") for tool in tools
    ]
    return AssistantAgent(name, model_client=client, tools=made, max_tool_iterations=20, **options)


async def with_agent(models: FakeModels, script: str, tools: Any, mode: str) -> str:
    runner = assistant(models, script, tools, model_client_stream=mode == "agent stream")
    if mode == "team":
        runner = RoundRobinGroupChat([runner], termination_condition=TextMentionTermination("all done"))
    if mode == "agent stream":
        *_, result = [message async for message in runner.run_stream(task=QUERY)]
    else:
        result = await runner.run(task=QUERY)
    return str(result.messages[-1].content)


class AutogenDriver(AsyncDriver):
    source = "autogen"
    blocked = "tells"
    modes = MODES
    streaming = ("agent stream",)
    fatal = (*OUTLAWS, "huge int", "deep")
    endless = ("StopIteration",)
    sync_mode = "agent"

    async def answer(self, models: FakeModels, script: str, tools: Any, mode: str) -> str:
        return await with_agent(models, script, tools, mode)

    async def aask(self, models: FakeModels, script: str, tools: Any) -> None:
        """An assistant that is given messages without a run of its own."""
        asked = [TextMessage(content=QUERY, source="user")]
        await assistant(models, script, tools, name="inner").on_messages(asked, CancellationToken())


class TestAutogen(Conformance):
    driver = AutogenDriver()


def test_an_agent_as_a_tool_is_a_nested_run(models: FakeModels, sink: OtlpSink) -> None:
    STEPS["ask_inner"] = [("inner", '{"task": "add"}')]
    log = ToolLog()
    inner = assistant(models, "fake.one", log.functions(), name="inner", description="adds")
    outer = assistant(models, "fake.ask_inner", [AgentTool(inner)], name="outer")
    asyncio.run(outer.run(task=QUERY))
    pdoctor_trace.flush()
    above, below = sink.runs
    asked, added = sink.calls
    assert (asked.tool, added.tool, log.names) == ("inner", "add", ["add"])
    assert (asked.parent_id, below.parent_id, added.parent_id) == (
        above.span_id,
        asked.span_id,
        below.span_id,
    )
    assert {span.run_id for span in sink.spans} == {above.run_id}


def test_a_tool_that_a_workbench_renames_is_one_call(models: FakeModels, sink: OtlpSink) -> None:
    """Even with the same tool beside it under its own name."""
    STEPS["renamed"] = [("sum", '{"a": 40, "b": 2}'), ("add", '{"a": 40, "b": 2}')]
    log = ToolLog()
    add = FunctionTool(log.functions()[0], description="Add two integers.")
    renamed = StaticWorkbench([add], {"add": ToolOverride(name="sum")})
    asyncio.run(
        assistant(models, "fake.renamed", [], workbench=[renamed, StaticWorkbench([add])]).run(task=QUERY)
    )
    pdoctor_trace.flush()
    calls = sorted(sink.calls, key=lambda call: str(call.call_id))
    assert [(call.call_id, call.tool, call.executed, call.result) for call in calls] == [
        ("call_0_0", "sum", True, 42),
        ("call_0_1", "add", True, 42),
    ]
    assert log.names == ["add", "add"]


def served(**overrides: ToolOverride) -> Any:
    """A workbench of the tools of an MCP server, which may go by other names."""
    params = StdioServerParams(command=MCP_SERVER[0], args=MCP_SERVER[1:], read_timeout_seconds=60)
    return McpWorkbench(params, tool_overrides=overrides)


def test_tools_of_an_mcp_workbench_are_one_call_each(models: FakeModels, sink: OtlpSink) -> None:
    async def main() -> None:
        async with served() as workbench:
            await assistant(models, "fake.par.boom", [], workbench=workbench).run(task=QUERY)

    asyncio.run(main())
    assert_mcp_calls_are_one_span_each(sink, "autogen")
    assert [call.executed for call in sink.calls] == [True] * 3
    assert {call["mcp.method.name"] for call in sink.calls} == {"tools/call"}
    assert {call.tool: call.result for call in sink.calls} == {"add": "3", "slow_echo": "hi", "boom": None}


def test_a_tool_that_an_mcp_workbench_renames_is_one_call(models: FakeModels, sink: OtlpSink) -> None:
    """Even with the same tool beside it under its own name."""
    STEPS["renamed"] = [("sum", '{"a": 40, "b": 2}'), ("add", '{"a": 40, "b": 2}')]

    async def main() -> None:
        async with served(add=ToolOverride(name="sum")) as renamed, served() as plain:
            await assistant(models, "fake.renamed", [], workbench=[renamed, plain]).run(task=QUERY)

    asyncio.run(main())
    pdoctor_trace.flush()
    calls = sorted(sink.calls, key=lambda call: str(call.call_id))
    assert [(call.call_id, call.tool, call.executed, call.result) for call in calls] == [
        ("call_0_0", "sum", True, "42"),
        ("call_0_1", "add", True, "42"),
    ]


def test_a_loop_of_ones_own_over_an_mcp_workbench_has_one_call_each(
    models: FakeModels, sink: OtlpSink
) -> None:
    STEPS["renamed"] = [("sum", '{"a": 40, "b": 2}')]

    async def main() -> None:
        client = OpenAIChatCompletionClient(
            model="fake.renamed", base_url=models.openai, api_key="x", model_info=INFO, max_retries=0
        )
        async with served(add=ToolOverride(name="sum")) as workbench:
            said: list[Any] = [UserMessage(content=QUERY, source="user")]
            asked = await client.create(said, tools=await workbench.list_tools())
            (call,) = asked.content
            given = json.loads(call.arguments)
            came = await workbench.call_tool(call.name, given, call_id=call.id)
            answer = FunctionExecutionResult(
                content=came.to_text(), call_id=call.id, is_error=came.is_error, name=call.name
            )
            said += [AssistantMessage(content=asked.content, source="tester")]
            said += [FunctionExecutionResultMessage(content=[answer])]
            await client.create(said, tools=await workbench.list_tools())

    asyncio.run(main())
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert (call.call_id, call.tool, call.executed) == ("call_0_0", "sum", True)
    assert call["pdoctor.tool.timing"] == "exact"


def test_a_hand_over_is_an_offered_tool(models: FakeModels, sink: OtlpSink) -> None:
    STEPS["to_bob"] = [("transfer_to_bob", "{}")]
    agent = assistant(models, "fake.to_bob", ToolLog().functions(), handoffs=["bob"])
    asyncio.run(agent.run(task=QUERY))
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert (call.tool, call.executed, call.failed) == ("transfer_to_bob", True, False)
    assert '"transfer_to_bob"' in sink.runs[0]["gen_ai.tool.definitions"]


@pytest.mark.cell("hand-over")
def test_calls_of_a_team_are_those_of_the_agent_whose_turn_it_is(models: FakeModels, sink: OtlpSink) -> None:
    STEPS["to_bob"] = [("transfer_to_bob", "{}")]
    tools = ToolLog().functions()
    alice = assistant(models, "fake.one.to_bob", tools, name="alice", handoffs=["bob"])
    bob = assistant(models, "fake.one.to_bob.one", tools, name="bob")
    team = Swarm([alice, bob], termination_condition=TextMentionTermination("all done"))
    asyncio.run(team.run(task=QUERY))
    pdoctor_trace.flush()
    told = [(call.tool, call["gen_ai.agent.name"]) for call in sink.calls]
    assert [tool for tool, _ in told][:2] == ["add", "transfer_to_bob"]
    assert {agent for tool, agent in told[:2]} == {"alice"}
    assert {agent for tool, agent in told[2:]} == {"bob"}
    assert {run["gen_ai.conversation.id"] for run in sink.runs if run["pdoctor.run.calls"]} == {team._team_id}


def waiting(models: FakeModels) -> Any:
    """A team whose first agent asks a person, who is not of the team."""
    STEPS["to_user"] = [("transfer_to_user", "{}")]
    alice = assistant(models, "fake.to_user", ToolLog().functions(), name="alice", handoffs=["user"])
    ended = TextMentionTermination("all done") | HandoffTermination("user")
    return Swarm([alice], termination_condition=ended)


ANSWER = HandoffMessage(source="user", target="alice", content="Yes, do.")


@pytest.mark.cell("pause")
@pytest.mark.parametrize("stream", [False, True])
def test_a_hand_over_to_a_person_pauses_the_team(models: FakeModels, sink: OtlpSink, stream: bool) -> None:
    """It goes on, as the same run, when it is run again."""

    async def main() -> None:
        team = waiting(models)
        for task in (QUERY, ANSWER):
            if stream:
                async for _ in team.run_stream(task=task):
                    pass
            else:
                await team.run(task=task)
            STEPS["to_user"] = STEPS["one"]  # what she does with the answer

    asyncio.run(main())
    pdoctor_trace.flush()
    first, last = (run for run in sink.runs if run["pdoctor.run.calls"] is not None)
    assert (first["pdoctor.run.state"], first["pdoctor.run.pause_reason"]) == ("paused", "input")
    assert (last["pdoctor.run.state"], last["pdoctor.run.calls"]) == (None, len(sink.calls))
    assert len({(span.run_id, span.trace_id) for span in sink.spans}) == 1
    told = [(call.tool, call["pdoctor.step.index"], call["gen_ai.agent.name"]) for call in sink.calls]
    assert told[:2] == [("transfer_to_user", 0, "alice"), ("add", 1, "alice")]


def test_a_team_that_was_reset_goes_on_with_nothing(models: FakeModels, sink: OtlpSink) -> None:
    async def main() -> None:
        team = waiting(models)
        await team.run(task=QUERY)
        await team.reset()
        await team.run(task=QUERY)

    asyncio.run(main())
    pdoctor_trace.flush()
    assert len({span.run_id for span in sink.spans}) == 2


@pytest.mark.cell("other process")
@limit("autogen", "stored teams")
def test_a_team_made_of_a_stored_state_is_another_run(models: FakeModels, sink: OtlpSink) -> None:
    async def main() -> None:
        team, other = waiting(models), waiting(models)
        await team.run(task=QUERY)
        await other.load_state(await team.save_state())
        await other.run(task=ANSWER)

    asyncio.run(main())
    pdoctor_trace.flush()
    assert [run["pdoctor.run.resumed"] for run in sink.runs] == [None] * len(sink.runs)
    assert len({span.run_id for span in sink.spans}) == 2


@pytest.mark.cell("workflow")
def test_a_team_is_a_workflow_and_an_agent_is_none(models: FakeModels, sink: OtlpSink) -> None:
    asyncio.run(with_agent(models, "fake.one", ToolLog().functions(), "agent"))
    pdoctor_trace.flush()
    assert sink.workflows == []
    sink.clear()
    asyncio.run(with_agent(models, "fake.one", ToolLog().functions(), "team"))
    pdoctor_trace.flush()
    (around,) = sink.workflows
    assert (around.name, around.parent_id) == ("invoke_workflow RoundRobinGroupChat", "")
    assert {run.parent_id for run in sink.runs if run["pdoctor.run.calls"] == 1} == {around.span_id}
    assert FINAL in around["gen_ai.output.messages"]


@limit("autogen", "core alone")
def test_calls_of_a_core_tool_agent(sink: OtlpSink) -> None:
    """Its exceptions derive from BaseException; there is no run at this layer."""
    log = ToolLog()
    asked = [
        ("t1", "add", '{"a": 1, "b": 2}'),
        ("t2", "boom", '{"x": "kaput"}'),
        ("t3", "no_such_tool", "{}"),
        ("t4", "add", '{"a":'),
        ("t5", "add", '{"a": 1}'),
    ]

    async def main() -> list[str]:
        tools: Any = [FunctionTool(tool, description="d") for tool in log.functions()]
        agents = SingleThreadedAgentRuntime()
        await ToolAgent.register(agents, "tools", lambda: ToolAgent("d", tools))
        agents.start()
        outcomes = []
        for call_id, name, arguments in asked:
            call = FunctionCall(id=call_id, name=name, arguments=arguments)
            try:
                await agents.send_message(call, AgentId("tools", "default"))
                outcomes.append("fine")
            except BaseException as error:
                outcomes.append(type(error).__name__)
        return outcomes

    assert asyncio.run(main()) == [
        "fine",
        "ToolExecutionException",
        "ToolNotFoundException",
        "InvalidToolArgumentsException",
        "ToolExecutionException",
    ]
    pdoctor_trace.flush()
    found = sorted(sink.calls, key=lambda call: str(call.call_id))
    assert [(call.call_id, call.tool, call.executed, call.kind) for call in found] == [
        ("t1", "add", True, None),
        ("t2", "boom", True, "tool_raised"),
        ("t3", "no_such_tool", False, "unknown_tool"),
        ("t4", "add", False, "bad_arguments"),
        ("t5", "add", False, "bad_arguments"),
    ]
    assert log.names == ["add", "boom"]
    assert sink.runs == []


@limit("autogen", "a runtime started before")
def test_a_team_on_a_runtime_of_before_has_calls_in_a_run_of_their_own(
    models: FakeModels, sink: OtlpSink
) -> None:
    log = ToolLog()

    async def main() -> None:
        agents = SingleThreadedAgentRuntime()
        agents.start()
        ended = TextMentionTermination("all done")
        tester = assistant(models, "fake.one", log.functions())
        await RoundRobinGroupChat([tester], termination_condition=ended, runtime=agents).run(task=QUERY)
        await agents.stop()

    asyncio.run(main())
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert (call.tool, call.executed, call["pdoctor.tool.timing"]) == ("add", True, "exact")
    (team,) = [run for run in sink.runs if run["pdoctor.run.calls"] == 0]
    (own,) = [run for run in sink.runs if run["pdoctor.run.calls"] == 1]
    assert (own["pdoctor.source"], call.run_id) == ("openai", own.run_id)
    assert (QUERY in team["gen_ai.input.messages"], log.names) == (True, ["add"])


@limit("autogen", "endless tools")
@pytest.mark.parametrize("name", TestAutogen.driver.endless)
def test_a_tool_that_never_ends_for_the_framework_has_no_span(name: str) -> None:
    told = apart(TestAutogen)[name]
    assert (told["traced"]["calls"], told["traced"]["ran"]) == ([], told["untraced"]["ran"])
    assert told["traced"]["ending"] == told["untraced"]["ending"] == "stuck"
