"""LangGraph graphs of one's own: nodes that run the tools themselves, and middleware that changes calls."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ToolCallLimitMiddleware, wrap_tool_call
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool, ToolException
from langchain_core.tools import tool as langchain_tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState, ToolNode
from langgraph.types import Command, interrupt
from openai import DefaultAsyncHttpxClient, DefaultHttpxClient
from pydantic import BaseModel

import pdoctor_trace
from pdoctor_trace import pauses, raw_loops
from tests.frameworks.conformance import QUERY, ToolLog
from tests.frameworks.test_langchain import ASYNC, QUIET, SYNC, as_tools, with_agent, with_async_agent
from tests.support.models import FakeModels
from tests.support.sink import OtlpSink, Span

Node = Callable[[dict[str, BaseTool], dict[str, Any]], Any]
"""What a node of one's own makes of a requested call."""


def by_arguments(tools: dict[str, BaseTool], asked: dict[str, Any]) -> Any:
    return tools[asked["name"]].invoke(asked["args"])


def by_more_arguments(tools: dict[str, BaseTool], asked: dict[str, Any]) -> Any:
    return tools[asked["name"]].invoke({**asked["args"], "customer": 7})


def by_call(tools: dict[str, BaseTool], asked: dict[str, Any]) -> Any:
    return tools[asked["name"]].invoke(asked).content


def by_function(tools: dict[str, BaseTool], asked: dict[str, Any]) -> Any:
    """No tool of LangChain's is used: only the answers in the next request tell."""
    return tools[asked["name"]].func(**asked["args"])  # type: ignore[attr-defined]


def run_graph(models: FakeModels, script: str, log: ToolLog, node: Node, **config: Any) -> list[Any]:
    """A graph of two nodes, a model and one's own; the final messages."""
    tools = {tool.name: tool for tool in as_tools(log.functions())}
    with DefaultHttpxClient() as client:
        chat = ChatOpenAI(model=script, base_url=models.openai, http_client=client, **QUIET)
        bound = chat.bind_tools(list(tools.values()))

        def act(state: MessagesState) -> dict[str, Any]:
            asked: Any = state["messages"][-1]
            made = [ToolMessage(str(node(tools, one)), tool_call_id=one["id"]) for one in asked.tool_calls]
            return {"messages": made}

        def asks(state: MessagesState) -> str:
            last: Any = state["messages"][-1]
            return "act" if last.tool_calls else END

        graph = StateGraph(MessagesState)
        graph.add_node("think", lambda state: {"messages": [bound.invoke(state["messages"])]})
        graph.add_node("act", act)
        graph.add_edge(START, "think")
        graph.add_conditional_edges("think", asks)
        graph.add_edge("act", "think")
        final = graph.compile(name="tester").invoke({"messages": [HumanMessage(QUERY)]}, **config)
    pdoctor_trace.flush()
    found: list[Any] = final["messages"]
    return found


def told(calls: list[Span]) -> list[tuple[Any, ...]]:
    """Id, tool, arguments, whether it ran, turn; in the order of the steps."""
    ordered = sorted(calls, key=lambda call: call["pdoctor.step.index"])
    return [(c.call_id, c.tool, c.arguments, c.executed, c["pdoctor.turn.index"]) for c in ordered]


PAR_ONE = [
    ("call_0_0", "add", {"a": 1, "b": 2}, True, 0),
    ("call_0_1", "slow_echo", {"text": "hi"}, True, 0),
    ("call_1_0", "add", {"a": 40, "b": 2}, True, 1),
]


@pytest.mark.parametrize(
    ("node", "timing"), [(by_arguments, "exact"), (by_call, "exact"), (by_function, "inferred")]
)
def test_calls_that_a_node_of_ones_own_runs(
    models: FakeModels, sink: OtlpSink, node: Node, timing: str
) -> None:
    """However the node runs the tool: one call, with its id, its turn and its result."""
    log = ToolLog()
    run_graph(models, "fake.par.one", log, node)
    assert told(sink.calls) == PAR_ONE
    assert {call["pdoctor.tool.timing"] for call in sink.calls} == {timing}
    assert sorted(str(call.result) for call in sink.calls) == sorted(str(e.result) for e in log.entries)
    assert {call["pdoctor.tool.execution"] for call in sink.calls} == {None}
    (run,) = sink.runs
    assert (run["pdoctor.run.calls"], {call.run_id for call in sink.calls}) == (3, {run.run_id})


