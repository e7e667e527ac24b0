"""CrewAI's crews and agents on scripted Chat Completions models, and on a model without tool calling."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import warnings
from typing import Any

import pytest

import pdoctor_trace
from tests.frameworks.conformance import QUERY, Conformance, Driver, Outcome, ToolLog, limit
from tests.support.models import STEPS, FakeModels
from tests.support.sink import OtlpSink

os.environ.setdefault("CREWAI_STORAGE_DIR", tempfile.mkdtemp(prefix="crewai-"))
os.environ.setdefault("CREWAI_DISABLE_TELEMETRY", "true")
os.environ.setdefault("CREWAI_DISABLE_TRACKING", "true")
os.environ.setdefault("CREWAI_TRACING_ENABLED", "false")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from crewai import LLM, Agent, BaseLLM, Crew, Task
    from crewai.flow import Flow, HumanFeedbackPending, human_feedback, listen, start
    from crewai.hooks import register_before_tool_call_hook, unregister_before_tool_call_hook
    from crewai.tools import tool as crew_tool

# CrewAI's own.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

MODES = ("crew", "crew async", "crew stream", "agent", "agent async")


def worker(llm: Any, tools: Any, *, cache: bool = False) -> Any:
    made = [crew_tool(function.__name__)(function) for function in tools]
    who: Any = {"role": "tester", "goal": "g", "backstory": "b"}
    return Agent(**who, tools=made, llm=llm, cache=cache, max_retry_limit=0, max_iter=8)


def crew(agent: Any, **options: Any) -> Any:
    task = Task(description=QUERY, expected_output="text", agent=agent)
    return Crew(agents=[agent], tasks=[task], cache=agent.cache, tracing=False, **options)


def scripted(models: FakeModels, script: str) -> Any:
    """Whether a model has tool calling is told by its name, so the script comes afterwards."""
    llm = LLM(model="openai/gpt-4o", base_url=models.openai, api_key="x", max_retries=0)
    llm.model = script
    return llm


def with_agent(models: FakeModels, script: str, tools: Any, mode: str) -> str:
    agent = worker(scripted(models, script), tools)
    if mode == "crew":
        return str(crew(agent).kickoff())
    if mode == "crew async":
        return str(asyncio.run(crew(agent).akickoff()))
    if mode == "crew stream":
        streamed = crew(agent, stream=True).kickoff()
        for _ in streamed:
            pass
        return str(streamed.result)
    if mode == "agent":
        return str(agent.kickoff(QUERY))
    return str(asyncio.run(agent.kickoff_async(QUERY)))


class CrewDriver(Driver):
    source = "crewai"
    modes = MODES
    streaming = ("crew stream",)
    sync_mode = "crew"

    def run(self, models: FakeModels, script: str, tools: Any, mode: str) -> Outcome:
        try:
            return Outcome(text=with_agent(models, script, tools, mode))
        except BaseException as error:
            return Outcome(error=error)

    async def arun(self, models: FakeModels, script: str, tools: Any) -> Outcome:
        return Outcome(text=str(await crew(worker(scripted(models, script), tools)).akickoff()))

    def nested(self, models: FakeModels, log: ToolLog) -> Outcome:
        def ask_sub(text: str) -> str:
            """Ask another agent."""
            return with_agent(models, "fake.par", log.functions(), "crew")

        return self.run(models, "fake.nest", [ask_sub], "crew")

    def ask(self, models: FakeModels, script: str, tools: Any) -> None:
        """An agent that is given a task without a crew."""
        agent = worker(scripted(models, script), tools)
        agent.execute_task(Task(description=QUERY, expected_output="text", agent=agent))


class TestCrewAI(Conformance):
    driver = CrewDriver()


@limit("crewai", "text beside calls")
def test_text_beside_calls_is_known_from_replies_that_are_told(
    models: FakeModels, sink: OtlpSink, request: pytest.FixtureRequest
) -> None:
    """CrewAI drops that text; where the reply itself is not seen, nothing is said about it."""
    request.addfinalizer(lambda: pdoctor_trace.install(chat_spans=True))
    pdoctor_trace.install(chat_spans=False)
    with_agent(models, "fake.one.talk.par", ToolLog().functions(), "crew")
    pdoctor_trace.flush()
    assert [call["pdoctor.turn.has_text"] for call in sink.calls] == [None] * 3


@pytest.mark.cell("workflow")
def test_a_crew_is_a_workflow_and_an_agent_is_none(models: FakeModels, sink: OtlpSink) -> None:
    with_agent(models, "fake.one", ToolLog().functions(), "agent")
    pdoctor_trace.flush()
    assert sink.workflows == []
    sink.clear()
    with_agent(models, "fake.one", ToolLog().functions(), "crew")
    pdoctor_trace.flush()
    ((around,), (run,)) = sink.workflows, sink.runs
    assert (around["gen_ai.workflow.name"], around.parent_id) == ("crew", "")
    assert (run.parent_id, QUERY in around["gen_ai.input.messages"]) == (around.span_id, True)


@pytest.mark.parametrize("calling", ["native", "textual"])
def test_calls_carry_the_role_of_the_agent_whose_task_it_is(
    models: FakeModels, sink: OtlpSink, calling: str
) -> None:
    """Not the name of the crew that they all work in."""
    agents = []
    for role in ("researcher", "writer"):
        llm: Any = scripted(models, "fake.one")
        if calling == "textual":
            llm = Writes(model="writes")
            llm.replies = [
                'Thought: go\nAction: add\nAction Input: {"a": 40, "b": 2}\n',
                "Thought: I now know the final answer\nFinal Answer: done",
            ]
        agents.append(worker(llm, ToolLog().functions()))
        agents[-1].role = role
    tasks = [Task(description=QUERY, expected_output="text", agent=agent) for agent in agents]
    Crew(name="editors", agents=agents, tasks=tasks, cache=False, tracing=False).kickoff()
    pdoctor_trace.flush()
    assert [call["gen_ai.agent.name"] for call in sink.calls] == ["researcher", "writer"]


class Writes(BaseLLM):
    """A model without tool calling: says the given texts in order."""

    replies: list[str] = []  # noqa: RUF012

    def call(self, *args: Any, **kwargs: Any) -> str:
        return self.replies.pop(0)

    def supports_function_calling(self) -> bool:
        return False


@limit("crewai", "no call ids")
def test_calls_written_as_text(sink: OtlpSink) -> None:
    """A failing tool is tried again and again inside one request: one span, with its attempts."""
    log = ToolLog()
    llm = Writes(model="writes")
    llm.replies = [
        'Thought: go\nAction: add\nAction Input: {"a": 1, "b": 2}\n',
        'Thought: go\nAction: boom\nAction Input: {"x": "kaput"}\n',
        'Action: no_such_tool\nAction Input: {"q": 2}\n',
        "Thought: I now know the final answer\nFinal Answer: done",
    ]
    assert str(crew(worker(llm, log.functions())).kickoff()) == "done"
    pdoctor_trace.flush()
    assert [(call.tool, call.executed, call.kind, call["pdoctor.tool.attempts"]) for call in sink.calls] == [
        ("add", True, None, 1),
        ("boom", True, "tool_raised", log.names.count("boom")),
        ("no_such_tool", False, "unknown_tool", 1),
    ]
    assert QUERY in sink.runs[0]["gen_ai.input.messages"]
    assert [call.call_id for call in sink.calls] == [None] * 3
    assert [call["pdoctor.turn.has_text"] for call in sink.calls] == [True, True, False]


def test_a_cached_result_is_no_execution(models: FakeModels, sink: OtlpSink) -> None:
    log = ToolLog()
    crew(worker(scripted(models, "fake.one.one"), log.functions(), cache=True)).kickoff()
    pdoctor_trace.flush()
    assert [(call.tool, call.executed, call.failed, str(call.result)) for call in sink.calls] == [
        ("add", True, False, "42"),
        ("add", False, False, "42"),
    ]
    assert log.names == ["add"]


def test_a_hook_may_change_what_a_tool_gets(models: FakeModels, sink: OtlpSink) -> None:
    def less(context: Any) -> None:
        context.tool_input["b"] = 40

    register_before_tool_call_hook(less)
    try:
        with_agent(models, "fake.one", ToolLog().functions(), "crew")
    finally:
        unregister_before_tool_call_hook(less)
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert (call.executed, call.arguments, call.result) == (True, {"a": 40, "b": 40}, 80)
    assert call["pdoctor.tool.asked_arguments"] == '{"a":40,"b":2}'


def test_work_that_is_delegated_is_a_run_inside_the_call(models: FakeModels, sink: OtlpSink) -> None:
    """The coworker's calls are told once, and are the coworker's."""
    asked = {"task": "t", "context": "c", "coworker": "helper"}
    STEPS["delegate"] = [("delegate_work_to_coworker", json.dumps(asked))]
    boss, helper = (worker(scripted(models, script), []) for script in ("fake.delegate", "fake.one"))
    helper.role, boss.allow_delegation = "helper", True
    helper.tools = [crew_tool("add")(ToolLog().functions()[0])]
    task = Task(description=QUERY, expected_output="text", agent=boss)
    Crew(agents=[boss, helper], tasks=[task], cache=False, tracing=False).kickoff()
    pdoctor_trace.flush()
    delegated, added = sink.calls
    assert (delegated.tool, added.tool) == ("delegate_work_to_coworker", "add")
    assert added["gen_ai.agent.name"] == "helper"
    assert {call.run_id for call in sink.calls} == {sink.runs[0].run_id}
    assert sink.runs[0]["pdoctor.run.calls"] == 2


def flow_of(first: Any, then: Any, **options: Any) -> Any:
    """A flow of two steps."""

    class Steps(Flow):  # type: ignore[type-arg]
        @start()
        def one(self) -> str:
            return str(first())

        @listen(one)
        def two(self, said: str) -> str:
            return str(then())

    return Steps(**options)


@pytest.mark.cell("workflow")
@pytest.mark.parametrize("mode", ["run", "async", "streamed"])
def test_a_flow_is_one_run_of_what_stands_in_its_steps(models: FakeModels, sink: OtlpSink, mode: str) -> None:
    """A crew, a tool that a step starts itself, and one that such a tool starts."""
    add, slow_echo, _ = ToolLog().functions()
    made = crew_tool("add")(add)

    def twice(a: int, b: int) -> int:
        """Add with a tool."""
        return 2 * int(made.run(a=a, b=b))

    work = crew(worker(scripted(models, "fake.one"), [add, slow_echo]))
    steps = flow_of(work.kickoff, lambda: crew_tool("twice")(twice).run(1, 2), stream=mode == "streamed")
    if mode == "async":
        asyncio.run(steps.kickoff_async())
    else:
        given = steps.kickoff()
        list(given if mode == "streamed" else ())
    pdoctor_trace.flush()
    assert len({span.run_id for span in sink.spans}) == 1
    asked, outer, inner = sink.calls
    told = [(call.tool, call.arguments, call.result, call["gen_ai.agent.name"]) for call in (outer, inner)]
    ours = {"a": 1, "b": 2}
    assert told == [("twice", ours, 6, "Steps"), ("add", ours, 3, "Steps")]
    assert (asked.tool, asked["gen_ai.agent.name"], inner.parent_id) == ("add", "tester", outer.span_id)
    (run,) = [one for one in sink.runs if one["pdoctor.run.calls"] is not None]
    assert (run["gen_ai.agent.name"], run["pdoctor.run.calls"]) == ("Steps", 3)
    assert {one["gen_ai.workflow.name"] for one in sink.workflows} == {"Steps", "crew"}


def test_a_flow_that_waits_for_a_person_is_one_run(sink: OtlpSink, tmp_path: Any) -> None:
    class Asks:
        def request_feedback(self, context: Any, flow: Any) -> str:
            raise HumanFeedbackPending(context=context)

    add, _, _ = ToolLog().functions()
    made = crew_tool("add")(add)

    class Reviewed(Flow):  # type: ignore[type-arg]
        @start()
        @human_feedback(message="Good?", provider=Asks())
        def one(self) -> int:
            return int(made.run(a=1, b=2))

        @listen(one)
        def two(self, said: Any) -> int:
            return int(made.run(a=3, b=4))

    waits = Reviewed().kickoff()
    pdoctor_trace.flush()
    assert type(waits).__name__ == "HumanFeedbackPending"
    asyncio.run(Reviewed.from_pending(waits.context.flow_id).resume_async("yes"))
    pdoctor_trace.flush()
    assert [call.result for call in sink.calls] == [3, 7]
    before, after = [run for run in sink.runs if run["pdoctor.run.calls"] is not None]
    assert (before["pdoctor.run.state"], before["pdoctor.run.pause_reason"]) == ("paused", "input")
    assert (after["pdoctor.run.state"], after.run_id) == (None, before.run_id)


def test_a_tool_that_another_one_starts_is_a_call_of_its_own(models: FakeModels, sink: OtlpSink) -> None:
    """Even with equal arguments, and where it fails."""

    def boom(a: int, b: int) -> int:
        """Fail."""
        raise RuntimeError("boom")

    failing = crew_tool("boom")(boom)

    def add(a: int, b: int) -> int:
        """Add with another tool."""
        return int(failing.run(a=a, b=b))

    with_agent(models, "fake.one", [add], "crew")
    pdoctor_trace.flush()
    told = [(call.tool, call.arguments, call.failed, call.message) for call in sink.calls]
    ours = sink.calls[0].arguments
    assert told == [("add", ours, True, "boom"), ("boom", ours, True, "boom")]
