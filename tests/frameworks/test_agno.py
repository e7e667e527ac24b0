"""Agno on a scripted Chat Completions model."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from typing import Any

import pytest

import pdoctor_trace
from tests.frameworks.conformance import QUERY, Conformance, Driver, Outcome, ToolLog
from tests.support.models import FINAL, STEPS, FakeModels
from tests.support.sink import OtlpSink

os.environ.setdefault("AGNO_TELEMETRY", "false")
from agno.agent import Agent
from agno.exceptions import StopAgentRun
from agno.models.message import Message
from agno.models.openai.like import OpenAILike
from agno.team import Team
from agno.tools import tool
from agno.tools.function import Function
from agno.workflow import Parallel, Step, Workflow
from agno.workflow.types import StepOutput

# Agno never closes its clients.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def agent(models: FakeModels, script: str, tools: Any, **options: Any) -> Agent:
    options = {"name": "tester", "telemetry": False, **options}
    return Agent(model=model(models, script), tools=list(tools), **options)


def model(models: FakeModels, script: str) -> Any:
    return OpenAILike(id=script, base_url=models.openai, api_key="x", max_retries=0)


def run(one: Any) -> Any:
    return one.run(QUERY).content


def stream(one: Any) -> Any:
    return text_of(list(one.run(QUERY, stream=True)))


def text_of(events: Any) -> str:
    return "".join(event.content or "" for event in events if event.event == "RunContent")


def arun(one: Any) -> Any:
    return asyncio.run(one.arun(QUERY)).content


def astream(one: Any) -> Any:
    async def main() -> str:
        return text_of([event async for event in one.arun(QUERY, stream=True)])

    return asyncio.run(main())


MODES = {"run": run, "stream": stream, "arun": arun, "arun stream": astream}


class AgnoDriver(Driver):
    source = "agno"
    modes = tuple(MODES)
    streaming = ("stream", "arun stream")
    sync_mode = "run"

    def run(self, models: FakeModels, script: str, tools: Any, mode: str) -> Outcome:
        try:
            return Outcome(text=MODES[mode](agent(models, script, tools)))
        except BaseException as error:
            return Outcome(error=error)

    async def arun(self, models: FakeModels, script: str, tools: Any) -> Outcome:
        return Outcome(text=(await agent(models, script, tools).arun(QUERY)).content)

    def nested(self, models: FakeModels, log: ToolLog) -> Outcome:
        def ask_sub(text: str) -> str:
            """Ask another agent."""
            return run(agent(models, "fake.par", log.functions()))

        return self.run(models, "fake.nest", [ask_sub], "run")

    def ask(self, models: FakeModels, script: str, tools: Any) -> None:
        offered = [Function.from_callable(tool) for tool in tools]
        model(models, script).response([Message(role="user", content=QUERY)], tools=offered)


class TestAgno(Conformance):
    driver = AgnoDriver()


@pytest.mark.parametrize("mode", ["run", "stream"])
def test_a_tool_that_yields_is_a_call_until_it_is_exhausted(
    models: FakeModels, sink: OtlpSink, mode: str
) -> None:
    times = []

    def count() -> Iterator[str]:
        """Count to three."""
        yield from ("one ", "two ", "three")
        times.append(time.time_ns())

    STEPS["count"] = [("count", "{}")]
    assert MODES[mode](agent(models, "fake.count", [count])).endswith(FINAL)
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert call.result == "one two three"
    assert call.start < times[0] <= call.end


def test_a_team_delegates_by_a_call_with_the_members_run_inside(models: FakeModels, sink: OtlpSink) -> None:
    STEPS["delegate"] = [("delegate_task_to_member", '{"member_id": "helper", "task": "help"}')]
    helper = agent(models, "fake.one", ToolLog().functions(), name="helper")
    team = Team(name="team", members=[helper], model=model(models, "fake.delegate"), telemetry=False)
    assert team.run(QUERY).content == FINAL
    pdoctor_trace.flush()
    outer, inner = sink.runs
    delegate, add = sink.calls
    assert (delegate.tool, delegate.parent_id) == ("delegate_task_to_member", outer.span_id)
    assert (inner.parent_id, add.tool, add.parent_id) == (delegate.span_id, "add", inner.span_id)
    assert delegate.start <= inner.start <= inner.end <= delegate.end


@pytest.mark.parametrize(
    ("mode", "awaited"), [*((mode, False) for mode in MODES), ("arun", True), ("arun stream", True)]
)
def test_a_hook_before_a_tool_may_change_its_arguments_or_refuse_the_call(
    models: FakeModels, sink: OtlpSink, mode: str, awaited: bool
) -> None:
    def before(fc: Any) -> None:
        if fc.arguments["b"] == 2:
            fc.arguments = {"a": 1, "b": 40}
        else:
            raise StopAgentRun("refused")

    async def awaited_before(fc: Any) -> None:
        before(fc)

    def add(a: int, b: int) -> int:
        """Add two numbers."""
        ran.append((a, b))
        return a + b

    async def awaited_add(a: int, b: int) -> int:
        """Add two numbers."""
        return add(a, b)

    ran: list[tuple[int, int]] = []
    hook, body = (awaited_before, awaited_add) if awaited else (before, add)
    hooked = tool(name="add", pre_hook=hook)(body)
    MODES[mode](agent(models, "fake.one.same", [hooked]))
    pdoctor_trace.flush()
    changed, *refused = sink.calls
    assert ran == [(1, 40)]
    assert (changed.executed, changed.arguments, changed.result) == (True, {"a": 1, "b": 40}, 41)
    assert changed["pdoctor.tool.asked_arguments"] == '{"a":40,"b":2}'
    assert refused
    assert {call.executed for call in refused} == {False}


@pytest.mark.parametrize("mode", MODES)
def test_hooks_around_a_tool_may_answer_for_it_or_change_what_it_gets(
    models: FakeModels, sink: OtlpSink, mode: str
) -> None:
    def guard(function_name: str, function_call: Any, arguments: Any) -> Any:
        if function_name == "slow_echo":
            return "cached"
        arguments["b"] = 40
        return function_call(**arguments)

    log = ToolLog()
    MODES[mode](agent(models, "fake.par", log.functions(), tool_hooks=[guard]))
    pdoctor_trace.flush()
    assert [(entry.tool, entry.arguments) for entry in log.entries] == [("add", {"a": 1, "b": 40})]
    added, skipped = sorted(sink.calls, key=lambda call: str(call.call_id))
    assert (added.executed, added.arguments, added.result) == (True, {"a": 1, "b": 40}, 41)
    assert added["pdoctor.tool.asked_arguments"] == '{"a":1,"b":2}'
    assert (skipped.executed, skipped.result) == (False, "cached")


@pytest.mark.cell("workflow")
@pytest.mark.parametrize("mode", MODES)
def test_a_workflow_is_one_run_of_what_stands_in_its_steps(
    models: FakeModels, sink: OtlpSink, mode: str
) -> None:
    """Two agents at once, and one that a function runs."""
    tools = ToolLog().functions()
    agents = [agent(models, "fake.one", tools, name=name) for name in ("one", "two", "three")]

    def last(given: Any) -> StepOutput:
        return StepOutput(content=run(agents[2]))

    both = Parallel(*(Step(name=one.name, agent=one) for one in agents[:2]), name="both")
    flow = Workflow(name="flow", steps=[both, Step(name="last", executor=last)], telemetry=False)

    async def read() -> None:
        async for _ in flow.arun(QUERY, stream=True):
            pass

    if mode == "arun stream":
        asyncio.run(read())
    elif mode == "arun":
        asyncio.run(flow.arun(QUERY))
    else:
        given = flow.run(QUERY, stream=mode == "stream")
        list(given if mode == "stream" else ())
    pdoctor_trace.flush()
    assert len({span.run_id for span in sink.spans}) == 1
    assert sorted(call["gen_ai.agent.name"] for call in sink.calls) == ["one", "three", "two"]
    (around,) = sink.workflows
    outer, *inner = sorted(sink.runs, key=lambda one: one["gen_ai.agent.name"] != "flow")
    assert (outer["gen_ai.agent.name"], outer["pdoctor.run.calls"]) == ("flow", 3)
    assert (outer.parent_id, [one.parent_id for one in inner]) == (around.span_id, [outer.span_id] * 3)
    assert QUERY in around["gen_ai.input.messages"]
    assert around["gen_ai.conversation.id"] == outer["gen_ai.conversation.id"]
