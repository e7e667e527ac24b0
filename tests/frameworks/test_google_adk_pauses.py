"""Google ADK runs that wait for confirmations and for tools that run long, and transfers between agents."""

from __future__ import annotations

import asyncio
import os
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import pdoctor_trace
from tests.frameworks.conformance import QUERY, ToolLog
from tests.support.models import STEPS, FakeModels
from tests.support.sink import OtlpSink

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("ADK_DISABLE_LOAD_DOTENV", "1")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from google.adk.agents import LlmAgent
    from google.adk.models.lite_llm import LiteLlm
    from google.adk.runners import InMemoryRunner
    from google.adk.tools.function_tool import FunctionTool
    from google.adk.tools.long_running_tool import LongRunningFunctionTool
    from google.genai import types

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

Turn = Callable[[Any, Any], Awaitable[Any]]
"""Gives the events of (send, the events before or None)."""


def use(models: FakeModels, script: str, tools: Any, *turns: Turn, sub_agents: Any = ()) -> None:
    """An agent whose model goes by the script, in one session."""

    async def main() -> None:
        def agent(name: str, script: str, below: Any = ()) -> Any:
            model = LiteLlm(model=f"openai/{script}", api_base=models.openai, api_key="x", num_retries=0)
            return LlmAgent(name=name, model=model, tools=list(tools), sub_agents=list(below))

        root = agent("tester", script, [agent(name, "fake.one.one") for name in sub_agents])
        runner = InMemoryRunner(agent=root, app_name="lab")
        await runner.session_service.create_session(app_name="lab", user_id="u", session_id="s1")

        async def send(*parts: Any) -> Any:
            message = types.Content(role="user", parts=list(parts))
            given = {"user_id": "u", "session_id": "s1", "new_message": message}
            return [event async for event in runner.run_async(**given)]

        events = None
        for turn in turns:
            events = await turn(send, events)

    asyncio.run(main())
    pdoctor_trace.flush()


async def ask(send: Any, before: Any) -> Any:
    return await send(types.Part(text=QUERY))


def confirm(*decisions: bool) -> Turn:
    """Answer the requests for confirmation of the events before."""

    async def turn(send: Any, before: Any) -> Any:
        asked = [
            call
            for event in before
            for call in event.get_function_calls()
            if call.name == "adk_request_confirmation"
        ]
        return await send(
            *(
                types.Part(
                    function_response=types.FunctionResponse(
                        id=call.id, name=call.name, response={"confirmed": confirmed}
                    )
                )
                for call, confirmed in zip(asked, decisions, strict=True)
            )
        )

    return turn


def gated(log: ToolLog) -> list[Any]:
    """`add`, and `slow_echo`, which a person has to confirm."""
    add, slow_echo, _ = log.functions()
    return [FunctionTool(add), FunctionTool(slow_echo, require_confirmation=True)]


def roots(sink: OtlpSink) -> list[Any]:
    return [run for run in sink.runs if run["pdoctor.run.calls"] is not None]


def one_run(sink: OtlpSink, reason: str = "approval") -> None:
    """All spans are of one run, trace and session, its numbers have no holes, and it has ended."""
    assert len({(span.run_id, span.trace_id) for span in sink.spans}) == 1
    assert [call["pdoctor.step.index"] for call in sink.calls] == list(range(len(sink.calls)))
    *before, last = roots(sink)
    assert last["pdoctor.run.calls"] == len(sink.calls)
    told = [(run["pdoctor.run.state"], run["pdoctor.run.pause_reason"]) for run in (*before, last)]
    assert told == [("paused", reason)] * len(before) + [(None, None)]
    assert {run["pdoctor.run.resumed"] for run in sink.runs} == {None}
    assert {run["gen_ai.conversation.id"] for run in sink.runs} == {"s1"}


@pytest.mark.cell("pause")
def test_a_call_that_a_person_confirms_belongs_to_the_run_that_asked(
    models: FakeModels, sink: OtlpSink
) -> None:
    log = ToolLog()
    use(models, "fake.one.sleepy", gated(log), ask, confirm(True, True))
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
    use(models, "fake.sleepy.one", gated(log), ask, confirm(False, True))
    one_run(sink)
    assert sorted((call.arguments.get("text"), call.executed) for call in sink.calls[:2]) == [
        ("x", False),
        ("y", True),
    ]
    assert {call["pdoctor.tool.execution"] for call in sink.calls} == {None}
    assert log.names == ["slow_echo", "add"]


def test_calls_beside_the_one_that_waits_are_not_made_twice(models: FakeModels, sink: OtlpSink) -> None:
    log = ToolLog()
    use(models, "fake.par", gated(log), ask, confirm(True))
    one_run(sink)
    assert (
        sorted(call.tool for call in sink.calls if call.executed) == ["add", "slow_echo"] == sorted(log.names)
    )


@pytest.mark.parametrize("given", [None, {"ticket": "x"}], ids=["nothing yet", "a ticket"])
def test_what_a_tool_that_runs_long_gives_later_is_brought_to_the_same_run(
    models: FakeModels, sink: OtlpSink, given: Any
) -> None:
    def slow_echo(text: str) -> Any:
        """Begin something."""
        return given

    async def bring(send: Any, before: Any) -> Any:
        (asked,) = (call for event in before for call in event.get_function_calls())
        response = types.FunctionResponse(id=asked.id, name=asked.name, response={"done": "yes"})
        return await send(types.Part(function_response=response))

    STEPS["long"] = [("slow_echo", '{"text": "x"}')]
    use(models, "fake.long", [LongRunningFunctionTool(slow_echo)], ask, bring)
    assert len({(span.run_id, span.trace_id) for span in sink.spans}) == 1
    first, last = roots(sink)
    assert (first["pdoctor.run.state"], last["pdoctor.run.state"]) == (None if given else "paused", None)
    assert [(call.tool, call.executed, call.result) for call in sink.calls] == [("slow_echo", True, given)]


def test_a_new_question_in_the_session_is_a_new_run(models: FakeModels, sink: OtlpSink) -> None:
    use(models, "fake", gated(ToolLog()), ask, ask)
    first, second = roots(sink)
    assert first.run_id != second.run_id
    assert first["gen_ai.conversation.id"] == second["gen_ai.conversation.id"] == "s1"


@pytest.mark.cell("hand-over")
def test_calls_after_a_transfer_are_those_of_the_agent_whose_turn_it_is(
    models: FakeModels, sink: OtlpSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(STEPS, "transfer", [("transfer_to_agent", '{"agent_name": "second"}')])
    tools = [FunctionTool(tool) for tool in ToolLog().functions()]
    use(models, "fake.one.transfer", tools, ask, sub_agents=["second"])
    assert [(call.tool, call["gen_ai.agent.name"]) for call in sink.calls][:3] == [
        ("add", "tester"),
        ("transfer_to_agent", "tester"),
        ("add", "second"),
    ]
    assert roots(sink)[0]["gen_ai.agent.name"] == "tester"
