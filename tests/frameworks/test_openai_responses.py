"""Raw loops on the OpenAI Responses API, stateless and with `previous_response_id`; and Assistants."""

from __future__ import annotations

import asyncio
import json
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import openai
import pytest
from test_openai_chat import client, execute, execute_async, offered
from websockets.sync.server import ServerConnection, serve

import pdoctor_trace
from pdoctor_trace import pauses, raw_loops
from tests.frameworks.conformance import QUERY, Driver, Outcome, RawLoop, ToolLog, limit
from tests.support.models import FakeModels
from tests.support.sink import OtlpSink


def create(sdk: Any, request: Any) -> Any:
    return sdk.responses.create(**request)


def raw(sdk: Any, request: Any) -> Any:
    return sdk.responses.with_raw_response.create(**request).parse()


def stream(sdk: Any, request: Any) -> Any:
    (done,) = [e for e in sdk.responses.create(stream=True, **request) if e.type == "response.completed"]
    return done.response


def helper(sdk: Any, request: Any) -> Any:
    with sdk.responses.stream(**request) as events:
        for _ in events:
            pass
        return events.get_final_response()


def parse(sdk: Any, request: Any) -> Any:
    return sdk.responses.parse(**request)


SYNC = {"create": create, "parse": parse, "raw": raw, "stream": stream, "helper": helper}


async def acreate(sdk: Any, request: Any) -> Any:
    return await sdk.responses.create(**request)


async def astream(sdk: Any, request: Any) -> Any:
    events = [event async for event in await sdk.responses.create(stream=True, **request)]
    return events[-1].response


ASYNC = {"acreate": acreate, "astream": astream}


class Talk:
    """The state of one loop: the whole input each time, or only what is new."""

    def __init__(self, model: str, tools: Sequence[Callable[..., Any]], stateful: bool) -> None:
        self.model, self.stateful = model, stateful
        self.by_name = {tool.__name__: tool for tool in tools}
        self.offered = [{"type": "function", **tool["function"]} for tool in offered(tools)]
        self.input: list[Any] = [{"role": "user", "content": QUERY}]
        self.previous: str | None = None

    def request(self) -> dict[str, Any]:
        request = {"model": self.model, "input": self.input, "tools": self.offered}
        return {**request, "previous_response_id": self.previous} if self.previous else request

    def take(self, reply: Any) -> str | None:
        """Run what is asked for; the final text, or None to go on."""
        calls = calls_of(reply)
        return self._answer(reply, [execute(self.by_name, c.name, c.arguments) for c in calls])

    async def atake(self, reply: Any) -> str | None:
        jobs = [execute_async(self.by_name, call.name, call.arguments) for call in calls_of(reply)]
        return self._answer(reply, await asyncio.gather(*jobs))

    def _answer(self, reply: Any, results: Sequence[str]) -> str | None:
        if not results:
            return str(reply.output_text)
        outputs = [
            {"type": "function_call_output", "call_id": call.call_id, "output": result}
            for call, result in zip(calls_of(reply), results, strict=True)
        ]
        if self.stateful:
            self.previous, self.input = reply.id, outputs
        else:
            self.input = [*self.input, *reply.output, *outputs]
        return None


def calls_of(reply: Any) -> list[Any]:
    return [item for item in reply.output if item.type == "function_call"]


class ResponsesDriver(Driver):
    source = "openai"
    blocked = "loop"
    modes = (
        "create",
        "parse",
        "raw",
        "stream",
        "helper",
        "acreate",
        "astream",
        "create+id",
        "stream+id",
        "acreate+id",
    )
    heavy_modes = ("parse", "helper", "raw", "acreate+id", "stream+id")
    streaming = ("stream", "helper", "astream", "stream+id")
    sync_mode = "create"
    exact = False
    refusals_are_seen = False
    raising_tool_is_seen = False
    wrong_arguments_are_seen = False

    def run(self, models: FakeModels, script: str, tools: Any, mode: str) -> Outcome:
        ask, _, stateful = mode.partition("+")
        talk = Talk(script, tools, bool(stateful))
        try:
            if ask in ASYNC:
                return Outcome(text=asyncio.run(self._async(models, talk, ASYNC[ask])))
            with client(models) as sdk:
                while (text := talk.take(SYNC[ask](sdk, talk.request()))) is None:
                    pass
                return Outcome(text=text)
        except BaseException as error:
            return Outcome(error=error)

    async def arun(self, models: FakeModels, script: str, tools: Any) -> Outcome:
        return Outcome(text=await self._async(models, Talk(script, tools, False), acreate))

    def nested(self, models: FakeModels, log: ToolLog) -> Outcome:
        def ask_sub(text: str) -> str:
            """Ask another agent."""
            return str(self.run(models, "fake.par", log.functions(), "create").text)

        return self.run(models, "fake.nest", [ask_sub], "create")

    async def _async(self, models: FakeModels, talk: Talk, ask: Any) -> str:
        async with openai.AsyncOpenAI(base_url=models.openai, api_key="x", max_retries=0) as sdk:
            while (text := await talk.atake(await ask(sdk, talk.request()))) is None:
                pass
            return text


