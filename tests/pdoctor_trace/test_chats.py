"""A `chat` span for each request that an agent makes of a model, and the sums on the agent's own span."""

from __future__ import annotations

import gc
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import pdoctor_trace
from collector.otlp.files import runs_from_otlp
from collector.otlp.segments import from_protobuf
from collector.otlp.spans import spans_of
from collector.rebuild import rebuild
from collector.settings import Limits
from pdoctor_trace import chats
from pdoctor_trace.installation import HERE
from pdoctor_trace.raw_loops import litellm
from pdoctor_trace.raw_loops.messages import Outgoing
from pdoctor_trace.raw_loops.openai import ChatSink
from pdoctor_trace.raw_loops.replies import ChatReader, MessagesReader, ResponsesReader, reader_for
from pdoctor_trace.raw_loops.tracker import TRACKER
from pdoctor_trace.runs import OpenRun
from pdoctor_trace.usage import Usage
from pdoctor_trace.wrappers import enter_frame, leave
from tests.support.models import FINAL, FakeModels
from tests.support.sink import OtlpSink

MODEL = "fake.talk.one"
"""Asks for `add` and talks about it, then answers with text."""
TOOLS = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}]


def client(models: FakeModels) -> openai.OpenAI:
    return openai.OpenAI(base_url=models.openai, api_key="k", max_retries=0)


def loop(models: FakeModels, **options: Any) -> None:
    """A hand-written loop on Chat Completions."""
    messages: list[Any] = [{"role": "user", "content": "Please add."}]
    with client(models) as sdk:
        while True:
            reply = sdk.chat.completions.create(model=MODEL, messages=messages, tools=TOOLS, **options)
            asked = read(reply) if options.get("stream") else reply.choices[0].message.tool_calls
            if not asked:
                return
            kept = [one if isinstance(one, dict) else one.model_dump() for one in asked]
            messages.append({"role": "assistant", "content": None, "tool_calls": kept})
            messages.append({"role": "tool", "tool_call_id": kept[0]["id"], "content": "42"})


def read(stream: Any) -> list[dict[str, Any]]:
    calls: dict[int, dict[str, Any]] = {}
    for chunk in stream:
        for choice in chunk.choices:
            for part in choice.delta.tool_calls or ():
                call = calls.setdefault(
                    part.index, {"type": "function", "function": {"name": "", "arguments": ""}}
                )
                call["id"] = part.id or call.get("id")
                call["function"]["name"] += part.function.name or ""
                call["function"]["arguments"] += part.function.arguments or ""
    return list(calls.values())


def said(span: Any) -> Any:
    return json.loads(span["gen_ai.output.messages"])


@pytest.mark.parametrize(
    "options", [{}, {"stream": True}, {"stream": True, "stream_options": {"include_usage": True}}], ids=str
)
def test_each_request_of_a_raw_loop_is_a_span(
    models: FakeModels, sink: OtlpSink, options: dict[str, Any]
) -> None:
    loop(models, **options)
    pdoctor_trace.flush()
    (run,), (first, second) = sink.runs, sink.chats
    assert [chat.name for chat in sink.chats] == [f"chat {MODEL}"] * 2
    assert {(chat.parent_id, chat.run_id, chat.trace_id) for chat in sink.chats} == {
        (run.span_id, run.run_id, run.trace_id)
    }
    assert (first["gen_ai.provider.name"], first.kind_of_span) == ("openai", 3)
    assert [chat["gen_ai.response.finish_reasons"] for chat in sink.chats] == [("tool_calls",), ("stop",)]
    assert (first["gen_ai.request.model"], first["gen_ai.response.model"]) == (MODEL, MODEL)
    assert first["gen_ai.response.id"].startswith("chatcmpl-")
    assert first["gen_ai.request.stream"] is (True if options else None)
    counted = None if options == {"stream": True} else 5
    tokens = [(chat["gen_ai.usage.input_tokens"], chat["gen_ai.usage.output_tokens"]) for chat in sink.chats]
    assert tokens == [(counted, counted)] * 2
    assert said(second) == [{"role": "assistant", "parts": [{"type": "text", "content": FINAL}]}]
    (message,) = said(first)
    talk, call = message["parts"]
    assert (talk["type"], call) == (
        "text",
        {"type": "tool_call", "id": "call_0_0", "name": "add", "arguments": {"a": 40, "b": 2}},
    )
    assert run.start <= first.start <= first.end <= second.start


