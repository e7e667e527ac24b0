"""LiteLLM: Chat Completions loops on any provider.

`completion` and `acompletion` take and give what OpenAI's SDK does, so their traffic is read the same
way; an SDK that LiteLLM uses below is silent meanwhile. Streams are watched where the host takes the next
chunk. Inside a framework's run the framework reports the calls.
"""

from __future__ import annotations

from typing import Any

from pdoctor_trace import chats
from pdoctor_trace.adapter import Framework, Limit, Target
from pdoctor_trace.chats import Chat, InChat, asking, asking_run, is_told
from pdoctor_trace.harmless import guarded
from pdoctor_trace.runs import CURRENT, Frame, OpenRun, current
from pdoctor_trace.trouble import Asking
from pdoctor_trace.wrappers import Visit, around, around_async

from .openai import ChatSink, outgoing_chat
from .reading import name
from .replies import reader_for
from .tracker import TRACKER

SOURCE = "litellm"

_LINK = "_pdoctor_sink"


class _Below(Frame):
    """While LiteLLM talks to the provider: an SDK below must not report the same request."""

    __slots__ = ("run",)

    quiet = True

    def __init__(self, run: OpenRun) -> None:
        self.run, self.state, self.span_id = run, run.state, run.span_id


class _ReplyVisit(Visit):
    """What comes of a request is for `chat` and `sink`, and whether it comes for `asking`."""

    __slots__ = ("asking", "chat", "sink")

    def __init__(self, sink: ChatSink | None, asking: Asking | None, chat: Chat | None) -> None:
        run = None if sink is None else sink.conversation.run
        above = CURRENT.get() if run is None else _Below(run)
        behalf = None if chat is None else chat.run
        super().__init__(above if chat is None or behalf is None else InChat(chat, behalf, above))
        self.sink, self.asking, self.chat = sink, asking, chat

    def failed(self, error: BaseException) -> None:
        if self.chat is not None:
            guarded(self.chat.end, error)
        if self.asking is not None:
            self.asking.failed(error)


class _RequestVisit(_ReplyVisit):
    """The host asks for a reply."""

    __slots__ = ()

    def returned(self, result: Any) -> None:
        followed = self.sink is not None or self.chat is not None
        if followed and hasattr(type(result), "__anext__"):
            if self.asking is not None:
                self.asking.rest()
            setattr(result, _LINK, (self.sink, self.asking, self.chat))
            return
        if self.asking is not None:
            self.asking.came()
        if self.chat is not None:  # before the run may end with what the sink reads
            guarded(self.chat.whole, result)
        if self.sink is not None:
            self.sink.whole(result)

    def raised(self, error: BaseException) -> None:
        self.failed(error)


class _ChunkVisit(_ReplyVisit):
    """The host takes the next chunk of a stream."""

    __slots__ = ()

    def __init__(self, sink: ChatSink | None, asking: Asking | None, chat: Chat | None) -> None:
        super().__init__(sink, asking, chat)
        if asking is not None:
            asking.wait()

    def returned(self, result: Any) -> None:
        if self.asking is not None:
            self.asking.came()
        if self.chat is not None:
            guarded(self.chat.item, result)
        if self.sink is not None:
            self.sink.item(result)

    def raised(self, error: BaseException) -> None:
        if issubclass(type(error), StopIteration | StopAsyncIteration):
            self.asking.rest() if self.asking is not None else None
            if self.chat is not None:
                guarded(self.chat.end)
        else:
            self.failed(error)
        if self.sink is not None:
            self.sink.end()


def _enter(instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    frame = current()
    if kwargs.get("acompletion"):
        return None
    body = {**dict(zip(("model", "messages"), args, strict=False)), **kwargs}
    sink = None
    if frame is None or not frame.sdk_is_silent:
        out = outgoing_chat(body, SOURCE)
        conversation = TRACKER.request(out)
        sink = None if conversation is None else ChatSink(conversation, body, out.unnamed)
    own = None if sink is None else sink.conversation.run
    watched, chat = asking(own), guarded(_chat, body, own or asking_run(), frame)
    return None if sink is None and watched is None and chat is None else _RequestVisit(sink, watched, chat)


def _chat(body: dict[str, Any], run: OpenRun | None, frame: Frame | None) -> Chat | None:
    """The span of this request, unless a framework's adapter tells of it."""
    if is_told(frame):
        return None
    model, streamed = name(body.get("model")), body.get("stream") is True
    reader = reader_for("/chat/completions", body)
    return chats.begin(run, _provider(body, model), model, reader, streamed=streamed)


def _provider(body: dict[str, Any], model: str | None) -> str | None:
    """What LiteLLM is told: by name, or before the slash in the model's."""
    told = name(body.get("custom_llm_provider"))
    if told is None and model is not None and "/" in model:
        told = model.partition("/")[0]
    return chats.provider_name(told)


def _enter_chunk(stream: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    linked = vars(stream).get(_LINK)
    return None if linked is None else _ChunkVisit(*linked)


_STREAM = "litellm.litellm_core_utils.streaming_handler"

LITELLM = Framework(
    name=SOURCE,
    title="LiteLLM, raw loops",
    distribution="litellm",
    versions=">=1.89,<2",
    targets=(
        Target("litellm", "completion", around(_enter)),
        Target("litellm", "acompletion", around_async(_enter)),
        Target(_STREAM, "CustomStreamWrapper.__next__", around(_enter_chunk)),
        Target(_STREAM, "CustomStreamWrapper.__anext__", around_async(_enter_chunk)),
    ),
    covers="completion, acompletion and Router: sync, async, streaming, every provider",
    limits=(
        Limit("bounds", "exact times, errors and nesting need @pdoctor_trace.tool or wrap_tools"),
        Limit("unreadable replies", "a reply that LiteLLM cannot read raises before there is a call"),
        Limit("other surfaces", "litellm.responses and the proxy are not seen"),
    ),
)
