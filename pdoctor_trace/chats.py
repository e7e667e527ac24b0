"""`chat` spans: one for each request that an agent makes of a model.

Whoever sees a request first makes the span: the adapter of a framework, LiteLLM, or the layer of the SDKs;
the layers below it see that the request is told of (`Frame.asks_a_model`). The span is written when the
reply has been read, which for a stream is when the host has read it. What an agent is given stands on
the spans of its run and its tools already, so a chat span has what the model wrote, by content mode.
`PDOCTOR_CHAT_SPANS=false` switches them off.
"""

from __future__ import annotations

import sys
import time
from typing import Any, Protocol

from . import meters, runtime, sdkspans, semconv, trouble
from .asking import DOOR
from .harmless import guarded
from .ids import new_span_id
from .reading import class_names
from .runs import Frame, OpenRun, current
from .spoken import output_messages
from .wire import Pairs, SpanRecord, as_dict, kept

_MEASURED = (
    semconv.OPERATION_NAME,
    semconv.PROVIDER_NAME,
    semconv.REQUEST_MODEL,
    semconv.RESPONSE_MODEL,
)
"""Attributes that measurements have, too."""
Written = tuple[str | None, str, Any]
"""A call that the model asks for: id, tool, arguments as it wrote them."""


class Reply:
    """What a model's reply says, whatever its wire format; None and empty where it does not say."""

    __slots__ = ("calls", "finish", "input_tokens", "model", "output_tokens", "response_id", "texts")

    def __init__(self) -> None:
        self.model: str | None = None
        self.response_id: str | None = None
        self.finish: list[str] = []
        self.input_tokens: int | None = None
        self.output_tokens: int | None = None
        self.texts: list[str] = []
        self.calls: list[Written] = []


class Reader(Protocol):
    """Reads replies of one wire format."""

    reply: Reply

    def whole(self, reply: Any) -> None:
        """A parsed reply."""

    def item(self, item: Any) -> bool:
        """An event or chunk of a stream; whether it was the last that matters."""


class Chat:
    """One request that is under way; closed once."""

    __slots__ = ("model", "provider", "reader", "run", "sdk", "span_id", "start_ns", "streamed")

    def __init__(
        self, run: OpenRun, provider: str | None, model: str | None, reader: Reader | None, streamed: bool
    ) -> None:
        self.run: OpenRun | None = run
        self.provider, self.model, self.reader, self.streamed = provider, model, reader, streamed
        self.start_ns = time.time_ns()
        run.usage.provider = run.usage.provider or provider
        run.model = run.model or model
        known = {
            semconv.OPERATION_NAME: "chat",
            semconv.PROVIDER_NAME: provider,
            semconv.REQUEST_MODEL: model,
        }
        self.sdk = sdkspans.start(self.name, run.sdk or False, self.start_ns, known, client=True)
        self.span_id = new_span_id() if self.sdk is None else sdkspans.ids(self.sdk)[1]

    @property
    def name(self) -> str:
        return f"chat {self.model}" if self.model else "chat"

    def whole(self, reply: Any) -> None:
        """The reply is there."""
        if self.reader is not None and self.run is not None:
            self.reader.whole(reply)
            self.close(self.reader.reply)

    def item(self, item: Any) -> None:
        """A part of it is."""
        if self.reader is not None and self.run is not None and self.reader.item(item):
            self.close(self.reader.reply)

    def end(self, error: BaseException | None = None) -> None:
        """Nothing more comes; what has come is all there is."""
        self.close(Reply() if self.reader is None else self.reader.reply, error)

    def close(self, reply: Reply, error: BaseException | None = None) -> None:
        """Write the span; later ends of the same request change nothing."""
        run, self.run = self.run, None
        if run is None:
            return
        run.usage.add(reply.input_tokens, reply.output_tokens)
        for guard in DOOR.guards:
            guarded(guard.used, run, reply.model or self.model, reply.input_tokens, reply.output_tokens)
        run.usage.asked((call[0] for call in reply.calls), has_text=any(map(str.strip, reply.texts)))
        end = max(time.time_ns(), self.start_ns)
        message = None if error is None else runtime.ACTIVE.capture.message(error)
        pairs = self._attributes(run, reply, error)
        state, own, above = run.state, self.span_id, run.span_id
        whole, size = kept(pairs)
        span = SpanRecord(state.encoded, own, above, self.name, self.start_ns, end, message, whole, True)
        runtime.emit(span, size)
        if self.sdk is not None:
            sdkspans.finish(self.sdk, {**state.pairs(), **as_dict(pairs)}, message, end)
        if meters.wanted():
            named = as_dict(pairs)
            said = {key: named[key] for key in _MEASURED}
            said[semconv.ERROR_TYPE] = named[semconv.ERROR_TYPE]
            meters.model_answered(said, end - self.start_ns, reply.input_tokens, reply.output_tokens)

    def _attributes(self, run: OpenRun, reply: Reply, error: BaseException | None) -> Pairs:
        asked = (
            semconv.OPERATION_NAME,
            "chat",
            semconv.PROVIDER_NAME,
            self.provider,
            semconv.REQUEST_MODEL,
            self.model,
            semconv.REQUEST_STREAM,
            self.streamed or None,
            semconv.CONVERSATION_ID,
            run.conversation,
        )
        written = output_messages("".join(reply.texts), reply.calls)
        run.usage.newest = written if runtime.ACTIVE.capture.mode != "none" else None
        came = (
            semconv.RESPONSE_ID,
            reply.response_id,
            semconv.RESPONSE_MODEL,
            reply.model,
            semconv.FINISH_REASONS,
            tuple(reply.finish) or None,
            semconv.INPUT_TOKENS,
            reply.input_tokens,
            semconv.OUTPUT_TOKENS,
            reply.output_tokens,
            semconv.OUTPUT_MESSAGES,
            written,
        )
        failed = (semconv.ERROR_TYPE, None if error is None else class_names(type(error))[0])
        return (*asked, *came, *failed)