def test_the_run_has_the_sums(models: FakeModels, sink: OtlpSink) -> None:
    loop(models)
    pdoctor_trace.flush()
    (run,) = sink.runs
    assert (run["gen_ai.usage.input_tokens"], run["gen_ai.usage.output_tokens"]) == (10, 10)
    assert (run["gen_ai.provider.name"], run["gen_ai.request.model"]) == ("openai", MODEL)
    (rebuilt,) = runs_from_otlp(io.BytesIO(b"".join(sink.bodies)), file="records")
    assert [call.tool for call in rebuilt.calls] == ["add"]


COUNTED: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}
"""Tokens come in a chunk after all others."""


def test_a_streamed_run_has_the_tokens_that_come_last(models: FakeModels, sink: OtlpSink) -> None:
    loop(models, **COUNTED)
    pdoctor_trace.flush()
    (run,) = sink.runs
    assert (run["gen_ai.usage.input_tokens"], run["gen_ai.usage.output_tokens"]) == (10, 10)
    assert said(run) == [{"role": "assistant", "parts": [{"type": "text", "content": FINAL}]}]
    assert run.end >= sink.chats[-1].end


@pytest.mark.parametrize("options", [{}, {"stream": True}], ids=["whole", "streamed"])
def test_the_run_has_what_a_model_wrote_last(
    models: FakeModels, sink: OtlpSink, options: dict[str, Any]
) -> None:
    loop(models, **options)
    pdoctor_trace.flush()
    (run,) = sink.runs
    assert said(run) == [{"role": "assistant", "parts": [{"type": "text", "content": FINAL}]}]


def test_a_stream_whose_tokens_nobody_reads_ends_its_run(models: FakeModels, sink: OtlpSink) -> None:
    """The host stops reading once it has the answer, and its next question begins another run."""
    held: list[Any] = []
    asked: list[Any] = [{"role": "user", "content": "One."}]
    with client(models) as sdk:
        for question in ("Two.", "Three."):
            stream = sdk.chat.completions.create(model="fake.none", messages=asked, tools=TOOLS, **COUNTED)
            items = iter(stream)
            while not any(choice.finish_reason for choice in next(items).choices):
                pass
            asked += [{"role": "assistant", "content": FINAL}, {"role": "user", "content": question}]
            held += [stream, items]  # nobody closes it
        sdk.chat.completions.create(model="fake.none", messages=asked, tools=TOOLS)
        list(held[1]), list(held[3])
    pdoctor_trace.flush()
    queries = [json.loads(run["gen_ai.input.messages"])[0]["parts"][0]["content"] for run in sink.runs]
    assert queries == ["One.", "Two.", "Three."]
    assert {run["pdoctor.run.trouble.kind"] for run in sink.runs} == {None}


def test_a_streamed_run_ends_with_the_chunk_of_its_tokens(models: FakeModels, sink: OtlpSink) -> None:
    asked: Any = [{"role": "user", "content": "One."}]
    with client(models) as sdk:
        for chunk in sdk.chat.completions.create(model="fake.none", messages=asked, tools=TOOLS, **COUNTED):
            HERE.flush(None)
            assert len(sink.runs) == len(sink.chats) == (chunk.usage is not None)


def test_tokens_that_are_promised_and_never_come(sink: OtlpSink) -> None:
    """The run ends with the stream."""
    conversation = TRACKER.request(Outgoing("openai", tools=[("add", None)], user_last=True, key="held"))
    assert conversation is not None
    reading = ChatSink(conversation, COUNTED, 0)
    reading.item({"choices": [{"index": 0, "delta": {"content": "Yes."}, "finish_reason": "stop"}]})
    HERE.flush(None)
    assert sink.runs == []
    reading.end()
    HERE.flush(None)
    (run,) = sink.runs
    assert run["pdoctor.run.trouble.kind"] is None
    assert (conversation.ending, conversation.run) == (False, None)