def test_a_node_that_adds_arguments_of_its_own(models: FakeModels, sink: OtlpSink) -> None:
    def add(a: int, b: int, customer: int = 0) -> int:
        """Add two integers."""
        return a + b + customer

    log = ToolLog()
    log.functions = lambda: [add]  # type: ignore[method-assign]
    run_graph(models, "fake.one", log, by_more_arguments)
    (call,) = sink.calls
    assert (call.call_id, call.arguments) == ("call_0_0", {"a": 40, "b": 2, "customer": 7})
    assert (call["pdoctor.tool.asked_arguments"], call.result) == ('{"a":40,"b":2}', 49)


def test_a_limit_leaves_the_last_calls_unknown(models: FakeModels, sink: OtlpSink) -> None:
    """Whether the node ran them before the graph gave up nobody can tell."""
    log = ToolLog()
    with pytest.raises(Exception, match="limit"):
        run_graph(models, "fake.par.one", log, by_function, config={"recursion_limit": 2})
    pdoctor_trace.flush()
    assert [(call.executed, call["pdoctor.tool.execution"], call.failed) for call in sink.calls] == [
        (False, "unknown", False)
    ] * 2
    assert len(log.entries) == 2


def test_an_answer_that_says_error(models: FakeModels, sink: OtlpSink) -> None:
    """A tool message with the status `error` is a failure, whoever ran the tool."""

    with DefaultHttpxClient() as client:
        chat = ChatOpenAI(model="fake.one", base_url=models.openai, http_client=client, **QUIET)
        bound = chat.bind_tools(as_tools(ToolLog().functions()))
        graph = StateGraph(MessagesState)
        graph.add_node("think", lambda state: {"messages": [bound.invoke(state["messages"])]})
        declined = ToolMessage("card declined", tool_call_id="call_0_0", status="error")
        graph.add_node("act", lambda state: {"messages": [declined]})
        graph.add_node("again", lambda state: {"messages": [bound.invoke(state["messages"])]})
        graph.add_edge(START, "think")
        graph.add_edge("think", "act")
        graph.add_edge("act", "again")
        graph.compile().invoke({"messages": [HumanMessage(QUERY)]})
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert (call.executed, call.failed, call.kind, call.message) == (
        True,
        True,
        "tool_raised",
        "card declined",
    )


def test_a_graph_that_goes_on_in_another_graph_hands_on_what_was_asked_for(
    models: FakeModels, sink: OtlpSink
) -> None:
    """A graph as a node asks; the graph around it runs the tools."""
    log = ToolLog()
    tools = {tool.name: tool for tool in as_tools(log.functions())}
    with DefaultHttpxClient() as client:
        chat = ChatOpenAI(model="fake.one", base_url=models.openai, http_client=client, **QUIET)
        bound = chat.bind_tools(list(tools.values()))
        thinking = StateGraph(MessagesState)
        thinking.add_node("think", lambda state: {"messages": [bound.invoke(state["messages"])]})
        thinking.add_edge(START, "think")

        def act(state: MessagesState) -> dict[str, Any]:
            asked: Any = state["messages"][-1]
            return {"messages": [tools[one["name"]].invoke(one) for one in asked.tool_calls]}

        graph = StateGraph(MessagesState)
        graph.add_node("think", thinking.compile(name="inner"))
        graph.add_node("act", act)
        graph.add_edge(START, "think")
        graph.add_edge("think", "act")
        graph.compile(name="outer").invoke({"messages": [HumanMessage(QUERY)]})
    pdoctor_trace.flush()
    assert told(sink.calls) == [("call_0_0", "add", {"a": 40, "b": 2}, True, 0)]


def edited(request: Any) -> Any:
    return request.override(tool_call={**request.tool_call, "args": {**request.tool_call["args"], "b": 40}})


