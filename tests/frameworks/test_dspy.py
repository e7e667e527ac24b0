"""DSPy's ReAct and ReActV2 on a scripted Chat Completions model."""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.tools import StructuredTool

import pdoctor_trace
from tests.frameworks.conformance import QUERY, Conformance, Driver, Outcome, ToolLog, limit
from tests.support import planners
from tests.support.hostile import ARGUMENTS
from tests.support.models import FINAL, STEPS, FakeModels, chat_events, script
from tests.support.sink import OtlpSink

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("DSPY_CACHEDIR", os.devnull)
import dspy
from dspy.predict.react_v2 import ReActV2


class AnsweringModels(FakeModels):
    """As the shared server, but the answer comes as DSPy asks for it.

    ReActV2 wants a call of `submit`; ReAct names one tool a turn in marked fields of plain text.
    """

    def chat(self, body: dict[str, Any]) -> Any:
        reply = self.reply({**body, "stream": False})
        if not body.get("stream"):
            return reply
        message = reply["choices"][0]["message"]
        asked = [
            (c["id"], c["function"]["name"], c["function"]["arguments"])
            for c in message.get("tool_calls", ())
        ]
        return chat_events(reply, asked, message["content"], body)

    def reply(self, body: dict[str, Any]) -> Any:
        if not body.get("tools"):
            return self.text(body)
        planned = body["model"].startswith("simulated-")
        replies = [message for message in body["messages"] if planned or message["role"] == "assistant"]
        reply = super().chat({**body, "messages": replies})
        message = reply["choices"][0]["message"]
        if message["content"] == FINAL:
            function = {"name": "submit", "arguments": json.dumps({"answer": FINAL})}
            message["tool_calls"] = [{"id": "answer", "type": "function", "function": function}]
        return reply

    def text(self, body: dict[str, Any]) -> Any:
        if body["model"].startswith("simulated-"):
            calls, _ = planners.said(planners.of_fields(body))
            return self.fields(body, *(calls[0][1:] if calls else ("finish", "{}")))
        asked = [(tool, arguments) for calls in script(body["model"])[0] for _, tool, arguments in calls]
        done = len(re.findall(r"\[\[ ## tool_name_\d+", str(body["messages"][-1]["content"])))
        tool, arguments = asked[done] if done < len(asked) else ("finish", "{}")
        return self.fields(body, tool, arguments, "hm" if done in script(body["model"])[1] else "")

    def fields(self, body: dict[str, Any], tool: str, arguments: str, thought: str = "") -> Any:
        """A call, or the answer, as whichever is asked for."""
        said = str(body["messages"]).replace("pred.next_tool_name", "")  # a line of a tool's traceback
        if "next_tool_name" in said:
            answer = {"next_thought": thought, "next_tool_name": tool, "next_tool_args": arguments}
        else:
            answer = {"reasoning": "hm", "answer": FINAL}
        reply = super().chat({**body, "model": "fake"})
        fields = [f"[[ ## {name} ## ]]\n{value}\n" for name, value in answer.items()]
        reply["choices"][0]["message"]["content"] = "\n".join([*fields, "[[ ## completed ## ]]"])
        return reply


@pytest.fixture(scope="module")
def models() -> Iterator[FakeModels]:
    with AnsweringModels() as server:
        yield server


class ToolCallingLM(dspy.LM):
    """DSPy looks up by name which models can call tools, and does not know the scripted ones."""

    supports_function_calling = True


def settings(kind: Any, models: FakeModels, script: str) -> dict[str, Any]:
    options = {"cache": False, "num_retries": 0, "model_type": "chat"}
    lm = ToolCallingLM(f"openai/{script}", api_base=models.openai, api_key="x", **options)
    return {"lm": lm, "adapter": dspy.ChatAdapter(use_native_function_calling=kind is not dspy.ReAct)}


def with_agent(kind: Any, models: FakeModels, script: str, tools: Any, mode: str) -> str:
    with dspy.context(**settings(kind, models, script)):
        agent = kind("question -> answer", tools=list(tools), max_iters=8)
        if mode == "sync":
            return str(agent(question=QUERY).answer)
        return str(asyncio.run(streamed(agent) if mode == "streaming" else awaited(agent)).answer)


async def awaited(agent: Any) -> Any:
    return await agent.acall(question=QUERY)


async def streamed(agent: Any) -> Any:
    *_, last = [item async for item in dspy.streamify(agent)(question=QUERY)]
    return last


async def with_async_agent(kind: Any, models: FakeModels, script: str, tools: Any) -> str:
    with dspy.context(**settings(kind, models, script)):
        return str((await awaited(kind("question -> answer", tools=list(tools), max_iters=8))).answer)


