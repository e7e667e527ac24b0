"""What the OpenAI and Anthropic SDKs have in common: they come from one generator, so do their hooks.

`SyncAPIClient.request` and its async twin see every call of every resource (create, parse, stream
helpers, raw responses), also of clients made before we were imported. Streams are watched in
`Stream.__stream__` while the host reads them; raw responses when the host calls `.parse()`. The link
from a request to the stream or raw response it gave is one private attribute on that object.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from pdoctor_trace import chats
from pdoctor_trace.adapter import Target
from pdoctor_trace.chats import Chat, InChat, asking, asking_run, is_told
from pdoctor_trace.harmless import guarded
from pdoctor_trace.reading import class_names
from pdoctor_trace.runs import CURRENT, Frame, OpenRun, current
from pdoctor_trace.trouble import Asking
from pdoctor_trace.wrappers import (
    Visit,
    Watcher,
    around,
    around_async,
    watch_async_generator,
    watch_generator,
)

from .conversations import Conversation
from .reading import name
from .replies import reader_for


class Sink(Protocol):
    """Follows one request: gets either the whole reply or the items of its stream."""

    @property
    def conversation(self) -> Conversation | None:
        """The one it belongs to, where that is known."""

    def whole(self, reply: Any) -> None:
        """The parsed reply."""

    def item(self, item: Any) -> None:
        """One event or chunk."""

    def end(self) -> None:
        """No more items will be read."""


Opener = Callable[[str, str, Any], Sink | None]
"""(method, url, body) of a request about to leave; None = of no interest."""

_LINK = "_pdoctor_sink"
_ELSEWHERE = {"Azure": "azure.ai.openai", "Bedrock": "aws.bedrock", "Vertex": "gcp.vertex_ai"}
"""Part of the name of a client's class -> the provider behind it."""
MODELS = ("/completions", "/responses", "/messages")
"""Ends of the addresses that a model answers at; a thread's runs are others."""


class _ReplyVisit(Visit):
    """A reply is on its way: what it holds is for `chat` and `sink`, and whether it comes for `asking`."""

    __slots__ = ("asking", "chat", "sink")

    def __init__(self, sink: Sink | None, asking: Asking | None, chat: Chat | None) -> None:
        super().__init__(CURRENT.get())
        self.sink, self.asking, self.chat = sink, asking, chat

    def returned(self, result: Any) -> None:
        if _comes_later(result):
            setattr(result, _LINK, (self.sink, self.asking, self.chat))
            return
        if self.chat is not None:  # before the run may end with what the sink reads
            guarded(self.chat.whole, result)
        if self.sink is not None:
            self.sink.whole(result)


class _RequestVisit(_ReplyVisit):
    """The request itself."""

    __slots__ = ()

    def __init__(self, sink: Sink | None, asking: Asking | None, chat: Chat | None) -> None:
        super().__init__(sink, asking, chat)
        if chat is not None and chat.sdk is not None and chat.run is not None:
            self.frame = InChat(chat, chat.run, self.frame)

    def returned(self, result: Any) -> None:
        if self.asking is not None:  # a stream has answered once its first piece is there
            self.asking.rest() if hasattr(type(result), "__stream__") else self.asking.came()
        super().returned(result)

    def raised(self, error: BaseException) -> None:
        if self.chat is not None:
            guarded(self.chat.end, error)
        if self.asking is not None:
            self.asking.failed(error)


def _comes_later(reply: Any) -> bool:
    """A stream or raw response is watched later, anything else is the reply itself."""
    kind = type(reply)
    return hasattr(kind, "__stream__") or (hasattr(kind, "parse") and hasattr(kind, "http_version"))


class _StreamWatcher(Watcher):
    __slots__ = ("asking", "chat", "error", "has_begun", "sink")

    def __init__(self, sink: Sink | None, asking: Asking | None, chat: Chat | None) -> None:
        self.sink, self.asking, self.chat, self.has_begun = sink, asking, chat, False
        self.error: BaseException | None = None

    def waits(self) -> None:
        if self.asking is not None:
            self.asking.wait()

    def item(self, item: Any) -> None:
        self.has_begun = True
        if self.asking is not None:
            self.asking.came()
        if self.chat is not None:
            guarded(self.chat.item, item)
        if self.sink is not None:
            self.sink.item(item)

    def raised(self, error: BaseException) -> None:
        if issubclass(type(error), GeneratorExit):
            return
        self.error = error
        if self.asking is not None:
            self.asking.failed(error)

    def ended(self) -> None:
        if self.chat is not None:
            guarded(self.chat.end, self.error)
            self.error = None
        if self.asking is not None:
            self.asking.rest()
        if self.sink is not None and self.has_begun:
            self.sink.end()


def _begin(stream: Any) -> Watcher | None:
    linked = vars(stream).pop(_LINK, None)
    return None if linked is None else _StreamWatcher(*linked)


def _enter_parse(response: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    """The first parse of a raw response is the reply; later ones give the same again."""
    linked = vars(response).pop(_LINK, None)
    return None if linked is None else _ReplyVisit(*linked)


def sdk_targets(package: str, open_sink: Opener) -> tuple[Target, ...]:
    """The targets of one SDK; requests are offered to `open_sink` unless a framework above reports them."""

    def enter(client: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
        frame = current()
        options = args[1] if len(args) > 1 else kwargs["options"]
        url = options.url.split("?")[0].rstrip("/")
        silent = frame is not None and frame.sdk_is_silent
        body = _body(options)
        sink = None if silent else open_sink(options.method.lower(), url, body)
        conversation = None if sink is None else sink.conversation
        run = None if conversation is None else conversation.run
        if not _asks_a_model(url):
            return None if sink is None else _RequestVisit(sink, None, None)
        watched = asking(run)
        behalf = run or asking_run()
        guarded(chats.tell_whose, behalf)
        chat = guarded(_chat, package, client, url, body, behalf, frame)
        return None if sink is None and watched is None else _RequestVisit(sink, watched, chat)

    client, stream = f"{package}._base_client", f"{package}._streaming"
    return (
        Target(client, "SyncAPIClient.request", around(enter)),
        Target(client, "AsyncAPIClient.request", around_async(enter)),
        Target(stream, "Stream.__stream__", watch_generator(_begin)),
        Target(stream, "AsyncStream.__stream__", watch_async_generator(_begin)),
        Target(f"{package}._legacy_response", "LegacyAPIResponse.parse", around(_enter_parse)),
        Target(f"{package}._response", "APIResponse.parse", around(_enter_parse)),
        Target(f"{package}._response", "AsyncAPIResponse.parse", around_async(_enter_parse)),
    )


def _chat(
    package: str, client: Any, url: str, body: dict[str, Any], run: OpenRun | None, frame: Frame | None
) -> Chat | None:
    """The span of this request, unless a framework's adapter or LiteLLM tells of it."""
    reader = None if run is None or is_told(frame) else reader_for(url, body)
    if reader is None:
        return None
    streamed = body.get("stream") is True
    return chats.begin(run, _provider(package, client), name(body.get("model")), reader, streamed=streamed)


def _provider(package: str, client: Any) -> str:
    """Who answers, by the class of the client."""
    names = " ".join(class_names(type(client)))
    return next((provider for part, provider in _ELSEWHERE.items() if part in names), package)


def _asks_a_model(url: str) -> bool:
    return "/runs" in url if "/threads/" in url else url.endswith(MODELS)


def _body(options: Any) -> dict[str, Any]:
    body = options.json_data if isinstance(options.json_data, dict) else {}
    extra = getattr(options, "extra_json", None)
    return {**body, **extra} if isinstance(extra, dict) else body