@wrap_tool_call
def cut(request: Any, handler: Any) -> Any:
    return handler(edited(request))


@wrap_tool_call
async def cut_async(request: Any, handler: Any) -> Any:
    return await handler(edited(request))


@pytest.mark.parametrize("mode", ["invoke", "ainvoke"])
def test_arguments_that_middleware_edits(models: FakeModels, sink: OtlpSink, mode: str) -> None:
    """The span says what ran, and keeps what the model asked for."""
    log = ToolLog()
    if mode == "invoke":
        with_agent(models, "fake.one", log.functions(), SYNC["invoke"], middleware=[cut])
    else:
        used = with_async_agent(models, "fake.one", log.functions(), ASYNC["ainvoke"], middleware=[cut_async])
        asyncio.run(used)
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert [entry.arguments for entry in log.entries] == [{"a": 40, "b": 40}]
    assert (call.arguments, call.result) == ({"a": 40, "b": 40}, "80")
    assert call["pdoctor.tool.asked_arguments"] == '{"a":40,"b":2}'


def test_a_call_that_nobody_edits_says_nothing_of_what_was_asked(models: FakeModels, sink: OtlpSink) -> None:
    with_agent(models, "fake.par.one", ToolLog().functions(), SYNC["invoke"])
    pdoctor_trace.flush()
    assert {call["pdoctor.tool.asked_arguments"] for call in sink.calls} == {None}


def test_a_raw_loop_over_a_langchain_model_reads_the_tools_message(
    models: FakeModels, sink: OtlpSink
) -> None:
    """`tool.invoke(call)` gives a message: its content is the result, and its status tells of failure."""

    def boom(x: str) -> str:
        """Always fails."""
        raise ToolException("card declined")

    def add(a: int, b: int) -> int:
        """Add two integers."""
        return a + b

    failing = StructuredTool.from_function(boom, handle_tool_error=True)
    tools: dict[str, Any] = {"boom": failing, "add": as_tools([add])[0]}
    with DefaultHttpxClient() as client:
        chat = ChatOpenAI(model="fake.one.boom", base_url=models.openai, http_client=client, **QUIET)
        bound = chat.bind_tools(list(tools.values()))
        messages: list[Any] = [HumanMessage(QUERY)]
        while not isinstance(messages[-1], AIMessage) or messages[-1].tool_calls:
            messages.append(bound.invoke(messages))
            messages += [tools[asked["name"]].invoke(asked) for asked in messages[-1].tool_calls]
    pdoctor_trace.flush()
    added, failed = sorted(sink.calls, key=lambda call: call["pdoctor.step.index"])
    assert (added.result, added.failed) == ("42", False)
    assert (failed.failed, failed.message, failed.result) == (True, "card declined", None)


def another_process() -> None:
    """Nothing is known of what this process was asked for."""
    raw_loops.forget_everything()
    pauses.PAUSED.forget_all()


@pytest.mark.parametrize("forget", [True, False], ids=["two processes", "one process"])
def test_steps_in_two_processes(models: FakeModels, sink: OtlpSink, forget: bool) -> None:
    """Each step is a graph of its own that gets the history; the host runs the tools between."""
    tools = {tool.name: tool for tool in as_tools(ToolLog().functions())}
    with DefaultHttpxClient() as client:
        chat = ChatOpenAI(model="fake.one", base_url=models.openai, http_client=client, **QUIET)
        bound = chat.bind_tools(list(tools.values()))
        graph = StateGraph(MessagesState)
        graph.add_node("think", lambda state: {"messages": [bound.invoke(state["messages"])]})
        graph.add_edge(START, "think")
        step = graph.compile()
        first: Any = step.invoke({"messages": [HumanMessage(QUERY)]})["messages"]
        if forget:
            another_process()
        step.invoke({"messages": [*first, ToolMessage("42", tool_call_id="call_0_0")]})
    pdoctor_trace.flush()
    before, after = sorted(sink.runs, key=lambda run: run.start)
    calls = sorted(sink.calls, key=lambda call: call.start)
    assert (before["pdoctor.run.state"], calls[0]["pdoctor.tool.execution"]) == ("unanswered", "unknown")
    if forget:
        assert after["pdoctor.run.resumed"] == before["pdoctor.run.token"]
        assert [(c.call_id, c.executed, c["pdoctor.tool.source_of_result"], c.result) for c in calls[1:]] == [
            ("call_0_0", True, "history", "42")
        ]
    else:  # what this process asked for itself is no other process's
        assert (after["pdoctor.run.resumed"], calls[1:]) == (None, [])


