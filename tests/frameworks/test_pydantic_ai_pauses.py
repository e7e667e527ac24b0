"""PydanticAI runs that wait for approvals, for answers and for tools that run elsewhere."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from openai import AsyncOpenAI
from pydantic_ai import (
    Agent,
    ApprovalRequired,
    CallDeferred,
    DeferredToolRequests,
    DeferredToolResults,
    RunContext,
    Tool,
    ToolApproved,
    ToolDenied,
)
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

import pdoctor_trace
from tests.frameworks.conformance import QUERY, ToolLog
from tests.support.models import FakeModels
from tests.support.sink import OtlpSink

Turn = Callable[[Any, Any], Awaitable[Any]]
"""Gives the messages so far, of (agent, the messages before or None)."""


def use(models: FakeModels, script: str, tools: Any, *turns: Turn) -> Any:
    """An agent whose model goes by the script, and the messages after the turns."""

    async def main() -> Any:
        async with AsyncOpenAI(base_url=models.openai, api_key="x", max_retries=0) as client:
            model = OpenAIChatModel(script, provider=OpenAIProvider(openai_client=client))
            kinds: Any = [str, DeferredToolRequests]
            agent = Agent(model, tools=tools, name="tester", output_type=kinds)
            messages = None
            for turn in turns:
                messages = await turn(agent, messages)
            return messages

    messages = asyncio.run(main())
    pdoctor_trace.flush()
    return messages


async def ask(agent: Any, before: Any) -> Any:
    return (await agent.run(QUERY)).all_messages()


async def ask_streamed(agent: Any, before: Any) -> Any:
    async with agent.run_stream(QUERY) as result:
        await result.get_output()
        return result.all_messages()


def give(approvals: Any = None, calls: Any = None) -> Turn:
    async def turn(agent: Any, before: Any) -> Any:
        results = DeferredToolResults(approvals=approvals or {}, calls=calls or {})
        done = await agent.run(message_history=before, deferred_tool_results=results)
        return done.all_messages()

    return turn


def gated(log: ToolLog) -> list[Any]:
    """`add`, and `slow_echo`, which a person has to approve of."""
    add, slow_echo, _ = log.functions()
    return [Tool(add), Tool(slow_echo, requires_approval=True)]


def roots(sink: OtlpSink) -> list[Any]:
    return [run for run in sink.runs if run["pdoctor.run.calls"] is not None]


def one_run(sink: OtlpSink, reason: str = "approval") -> None:
    """All spans are of one run, trace and conversation, its numbers have no holes, and it has ended."""
    assert len({(span.run_id, span.trace_id) for span in sink.spans}) == 1
    assert [call["pdoctor.step.index"] for call in sink.calls] == list(range(len(sink.calls)))
    *before, last = roots(sink)
    assert last["pdoctor.run.calls"] == len(sink.calls)
    told = [(run["pdoctor.run.state"], run["pdoctor.run.pause_reason"]) for run in (*before, last)]
    assert told == [("paused", reason)] * len(before) + [(None, None)]
    assert {run["pdoctor.run.resumed"] for run in sink.runs} == {None}
    assert len({run["gen_ai.conversation.id"] for run in sink.runs} - {None}) == 1


@pytest.mark.cell("pause")
@pytest.mark.parametrize("first", [ask, ask_streamed], ids=["run", "run_stream"])
def test_calls_that_a_person_approves_belong_to_the_run_that_asked(
    models: FakeModels, sink: OtlpSink, first: Turn
) -> None:
    log = ToolLog()
    use(models, "fake.one.par", gated(log), first, give({"call_1_1": True}))
    one_run(sink)
    assert len(roots(sink)) == 2
    assert sorted(call.call_id for call in sink.calls) == ["call_0_0", "call_1_0", "call_1_1"]
    assert [call["pdoctor.turn.index"] for call in sink.calls if call.tool == "slow_echo"] == [1]
    assert all(call.executed for call in sink.calls)
    assert len(log.names) == 3


@pytest.mark.parametrize("no", [False, ToolDenied("Never.")], ids=["false", "denied"])
def test_a_call_that_a_person_denies_did_not_run(models: FakeModels, sink: OtlpSink, no: Any) -> None:
    log = ToolLog()
    use(models, "fake.sleepy.one", gated(log), ask, give({"call_0_0": no, "call_0_1": True}))
    one_run(sink)
    assert {call.call_id: call.executed for call in sink.calls} == {
        "call_0_0": False,
        "call_0_1": True,
        "call_1_0": True,
    }
    assert {call["pdoctor.tool.execution"] for call in sink.calls} == {None}
    assert log.names == ["slow_echo", "add"]


def test_a_call_that_a_person_changes_is_judged_with_what_ran(models: FakeModels, sink: OtlpSink) -> None:
    log = ToolLog()
    other = ToolApproved(override_args={"text": "less"})
    use(models, "fake.sleepy", gated(log), ask, give({"call_0_0": other, "call_0_1": True}))
    one_run(sink)
    by_id = {call.call_id: call for call in sink.calls}
    assert by_id["call_0_0"].arguments == {"text": "less"}
    assert '"x"' in by_id["call_0_0"]["pdoctor.tool.asked_arguments"]
    assert by_id["call_0_1"]["pdoctor.tool.asked_arguments"] is None


def test_a_tool_may_ask_while_it_runs(models: FakeModels, sink: OtlpSink) -> None:
    log = ToolLog()

    def slow_echo(context: RunContext[Any], text: str) -> str:
        if not context.tool_call_approved:
            raise ApprovalRequired()
        return str(log.record("slow_echo", {"text": text}, lambda: text))

    use(models, "fake.sleepy", [slow_echo], ask, give({"call_0_0": True, "call_0_1": True}))
    one_run(sink)
    assert [(call.call_id, call.executed) for call in sink.calls] == [("call_0_0", True), ("call_0_1", True)]
    assert len(log.names) == 2


def test_a_tool_that_runs_elsewhere_has_the_result_that_is_brought(
    models: FakeModels, sink: OtlpSink
) -> None:
    def slow_echo(text: str) -> str:
        raise CallDeferred()

    use(models, "fake.sleepy", [slow_echo], ask, give(calls={"call_0_0": "one", "call_0_1": "two"}))
    one_run(sink, "other")
    assert [(call.call_id, call.executed, call.result) for call in sink.calls] == [
        ("call_0_0", True, "one"),
        ("call_0_1", True, "two"),
    ]
    assert {call["pdoctor.tool.timing"] for call in sink.calls} == {"inferred"}


@pytest.mark.cell("other process")
def test_a_run_that_is_gone_on_with_in_another_process_says_so(models: FakeModels, sink: OtlpSink) -> None:
    log = ToolLog()
    stored = ModelMessagesTypeAdapter.dump_json(use(models, "fake.one.sleepy", gated(log), ask))
    messages = ModelMessagesTypeAdapter.validate_json(stored)

    async def restored(agent: Any, before: Any) -> Any:
        return await give({"call_1_0": True, "call_1_1": False})(agent, messages)

    child = os.fork()
    if not child:
        use(models, "fake.one.sleepy", gated(log), restored)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    first, last = roots(sink)
    assert first["pdoctor.run.state"] == "paused"
    assert first["pdoctor.run.token"] == last["pdoctor.run.resumed"] is not None
    assert first["gen_ai.conversation.id"] == last["gen_ai.conversation.id"] is not None
    assert {(call.run_id, call.call_id): call.executed for call in sink.calls} == {
        (first.run_id, "call_0_0"): True,
        (last.run_id, "call_1_0"): True,
        (last.run_id, "call_1_1"): False,
    }


def test_a_result_may_be_brought_to_another_process(models: FakeModels, sink: OtlpSink) -> None:
    def slow_echo(text: str) -> str:
        raise CallDeferred()

    messages = use(models, "fake.sleepy", [slow_echo], ask)

    async def restored(agent: Any, before: Any) -> Any:
        return await give(calls={"call_0_0": "one", "call_0_1": "two"})(agent, messages)

    child = os.fork()
    if not child:
        use(models, "fake.sleepy", [slow_echo], restored)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    first, last = roots(sink)
    assert first["pdoctor.run.token"] == last["pdoctor.run.resumed"] is not None
    assert [(call.run_id, call.call_id, call.result) for call in sink.calls] == [
        (last.run_id, "call_0_0", "one"),
        (last.run_id, "call_0_1", "two"),
    ]


def test_messages_of_a_run_that_has_ended_begin_another_one(models: FakeModels, sink: OtlpSink) -> None:
    async def again(agent: Any, before: Any) -> Any:
        return (await agent.run(QUERY, message_history=before)).all_messages()

    use(models, "fake", gated(ToolLog()), ask, again)
    first, last = sink.runs
    assert first.run_id != last.run_id
    assert first["gen_ai.conversation.id"] == last["gen_ai.conversation.id"] is not None