def test_the_collector_counts_them(models: FakeModels, sink: OtlpSink) -> None:
    loop(models)
    pdoctor_trace.flush()
    segments = from_protobuf(b"".join(sink.bodies), Limits()).segments
    spans = list(spans_of([segment.payload for segment in segments]))
    whole = rebuild("r", spans)
    assert [(one.input_tokens, one.output_tokens) for one in whole.models] == [(5, 5)] * 2
    assert whole.run.problems == ()
    running = [span for span in spans if span.attributes.get("gen_ai.operation.name") == "chat"]
    assert rebuild("r", running).run.calls == ()


@pytest.mark.parametrize("stream", [False, True])
def test_responses(models: FakeModels, sink: OtlpSink, stream: bool) -> None:
    with client(models) as sdk, pdoctor_trace.run():
        reply = sdk.responses.create(model=MODEL, input="Please add.", stream=stream)
        if stream:
            list(reply)
    pdoctor_trace.flush()
    (chat,), (run,) = sink.chats, sink.runs
    assert chat["gen_ai.response.finish_reasons"] == ("completed",)
    assert (chat["gen_ai.usage.input_tokens"], chat["gen_ai.usage.output_tokens"]) == (5, 5)
    assert [part["type"] for part in said(chat)[0]["parts"]] == ["text", "tool_call"]
    assert chat.parent_id == run.span_id


def test_a_request_that_fails(models: FakeModels, sink: OtlpSink) -> None:
    broken = openai.OpenAI(base_url="http://127.0.0.1:9", api_key="k", max_retries=0)
    with pdoctor_trace.run(), pytest.raises(openai.APIConnectionError), broken as sdk:
        sdk.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "x"}])
    pdoctor_trace.flush()
    (chat,) = sink.chats
    assert (chat.failed, chat["error.type"], chat.message) == (
        True,
        "APIConnectionError",
        "Connection error.",
    )


def test_a_stream_that_is_left_early(models: FakeModels, sink: OtlpSink) -> None:
    with client(models) as sdk, pdoctor_trace.run():
        request: dict[str, Any] = {"model": "fake", "messages": [{"role": "user", "content": "x"}]}
        stream = sdk.chat.completions.create(**request, stream=True)
        next(iter(stream))
        stream.close()
        del stream
        gc.collect()
    pdoctor_trace.flush()
    (chat,) = sink.chats
    assert (chat.failed, chat["gen_ai.response.finish_reasons"]) == (False, None)


LEFT = """
import builtins, openai, pdoctor_trace, sys
builtins.kept = []
with pdoctor_trace.run():
    sdk = openai.OpenAI(base_url=sys.argv[1], api_key="k", max_retries=0)
    messages = [{"role": "user", "content": "x"}]
    stream = sdk.chat.completions.create(model="fake", messages=messages, stream=True)
    begun = iter(stream)
    next(begun)
    builtins.kept += [stream, begun]
"""


def test_a_stream_that_is_still_open_when_the_interpreter_ends_holds_nobody_up(models: FakeModels) -> None:
    with OtlpSink() as receiver:
        done = subprocess.run(
            [sys.executable, "-c", LEFT, models.openai],
            env={**os.environ, "PDOCTOR_ENDPOINT": receiver.url},
            timeout=30,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, len(receiver.runs)) == (0, 1)


def test_a_raw_response_is_read_when_the_host_reads_it(models: FakeModels, sink: OtlpSink) -> None:
    with client(models) as sdk, pdoctor_trace.run():
        request: dict[str, Any] = {"model": MODEL, "messages": [{"role": "user", "content": "x"}]}
        raw = sdk.chat.completions.with_raw_response.create(**request)
        raw.parse()
        raw.parse()
    pdoctor_trace.flush()
    assert [chat["gen_ai.usage.input_tokens"] for chat in sink.chats] == [5]