class DspyDriver(Driver):
    source = "dspy"
    blocked = "tells"
    modes = ("sync", "async", "streaming")
    streaming = ("streaming",)
    sync_mode = "sync"
    server = AnsweringModels

    def __init__(self, kind: Any, *unreadable: str) -> None:
        self.kind, self.unreadable = kind, unreadable

    def run(self, models: FakeModels, script: str, tools: Any, mode: str) -> Outcome:
        try:
            return Outcome(text=with_agent(self.kind, models, script, tools, mode))
        except BaseException as error:
            return Outcome(error=error)

    async def arun(self, models: FakeModels, script: str, tools: Any) -> Outcome:
        return Outcome(text=await with_async_agent(self.kind, models, script, tools))

    def nested(self, models: FakeModels, log: ToolLog) -> Outcome:
        def ask_sub(text: str) -> str:
            """Ask another agent."""
            return with_agent(self.kind, models, "fake.par", log.functions(), "sync")

        return self.run(models, "fake.nest", [ask_sub], "sync")

    def ask(self, models: FakeModels, script: str, tools: Any) -> None:
        with dspy.context(**settings(self.kind, models, script)):
            if self.kind is dspy.ReAct:  # all in text, as its models answer
                dspy.Predict("question -> reasoning, answer")(question=QUERY)
            else:
                offered = [dspy.Tool(tool) for tool in tools]
                ask = dspy.Predict("question, tools: list[dspy.Tool] -> answer, calls: dspy.ToolCalls")
                ask(question=QUERY, tools=offered)


class TestReActV2(Conformance):
    driver = DspyDriver(ReActV2, "not a number", "infinity", "too large a number")


