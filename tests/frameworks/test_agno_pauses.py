"""Agno runs that wait for a person or for tools that run elsewhere, and members of teams."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

import pdoctor_trace
from tests.frameworks.conformance import QUERY, ToolLog
from tests.support.models import STEPS, FakeModels
from tests.support.sink import OtlpSink

os.environ.setdefault("AGNO_TELEMETRY", "false")
from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.openai.like import OpenAILike
from agno.run.agent import RunOutput
from agno.team import Team
from agno.tools import tool
from agno.workflow import Step, Workflow
from agno.workflow.types import HumanReview, StepOutput

# Agno never closes its clients.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def model(models: FakeModels, script: str) -> Any:
    return OpenAILike(id=script, base_url=models.openai, api_key="x", max_retries=0)


def agent(models: FakeModels, script: str, tools: Any, name: str = "tester") -> Agent:
    return Agent(model=model(models, script), tools=list(tools), name=name, telemetry=False, session_id="s1")


def gated(log: ToolLog) -> list[Any]:
    """`add`, and `slow_echo`, which a person has to confirm."""
    add, slow_echo, _ = log.functions()
    return [tool()(add), tool(requires_confirmation=True)(slow_echo)]


def answered(output: Any, *decisions: bool) -> Any:
    """The output of a paused run with what a person says to it."""
    for requirement, confirmed in zip(output.active_requirements, decisions, strict=True):
        (requirement.confirm if confirmed else requirement.reject)()
    return output


def go_on(one: Any, output: Any, mode: str) -> Any:
    given = {"run_response": output, "requirements": output.requirements}
    if mode == "run":
        return one.continue_run(**given)
    if mode == "arun":
        return asyncio.run(one.acontinue_run(**given))
    return last_of(one.continue_run(**given, stream=True, stream_events=True, yield_run_output=True))


def begin(one: Any, mode: str) -> Any:
    if mode == "run":
        return one.run(QUERY)
    if mode == "arun":
        return asyncio.run(one.arun(QUERY))
    return last_of(one.run(QUERY, stream=True, stream_events=True, yield_run_output=True))


def last_of(events: Any) -> Any:
    return next(event for event in reversed(list(events)) if isinstance(event, RunOutput))


def roots(sink: OtlpSink) -> list[Any]:
    return [run for run in sink.runs if run["pdoctor.run.calls"] is not None]


def one_run(sink: OtlpSink, reason: str = "approval") -> None:
    """All spans are of one run, trace and session, its numbers have no holes, and it has ended."""
    pdoctor_trace.flush()
    assert len({(span.run_id, span.trace_id) for span in sink.spans}) == 1
    assert [call["pdoctor.step.index"] for call in sink.calls] == list(range(len(sink.calls)))
    *before, last = roots(sink)
    assert last["pdoctor.run.calls"] == len(sink.calls)
    told = [(run["pdoctor.run.state"], run["pdoctor.run.pause_reason"]) for run in (*before, last)]
    assert told == [("paused", reason)] * len(before) + [(None, None)]
    assert {run["pdoctor.run.resumed"] for run in sink.runs} == {None}
    assert {run["gen_ai.conversation.id"] for run in roots(sink)} == {"s1"}


@pytest.mark.cell("pause")
@pytest.mark.parametrize("mode", ["run", "arun", "stream"])
def test_a_call_that_a_person_confirms_belongs_to_the_run_that_asked(
    models: FakeModels, sink: OtlpSink, mode: str
) -> None:
    log = ToolLog()
    one = agent(models, "fake.one.sleepy", gated(log))
    go_on(one, answered(begin(one, mode), True, True), mode)
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
    one = agent(models, "fake.sleepy.one", gated(log))
    go_on(one, answered(one.run(QUERY), False, True), "run")
    one_run(sink)
    assert {call.call_id: call.executed for call in sink.calls} == {
        "call_0_0": False,
        "call_0_1": True,
        "call_1_0": True,
    }
    assert {call["pdoctor.tool.execution"] for call in sink.calls} == {None}
    assert log.names == ["slow_echo", "add"]


def test_a_tool_that_runs_elsewhere_has_the_result_that_is_brought(
    models: FakeModels, sink: OtlpSink
) -> None:
    made = [tool(external_execution=True)(ToolLog().functions()[1])]
    one = agent(models, "fake.sleepy", made)
    output = one.run(QUERY)
    for requirement, result in zip(output.active_requirements, ["one", "two"], strict=True):
        requirement.set_external_execution_result(result)
    go_on(one, output, "run")
    one_run(sink, "other")
    assert [(call.call_id, call.executed, call.result) for call in sink.calls] == [
        ("call_0_0", True, "one"),
        ("call_0_1", True, "two"),
    ]


def test_a_tool_whose_arguments_a_person_fills_in_is_judged_with_what_ran(
    models: FakeModels, sink: OtlpSink
) -> None:
    log = ToolLog()
    made = [tool(requires_user_input=True, user_input_fields=["b"])(log.functions()[0])]
    one = agent(models, "fake.one", made)
    output = one.run(QUERY)
    output.active_requirements[0].provide_user_input({"b": 5})
    go_on(one, output, "run")
    one_run(sink, "input")
    (call,) = sink.calls
    assert (call.arguments, call.executed) == (log.entries[0].arguments, True)


@pytest.mark.cell("other process")
def test_a_run_that_is_gone_on_with_in_another_process_says_so(models: FakeModels, sink: OtlpSink) -> None:
    log = ToolLog()
    stored = answered(agent(models, "fake.one.sleepy", gated(log)).run(QUERY), True, False).to_dict()
    pdoctor_trace.flush()
    child = os.fork()
    if not child:
        go_on(agent(models, "fake.one.sleepy", gated(log)), RunOutput.from_dict(stored), "run")
        pdoctor_trace.flush()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    first, last = roots(sink)
    assert first["pdoctor.run.token"] == last["pdoctor.run.resumed"] is not None
    assert {(call.run_id, call.call_id): call.executed for call in sink.calls} == {
        (first.run_id, "call_0_0"): True,
        (last.run_id, "call_1_0"): True,
        (last.run_id, "call_1_1"): False,
    }


@pytest.mark.cell("hand-over")
def test_calls_of_a_team_are_those_of_the_member_whose_turn_it_is(
    models: FakeModels, sink: OtlpSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = '{"member_id": "second", "task": "add"}'
    monkeypatch.setitem(STEPS, "delegate", [("delegate_task_to_member", task)])
    second = agent(models, "fake.one", ToolLog().functions(), "second")
    team = Team(members=[second], model=model(models, "fake.delegate"), name="team", telemetry=False)
    team.run(QUERY)
    pdoctor_trace.flush()
    assert len({span.run_id for span in sink.spans}) == 1
    assert {(call.tool, call["gen_ai.agent.name"]) for call in sink.calls} == {
        ("delegate_task_to_member", "team"),
        ("add", "second"),
    }


def test_a_run_that_goes_on_without_the_agent_that_waits_in_its_tool_is_not_paused(
    models: FakeModels, sink: OtlpSink
) -> None:
    """The tool says that somebody has to confirm, and its agent answers with that."""
    inner = agent(models, "fake.sleepy", gated(ToolLog()), "inner")

    def ask_sub(text: str) -> str:
        """Ask another agent."""
        return "wait for it" if inner.run(text).is_paused else "done"

    agent(models, "fake.nest", [ask_sub], "outer").run(QUERY)
    pdoctor_trace.flush()
    (outer,) = roots(sink)
    assert (outer["gen_ai.agent.name"], outer["pdoctor.run.state"]) == ("outer", None)
    (ask,) = [call for call in sink.calls if call.tool == "ask_sub"]
    assert (ask.executed, ask.result) == (True, "wait for it")


def test_a_member_that_waits_pauses_the_team(
    models: FakeModels, sink: OtlpSink, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    task = '{"member_id": "second", "task": "add"}'
    monkeypatch.setitem(STEPS, "delegate", [("delegate_task_to_member", task)])
    log = ToolLog()
    second = agent(models, "fake.sleepy", gated(log), "second")
    team = Team(
        members=[second],
        model=model(models, "fake.delegate"),
        name="team",
        telemetry=False,
        session_id="s1",
    )
    output = team.run(QUERY)
    assert output.is_paused
    go_on(team, answered(output, True, True), "run")
    one_run(sink)
    assert len(log.names) == 2
    assert sorted(call.tool for call in sink.calls if call.executed) == [
        "delegate_task_to_member",
        "slow_echo",
        "slow_echo",
    ]


@pytest.mark.cell("pause")
@pytest.mark.parametrize("mode", ["run", "arun", "streamed"])
def test_a_workflow_whose_step_a_person_confirms_is_one_run(
    models: FakeModels, sink: OtlpSink, mode: str
) -> None:
    one = agent(models, "fake.one", ToolLog().functions())

    def work(given: Any) -> StepOutput:
        return StepOutput(content=one.run(QUERY).content)

    review = HumanReview(requires_confirmation=True)
    steps = [Step(name="a", executor=work), Step(name="b", executor=work, human_review=review)]
    flow = Workflow(name="flow", steps=steps, telemetry=False, db=InMemoryDb(), session_id="s1")
    if mode == "streamed":
        list(flow.run(QUERY, stream=True, stream_events=True))
        output = flow.get_session("s1").runs[-1]
    else:
        output = flow.run(QUERY) if mode == "run" else asyncio.run(flow.arun(QUERY))
    for requirement in output.step_requirements or ():
        requirement.confirm()
    if mode == "run":
        flow.continue_run(output)
    elif mode == "arun":
        asyncio.run(flow.acontinue_run(output))
    else:
        list(flow.continue_run(output, stream=True, stream_events=True))
    pdoctor_trace.flush()
    assert len({span.run_id for span in sink.spans}) == 1
    before, after = [run for run in sink.runs if run["pdoctor.run.calls"] is not None]
    assert [run["pdoctor.run.state"] for run in (before, after)] == ["paused", None]
    assert (before["pdoctor.run.calls"], after["pdoctor.run.calls"]) == (1, 2)
    assert {run["gen_ai.conversation.id"] for run in (before, after)} == {"s1"}