def test_a_request_of_no_agent_has_none(models: FakeModels, sink: OtlpSink) -> None:
    @pdoctor_trace.tool
    def translate() -> None:
        sdk.chat.completions.create(model="fake", messages=[{"role": "user", "content": "x"}])

    with client(models) as sdk:
        sdk.chat.completions.create(model="fake", messages=[{"role": "user", "content": "x"}])
        with pdoctor_trace.run():
            translate()
            sdk.models.with_raw_response  # noqa: B018
    pdoctor_trace.flush()
    assert sink.chats == []


def test_a_run_that_knows_no_model_has_that_of_its_request(models: FakeModels, sink: OtlpSink) -> None:
    with client(models) as sdk, pdoctor_trace.run():
        sdk.chat.completions.create(model="fake", messages=[{"role": "user", "content": "x"}])
        sdk.chat.completions.create(model="fake.one", messages=[{"role": "user", "content": "x"}])
    pdoctor_trace.flush()
    assert [run["gen_ai.request.model"] for run in sink.runs] == ["fake"]


def test_below_a_layer_that_tells_of_a_request_nobody_tells_of_it_again(
    models: FakeModels, sink: OtlpSink
) -> None:
    """As LiteLLM does over the provider's SDK."""
    run = OpenRun("test", quiet=True)
    chat = chats.begin(run, "openai", "fake")
    assert chat is not None
    token = enter_frame(chats.InChat(chat, run, None))
    with client(models) as sdk:
        sdk.chat.completions.create(model="fake", messages=[{"role": "user", "content": "x"}])
    leave(token)
    chat.end()
    run.close()
    pdoctor_trace.flush()
    assert [one.span_id for one in sink.chats] == [f"{chat.span_id:016x}"]


@pytest.mark.parametrize("model", ["fake.par.one", "fake"])
def test_a_framework_over_the_sdk_tells_of_each_request_once(
    models: FakeModels, sink: OtlpSink, model: str
) -> None:
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    def slow_echo(text: str) -> str:
        """Echo."""
        return text

    chat_model = ChatOpenAI(model=model, base_url=models.openai, api_key="k", max_retries=0)
    agent = create_agent(chat_model, [add, slow_echo])
    agent.invoke({"messages": [{"role": "user", "content": "go"}]})
    pdoctor_trace.flush()
    (run,) = sink.runs
    requests = 1 + model.count(".")
    assert [chat["gen_ai.provider.name"] for chat in sink.chats] == ["openai"] * requests
    assert {chat.parent_id for chat in sink.chats} == {run.span_id}
    assert run["gen_ai.usage.output_tokens"] == 5 * requests
    last = sink.chats[-1]
    assert (last["gen_ai.response.model"], last["gen_ai.response.finish_reasons"]) == (model, ("stop",))
    assert last["gen_ai.response.id"].startswith("chatcmpl-")
    assert said(last)[0]["parts"] == [{"type": "text", "content": FINAL}]


def test_a_framework_whose_model_fails(sink: OtlpSink) -> None:
    model = ChatOpenAI(model="fake", base_url="http://127.0.0.1:9", api_key="k", max_retries=0)
    with pytest.raises(openai.APIConnectionError):
        create_agent(model, []).invoke({"messages": [{"role": "user", "content": "go"}]})
    pdoctor_trace.flush()
    assert [(chat.failed, chat["error.type"]) for chat in sink.chats] == [(True, "OpenAIConnectionError")]


def test_they_can_be_switched_off(models: FakeModels, sink: OtlpSink, request: pytest.FixtureRequest) -> None:
    request.addfinalizer(lambda: pdoctor_trace.install(chat_spans=True))
    pdoctor_trace.install(chat_spans=False)
    loop(models)
    pdoctor_trace.flush()
    assert (len(sink.chats), len(sink.calls), len(sink.runs)) == (0, 1, 1)


