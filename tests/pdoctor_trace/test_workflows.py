"""`invoke_workflow` spans: around the runs of what a framework calls a graph, for new and old collectors."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, create_react_agent, tools_condition
from langgraph.types import Command, interrupt
from openai import DefaultHttpxClient
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import pdoctor_trace
from collector import dialects
from collector.dialects import genai
from collector.model import Rebuilt
from collector.otlp.segments import from_protobuf
from collector.otlp.spans import spans_of
from collector.rebuild import rebuild
from collector.settings import Limits
from tests.support.models import FINAL, FakeModels
from tests.support.sink import OtlpSink, Span

QUERY = "Please do it."
ASK: Any = {"messages": [HumanMessage(QUERY)]}
QUIET: Any = {"max_retries": 0, "api_key": "x"}


@tool
def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


@pytest.fixture
def chat(models: FakeModels) -> Iterator[ChatOpenAI]:
    with DefaultHttpxClient() as client:
        yield ChatOpenAI(model="fake.one", base_url=models.openai, http_client=client, **QUIET)


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    yield exporter
    provider.shutdown()


def graph_of(chat: Any, node: Any = None, **compiled: Any) -> Any:
    """A model and its tools as a graph of one's own; `node` comes before them."""
    bound = chat.bind_tools([add])
    graph = StateGraph(MessagesState)
    graph.add_node("first", node or (lambda state: {}))
    graph.add_node("think", lambda state: {"messages": [bound.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode([add]))
    graph.add_edge(START, "first")
    graph.add_edge("first", "think")
    graph.add_conditional_edges("think", tools_condition)
    graph.add_edge("tools", "think")
    return graph.compile(name="planner", **compiled)


def workflows(sink: OtlpSink) -> list[Span]:
    pdoctor_trace.flush()
    return sink.workflows


def rebuilt(sink: OtlpSink) -> Rebuilt:
    segments = from_protobuf(b"".join(sink.bodies), Limits()).segments
    return rebuild("r", list(spans_of([segment.payload for segment in segments])))


def texts(span: Span, attribute: str) -> list[Any]:
    return [part.get("content") for message in json.loads(span[attribute]) for part in message["parts"]]


def test_a_graph_is_a_workflow_around_its_run(chat: ChatOpenAI, sink: OtlpSink) -> None:
    graph_of(chat).invoke(ASK)
    ((around,), (run,)) = workflows(sink), sink.runs
    assert (around.name, around.kind_of_span, around.parent_id) == ("invoke_workflow planner", 1, "")
    assert (run.parent_id, run.trace_id, run.run_id) == (around.span_id, around.trace_id, around.run_id)
    assert (around.start, around.end, around.failed) == (run.start, run.end, False)
    assert {call.parent_id for call in sink.calls} == {run.span_id}
    assert (around["gen_ai.workflow.name"], around["gen_ai.agent.name"]) == ("planner", "planner")
    assert (around["pdoctor.source"], around["pdoctor.run.calls"]) == ("langchain", None)
    assert texts(around, "gen_ai.input.messages") == [QUERY]
    assert texts(around, "gen_ai.output.messages") == [FINAL]
    assert texts(run, "gen_ai.output.messages") == [FINAL]


def test_a_graph_without_a_name_of_its_own(chat: ChatOpenAI, sink: OtlpSink) -> None:
    graph = graph_of(chat)
    graph.name = None
    graph.invoke(ASK)
    (around,) = workflows(sink)
    assert (around.name, around["gen_ai.workflow.name"]) == ("invoke_workflow", None)


def test_one_agent_is_no_workflow(chat: ChatOpenAI, sink: OtlpSink) -> None:
    create_agent(chat, [add], name="one").invoke(ASK)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its makers would rather have the other
        create_react_agent(chat, [add], name="two").invoke(ASK)
    assert workflows(sink) == []
    assert [run["gen_ai.agent.name"] for run in sink.runs] == ["one", "two"]


def test_an_agent_within_a_graph_has_the_graphs_run_above_it(chat: ChatOpenAI, sink: OtlpSink) -> None:
    agent = create_agent(chat, [add], name="helper")
    graph = StateGraph(MessagesState)
    graph.add_node("helper", agent)
    graph.add_edge(START, "helper")
    graph.compile(name="planner").invoke(ASK)
    (around,) = workflows(sink)
    outer, inner = sink.runs
    assert (outer["gen_ai.agent.name"], outer.parent_id) == ("planner", around.span_id)
    assert (inner["gen_ai.agent.name"], inner.parent_id) == ("helper", outer.span_id)
    assert texts(outer, "gen_ai.output.messages") == texts(inner, "gen_ai.output.messages") == [FINAL]


def test_a_graph_within_a_graph_is_one_of_its_own(chat: ChatOpenAI, sink: OtlpSink) -> None:
    graph = StateGraph(MessagesState)
    graph.add_node("plan", graph_of(chat))
    graph.add_edge(START, "plan")
    graph.compile(name="outer").invoke(ASK)
    first, second = workflows(sink)
    run, nested = sink.runs
    parents = [first.parent_id, run.parent_id, second.parent_id, nested.parent_id]
    assert parents == ["", first.span_id, run.span_id, second.span_id]
    assert (first.name, second.name) == ("invoke_workflow outer", "invoke_workflow planner")


def test_what_a_tool_asks_of_a_model_is_no_answer_of_the_run(chat: ChatOpenAI, sink: OtlpSink) -> None:
    """What the model of an agent in a tool says is the tool's own business."""

    @tool("add")
    def ask(a: int, b: int) -> str:
        """Add two integers."""
        return str(graph_of(chat).invoke(ASK)["messages"][-1].content)

    bound = chat.bind_tools([ask])
    graph = StateGraph(MessagesState)
    graph.add_node("think", lambda state: {"messages": [bound.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode([ask]))
    graph.add_edge(START, "think")
    graph.add_edge("think", "tools")
    graph.compile(name="outer").invoke(ASK)
    workflows(sink)
    (outer,) = (run for run in sink.runs if run["gen_ai.agent.name"] == "outer")
    ((asked,),) = ([m["parts"] for m in json.loads(outer["gen_ai.output.messages"])],)
    assert [part["type"] for part in asked] == ["tool_call"]


def test_a_graph_that_fails(chat: ChatOpenAI, sink: OtlpSink) -> None:
    def fails(state: Any) -> Any:
        raise LookupError("no plan")

    with pytest.raises(LookupError):
        graph_of(chat, fails).invoke(ASK)
    ((around,), (run,)) = workflows(sink), sink.runs
    for span in (around, run):
        assert (span.failed, span.message, span["error.type"]) == (True, "no plan", "LookupError")


def test_a_graph_that_waits_and_goes_on(chat: ChatOpenAI, sink: OtlpSink) -> None:
    """One run in two parts: each has its workflow, and the states stand on the runs."""
    thread: Any = {"configurable": {"thread_id": "t7"}}
    graph = graph_of(chat, lambda state: interrupt("well?") and {}, checkpointer=InMemorySaver())
    graph.invoke(ASK, thread)
    graph.invoke(Command(resume=True), thread)
    around, runs = workflows(sink), sink.runs
    assert [run.parent_id for run in runs] == [span.span_id for span in around]
    assert [run["pdoctor.run.state"] for run in runs] == ["paused", None]
    assert {span["pdoctor.run.state"] for span in around} == {None}
    assert {span.run_id for span in around} == {runs[0].run_id}
    assert {span["gen_ai.conversation.id"] for span in around} == {"t7"}
    assert (rebuilt(sink).run.calls[0].tool, len(rebuilt(sink).parts), rebuilt(sink).waits) == (
        "add",
        2,
        None,
    )


def test_what_was_said_goes_by_content_mode(chat: ChatOpenAI, sink: OtlpSink, request: Any) -> None:
    pdoctor_trace.install(content="none")
    request.addfinalizer(lambda: pdoctor_trace.install(content="full"))
    graph_of(chat).invoke(ASK)
    graph_of(chat, interrupt_after=["think"], checkpointer=InMemorySaver()).invoke(
        ASK, {"configurable": {"thread_id": "left with a call"}}
    )
    for span in (*workflows(sink), *sink.runs):
        assert (span["gen_ai.input.messages"], span["gen_ai.output.messages"]) == (None, None)
    assert len(sink.runs) == 2


def test_the_hosts_provider_has_both(chat: ChatOpenAI, sink: OtlpSink, host: InMemorySpanExporter) -> None:
    """With the same ids and parents, and without what was said."""
    graph_of(chat).invoke(ASK)
    ((around,), (run,)) = workflows(sink), sink.runs
    theirs = {f"{span.context.span_id:016x}": span for span in host.get_finished_spans()}
    outer, inner = theirs[around.span_id], theirs[run.span_id]
    assert outer.parent is None
    assert inner.parent is not None
    assert f"{inner.parent.span_id:016x}" == around.span_id
    assert (outer.name, f"{outer.context.trace_id:032x}") == (around.name, around.trace_id)
    assert (outer.start_time, outer.end_time) == (around.start, around.end)
    assert dict(outer.attributes or {}) == {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.agent.name": "planner",
        "gen_ai.workflow.name": "planner",
        "pdoctor.source": "langchain",
        "pdoctor.run.id": around.run_id,
        "pdoctor.content": "none",
    }


def test_an_older_collector_reads_the_same(
    chat: ChatOpenAI, sink: OtlpSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that knows `invoke_agent` alone passes over the span around it."""
    graph_of(chat).invoke(ASK)
    assert workflows(sink)
    new = rebuilt(sink)

    def older(span: Any) -> Any:
        return None if span.attributes.get("gen_ai.operation.name") == "invoke_workflow" else read(span)

    read = genai.read_agent
    monkeypatch.setattr(dialects, "ANY_GENAI", (replace(genai.DIALECT, agent=older),))
    assert rebuilt(sink) == new
    run = new.run
    assert (run.agent, run.query, run.tools, run.problems) == ("planner", QUERY, ("add",), ())
    assert (new.has_root, new.expected_calls, new.arrived_calls, new.whole_talk) == (True, 1, 1, True)


def test_a_newer_collector_reads_an_older_client(
    chat: ChatOpenAI, sink: OtlpSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose graphs have no span around them."""
    graph_of(chat).invoke(ASK)
    assert workflows(sink)
    new = rebuilt(sink).run
    sink.clear()
    monkeypatch.setattr("pdoctor_trace.frameworks.langchain.Workflow", lambda name: None)
    graph_of(chat).invoke(ASK)
    assert workflows(sink) == []
    old = rebuilt(sink).run
    assert [(call.id, call.tool) for call in old.calls] == [(call.id, call.tool) for call in new.calls]
    assert (old.agent, old.query, old.tools, old.problems) == (new.agent, new.query, new.tools, new.problems)
