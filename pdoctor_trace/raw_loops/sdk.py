"""What the OpenAI and Anthropic SDKs have in common: they come from one generator, so do their hooks.

`SyncAPIClient.request` and its async twin see every call of every resource (create, parse, stream
helpers, raw responses), also of clients made before we were imported. Streams are watched in
`Stream.__stream__` while the host reads them; raw responses when the host calls `.parse()`. The link
from a request to the stream or raw response it gave is one private attribute on that object.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from pdoctor_trace.adapter import Target
from pdoctor_trace.capture import field
from pdoctor_trace.runs import CURRENT, current
from pdoctor_trace.wrappers import (
    Visit,
    Watcher,
    around,
    around_async,
    watch_async_generator,
    watch_generator,
)


class Sink(Protocol):
    """Follows one request: gets either the whole reply or the items of its stream."""

    def whole(self, reply: Any) -> None:
        """The parsed reply."""

    def item(self, item: Any) -> None:
        """One event or chunk."""

    def end(self) -> None:
        """No more items will be read."""


Opener = Callable[[str, str, Any], Sink | None]
"""(method, url, body) of a request about to leave; None = of no interest."""

_LINK = "_pdoctor_sink"


class _RequestVisit(Visit):
    __slots__ = ("sink",)

    def __init__(self, sink: Sink) -> None:
        super().__init__(CURRENT.get())
        self.sink = sink

    def returned(self, result: Any) -> None:
        _link(self.sink, result)


def _link(sink: Sink, reply: Any) -> None:
    """A stream or raw response is watched later, anything else is the reply itself."""
    kind = type(reply)
    if hasattr(kind, "__stream__") or (hasattr(kind, "parse") and hasattr(kind, "http_version")):
        setattr(reply, _LINK, sink)
    else:
        sink.whole(reply)


class _StreamWatcher(Watcher):
    __slots__ = ("sink",)

    def __init__(self, sink: Sink) -> None:
        self.sink = sink

    def item(self, item: Any) -> None:
        self.sink.item(item)

    def ended(self) -> None:
        self.sink.end()


def _begin(stream: Any) -> Watcher | None:
    sink = vars(stream).pop(_LINK, None)
    return None if sink is None else _StreamWatcher(sink)


def _enter_parse(response: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    """The first parse of a raw response is the reply; later ones give the same again."""
    sink = vars(response).pop(_LINK, None)
    return None if sink is None else _RequestVisit(sink)


def sdk_targets(package: str, open_sink: Opener) -> tuple[Target, ...]:
    """The targets of one SDK; requests are offered to `open_sink` unless a framework above reports them."""

    def enter(client: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
        frame = current()
        if frame is not None and frame.sdk_is_silent:
            return None
        options = args[1] if len(args) > 1 else kwargs["options"]
        sink = open_sink(options.method.lower(), options.url.split("?")[0].rstrip("/"), _body(options))
        return None if sink is None else _RequestVisit(sink)

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


def _body(options: Any) -> dict[str, Any]:
    body = options.json_data if isinstance(options.json_data, dict) else {}
    extra = getattr(options, "extra_json", None)
    return {**body, **extra} if isinstance(extra, dict) else body


# -- reading bodies and replies: dicts and SDK models alike, without running foreign code


def items(value: Any) -> list[Any]:
    """The elements of a list or tuple; nothing for anything else."""
    return list(value) if isinstance(value, list | tuple) else []


def text_of(content: Any) -> str | None:
    """Text of a message's content, which is a string or a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list | tuple):
        texts = [field(part, "text") for part in content]
        return "".join(text for text in texts if isinstance(text, str))
    return None


def name(value: Any) -> str | None:
    """The value if it is a string: SDK sentinels for `not given` are not."""
    return value if type(value) is str else None


def offered_tools(tools: Any) -> list[tuple[str, str | None]]:
    """(name, description) of the tools that a request offers, in any of the SDKs' spellings."""
    found = []
    for tool in items(tools):
        described = field(tool, "function") or field(tool, "custom") or tool
        tool_name = name(field(described, "name"))
        if tool_name is not None:
            found.append((tool_name, name(field(described, "description"))))
    return found


def chain(history: list[int], item: Any) -> None:
    """Append the hash of the history so far and this item."""
    history.append(hash((history[-1] if history else 0, fingerprint(item))))


def fingerprint(value: Any, depth: int = 0) -> int:
    """Hash of JSON-like content; strings cache theirs, so a long history costs little each time."""
    kind = type(value)
    if kind in (str, int, float, bool, type(None)):
        return hash(value)
    if depth > 8:
        return 0
    if kind in (list, tuple):
        return hash(tuple(fingerprint(one, depth + 1) for one in value))
    if kind is dict:
        return hash(tuple((hash(key), fingerprint(one, depth + 1)) for key, one in value.items()))
    return hash(kind)