def test_a_graph_that_begins_with_what_another_one_did_tells_nothing_of_it(
    models: FakeModels, sink: OtlpSink
) -> None:
    """Messages handed from one agent to the next end with the answer of a tool that was seen."""
    log = ToolLog()
    messages = run_graph(models, "fake.one", log, by_call)
    with_agent(
        models,
        "fake.none",
        log.functions(),
        lambda agent: agent.invoke({"messages": messages[:-1]}),
    )
    pdoctor_trace.flush()
    assert [call.call_id for call in sink.calls] == ["call_0_0"]
    assert {run["pdoctor.run.resumed"] for run in sink.runs} == {None}


@pytest.mark.parametrize("middleware", [[], [cut]], ids=["as asked for", "edited"])
def test_what_langgraph_puts_into_the_arguments_is_not_said_of_them(
    models: FakeModels, sink: OtlpSink, middleware: Any
) -> None:
    seen = []

    def add(
        a: int,
        b: int,
        state: Annotated[dict, InjectedState],
        call_id: Annotated[str, InjectedToolCallId],
        runtime: ToolRuntime,
    ) -> int:
        """Add two integers."""
        seen.append((len(state["messages"]), call_id, runtime.tool_call_id))
        return a + b

    with_agent(models, "fake.one", [langchain_tool(add)], SYNC["invoke"], middleware=middleware)
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert seen == [(2, "call_0_0", "call_0_0")]
    assert call.arguments == {"a": 40, "b": 40 if middleware else 2}
    assert (call["pdoctor.tool.asked_arguments"] is not None) is bool(middleware)


def test_a_call_that_a_limit_of_the_agent_forbids_is_not_known_to_have_run(
    models: FakeModels, sink: OtlpSink
) -> None:
    """The middleware answers before the tool node is reached; only the node would have started the tool."""
    log, limit = ToolLog(), ToolCallLimitMiddleware(run_limit=1, exit_behavior="continue")
    with_agent(models, "fake.one.one", log.functions(), SYNC["invoke"], middleware=[limit])
    pdoctor_trace.flush()
    first, second = sorted(sink.calls, key=lambda call: call["pdoctor.step.index"])
    assert len(log.entries) == 1
    assert (first.executed, first["pdoctor.tool.execution"], first.failed) == (True, None, False)
    assert (second.executed, second["pdoctor.tool.execution"], second.failed) == (False, "unknown", True)
    assert "limit exceeded" in second.message


def test_a_person_who_answers_in_the_tools_place(models: FakeModels, sink: OtlpSink) -> None:
    log, thread = ToolLog(), {"configurable": {"thread_id": "7"}}

    def use(agent: Any) -> None:
        agent.invoke({"messages": [HumanMessage(QUERY)]}, thread)
        asked = agent.get_state(thread).values["messages"][-1].tool_calls[0]
        told = ToolMessage("it is 42", tool_call_id=asked["id"])
        agent.update_state(thread, {"messages": [told]}, as_node="tools")
        agent.invoke(None, thread)

    waits: Any = {"checkpointer": InMemorySaver(), "interrupt_before": ["tools"]}
    with_agent(models, "fake.one", log.functions(), use, **waits)
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert (log.entries, call.result) == ([], "it is 42")
    assert (call.executed, call["pdoctor.tool.execution"]) == (False, "unknown")


def test_middleware_that_answers_for_the_tool(models: FakeModels, sink: OtlpSink) -> None:
    """The node says what came of the call, and no tool was started: it is known not to have run."""

    @wrap_tool_call
    def block(request: Any, handler: Any) -> Any:
        return ToolMessage("not today", tool_call_id=request.tool_call["id"])

    log = ToolLog()
    with_agent(models, "fake.one", log.functions(), SYNC["invoke"], middleware=[block])
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert (call.executed, call["pdoctor.tool.execution"], log.names) == (False, None, [])