@limit("openai", "bounds")
class TestResponses(RawLoop):
    driver = ResponsesDriver()


def test_a_conversation_that_the_server_holds_is_one_run_a_question(
    models: FakeModels, sink: OtlpSink
) -> None:
    """The requests hold only what is new; the conversation's id ties them together."""
    models.conversations.clear()
    with client(models) as sdk:
        for question in ("first", "second"):
            talk = Talk("fake.par.one", ToolLog().functions(), True)
            talk.input = [{"role": "user", "content": question}]
            while True:
                request = {**talk.request(), "conversation": "conv_1"}
                request.pop("previous_response_id", None)
                if talk.take(sdk.responses.create(**request)) is not None:
                    break
    pdoctor_trace.flush()
    first, second = sink.runs
    assert "first" in first["gen_ai.input.messages"]
    assert "second" in second["gen_ai.input.messages"]
    per_run = [[call.call_id for call in sink.calls if call.run_id == run.run_id] for run in sink.runs]
    assert per_run == [["call_0_0", "call_0_1", "call_1_0"]] * 2
    assert all(call.executed and not call.failed for call in sink.calls)


@pytest.mark.parametrize("read", [create, stream])
def test_branches_from_one_response_have_each_its_own_answer(
    models: FakeModels, sink: OtlpSink, read: Any
) -> None:
    """The server holds the history: only the response's id says which message a branch begins with."""
    raw_loops.forget_everything()
    talk = Talk("fake.one.par", ToolLog().functions(), True)
    with client(models) as sdk:
        first = read(sdk, talk.request())
        seconds = []
        for result in ("42", "43", "42"):
            output = {"type": "function_call_output", "call_id": "call_0_0", "output": result}
            begun = {**talk.request(), "previous_response_id": first.id, "input": [output]}
            seconds.append(read(sdk, begun))
        for branch, second in enumerate(seconds[:2]):
            outputs = [
                {"type": "function_call_output", "call_id": call.call_id, "output": f"{branch} {call.name}"}
                for call in calls_of(second)
            ]
            read(sdk, {**talk.request(), "previous_response_id": second.id, "input": outputs})
    pdoctor_trace.flush()
    ran = sorted((call.call_id, str(call.result)) for call in sink.calls if call.executed)
    assert ran == [
        ("call_0_0", "42"),
        ("call_0_0", "43"),
        ("call_1_0", "0 add"),
        ("call_1_0", "1 add"),
        ("call_1_1", "0 slow_echo"),
        ("call_1_1", "1 slow_echo"),
    ]


def test_the_stream_helper_is_read(models: FakeModels, sink: OtlpSink) -> None:
    talk = Talk("fake.par.one", ToolLog().functions(), False)
    with client(models) as sdk:
        while talk.take(helper(sdk, talk.request())) is None:
            pass
    pdoctor_trace.flush()
    assert [call.call_id for call in sink.calls] == ["call_0_0", "call_0_1", "call_1_0"]
    assert len(sink.runs) == 1