class InChat(Frame):
    """Where the code stands that talks to the model."""

    __slots__ = ("call", "in_body", "quiet", "run", "sdk")

    asks_a_model = True

    def __init__(self, chat: Chat, run: OpenRun, above: Frame | None) -> None:
        self.state, self.span_id, self.sdk = run.state, chat.span_id, chat.sdk
        self.run: Any = run if above is None else above.run
        self.call = None if above is None else above.call
        self.in_body, self.quiet = False, above is not None and above.quiet


def asking_run(run: OpenRun | None = None) -> OpenRun | None:
    """On whose behalf a request leaves for a model here, `run` = that of its own loop; None = no agent's.

    What a tool's body asks of a model is the tool's own business.
    """
    frame = current()
    if frame is not None:
        run = None if frame.in_body else frame.run or run
    return run


def asking(run: OpenRun | None = None) -> trouble.Asking | None:
    """The request that leaves for a model here, as far as it is the endpoint's trouble or not."""
    found = asking_run(run)
    if found is None:
        return None
    found.pause = None  # what stands in it waits, maybe, and it goes on
    return trouble.Asking(found.requests)


def is_told(frame: Frame | None) -> bool:
    """Whether a layer above tells of the request that leaves here: LiteLLM, or a framework's adapter."""
    if frame is None or frame.in_body:
        return False
    return frame.asks_a_model or (frame.run is not None and frame.run.models_running > 0)


def begin(
    run: OpenRun | None,
    provider: str | None,
    model: str | None,
    reader: Reader | None = None,
    *,
    streamed: bool = False,
) -> Chat | None:
    """A request leaves for a model; None where it is no agent's, or nobody wants such spans."""
    if run is None or not runtime.ACTIVE.settings.chat_spans:
        return None
    return Chat(run, provider, model, reader, streamed)


_THEIR_KINDS = {
    "openinference.span.kind": ("LLM",),
    "gen_ai.operation.name": ("chat", "text_completion", "generate_content"),
    "llm.request.type": ("chat", "completion"),
}
"""Attributes by which other tracers say that a span is of a request to a model."""


def tell_whose(run: OpenRun | None) -> None:
    """Say whose request it is on the span that another tracer has open around it, or it is a run of its own.

    A loop of one's own has no span around it that the spans of its requests could be below.
    """
    trace = sys.modules.get("opentelemetry.trace")
    if run is None or trace is None:
        return
    span = trace.get_current_span()
    said = getattr(span, "attributes", None) or {}
    if span.is_recording() and any(said.get(key) in kinds for key, kinds in _THEIR_KINDS.items()):
        span.set_attribute(semconv.RUN_ID, run.state.run_id)


PROVIDERS = {
    "amazon_bedrock": "aws.bedrock",
    "azure": "azure.ai.openai",
    "azure_ai": "azure.ai.inference",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "google_genai": "gcp.gemini",
    "google_vertexai": "gcp.vertex_ai",
    "ibm": "ibm.watsonx.ai",
    "mistral": "mistral_ai",
    "mistralai": "mistral_ai",
    "moonshot": "moonshot_ai",
    "vertex_ai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}
"""What frameworks call providers -> what the conventions do, where that differs."""


def provider_name(said: Any) -> str | None:
    """The name of a provider by the conventions; one that they do not know stays as it is."""
    return PROVIDERS.get(said, said) if type(said) is str and said else None