def test_older_calls_in_a_history_are_nobodys_news(models: FakeModels, sink: OtlpSink) -> None:
    """A conversation that another process has had, and a new question."""
    asked = {"name": "add", "args": {"a": 1, "b": 2}, "id": "older", "type": "tool_call"}
    history = [
        HumanMessage("first"),
        AIMessage("", tool_calls=[asked]),
        ToolMessage("3", tool_call_id="older"),
        AIMessage("It is 3."),
        HumanMessage(QUERY),
    ]
    use = lambda agent: agent.invoke({"messages": history})  # noqa: E731
    with_agent(models, "fake.none", ToolLog().functions(), use)
    pdoctor_trace.flush()
    assert (sink.calls, [run["pdoctor.run.resumed"] for run in sink.runs]) == ([], [None])


@pytest.mark.parametrize("mode", ["invoke", "ainvoke"])
def test_middleware_that_runs_another_tool(models: FakeModels, sink: OtlpSink, mode: str) -> None:
    """What the model asked for did not run; the tool that did is a call of its own name."""
    log = ToolLog()
    made = as_tools(log.functions())

    def swapped(request: Any) -> Any:
        asked = {**request.tool_call, "name": "slow_echo", "args": {"text": "hi"}}
        return request.override(tool_call=asked, tool=made[1])

    @wrap_tool_call
    def swap(request: Any, handler: Any) -> Any:
        return handler(swapped(request))

    @wrap_tool_call
    async def swap_async(request: Any, handler: Any) -> Any:
        return await handler(swapped(request))

    if mode == "invoke":
        with_agent(models, "fake.one", made, SYNC["invoke"], middleware=[swap])
    else:
        asyncio.run(with_async_agent(models, "fake.one", made, ASYNC["ainvoke"], middleware=[swap_async]))
    pdoctor_trace.flush()
    assert log.names == ["slow_echo"]
    assert sorted(told(sink.calls), key=str) == [
        ("call_0_0", "add", {"a": 40, "b": 2}, False, 0),
        ("call_0_0", "slow_echo", {"text": "hi"}, True, 0),
    ]
    (ran,) = (call for call in sink.calls if call.executed)
    assert (ran.result, ran["gen_ai.tool.description"]) == ("hi", "Echo a text slowly.")
    assert {call["pdoctor.tool.asked_arguments"] for call in sink.calls} == {None}
    assert [call["pdoctor.tool.execution"] for call in sink.calls] == [None, None]


def test_structured_output_of_a_model_is_no_call(models: FakeModels, sink: OtlpSink) -> None:
    """A node that asks for an object, which the wire has as the call of a tool that nobody runs."""

    class Answer(BaseModel):
        """Where to go on."""

        text: str

    with DefaultHttpxClient() as client:
        chat = ChatOpenAI(model="fake.structured", base_url=models.openai, http_client=client, **QUIET)
        router = chat.with_structured_output(Answer, method="function_calling")
        graph = StateGraph(MessagesState)
        graph.add_node("route", lambda state: {"messages": [router.invoke(state["messages"]).text]})
        graph.add_edge(START, "route")
        final = graph.compile().invoke({"messages": [HumanMessage(QUERY)]})
    pdoctor_trace.flush()
    assert final["messages"][-1].content == "ok"
    (run,) = sink.runs
    assert (sink.calls, run["pdoctor.run.calls"], run["pdoctor.run.state"]) == ([], 0, None)


def test_an_error_in_blocks_keeps_its_text(models: FakeModels, sink: OtlpSink) -> None:
    """As tools of MCP servers give it."""

    @langchain_tool
    def add(a: int, b: int) -> Any:
        """Add two integers."""
        return ToolMessage([{"type": "text", "text": "declined"}], tool_call_id="call_0_0", status="error")

    with_agent(models, "fake.one", [add], SYNC["invoke"])
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert (call.failed, call.message) == (True, "declined")