@pytest.mark.parametrize(("mode", "part"), [("none", None), ("shape", "str:")])
def test_what_the_model_wrote_goes_by_content_mode(
    models: FakeModels, sink: OtlpSink, mode: str, part: str | None
) -> None:
    pdoctor_trace.install(content=mode)
    loop(models)
    pdoctor_trace.flush()
    first, last = sink.chats
    assert FINAL not in repr(last.attributes)
    assert '":40' not in (first["gen_ai.output.messages"] or "")
    assert [one["name"] for one in said(first)[0]["parts"] if one["type"] == "tool_call"] == ["add"]
    if part is None:
        assert last["gen_ai.output.messages"] is None
    else:
        assert said(last)[0]["parts"][0]["content"].startswith(part)


# -- in the host's provider


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    yield exporter
    provider.shutdown()


def test_the_hosts_provider_has_them_and_what_is_below_is_below(
    models: FakeModels, sink: OtlpSink, host: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = openai.DefaultHttpxClient.send

    def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
        with trace.get_tracer("http").start_as_current_span("POST"):
            return send(self, *args, **kwargs)

    monkeypatch.setattr(openai.DefaultHttpxClient, "send", traced)
    monkeypatch.setattr(openai._base_client.SyncHttpxClientWrapper, "send", traced)
    loop(models)
    pdoctor_trace.flush()
    theirs = {f"{span.context.span_id:016x}": span for span in host.get_finished_spans()}
    for chat in sink.chats:
        span = theirs[chat.span_id]
        assert span.kind is trace.SpanKind.CLIENT
        assert span.attributes["gen_ai.response.finish_reasons"] == chat["gen_ai.response.finish_reasons"]
        assert f"{span.parent.span_id:016x}" == chat.parent_id
    posts = [span for span in theirs.values() if span.name == "POST"]
    assert [f"{span.parent.span_id:016x}" for span in posts] == [chat.span_id for chat in sink.chats]
    assert not trace.get_current_span().get_span_context().is_valid


def test_spans_of_another_tracer_around_the_requests_belong_to_the_run(
    models: FakeModels, sink: OtlpSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(endpoint=f"{sink.url}/v1/traces")))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    request = openai.OpenAI.request

    def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
        kind = {"openinference.span.kind": "LLM"}
        with trace.get_tracer("another").start_as_current_span("ChatCompletion", attributes=kind):
            return request(self, *args, **kwargs)

    monkeypatch.setattr(openai.OpenAI, "request", traced)
    with trace.get_tracer("host").start_as_current_span("unrelated"):
        pass
    loop(models)
    pdoctor_trace.flush()
    provider.shutdown()
    theirs = [span for span in sink.spans if span.name == "ChatCompletion"]
    assert [span.run_id for span in theirs] == [sink.runs[0].run_id] * 2
    assert len({span.trace_id for span in theirs}) == 2
    spans = [run for run in runs_from_otlp(io.BytesIO(b"".join(sink.bodies)), file="both") if run.calls]
    assert [[call.tool for call in run.calls] for run in spans] == [["add"]]


def test_other_spans_around_a_request_are_left_alone(
    models: FakeModels, sink: OtlpSink, host: InMemorySpanExporter
) -> None:
    with trace.get_tracer("host").start_as_current_span("GET /order", attributes={"http.route": "/order"}):
        loop(models)
    pdoctor_trace.flush()
    (route,) = [span for span in host.get_finished_spans() if span.name == "GET /order"]
    assert dict(route.attributes) == {"http.route": "/order"}


# -- who answers


def test_a_client_of_azure_says_so(models: FakeModels, sink: OtlpSink) -> None:
    azure = openai.AzureOpenAI(azure_endpoint=models.root, api_key="k", api_version="1", max_retries=0)
    with azure as sdk, pdoctor_trace.run():
        sdk.chat.completions.create(model="fake", messages=[{"role": "user", "content": "x"}])
    pdoctor_trace.flush()
    assert [chat["gen_ai.provider.name"] for chat in sink.chats] == ["azure.ai.openai"]


