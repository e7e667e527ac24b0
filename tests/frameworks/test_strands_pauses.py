"""Strands runs that are interrupted, and agents that hand over to one another."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from strands import Agent, ToolContext, tool
from strands.hooks import BeforeToolCallEvent
from strands.models.openai import OpenAIModel
from strands.multiagent import Swarm
from strands.session import FileSessionManager

import pdoctor_trace
from tests.frameworks.conformance import QUERY, ToolLog
from tests.support.models import STEPS, FakeModels
from tests.support.sink import OtlpSink

# Strands never closes its clients.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def agent(models: FakeModels, script: str, tools: Any, name: str = "tester", **options: Any) -> Agent:
    settings = {"api_key": "x", "base_url": models.openai, "max_retries": 0}
    model = OpenAIModel(client_args=settings, model_id=script)
    return Agent(model=model, tools=list(tools), callback_handler=None, name=name, **options)


def gate(event: BeforeToolCallEvent) -> None:
    """A person is asked before `slow_echo`."""
    if event.tool_use["name"] == "slow_echo" and event.interrupt("approval", reason="sure?") != "yes":
        event.cancel_tool = "a person said no"


def gated(models: FakeModels, script: str, log: ToolLog, **options: Any) -> Agent:
    made = agent(models, script, [tool(function) for function in log.functions()], **options)
    made.hooks.add_callback(BeforeToolCallEvent, gate)
    return made


def answer(one: Agent, result: Any, *said: str) -> Any:
    """Go on with what was interrupted."""
    return one(
        [
            {"interruptResponse": {"interruptId": interrupt.id, "response": text}}
            for interrupt, text in zip(result.interrupts, said, strict=True)
        ]
    )


def roots(sink: OtlpSink) -> list[Any]:
    return [run for run in sink.runs if run["pdoctor.run.calls"] is not None]


def one_run(sink: OtlpSink, reason: str = "approval") -> None:
    """All spans are of one run and one trace, its numbers have no holes, and it has ended."""
    pdoctor_trace.flush()
    assert len({(span.run_id, span.trace_id) for span in sink.spans}) == 1
    assert [call["pdoctor.step.index"] for call in sink.calls] == list(range(len(sink.calls)))
    *before, last = roots(sink)
    assert last["pdoctor.run.calls"] == len(sink.calls)
    told = [(run["pdoctor.run.state"], run["pdoctor.run.pause_reason"]) for run in (*before, last)]
    assert told == [("paused", reason)] * len(before) + [(None, None)]
    assert {run["pdoctor.run.resumed"] for run in sink.runs} == {None}


@pytest.mark.cell("pause")
def test_a_call_that_a_person_approves_belongs_to_the_run_that_asked(
    models: FakeModels, sink: OtlpSink
) -> None:
    log = ToolLog()
    one = gated(models, "fake.one.sleepy", log)
    answer(one, one(QUERY), "yes", "yes")
    one_run(sink)
    assert len(roots(sink)) == 2
    assert [(call.tool, call["pdoctor.turn.index"]) for call in sink.calls] == [
        ("add", 0),
        ("slow_echo", 1),
        ("slow_echo", 1),
    ]
    assert all(call.executed for call in sink.calls)
    assert len(log.names) == 3


def test_a_call_that_a_person_rejects_did_not_run(models: FakeModels, sink: OtlpSink) -> None:
    log = ToolLog()
    one = gated(models, "fake.sleepy.one", log)
    answer(one, one(QUERY), "no", "yes")
    one_run(sink)
    assert {call.call_id: call.executed for call in sink.calls} == {
        "call_0_0": False,
        "call_0_1": True,
        "call_1_0": True,
    }
    assert {call["pdoctor.tool.execution"] for call in sink.calls} == {None}
    assert log.names == ["slow_echo", "add"]


def test_a_tool_may_ask_while_it_runs(models: FakeModels, sink: OtlpSink) -> None:
    @tool(context=True)
    def slow_echo(text: str, tool_context: ToolContext) -> str:
        """Echo what a person says."""
        return str(tool_context.interrupt("question", reason=text))

    one = agent(models, "fake.sleepy", [slow_echo])
    answer(one, one(QUERY), "a", "b")
    one_run(sink, "input")
    assert [(call.call_id, call.result) for call in sink.calls] == [("call_0_0", "a"), ("call_0_1", "b")]


@pytest.mark.cell("other process")
def test_a_session_goes_on_in_another_process(models: FakeModels, sink: OtlpSink, tmp_path: Path) -> None:
    log = ToolLog()

    def restored() -> Agent:
        manager = FileSessionManager(session_id="s1", storage_dir=str(tmp_path))
        return gated(models, "fake.one.sleepy", log, session_manager=manager)

    result = restored()(QUERY)
    pdoctor_trace.flush()
    child = os.fork()
    if not child:
        answer(restored(), result, "yes", "no")
        pdoctor_trace.flush()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    first, last = roots(sink)
    assert first["pdoctor.run.token"] == last["pdoctor.run.resumed"] is not None
    assert first.run_id != last.run_id
    assert first["gen_ai.conversation.id"] == last["gen_ai.conversation.id"] == "s1"
    assert {(call.run_id, call.call_id): call.executed for call in sink.calls} == {
        (first.run_id, "call_0_0"): True,
        (last.run_id, "call_1_0"): True,
        (last.run_id, "call_1_1"): False,
    }


@pytest.mark.cell("workflow")
@pytest.mark.cell("hand-over")
def test_a_swarm_is_one_run_and_each_call_is_of_the_agent_whose_turn_it_is(
    models: FakeModels, sink: OtlpSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    handoff = '{"agent_name": "second", "message": "yours"}'
    monkeypatch.setitem(STEPS, "handoff", [("handoff_to_agent", handoff)])
    tools = [tool(function) for function in ToolLog().functions()]
    first = agent(models, "fake.one.handoff", tools, "first")
    second = agent(models, "fake.one", tools, "second")
    Swarm([first, second])(QUERY)
    pdoctor_trace.flush()
    assert len({span.run_id for span in sink.spans}) == 1
    assert [(call.tool, call["gen_ai.agent.name"]) for call in sink.calls] == [
        ("add", "first"),
        ("handoff_to_agent", "first"),
        ("add", "second"),
    ]
    (root,) = roots(sink)
    assert root["pdoctor.run.calls"] == 3
    (around,) = sink.workflows
    assert (around.parent_id, root.parent_id) == ("", around.span_id)