@pytest.mark.parametrize("node", ["tool node", "own node"])
@pytest.mark.parametrize("kind", ["function", "coroutine"])
def test_a_stream_that_is_left_as_a_tool_ends(
    models: FakeModels, sink: OtlpSink, node: str, kind: str
) -> None:
    """The tool has run, although what stands around it is cancelled before it is through."""
    log = ToolLog()
    coroutines = [StructuredTool.from_function(coroutine=tool) for tool in log.coroutines()]
    made = {tool.name: tool for tool in (coroutines if kind == "coroutine" else as_tools(log.functions()))}

    async def act(state: MessagesState) -> Any:
        asked: Any = state["messages"][-1]
        return {"messages": [await made[one["name"]].ainvoke(one) for one in asked.tool_calls]}

    async def read() -> None:
        async with DefaultAsyncHttpxClient() as client:
            chat = ChatOpenAI(model="fake.one", base_url=models.openai, http_async_client=client, **QUIET)
            bound = chat.bind_tools(list(made.values()))

            async def think(state: MessagesState) -> Any:
                return {"messages": [await bound.ainvoke(state["messages"])]}

            graph = StateGraph(MessagesState)
            graph.add_node("think", think)
            graph.add_node("act", act if node == "own node" else ToolNode(list(made.values())))
            graph.add_edge(START, "think")
            graph.add_edge("think", "act")
            given: Any = {"messages": [HumanMessage(QUERY)]}
            async with contextlib.aclosing(graph.compile().astream_events(given, version="v2")) as events:
                async for event in events:
                    if event["event"] == "on_tool_end":
                        break

    asyncio.run(read())
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert (call.executed, call.failed, str(call.result)) == (True, False, "42")


@pytest.mark.cell("workflow")
@pytest.mark.cell("hand-over")
@pytest.mark.parametrize("by", ["a node", "a tool"])
def test_a_graph_that_goes_over_to_another_agent(models: FakeModels, sink: OtlpSink, by: str) -> None:
    """Calls are of the agent whose turn it is; what a node decides is no call."""

    @langchain_tool("add")
    def over(a: int, b: int, call_id: Annotated[str, InjectedToolCallId]) -> Any:
        """Go over to the other agent."""
        said = ToolMessage("over to you", tool_call_id=call_id)
        return Command(goto="second", graph=Command.PARENT, update={"messages": [said]})

    with DefaultHttpxClient() as client:
        chat = ChatOpenAI(model="fake.one", base_url=models.openai, http_client=client, **QUIET)
        tools = as_tools(ToolLog().functions())
        first = create_agent(chat, [over] if by == "a tool" else tools, name="first")
        graph = StateGraph(MessagesState)
        graph.add_node("first", first)
        graph.add_node("second", create_agent(chat, tools, name="second"))
        graph.add_node(
            "decide", lambda state: Command(goto="second", update={"messages": [HumanMessage("2")]})
        )
        graph.add_edge(START, "first")
        if by == "a node":
            graph.add_edge("first", "decide")
        graph.compile(name="both").invoke({"messages": [HumanMessage(QUERY)]})
    pdoctor_trace.flush()
    (around,) = sink.workflows
    root, *inner = sink.runs
    assert (root["gen_ai.agent.name"], root.parent_id) == ("both", around.span_id)
    assert [run["gen_ai.agent.name"] for run in inner] == ["first", "second"]
    told = [(call.tool, call["gen_ai.agent.name"], call.failed) for call in sink.calls]
    assert told == [("add", "first", False), ("add", "second", False)]
    assert root["pdoctor.run.calls"] == len(told)


def in_steps(models: FakeModels, model: str, tools: list[Any], act: Callable[..., Any], *words: Any) -> None:
    """A graph of nodes of one's own, think and act; where it waits it is given the next of the words."""
    with DefaultHttpxClient() as client:
        chat = ChatOpenAI(model=model, base_url=models.openai, http_client=client, **QUIET)
        bound = chat.bind_tools(tools)
        graph: Any = StateGraph(MessagesState)
        graph.add_node("think", lambda state: {"messages": [bound.invoke(state["messages"])]})
        graph.add_node("act", act)
        graph.add_edge(START, "think")
        graph.add_conditional_edges("think", lambda s: "act" if s["messages"][-1].tool_calls else END)
        graph.add_edge("act", "think")
        compiled = graph.compile(checkpointer=InMemorySaver())
        thread: Any = {"configurable": {"thread_id": act.__qualname__}}
        compiled.invoke({"messages": [HumanMessage(QUERY)]}, thread)
        for word in words:
            compiled.invoke(Command(resume=word), thread)


