"""LangGraph runs that wait for a person: one run, however often it stops and wherever it goes on."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, Send, interrupt
from openai import DefaultAsyncHttpxClient, DefaultHttpxClient
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import pdoctor_trace
from pdoctor_trace import pauses, runtime
from tests.frameworks.conformance import QUERY, ToolLog
from tests.support.models import FakeModels
from tests.support.sink import OtlpSink

ASK: Any = {"messages": [{"role": "user", "content": QUERY}]}
THREAD: Any = {"configurable": {"thread_id": "t1"}}
QUIET: Any = {"max_retries": 0, "api_key": "x"}
APPROVE = {"type": "approve"}
REJECT = {"type": "reject", "message": "No."}


def decided(*decisions: Any) -> Any:
    return Command(resume={"decisions": list(decisions)})


def use(
    models: FakeModels, script: str, functions: Any, *turns: Any, config: Any = THREAD, **options: Any
) -> Any:
    """An agent that asks before `slow_echo`; every turn is given to it in the same thread."""
    gate: Any = HumanInTheLoopMiddleware(interrupt_on={"slow_echo": True})
    with DefaultHttpxClient() as client:
        chat = ChatOpenAI(model=script, base_url=models.openai, http_client=client, **QUIET)
        options = {"middleware": [gate], **options}
        agent = create_agent(chat, functions, name="asker", checkpointer=InMemorySaver(), **options)
        result = None
        for turn in turns:
            result = turn(agent) if callable(turn) else agent.invoke(turn, config)
    pdoctor_trace.flush()
    return result


def one_run(sink: OtlpSink) -> None:
    """All spans are of one run and one trace, its numbers have no holes, and it has ended."""
    assert len({(span.run_id, span.trace_id) for span in sink.spans}) == 1
    assert [call["pdoctor.step.index"] for call in sink.calls] == list(range(len(sink.calls)))
    *before, last = roots(sink)
    assert last["pdoctor.run.calls"] == len(sink.calls)
    assert [run["pdoctor.run.state"] for run in before] == ["paused"] * len(before)
    assert last["pdoctor.run.state"] is None
    assert [run["pdoctor.run.resumed"] for run in (*before, last)] == [None] * (len(before) + 1)


def roots(sink: OtlpSink) -> list[Any]:
    return [run for run in sink.runs if run["pdoctor.run.calls"] is not None]


def paused(run: Any) -> tuple[Any, ...]:
    return run["pdoctor.run.state"], run["pdoctor.run.pause_reason"], run["pdoctor.run.token"]


@pytest.mark.cell("pause")
def test_a_call_that_a_person_approves_belongs_to_the_run_that_asked(
    models: FakeModels, sink: OtlpSink
) -> None:
    log = ToolLog()
    use(models, "fake.one.sleepy", log.functions(), ASK, decided(APPROVE, APPROVE))
    one_run(sink)
    first, last = roots(sink)
    assert paused(first)[:2] == ("paused", "approval")
    assert first["pdoctor.run.calls"] == 1
    assert [call.tool for call in sink.calls] == log.names == ["add", "slow_echo", "slow_echo"]
    assert [call["pdoctor.turn.index"] for call in sink.calls] == [0, 1, 1]
    assert all(call.executed for call in sink.calls)
    assert (first.parent_id, last.parent_id) == ("", first.span_id)
    assert {run["gen_ai.conversation.id"] for run in sink.runs} == {"t1"}


def test_a_call_that_a_person_rejects_did_not_run(models: FakeModels, sink: OtlpSink) -> None:
    log = ToolLog()
    use(models, "fake.sleepy", log.functions(), ASK, decided(REJECT, APPROVE))
    one_run(sink)
    assert len(log.names) == 1
    by_id = {call.call_id: call for call in sink.calls}
    assert {key: call.executed for key, call in by_id.items()} == {"call_0_0": False, "call_0_1": True}
    assert {call["pdoctor.turn.index"] for call in sink.calls} == {0}
    assert by_id["call_0_0"]["pdoctor.tool.execution"] is None


def test_a_call_that_a_person_changes_is_one_call(models: FakeModels, sink: OtlpSink) -> None:
    log = ToolLog()
    edited = {"type": "edit", "edited_action": {"name": "slow_echo", "args": {"text": "less"}}}
    use(models, "fake.sleepy", log.functions(), ASK, decided(edited, APPROVE))
    one_run(sink)
    told = {call.call_id: (call.arguments, call["pdoctor.tool.asked_arguments"]) for call in sink.calls}
    assert told == {"call_0_0": ({"text": "less"}, '{"text":"x"}'), "call_0_1": ({"text": "y"}, None)}
    assert [call.executed for call in sink.calls] == [True, True]


def test_every_call_may_wait_on_its_own(models: FakeModels, sink: OtlpSink) -> None:
    log = ToolLog()

    def answer(agent: Any) -> Any:
        waiting = agent.get_state(THREAD).interrupts
        first, second = sorted(waiting, key=lambda one: one.value["tool_call_id"])
        return agent.invoke(Command(resume={first.id: APPROVE, second.id: REJECT}), THREAD)

    gate: Any = HumanInTheLoopMiddleware(interrupt_on={"slow_echo": True}, interrupt_mode="per_call")
    use(models, "fake.one.sleepy", log.functions(), ASK, answer, middleware=[gate])
    one_run(sink)
    assert log.names == ["add", "slow_echo"]
    assert {call.call_id: call.executed for call in sink.calls} == {
        "call_0_0": True,
        "call_1_0": True,
        "call_1_1": False,
    }
    assert [run["pdoctor.run.pause_reason"] for run in roots(sink)] == ["approval", None]


def test_a_run_may_wait_more_than_once(models: FakeModels, sink: OtlpSink) -> None:
    log = ToolLog()
    use(models, "fake.sleepy.one.sleepy", log.functions(), ASK, *[decided(APPROVE, APPROVE)] * 2)
    one_run(sink)
    assert len(roots(sink)) == 3
    assert [call.tool for call in sink.calls] == log.names


def asking_tools(log: ToolLog) -> list[Any]:
    """Tools of which one asks a person while it runs."""
    add = log.functions()[0]

    def slow_echo(text: str) -> str:
        """Echo what a person says."""
        said = interrupt({"question": text})
        return str(log.record("slow_echo", {"text": text}, lambda: said))

    return [add, slow_echo]


def test_a_tool_that_asks_a_person_while_it_runs_is_one_call(models: FakeModels, sink: OtlpSink) -> None:
    log = ToolLog()
    use(models, "fake.par", asking_tools(log), ASK, Command(resume="yes"), middleware=[])
    one_run(sink)
    assert [paused(run)[:2] for run in roots(sink)] == [("paused", "input"), (None, None)]
    assert {call.tool: call.result for call in sink.calls} == {"add": "3", "slow_echo": "yes"}
    assert sorted(log.names) == ["add", "slow_echo"]


def test_a_paused_run_counts_the_calls_that_have_ended(models: FakeModels, sink: OtlpSink) -> None:
    use(models, "fake.par", asking_tools(ToolLog()), ASK, middleware=[])
    (run,) = roots(sink)
    held = [call for call in sink.calls if not call.executed]
    assert run["pdoctor.run.calls"] == len(sink.calls)
    assert [call["pdoctor.step.index"] for call in sink.calls] == list(range(len(sink.calls)))
    assert all(call.tool == "slow_echo" for call in held)


def test_a_breakpoint_is_a_pause(models: FakeModels, sink: OtlpSink) -> None:
    log = ToolLog()
    use(models, "fake.one", log.functions(), ASK, None, middleware=[], interrupt_before=["tools"])
    one_run(sink)
    assert [paused(run)[:2] for run in roots(sink)] == [("paused", "other"), (None, None)]
    assert [call["pdoctor.turn.index"] for call in sink.calls] == [0]


def test_a_stream_that_is_left_at_the_interrupt_is_paused(models: FakeModels, sink: OtlpSink) -> None:
    log = ToolLog()

    def read(agent: Any) -> None:
        for update in agent.stream(ASK, THREAD, stream_mode="updates"):
            if "__interrupt__" in update:
                break

    use(models, "fake.sleepy", log.functions(), read, decided(APPROVE, APPROVE))
    one_run(sink)
    assert len(roots(sink)) == 2


def test_a_stream_that_is_left_before_is_not_paused(models: FakeModels, sink: OtlpSink) -> None:
    def read(agent: Any) -> None:
        for _ in agent.stream(ASK, THREAD, stream_mode="updates"):
            break

    use(models, "fake.one.sleepy", ToolLog().functions(), read)
    (run,) = roots(sink)
    assert (run.failed, run["pdoctor.run.pause_reason"]) == (False, None)


def test_an_async_run_waits_likewise(models: FakeModels, sink: OtlpSink) -> None:
    log = ToolLog()
    gate: Any = HumanInTheLoopMiddleware(interrupt_on={"slow_echo": True})

    async def go(first: Callable[[Any], Any]) -> None:
        async with DefaultAsyncHttpxClient() as client:
            chat = ChatOpenAI(
                model="fake.one.sleepy", base_url=models.openai, http_async_client=client, **QUIET
            )
            agent = create_agent(chat, log.functions(), middleware=[gate], checkpointer=InMemorySaver())
            await first(agent)
            await agent.ainvoke(decided(APPROVE, APPROVE), THREAD)

    async def streamed(agent: Any) -> None:
        updates = agent.astream(ASK, THREAD, stream_mode="updates")
        async for update in updates:
            if "__interrupt__" in update:
                break
        await updates.aclose()

    for first in (lambda agent: agent.ainvoke(ASK, THREAD), streamed):
        sink.clear()
        asyncio.run(go(first))
        pdoctor_trace.flush()
        one_run(sink)
        assert len(roots(sink)) == 2


def test_a_new_question_in_the_thread_is_a_new_run(models: FakeModels, sink: OtlpSink) -> None:
    use(models, "fake.one.sleepy", ToolLog().functions(), ASK, ASK)
    first, second = roots(sink)
    assert first.run_id != second.run_id
    assert second["pdoctor.run.resumed"] is None


@pytest.mark.cell("other process")
def test_a_run_that_is_gone_on_with_in_another_process_says_so(models: FakeModels, sink: OtlpSink) -> None:
    log = ToolLog()

    def in_a_child(agent: Any) -> None:
        child = os.fork()
        if not child:
            with DefaultHttpxClient() as client:
                chat = ChatOpenAI(
                    model="fake.one.sleepy", base_url=models.openai, http_client=client, **QUIET
                )
                gate: Any = HumanInTheLoopMiddleware(interrupt_on={"slow_echo": True})
                same = create_agent(chat, log.functions(), middleware=[gate], checkpointer=agent.checkpointer)
                same.invoke(decided(APPROVE, REJECT), THREAD)
                pdoctor_trace.flush()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0

    use(models, "fake.one.sleepy", log.functions(), ASK, in_a_child)
    first, last = roots(sink)
    assert paused(first)[0::2] == ("paused", last["pdoctor.run.resumed"])
    assert first["pdoctor.run.token"].startswith("langchain:t1:")
    assert first.run_id != last.run_id
    assert last["pdoctor.run.state"] is None
    assert len(sink.calls) == 3
    executed = {(call.run_id, call.call_id): call.executed for call in sink.calls}
    assert executed == {
        (first.run_id, "call_0_0"): True,
        (last.run_id, "call_1_0"): True,
        (last.run_id, "call_1_1"): False,
    }


def test_a_breakpoint_may_be_passed_in_another_process(models: FakeModels, sink: OtlpSink) -> None:
    log = ToolLog()

    def in_a_child(agent: Any) -> None:
        child = os.fork()
        if not child:
            with DefaultHttpxClient() as client:
                chat = ChatOpenAI(model="fake.one", base_url=models.openai, http_client=client, **QUIET)
                stops = ["tools"]
                same = create_agent(
                    chat, log.functions(), checkpointer=agent.checkpointer, interrupt_before=stops
                )
                same.invoke(None, THREAD)
                pdoctor_trace.flush()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0

    use(models, "fake.one", log.functions(), ASK, in_a_child, middleware=[], interrupt_before=["tools"])
    first, last = roots(sink)
    assert first["pdoctor.run.token"] == last["pdoctor.run.resumed"]
    assert [(call.run_id, call.executed) for call in sink.calls] == [(last.run_id, True)]


def asking(*questions: str, name: str = "ask", saver: Any = None) -> Any:
    """A graph whose node of that name asks one after the other."""
    graph = StateGraph(MessagesState)
    graph.add_node(name, lambda state: [interrupt(one) for one in questions] and {})
    graph.add_edge(START, name)
    return graph.compile(checkpointer=saver or InMemorySaver())


def in_other_processes(graph: Any, *turns: Any, **options: Any) -> None:
    """Each of the turns in a process that knows nothing of the others."""
    for turn in turns:
        turn(graph) if callable(turn) else graph.invoke(turn, THREAD, **options)
        pauses.PAUSED.forget_all()
    pdoctor_trace.flush()


def tokens(sink: OtlpSink) -> list[Any]:
    return [(run["pdoctor.run.resumed"], run["pdoctor.run.token"]) for run in roots(sink)]


@pytest.mark.cell("pause")
@pytest.mark.parametrize("options", [{}, {"durability": "exit"}], ids=["as it goes", "at the end"])
def test_each_pause_of_a_thread_has_a_name_of_its_own(sink: OtlpSink, options: Any) -> None:
    graph = subgraph_agent(ToolLog(), ["a"])
    in_other_processes(graph, ASK, Command(resume="yes"), ASK, Command(resume="yes"), **options)
    (none, first), (second, ended), (begun, third), (fourth, over) = tokens(sink)
    assert (none, ended, begun, over) == (None, None, None, None)
    assert (second, fourth) == (first, third)
    assert len({first, third}) == 2


def test_threads_of_one_name_in_two_programs_are_two(sink: OtlpSink) -> None:
    in_other_processes(asking("a"), ASK)
    in_other_processes(asking("b"), ASK, Command(resume="yes"))
    (_, one), (_, other), (resumed, _) = tokens(sink)
    assert (resumed == other, resumed == one) == (True, False)


@pytest.mark.parametrize("name", ["other", "a"], ids=["other nodes", "equal, with memories of their own"])
def test_threads_of_one_name_in_two_graphs_are_two(sink: OtlpSink, name: str) -> None:
    """Both wait in one process, and the first that waited goes on first."""
    one, other = asking("a", name="a"), asking("b", name=name)
    one.invoke(ASK, THREAD)
    other.invoke(ASK, THREAD)
    one.invoke(Command(resume="yes"), THREAD)
    other.invoke(Command(resume="yes"), THREAD)
    pdoctor_trace.flush()
    first, second, *went_on = roots(sink)
    assert [run.run_id for run in went_on] == [first.run_id, second.run_id]
    assert first.run_id != second.run_id


def test_a_graph_that_is_built_anew_goes_on_with_its_thread(sink: OtlpSink) -> None:
    saver = InMemorySaver()
    asking("a", saver=saver).invoke(ASK, THREAD)
    asking("a", saver=saver).invoke(Command(resume="yes"), THREAD)
    pdoctor_trace.flush()
    assert len({run.run_id for run in roots(sink)}) == 1


def test_a_state_that_the_host_changes_while_a_graph_waits(sink: OtlpSink) -> None:
    """It is kept in a checkpoint of its own, and the graph still goes on from the pause."""

    def change(graph: Any) -> None:
        graph.update_state(THREAD, {"messages": [AIMessage("as you were")]}, as_node="__start__")

    in_other_processes(asking("a"), ASK, change, Command(resume="yes"))
    (_, token), (resumed, _) = tokens(sink)
    assert (resumed, token is None) == (token, False)


def test_a_graph_that_begins_with_a_state_of_the_host_goes_on_with_nothing(sink: OtlpSink) -> None:
    graph, thread = subgraph_agent(ToolLog(), []), {"configurable": {"thread_id": "prepared"}}
    graph.update_state(thread, ASK, as_node="__start__")
    graph.invoke(None, thread)
    pdoctor_trace.flush()
    assert [run["pdoctor.run.resumed"] for run in roots(sink)] == [None]


def subgraph_agent(log: ToolLog, parts: Sequence[str]) -> Any:
    """A graph whose node is a graph that asks a person within a tool."""

    @tool
    def act(text: str) -> str:
        """Ask, then act."""
        return str(log.record("act", {"text": text}, lambda: interrupt(text)))

    def ask(state: Any) -> Any:
        calls = [{"name": "act", "args": {"text": part}, "id": f"c{at}"} for at, part in enumerate(parts)]
        return {"messages": [AIMessage("", tool_calls=calls)]}

    inner = StateGraph(MessagesState).add_node("ask", ask).add_node("tools", ToolNode([act]))
    inner.add_edge(START, "ask").add_edge("ask", "tools").add_edge("tools", END)
    outer = StateGraph(MessagesState).add_node("inner", inner.compile()).add_edge(START, "inner")
    return outer.compile(checkpointer=InMemorySaver())


def test_a_subgraph_that_waits_pauses_the_root(sink: OtlpSink) -> None:
    log = ToolLog()
    graph = subgraph_agent(log, ["a"])
    graph.invoke(ASK, THREAD)
    graph.invoke(Command(resume="yes"), THREAD)
    pdoctor_trace.flush()
    one_run(sink)
    assert len(roots(sink)) == 2
    (call,) = sink.calls
    assert (call.result, call.executed) == ("yes", True)


def failing_graph() -> Any:
    """A graph that fails at its second node until it is repaired."""
    broken = [True]

    @tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    def first(state: Any) -> Any:
        add.invoke({"a": 1, "b": 2})

    def second(state: Any) -> Any:
        if broken.pop():
            broken.append(False)
            raise RuntimeError("broken")
        add.invoke({"a": 3, "b": 4})

    graph = StateGraph(MessagesState).add_node("first", first).add_node("second", second)
    graph.add_edge(START, "first").add_edge("first", "second")
    return graph.compile(checkpointer=InMemorySaver())


def test_a_graph_that_fails_is_not_paused_and_its_retry_is_the_same_run(sink: OtlpSink) -> None:
    graph = failing_graph()
    with pytest.raises(RuntimeError):
        graph.invoke(ASK, THREAD)
    graph.invoke(None, THREAD)
    pdoctor_trace.flush()
    first, last = roots(sink)
    assert (first.failed, first["pdoctor.run.state"], last.failed) == (True, None, False)
    assert first.run_id == last.run_id
    assert [(call["pdoctor.step.index"], call.result) for call in sink.calls] == [(0, 3), (1, 7)]


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """A host with a provider of its own, whose spans stand beside the records."""
    way = runtime.ACTIVE.settings.export
    pdoctor_trace.install(export="records")
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    yield exporter
    provider.shutdown()
    pdoctor_trace.install(export=way)


def test_both_parts_have_one_trace_in_the_hosts_provider(
    models: FakeModels, sink: OtlpSink, host: InMemorySpanExporter
) -> None:
    use(models, "fake.one.sleepy", ToolLog().functions(), ASK, decided(APPROVE, APPROVE))
    one_run(sink)
    theirs = {f"{span.context.span_id:016x}": span for span in host.get_finished_spans()}
    assert {span.span_id for span in sink.spans} <= set(theirs)
    assert {f"{span.context.trace_id:032x}" for span in theirs.values()} == {sink.spans[0].trace_id}
    first, last = roots(sink)
    assert f"{theirs[last.span_id].parent.span_id:016x}" == first.span_id
    assert first.links == last.links == ()


def test_a_part_in_another_trace_of_the_host_links_to_the_one_before(
    models: FakeModels, sink: OtlpSink, host: InMemorySpanExporter
) -> None:
    def within(turn: Any) -> Callable[[Any], Any]:
        def go(agent: Any) -> Any:
            with trace.get_tracer("host").start_as_current_span("a request"):
                return agent.invoke(turn, THREAD)

        return go

    use(models, "fake.sleepy", ToolLog().functions(), within(ASK), within(decided(APPROVE, APPROVE)))
    first, last = roots(sink)
    assert first.run_id == last.run_id
    assert first.trace_id != last.trace_id
    assert last.links == ((first.trace_id, first.span_id),)
    (theirs,) = (one for one in host.get_finished_spans() if f"{one.context.span_id:016x}" == last.span_id)
    assert [f"{link.context.span_id:016x}" for link in theirs.links] == [first.span_id]
    assert f"{theirs.context.trace_id:032x}" == last.trace_id
    requests = [one.context for one in host.get_finished_spans() if one.name == "a request"]
    assert (last.trace_id, last.parent_id) == (f"{requests[1].trace_id:032x}", f"{requests[1].span_id:016x}")
    assert {call.trace_id for call in sink.calls} == {last.trace_id}
    assert [call["pdoctor.step.index"] for call in sink.calls] == [0, 1]


def test_threads_may_be_named_by_any_value(models: FakeModels, sink: OtlpSink) -> None:
    number: Any = {"configurable": {"thread_id": 7}}
    use(models, "fake.sleepy", ToolLog().functions(), ASK, decided(APPROVE, APPROVE), config=number)
    one_run(sink)
    assert {run["gen_ai.conversation.id"] for run in sink.runs} == {"7"}


def test_parts_inside_one_run_of_the_host_are_that_run(models: FakeModels, sink: OtlpSink) -> None:
    with pdoctor_trace.run("both parts"):
        use(models, "fake.sleepy", ToolLog().functions(), ASK, decided(APPROVE, APPROVE))
    pdoctor_trace.flush()
    (root,) = roots(sink)
    assert root["pdoctor.run.state"] is root["pdoctor.run.resumed"] is None
    assert root["pdoctor.run.calls"] == len(sink.calls) == 2


def test_parts_in_two_runs_of_the_host_are_named_as_parts(models: FakeModels, sink: OtlpSink) -> None:
    def within(turn: Any) -> Callable[[Any], Any]:
        def go(agent: Any) -> Any:
            with pdoctor_trace.run("a part"):
                return agent.invoke(turn, THREAD)

        return go

    use(models, "fake.sleepy", ToolLog().functions(), within(ASK), within(decided(APPROVE, APPROVE)))
    first, last = roots(sink)
    assert (paused(first)[0], first["pdoctor.run.token"]) == ("paused", last["pdoctor.run.resumed"])
    assert last["pdoctor.run.calls"] == len(sink.calls) == 2


class Paying(BaseChatModel):
    """Asks for `pay` under one and the same id, with another amount for each agent."""

    @property
    def _llm_type(self) -> str:
        return "paying"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:
        done = messages[-1].type == "tool"
        asked = {"id": "call_1", "name": "pay", "args": {"amount": int(messages[0].content)}}
        said = AIMessage("done" if done else "", tool_calls=[] if done else [asked])
        return ChatResult(generations=[ChatGeneration(message=said)])


def test_agents_that_wait_side_by_side_with_the_same_call_ids(sink: OtlpSink) -> None:
    """One decision for both: each call is one, with its own arguments and result."""

    @tool
    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    gate: Any = HumanInTheLoopMiddleware(interrupt_on={"pay": True})
    payer = create_agent(Paying(), [pay], middleware=[gate], name="payer")

    def each(state: Any) -> Any:
        return [Send("payer", {"messages": [HumanMessage(str(amount))]}) for amount in (1, 2)]

    graph: Any = StateGraph(MessagesState).add_node("payer", payer)
    graph.add_conditional_edges(START, each, ["payer"])
    compiled = graph.compile(checkpointer=InMemorySaver())
    compiled.invoke(ASK, THREAD)
    waiting = compiled.get_state(THREAD).interrupts
    compiled.invoke(Command(resume={one.id: {"decisions": [APPROVE]} for one in waiting}), THREAD)
    pdoctor_trace.flush()
    told = sorted((call.arguments["amount"], call.result, call.executed) for call in sink.calls)
    assert told == [(1, "paid 1", True), (2, "paid 2", True)]
    assert {call.call_id for call in sink.calls} == {"call_1"}
    assert {call["pdoctor.turn.index"] for call in sink.calls} == {0, 1}
    assert len({span.run_id for span in sink.spans}) == 1