class TestReAct(Conformance):
    """One call a turn, without ids."""

    driver = DspyDriver(dspy.ReAct, "deep")

    @limit("dspy", "no call ids")
    def test_reused_call_ids_still_give_one_span_per_call(
        self, models: FakeModels, sink: OtlpSink, log: ToolLog, mode: str
    ) -> None:
        self._run(models, "one.par.same.reuse", log, mode)
        assert [(call.tool, call.call_id) for call in sink.calls] == [(name, None) for name in log.names]
        assert len(log.names) == 5

    @limit("dspy", "one call a turn")
    def test_text_beside_calls_is_noted(
        self, models: FakeModels, sink: OtlpSink, log: ToolLog, mode: str
    ) -> None:
        """All of a reply is text here; the thought is what stands beside the call."""
        self._run(models, "one.talk.par", log, mode)
        assert [call["pdoctor.turn.index"] for call in sink.calls] == [0, 1, 2]
        assert [call["pdoctor.turn.has_text"] for call in sink.calls] == [False, True, False]

    @limit("dspy", "no call ids")
    def test_tools_of_coroutine_functions(self, models: FakeModels, sink: OtlpSink, log: ToolLog) -> None:
        outcome = asyncio.run(self.driver.arun(models, "fake.par.one.same", log.coroutines()))
        pdoctor_trace.flush()
        assert outcome.text == FINAL
        assert [(call.tool, call.arguments, call.result) for call in sink.calls] == [
            (entry.tool, entry.arguments, entry.result) for entry in log.entries
        ]

    @limit("dspy", "no call ids")
    def test_runs_in_one_event_loop_stay_apart(self, models: FakeModels, sink: OtlpSink) -> None:
        logs = [ToolLog() for _ in range(4)]

        async def main() -> None:
            runs = (self.driver.arun(models, "fake.par.one", own.coroutines()) for own in logs)
            await asyncio.gather(*runs)

        asyncio.run(main())
        pdoctor_trace.flush()
        per_run = [[c.tool for c in sink.calls if c.run_id == run.run_id] for run in sink.runs]
        assert per_run == [["add", "slow_echo", "add"]] * 4

    def test_each_call_is_one_span_and_agrees_with_the_tools_own_log(
        self, models: FakeModels, sink: OtlpSink, log: ToolLog, mode: str
    ) -> None:
        assert self._run(models, "par.one.same", log, mode).text == FINAL
        assert [(call.tool, call.call_id, call.arguments, call.result) for call in sink.calls] == [
            (entry.tool, None, entry.arguments, entry.result) for entry in log.entries
        ]
        assert [call["pdoctor.turn.index"] for call in sink.calls] == [0, 1, 2, 3, 4]
        assert {(call["pdoctor.source"], call.executed, call.failed) for call in sink.calls} == {
            ("dspy", True, False)
        }

    @limit("dspy", "repaired arguments")
    def test_malformed_arguments(self, models: FakeModels, sink: OtlpSink, log: ToolLog, mode: str) -> None:
        """The text is repaired before anyone sees it, and the repaired value is of the wrong type."""
        self._run(models, "badjson", log, mode)
        assert [(call.executed, call.kind, call.arguments) for call in sink.calls] == [
            (False, "bad_arguments", {"a": 1, "b": ""})
        ]
        assert log.entries == []

    def test_concurrent_runs_stay_apart(
        self, models: FakeModels, sink: OtlpSink, log: ToolLog, mode: str
    ) -> None:
        logs = [ToolLog() for _ in range(4)]
        threads = [
            threading.Thread(target=self.driver.run, args=(models, "fake.par.one", own.functions(), mode))
            for own in logs
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        pdoctor_trace.flush()
        assert len({run.run_id for run in sink.runs}) == 4
        for run in sink.runs:
            tools = [call.tool for call in sink.calls if call.run_id == run.run_id]
            assert tools == ["add", "slow_echo", "add"]
            assert run["pdoctor.run.calls"] == 3


def test_a_tool_called_without_an_agent_is_a_call(sink: OtlpSink) -> None:
    assert dspy.Tool(ToolLog().functions()[0])(a=1, b=2) == 3
    pdoctor_trace.flush()
    assert [(call.tool, call.arguments, call.result) for call in sink.calls] == [("add", {"a": 1, "b": 2}, 3)]


def test_a_tool_of_the_users_own_called_finish_is_one(models: FakeModels, sink: OtlpSink) -> None:
    """ReActV2 answers with `submit`, so `finish` is an ordinary name there."""

    def finish() -> str:
        """Finish the job."""
        return "finished"

    STEPS["finish"] = [("finish", "{}")]
    with_agent(ReActV2, models, "fake.finish", [finish], "sync")
    pdoctor_trace.flush()
    assert [(call.tool, call.result) for call in sink.calls] == [("finish", "finished")]


@pytest.mark.parametrize("kind", [dspy.ReAct, ReActV2], ids=["ReAct", "ReActV2"])
def test_the_last_word_of_a_run_is_its_prediction(models: FakeModels, sink: OtlpSink, kind: Any) -> None:
    with_agent(kind, models, "fake.one", ToolLog().functions(), "sync")
    pdoctor_trace.flush()
    (run,) = sink.runs
    ((answer,),) = [one["parts"] for one in json.loads(run["gen_ai.output.messages"])]
    assert answer == {"type": "text", "content": FINAL}


@limit("dspy", "unreadable replies")
@pytest.mark.parametrize("kind", [TestReAct, TestReActV2])
def test_arguments_that_dspy_cannot_read_raise_before_there_is_a_call(
    models: FakeModels, sink: OtlpSink, kind: Any
) -> None:
    log = ToolLog()
    script = f"fake.args{list(ARGUMENTS).index(kind.driver.unreadable[0])}"
    outcome = kind.driver.run(models, script, [log.taking()], "sync")
    pdoctor_trace.flush()
    assert (outcome.error is None, sink.calls, log.entries) == (False, [], [])
    assert [run.failed for run in sink.runs] == [True]


def test_a_langchain_tool_is_one_call(models: FakeModels, sink: OtlpSink) -> None:
    log = ToolLog()
    tool = dspy.Tool.from_langchain(StructuredTool.from_function(log.functions()[0]))
    outcome = asyncio.run(TestReActV2.driver.arun(models, "fake.one", [tool]))
    pdoctor_trace.flush()
    assert (outcome.text, log.names) == (FINAL, ["add"])
    assert [(call.tool, call["pdoctor.source"], call.call_id) for call in sink.calls] == [
        ("add", "dspy", "call_0_0")
    ]


class ByHand(dspy.Module):  # type: ignore[misc]
    """Calls itself what a prediction asks for."""

    def __init__(self, tools: list[Any]) -> None:
        super().__init__()
        self.tools = tools
        self.ask = dspy.Predict("question, tools: list[dspy.Tool] -> answer, calls: dspy.ToolCalls")

    def forward(self, question: str) -> Any:
        asked = self.ask(question=question, tools=self.tools).calls.tool_calls
        called = {tool.name: tool for tool in self.tools}
        return [called[one.name](**one.args) for one in asked]


@limit("dspy", "modules by hand")
def test_calls_of_a_module_by_hand_are_runs_of_their_own(models: FakeModels, sink: OtlpSink) -> None:
    module = ByHand([dspy.Tool(tool) for tool in ToolLog().functions()[:2]])
    with dspy.context(**settings(ReActV2, models, "fake.par")):
        module(question=QUERY)
        with pdoctor_trace.run(query=QUERY):
            module(question=QUERY)
    pdoctor_trace.flush()
    runs = [
        sorted(call.tool for call in sink.calls if call.run_id == run)
        for run in {call.run_id for call in sink.calls}
    ]
    assert sorted(runs) == [["add"], ["add", "slow_echo"], ["slow_echo"]]