@pytest.mark.parametrize(
    ("body", "model", "provider"),
    [
        ({}, "bedrock/anthropic.claude", "aws.bedrock"),
        ({}, "anthropic/claude", "anthropic"),
        ({"custom_llm_provider": "mistral"}, "large", "mistral_ai"),
        ({}, "gpt-4o", None),
        ({}, None, None),
    ],
)
def test_litellm_is_told_the_provider(body: dict[str, Any], model: str | None, provider: str | None) -> None:
    assert litellm._provider(body, model) == provider


def test_providers_have_the_names_of_the_conventions() -> None:
    known = json.loads((Path(__file__).parents[1] / "support/genai_conventions.json").read_text())
    assert set(chats.PROVIDERS.values()) <= set(known["providers"])
    assert [chats.provider_name(said) for said in ("openai", "ollama", "", None, 7)] == [
        "openai", "ollama", None, None, None,
    ]  # fmt: skip


# -- formats of SDKs that are not installed here


@pytest.mark.parametrize("stream", [False, True])
def test_messages_of_anthropic(models: FakeModels, stream: bool) -> None:
    body = {"model": MODEL, "messages": [{"role": "user", "content": "x"}], "stream": stream}
    reader, came = MessagesReader(), models.messages(body)
    if stream:
        ends = [reader.item(event) for _, event in came]
        assert ends == [False] * (len(ends) - 1) + [True]
    else:
        reader.whole(came)
    reply = reader.reply
    assert (reply.model, reply.finish, reply.input_tokens, reply.output_tokens) == (MODEL, ["tool_use"], 5, 5)
    assert "".join(reply.texts) == "let me see"
    (call,) = reply.calls
    assert call[:2] == ("call_0_0", "add")
    assert call[2] in ({"a": 40, "b": 2}, '{"a": 40, "b": 2}')
    assert (reply.response_id or "").startswith("msg_")


def test_tokens_of_anthropics_cache_are_given_too() -> None:
    reader = MessagesReader()
    usage = {"input_tokens": 3, "cache_read_input_tokens": 100, "cache_creation_input_tokens": None}
    reader.whole({"usage": {**usage, "output_tokens": 7}})
    assert (reader.reply.input_tokens, reader.reply.output_tokens) == (103, 7)


def test_a_reply_that_did_not_become_whole() -> None:
    reader = ResponsesReader()
    assert reader.item({"type": "response.created", "response": {"id": "resp_1", "model": "m"}}) is False
    assert (reader.reply.response_id, reader.reply.model, reader.reply.finish) == ("resp_1", "m", [])
    cut = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "id": "resp_1"}
    assert reader.item({"type": "response.incomplete", "response": cut}) is True
    assert reader.reply.finish == ["max_output_tokens"]


def test_nonsense_is_read_as_nothing() -> None:
    for reader in (ChatReader(), ResponsesReader(), MessagesReader()):
        for nonsense in (None, 7, "x", [], {"choices": 3, "usage": {"prompt_tokens": -1}, "id": 5}):
            reader.whole(nonsense)
            reader.item(nonsense)
        reply = reader.reply
        assert (reply.model, reply.response_id, reply.finish, reply.calls) == (None, None, [], [])
        assert (reply.input_tokens, reply.output_tokens, "".join(reply.texts)) == (None, None, "")


def test_addresses_that_are_no_chat() -> None:
    for url in ("/threads/t/messages", "/threads/t/runs", "/embeddings", "/models"):
        assert reader_for(url, {}) is None
    assert isinstance(reader_for("/v1/responses", {}), ResponsesReader)


def test_text_beside_a_call_is_that_of_the_newest_reply_alone() -> None:
    usage = Usage()
    assert usage.text_beside("a") is None
    usage.asked(["a", None], has_text=True)
    assert (usage.text_beside("a"), usage.text_beside("b"), usage.text_beside(None)) == (True, None, None)
    usage.asked(["b"], has_text=False)
    assert (usage.text_beside("a"), usage.text_beside("b")) == (None, False)
