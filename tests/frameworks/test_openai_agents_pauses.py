"""Runs of the OpenAI Agents SDK that wait for approvals, sessions, and hand-overs."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    RunConfig,
    Runner,
    RunState,
    SQLiteSession,
    function_tool,
)
from openai import AsyncOpenAI

import pdoctor_trace
from tests.frameworks.conformance import QUERY, ToolLog
from tests.support.models import STEPS, FakeModels
from tests.support.sink import OtlpSink

Turn = Callable[[Any, Any], Awaitable[Any]]
"""Gives the result of going on with (agent, what the run gave before or None)."""


def config() -> Any:
    return RunConfig(tracing_disabled=True)


def tools(log: ToolLog) -> list[Any]:
    """`add`, and `slow_echo`, which a person has to approve of."""
    add, slow_echo, _ = log.functions()
    return [function_tool(add), function_tool(slow_echo, needs_approval=True)]


def use(models: FakeModels, script: str, made: Any, *turns: Turn, **options: Any) -> Any:
    """An agent whose model goes by the script, and what the turns give one after the other."""

    async def main() -> Any:
        async with AsyncOpenAI(base_url=models.openai, api_key="x", max_retries=0) as client:
            model = OpenAIChatCompletionsModel(model=script, openai_client=client)
            agent = Agent(name="tester", model=model, tools=made, **options)
            result = None
            for turn in turns:
                result = await turn(agent, result)
            return result

    result = asyncio.run(main())
    pdoctor_trace.flush()
    return result


async def ask(agent: Any, before: Any) -> Any:
    return await Runner.run(agent, QUERY, run_config=config())


async def ask_streamed(agent: Any, before: Any) -> Any:
    return await read(Runner.run_streamed(agent, QUERY, run_config=config()))


async def read(result: Any) -> Any:
    async for _ in result.stream_events():
        pass
    await asyncio.sleep(0)
    return result


def state_of(result: Any, *decisions: bool) -> Any:
    state = result.to_state()
    for item, approved in zip(state.get_interruptions(), decisions, strict=True):
        (state.approve if approved else state.reject)(item)
    return state


def decide(*decisions: bool) -> Turn:
    async def turn(agent: Any, before: Any) -> Any:
        return await Runner.run(agent, state_of(before, *decisions), run_config=config())

    return turn


async def approve_streamed(agent: Any, before: Any) -> Any:
    return await read(Runner.run_streamed(agent, state_of(before, True, True), run_config=config()))


async def approve_after_storing(agent: Any, before: Any) -> Any:
    """The state was a text meanwhile."""
    text = json.dumps(state_of(before, True, True).to_json())
    return await Runner.run(agent, await RunState.from_json(agent, json.loads(text)), run_config=config())


def roots(sink: OtlpSink) -> list[Any]:
    return [run for run in sink.runs if run["pdoctor.run.calls"] is not None]


def one_run(sink: OtlpSink) -> None:
    """All spans are of one run and one trace, its numbers have no holes, and it has ended."""
    assert len({(span.run_id, span.trace_id) for span in sink.spans}) == 1
    assert [call["pdoctor.step.index"] for call in sink.calls] == list(range(len(sink.calls)))
    *before, last = roots(sink)
    assert last["pdoctor.run.calls"] == len(sink.calls)
    told = [(run["pdoctor.run.state"], run["pdoctor.run.pause_reason"]) for run in (*before, last)]
    assert told == [("paused", "approval")] * len(before) + [(None, None)]
    assert {run["pdoctor.run.resumed"] for run in sink.runs} == {None}


@pytest.mark.cell("pause")
@pytest.mark.parametrize(
    "turns",
    [
        (ask, decide(True, True)),
        (ask_streamed, approve_streamed),
        (ask_streamed, decide(True, True)),
        (ask, approve_after_storing),
    ],
    ids=["run", "streamed", "streamed, then not", "stored"],
)
def test_calls_that_a_person_approves_belong_to_the_run_that_asked(
    models: FakeModels, sink: OtlpSink, turns: Any
) -> None:
    log = ToolLog()
    assert use(models, "fake.one.sleepy", tools(log), *turns).final_output == "all done"
    one_run(sink)
    assert len(roots(sink)) == 2
    assert [call.call_id for call in sink.calls] == ["call_0_0", "call_1_0", "call_1_1"]
    assert [call["pdoctor.turn.index"] for call in sink.calls] == [0, 1, 1]
    assert all(call.executed for call in sink.calls)
    assert len(log.names) == 3


def test_a_call_that_a_person_rejects_did_not_run(models: FakeModels, sink: OtlpSink) -> None:
    log = ToolLog()
    use(models, "fake.sleepy.one", tools(log), ask, decide(False, True))
    one_run(sink)
    assert {call.call_id: call.executed for call in sink.calls} == {
        "call_0_0": False,
        "call_0_1": True,
        "call_1_0": True,
    }
    assert {call["pdoctor.tool.execution"] for call in sink.calls} == {None}
    assert log.names == ["slow_echo", "add"]


def test_calls_beside_the_one_that_waits_are_not_made_twice(models: FakeModels, sink: OtlpSink) -> None:
    log = ToolLog()
    use(models, "fake.par.par", tools(log), ask, decide(True), decide(True))
    one_run(sink)
    assert sorted(call.call_id for call in sink.calls) == ["call_0_0", "call_0_1", "call_1_0", "call_1_1"]
    assert len(roots(sink)) == 3
    assert sorted(log.names) == ["add", "add", "slow_echo", "slow_echo"]


def test_runs_that_wait_at_the_same_time_stay_apart(models: FakeModels, sink: OtlpSink) -> None:
    log = ToolLog()

    async def both(agent: Any, before: Any) -> Any:
        queries = ["first", "second"]
        waiting = [await Runner.run(agent, query, run_config=config()) for query in queries]
        for result in reversed(waiting):
            await decide(True, True)(agent, result)

    use(models, "fake.sleepy", tools(log), both)
    by_run: dict[str, list[Any]] = {}
    for run in roots(sink):
        by_run.setdefault(run.run_id, []).append(run)
    assert len(by_run) == 2
    for first, last in by_run.values():
        assert (first["gen_ai.input.messages"], last["pdoctor.run.state"]) == (
            last["gen_ai.input.messages"],
            None,
        )


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_runs_that_say_the_same_and_wait_at_the_same_time_stay_apart(
    models: FakeModels, sink: OtlpSink, order: tuple[int, int]
) -> None:
    """Same question and same call ids; replies of Chat Completions have no ids in this SDK."""

    async def both(agent: Any, before: Any) -> Any:
        waiting = [await ask(agent, None) for _ in range(2)]
        for at in order:
            await decide(at == 0, at == 0)(agent, waiting[at])

    use(models, "fake.sleepy", tools(ToolLog()), both)
    firsts, lasts = roots(sink)[:2], roots(sink)[2:]
    assert [last.run_id for last in lasts] == [firsts[at].run_id for at in order]
    ran = {call.run_id for call in sink.calls if call.executed}
    assert ran == {firsts[0].run_id}


@pytest.mark.cell("other process")
def test_a_run_that_is_gone_on_with_in_another_process_says_so(models: FakeModels, sink: OtlpSink) -> None:
    log = ToolLog()
    waiting = use(models, "fake.one.sleepy", tools(log), ask)
    stored = state_of(waiting, True, False).to_json()

    async def restored(agent: Any, before: Any) -> Any:
        return await Runner.run(agent, await RunState.from_json(agent, stored), run_config=config())

    child = os.fork()
    if not child:
        use(models, "fake.one.sleepy", tools(log), restored)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    first, last = roots(sink)
    assert first["pdoctor.run.state"] == "paused"
    assert first["pdoctor.run.token"] == last["pdoctor.run.resumed"] is not None
    assert first.run_id != last.run_id
    assert {(call.run_id, call.call_id): call.executed for call in sink.calls} == {
        (first.run_id, "call_0_0"): True,
        (last.run_id, "call_1_0"): True,
        (last.run_id, "call_1_1"): False,
    }


def test_an_agent_as_tool_that_waits_pauses_the_run(
    models: FakeModels, sink: OtlpSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(STEPS, "delegate", [("ask_sub", '{"input": "go"}')])
    log = ToolLog()

    async def delegated(agent: Any, before: Any) -> Any:
        client = agent.model._client
        sub = Agent(
            name="sub",
            model=OpenAIChatCompletionsModel(model="fake.par", openai_client=client),
            tools=tools(log),
        )
        agent.tools = [sub.as_tool("ask_sub", "Ask another agent.", run_config=config())]
        return await ask(agent, before)

    use(models, "fake.delegate", [], delegated, decide(True))
    one_run(sink)
    ran = sorted(call.tool for call in sink.calls if call.executed)
    assert ran == ["add", "ask_sub", "slow_echo"]
    assert [(call.tool, call.call_id) for call in sink.calls if not call.executed] == [
        ("ask_sub", "call_0_0")
    ]
    assert sorted(log.names) == ["add", "slow_echo"]


def test_a_call_that_waited_is_of_the_agent_that_was_handed_over_to(
    models: FakeModels, sink: OtlpSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(STEPS, "transfer", [("transfer_to_second", "{}")])

    async def handed(agent: Any, before: Any) -> Any:
        agent.handoffs = [Agent(name="second", model=agent.model, tools=agent.tools)]
        return await ask(agent, before)

    use(models, "fake.transfer.sleepy.one", tools(ToolLog()), handed, decide(True, True))
    one_run(sink)
    assert [(call.tool, call["gen_ai.agent.name"]) for call in sink.calls] == [
        ("transfer_to_second", "tester"),
        ("slow_echo", "second"),
        ("slow_echo", "second"),
        ("add", "second"),
    ]


def test_a_session_is_the_conversation(models: FakeModels, sink: OtlpSink) -> None:
    session = SQLiteSession("customer 7")

    async def within(agent: Any, before: Any) -> Any:
        return await Runner.run(agent, QUERY, session=session, run_config=config())

    use(models, "fake", tools(ToolLog()), within, within)
    assert [run["gen_ai.conversation.id"] for run in sink.runs] == ["customer 7"] * 2


@pytest.mark.cell("hand-over")
def test_calls_after_a_hand_over_are_those_of_the_agent_whose_turn_it_is(
    models: FakeModels, sink: OtlpSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(STEPS, "transfer", [("transfer_to_second", "{}"), ("transfer_to_third", "{}")])
    log = ToolLog()

    async def handed(agent: Any, before: Any) -> Any:
        second, third = (
            Agent(name=name, model=agent.model, tools=agent.tools) for name in ("second", "third")
        )
        agent.handoffs = [second, third]
        return await ask(agent, before)

    made = [function_tool(tool) for tool in log.functions()]
    use(models, "fake.one.transfer.one", made, handed)
    assert [(call.tool, call["gen_ai.agent.name"], call.executed) for call in sink.calls] == [
        ("add", "tester", True),
        ("transfer_to_second", "tester", True),
        ("transfer_to_third", "tester", False),
        ("add", "second", True),
    ]
    assert [call.call_id for call in sink.calls] == ["call_0_0", "call_1_0", "call_1_1", "call_2_0"]
    assert sink.calls[1].result == {"assistant": "second"}
    (run,) = sink.runs
    assert (run["gen_ai.agent.name"], run["pdoctor.run.calls"]) == ("tester", 4)
    offered = [tool["name"] for tool in json.loads(run["gen_ai.tool.definitions"])]
    assert offered == ["add", "slow_echo", "boom", "transfer_to_second", "transfer_to_third"]