def asking_node(models: FakeModels, *words: Any) -> ToolLog:
    """A node of one's own asks a person what to do with each call; gives what the tools saw."""
    log = ToolLog()
    tools = {tool.name: tool for tool in as_tools(log.functions())}

    def act(state: MessagesState) -> dict[str, Any]:
        asked: Any = state["messages"][-1]
        made = []
        for one in asked.tool_calls:
            given = interrupt(one["args"])
            text = "The user said no." if given == "no" else str(tools[one["name"]].invoke(given))
            made.append(ToolMessage(text, tool_call_id=one["id"]))
        return {"messages": made}

    in_steps(models, "fake.one.one", list(tools.values()), act, *words)
    pdoctor_trace.flush()
    return log


def test_arguments_that_a_person_edits_in_a_node_of_ones_own(models: FakeModels, sink: OtlpSink) -> None:
    log = asking_node(models, {"a": 1, "b": 1}, {"a": 40, "b": 2})
    assert [entry.arguments for entry in log.entries] == [{"a": 1, "b": 1}, {"a": 40, "b": 2}]
    edited, asked = sorted(sink.calls, key=lambda call: call.start)
    assert (edited.call_id, edited.arguments, edited.result) == ("call_0_0", {"a": 1, "b": 1}, 2)
    assert edited["pdoctor.tool.asked_arguments"] == '{"a":40,"b":2}'
    assert (asked.call_id, asked["pdoctor.tool.asked_arguments"]) == ("call_1_0", None)


def test_a_call_that_a_person_refuses_in_a_node_of_ones_own(models: FakeModels, sink: OtlpSink) -> None:
    """The first call showed that the tool is seen when it starts."""
    log = asking_node(models, {"a": 40, "b": 2}, "no")
    assert len(log.entries) == 1
    ran, refused = sorted(sink.calls, key=lambda call: call.start)
    assert (ran.call_id, ran.executed) == ("call_0_0", True)
    assert (refused.call_id, refused.executed, refused["pdoctor.tool.execution"]) == (
        "call_1_0",
        False,
        "unknown",
    )


@pytest.mark.parametrize(
    "said", ["no", False, {"type": "reject"}, [{"type": "ignore"}], {"a": 1}, {"decisions": []}, "not ok"]
)
def test_a_call_that_a_person_may_have_refused_is_not_known_to_have_run(
    models: FakeModels, sink: OtlpSink, said: Any
) -> None:
    """No call of the tool was seen before, and the node may run functions that nobody sees."""
    (call,) = answered_node(models, sink, said)
    assert (call.executed, call["pdoctor.tool.execution"], call.result) == (False, "unknown", "answered")


@pytest.mark.parametrize(
    "said", ["Yes", True, {"type": "accept"}, [{"type": "approve"}], {"decisions": [{"type": "approve"}]}]
)
def test_a_call_that_a_person_approves_and_that_is_answered_ran(
    models: FakeModels, sink: OtlpSink, said: Any
) -> None:
    (call,) = answered_node(models, sink, said)
    assert (call.executed, call.result) == (True, "answered")


def answered_node(models: FakeModels, sink: OtlpSink, said: Any) -> list[Span]:
    """A node of one's own asks a person, and answers without a tool of LangChain."""

    def act(state: MessagesState) -> dict[str, Any]:
        asked: Any = state["messages"][-1]
        interrupt("May it?")
        return {"messages": [ToolMessage("answered", tool_call_id=one["id"]) for one in asked.tool_calls]}

    in_steps(models, "fake.one", as_tools(ToolLog().functions()), act, said)
    pdoctor_trace.flush()
    return sink.calls
