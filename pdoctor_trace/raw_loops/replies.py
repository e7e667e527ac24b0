"""What replies of the SDKs' wire formats say: model, id, tokens, why they ended, and what is in them.

Whole replies and streams alike; readers of one request each, told apart by the address that it goes to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pdoctor_trace.chats import Reader, Reply
from pdoctor_trace.reading import field

from .reading import counts_follow, items, name, text_of


class _Fragments:
    """Tool calls of a stream, by their place."""

    def __init__(self) -> None:
        self._calls: dict[Any, list[Any]] = {}

    def add(self, place: Any, call_id: Any, tool: Any, arguments: Any) -> None:
        call = self._calls.setdefault(place, [None, "", ""])
        call[0] = name(call_id) or call[0]
        call[1] += name(tool) or ""
        call[2] += name(arguments) or ""

    def written(self) -> list[tuple[str | None, str, Any]]:
        return [(call_id, tool, arguments) for call_id, tool, arguments in self._calls.values()]


class ChatReader:
    """Chat Completions."""

    def __init__(self, waits_for_usage: bool = False) -> None:
        self.reply = Reply()
        self._waits = waits_for_usage
        self._fragments = _Fragments()

    def whole(self, reply: Any) -> None:
        self._head(reply)
        for choice in items(field(reply, "choices")):
            self._finish(choice)
            message = field(choice, "message")
            self.reply.texts.append(text_of(field(message, "content")) or "")
            single = field(message, "function_call")
            if single is not None:
                asked = name(field(single, "name")) or ""
                self.reply.calls.append((None, asked, field(single, "arguments")))
            for call in items(field(message, "tool_calls")):
                said = field(call, "function", field(call, "custom"))
                arguments = field(said, "arguments", field(said, "input"))
                self.reply.calls.append((name(field(call, "id")), name(field(said, "name")) or "", arguments))

    def item(self, item: Any) -> bool:
        self._head(item)
        for choice in items(field(item, "choices")):
            self._finish(choice)
            delta = field(choice, "delta")
            self.reply.texts.append(name(field(delta, "content")) or "")
            single = field(delta, "function_call")
            if single is not None:
                place = field(choice, "index"), None
                self._fragments.add(place, None, field(single, "name"), field(single, "arguments"))
            for part in items(field(delta, "tool_calls")):
                said = field(part, "function", field(part, "custom"))
                place = field(choice, "index"), field(part, "index")
                arguments = field(said, "arguments", field(said, "input"))
                self._fragments.add(place, field(part, "id"), field(said, "name"), arguments)
        self.reply.calls = self._fragments.written()
        waits = self._waits and self.reply.input_tokens is None
        return bool(self.reply.finish) and not waits

    def _head(self, said: Any) -> None:
        reply, usage = self.reply, field(said, "usage")
        reply.response_id = name(field(said, "id")) or reply.response_id
        reply.model = name(field(said, "model")) or reply.model
        if usage is not None:
            reply.input_tokens = _count(field(usage, "prompt_tokens"), reply.input_tokens)
            reply.output_tokens = _count(field(usage, "completion_tokens"), reply.output_tokens)

    def _finish(self, choice: Any) -> None:
        reason = name(field(choice, "finish_reason"))
        if reason:
            self.reply.finish.append(reason)


class ResponsesReader:
    """Responses; the last event of a stream holds all of the reply."""

    def __init__(self) -> None:
        self.reply = Reply()

    def whole(self, reply: Any) -> None:
        found, usage = self.reply, field(reply, "usage")
        found.response_id, found.model = name(field(reply, "id")), name(field(reply, "model"))
        found.input_tokens = _count(field(usage, "input_tokens"))
        found.output_tokens = _count(field(usage, "output_tokens"))
        reason = field(field(reply, "incomplete_details"), "reason", field(reply, "status"))
        found.finish = [reason] if name(reason) else []
        for item in items(field(reply, "output")):
            if field(item, "type") == "message":
                found.texts.append(text_of(field(item, "content")) or "")
            elif field(item, "type") in ("function_call", "custom_tool_call"):
                arguments = field(item, "arguments", field(item, "input"))
                found.calls.append((name(field(item, "call_id")), name(field(item, "name")) or "", arguments))

    def item(self, item: Any) -> bool:
        kind = field(item, "type")
        if kind == "response.created":
            made = field(item, "response")
            self.reply.response_id, self.reply.model = name(field(made, "id")), name(field(made, "model"))
        if kind in ("response.completed", "response.incomplete", "response.failed"):
            self.whole(field(item, "response"))
            return True
        return False


class MessagesReader:
    """Anthropic's Messages, whose input tokens do not count those of its cache."""

    def __init__(self) -> None:
        self.reply = Reply()
        self._fragments = _Fragments()

    def whole(self, reply: Any) -> None:
        self._head(reply)
        self._finish(reply)
        for block in items(field(reply, "content")):
            self.reply.texts.append(name(field(block, "text")) or "")
            if field(block, "type") == "tool_use":
                arguments = field(block, "input")
                self.reply.calls.append(
                    (name(field(block, "id")), name(field(block, "name")) or "", arguments)
                )

    def item(self, item: Any) -> bool:
        kind, index = field(item, "type"), field(item, "index")
        if kind == "message_start":
            self._head(field(item, "message"))
        elif kind == "content_block_start":
            block = field(item, "content_block")
            if field(block, "type") == "tool_use":
                self._fragments.add(index, field(block, "id"), field(block, "name"), "")
        elif kind == "content_block_delta":
            delta = field(item, "delta")
            self.reply.texts.append(name(field(delta, "text")) or "")
            if field(delta, "type") == "input_json_delta":
                self._fragments.add(index, None, "", field(delta, "partial_json"))
        elif kind == "message_delta":
            self._finish(field(item, "delta"))
            self._usage(field(item, "usage"))
        self.reply.calls = self._fragments.written()
        return bool(kind == "message_stop")

    def _head(self, message: Any) -> None:
        self.reply.response_id, self.reply.model = name(field(message, "id")), name(field(message, "model"))
        self._usage(field(message, "usage"))

    def _usage(self, usage: Any) -> None:
        kinds = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        given = [_count(field(usage, kind)) for kind in kinds]
        if given[0] is not None:
            self.reply.input_tokens = sum(count or 0 for count in given)
        self.reply.output_tokens = _count(field(usage, "output_tokens"), self.reply.output_tokens)

    def _finish(self, said: Any) -> None:
        reason = name(field(said, "stop_reason"))
        if reason:
            self.reply.finish = [reason]


READERS: dict[str, Callable[[], Reader]] = {
    "/chat/completions": ChatReader,
    "/responses": ResponsesReader,
    "/messages": MessagesReader,
}
"""End of an address -> what reads the replies from there."""


def reader_for(url: str, body: dict[str, Any]) -> Reader | None:
    """For a request to this address; None where no chat is asked for."""
    if "/threads/" in url:
        return None
    if url.endswith("/chat/completions"):
        return ChatReader(counts_follow(body))
    return next((make() for end, make in READERS.items() if url.endswith(end)), None)


def _count(said: Any, otherwise: int | None = None) -> int | None:
    return said if type(said) is int and said >= 0 else otherwise
