"""LiteLLM: Chat Completions loops on any provider.

`completion` and `acompletion` take and give what OpenAI's SDK does, so their traffic is read the same
way; an SDK that LiteLLM uses below is silent meanwhile. Streams are watched where the host takes the next
chunk. Inside a framework's run the framework reports the calls.
"""

from __future__ import annotations

from typing import Any

from pdoctor_trace.adapter import Framework, Limit, Target
from pdoctor_trace.runs import CURRENT, Frame, OpenRun, current
from pdoctor_trace.wrappers import Visit, around, around_async

from .openai import ChatSink, outgoing_chat
from .tracker import TRACKER

SOURCE = "litellm"

_LINK = "_pdoctor_sink"


class _Below(Frame):
    """While LiteLLM talks to the provider: an SDK below must not report the same request."""

    __slots__ = ("run",)

    quiet = True

    def __init__(self, run: OpenRun) -> None:
        self.run, self.state, self.span_id = run, run.state, run.span_id


class _SinkVisit(Visit):
    """A visit inside the conversation's run, if it has one, that tells its sink."""

    __slots__ = ("sink",)

    def __init__(self, sink: ChatSink) -> None:
        run = sink.conversation.run
        super().__init__(CURRENT.get() if run is None else _Below(run))
        self.sink = sink


class _RequestVisit(_SinkVisit):
    """The host asks for a reply."""

    __slots__ = ()

    def returned(self, result: Any) -> None:
        if hasattr(type(result), "__anext__"):
            setattr(result, _LINK, self.sink)
        else:
            self.sink.whole(result)


class _ChunkVisit(_SinkVisit):
    """The host takes the next chunk of a stream."""

    __slots__ = ()

    def returned(self, result: Any) -> None:
        self.sink.item(result)

    def raised(self, error: BaseException) -> None:
        self.sink.end()


def _enter(instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    frame = current()
    if (frame is not None and frame.sdk_is_silent) or kwargs.get("acompletion"):
        return None
    body = {**dict(zip(("model", "messages"), args, strict=False)), **kwargs}
    conversation = TRACKER.request(outgoing_chat(body, SOURCE))
    return None if conversation is None else _RequestVisit(ChatSink(conversation))


def _enter_chunk(stream: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    sink = vars(stream).get(_LINK)
    return None if sink is None else _ChunkVisit(sink)


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