def test_assistants_runs_are_one_run_with_their_calls_however_often_polled(
    models: FakeModels, sink: OtlpSink
) -> None:
    log = ToolLog()
    tools = {tool.__name__: tool for tool in log.functions()}
    with client(models) as sdk, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        shapes: Any = offered(log.functions())
        assistant = sdk.beta.assistants.create(model="fake.par.one", tools=shapes)
        thread = sdk.beta.threads.create()
        run = sdk.beta.threads.runs.create(
            thread_id=thread.id, assistant_id=assistant.id, model="fake.par.one", tools=shapes
        )
        while run.status == "requires_action":
            sdk.beta.threads.runs.retrieve(run.id, thread_id=thread.id)
            asked = run.required_action.submit_tool_outputs.tool_calls
            outputs: Any = [
                {"tool_call_id": c.id, "output": execute(tools, c.function.name, c.function.arguments)}
                for c in asked
            ]
            run = sdk.beta.threads.runs.submit_tool_outputs(run.id, thread_id=thread.id, tool_outputs=outputs)
    pdoctor_trace.flush()
    (traced,) = sink.runs
    assert traced["gen_ai.conversation.id"] == thread.id
    assert [(call.call_id, call.result) for call in sink.calls] == [
        ("call_0_0", "3"),
        ("call_0_1", "hi"),
        ("call_1_0", "42"),
    ]


# The SDK connects in a way that newer releases of its WebSocket library call deprecated.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@limit("openai", "sockets")
def test_a_realtime_session_is_not_seen(sink: OtlpSink) -> None:
    item = {"type": "function_call", "id": "i", "call_id": "c", "name": "add", "arguments": "{}"}
    done = {"type": "response.done", "event_id": "e", "response": {"id": "r", "output": [item]}}

    def answer(socket: ServerConnection) -> None:
        socket.recv()
        socket.send(json.dumps(done))

    with serve(answer, "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        where = f"ws://127.0.0.1:{server.socket.getsockname()[1]}"
        with (
            openai.OpenAI(api_key="x", websocket_base_url=where) as sdk,
            sdk.realtime.connect(model="fake") as session,
        ):
            session.response.create()
            event: Any = session.recv()
        server.shutdown()
        thread.join()
    assert event.response.output[0].name == "add"
    pdoctor_trace.flush()
    assert sink.spans == []


@limit("openai", "held histories")
@pytest.mark.parametrize("held", [True, False], ids=["held by the server", "sent again"])
def test_steps_in_several_processes(models: FakeModels, sink: OtlpSink, held: bool) -> None:
    """Both ways to go on give the same token; only a history that is sent again shows what was asked for."""
    with client(models) as sdk:
        given: Any = [{"role": "user", "content": QUERY}]
        tools: Any = [{"type": "function", **tool["function"]} for tool in offered(ToolLog().functions())]
        first = sdk.responses.create(model="fake.one", input=given, tools=tools)
        raw_loops.end()
        raw_loops.forget_everything()
        pauses.PAUSED.forget_all()
        said = [{"type": "function_call_output", "call_id": "call_0_0", "output": "42"}]
        asked = [item.model_dump(exclude_none=True) for item in first.output]
        more: Any = (
            {"previous_response_id": first.id, "input": said} if held else {"input": [*given, *asked, *said]}
        )
        sdk.responses.create(model="fake.one", tools=tools, **more)
    pdoctor_trace.flush()
    before, after = sorted(sink.runs, key=lambda run: run.start)
    assert before["pdoctor.run.state"] == "unanswered"
    assert after["pdoctor.run.resumed"] == before["pdoctor.run.token"]
    asked_for, *told = sorted(sink.calls, key=lambda call: call.start)
    assert asked_for["pdoctor.tool.execution"] == "unknown"
    assert [(call.call_id, call["pdoctor.tool.source_of_result"]) for call in told] == (
        [] if held else [("call_0_0", "history")]
    )


@pytest.mark.parametrize("mode", ["create", "helper", "stream"])
def test_the_text_of_a_custom_tool_is_no_malformed_json(
    models: FakeModels, sink: OtlpSink, mode: str
) -> None:
    given: list[Any] = [{"role": "user", "content": QUERY}]
    request: Any = {"model": "fake.custom", "input": given, "tools": [{"type": "custom", "name": "sql"}]}
    with client(models) as sdk:
        (call,) = SYNC[mode](sdk, request).output
        answer = {"type": "custom_tool_call_output", "call_id": call.call_id, "output": "1"}
        given += [{"type": "custom_tool_call", "call_id": call.call_id, "name": "sql", "input": "select 1"}]
        SYNC[mode](sdk, {**request, "input": [*given, answer]})
    pdoctor_trace.flush()
    (seen,) = sink.calls
    assert (seen.arguments, seen.executed, seen.result) == ({"input": "select 1"}, True, "1")
    assert seen["pdoctor.tool.asked_arguments"] is None
