"""OpenAI SDK: Chat Completions loops; Responses and Assistants are read by the files beside this one."""

from __future__ import annotations

from typing import Any

from pdoctor_trace.adapter import Framework, Limit
from pdoctor_trace.reading import field

from .conversations import Conversation
from .messages import Answer, Asked, Outgoing, made_id
from .openai_assistants import open_run
from .openai_responses import open_responses
from .reading import answer_of, chain, counts_follow, free_text, items, name, offered_tools, text_of
from .sdk import Sink, sdk_targets
from .tracker import TRACKER

SOURCE = "openai"


class ChatSink:
    """One Chat Completions request."""

    def __init__(self, conversation: Conversation, body: dict[str, Any], unnamed: int) -> None:
        self.conversation = conversation
        self.counts_follow = counts_follow(body)
        """After all choices of a stream there is one more chunk, with the tokens."""
        self.unnamed = unnamed
        """Calls without an id so far."""
        self.parts: dict[tuple[Any, Any], _Parts] = {}
        self.has_text = self.finished = self.sent = False

    def whole(self, reply: Any) -> None:
        messages = [field(choice, "message") for choice in items(field(reply, "choices"))]
        asked = [call for message in messages for call in _asked(message, self.unnamed + 1)]
        has_text = any((text_of(field(message, "content")) or "").strip() for message in messages)
        TRACKER.reply(self.conversation, asked, has_text=has_text, final=True)

    def item(self, chunk: Any) -> None:
        """Merge the fragments; all calls are known when a finish reason comes, before the stream closes."""
        for choice in items(field(chunk, "choices")):
            delta = field(choice, "delta")
            self.has_text = self.has_text or bool((name(field(delta, "content")) or "").strip())
            for fragment in items(field(delta, "tool_calls")):
                key = (field(choice, "index"), field(fragment, "index"))
                self.parts.setdefault(key, _Parts()).add(fragment)
            if _asks_without_id(delta):
                parts = self.parts.setdefault((field(choice, "index"), None), _Parts())
                parts.add({"id": made_id(self.unnamed + 1), "function": field(delta, "function_call")})
            if field(choice, "finish_reason"):
                self.finished = True
        if field(chunk, "usage") is not None:
            self.counts_follow = False
        if self.finished and not self.sent:
            self._send()
        elif self.sent and not self.counts_follow:
            TRACKER.rest(self.conversation)

    def end(self) -> None:
        """Nothing more is read: what had come is all there is, and half a reply does not end the run."""
        if not self.sent:
            self._send()
        TRACKER.rest(self.conversation)

    def _send(self) -> None:
        self.sent = True
        asked = [parts.asked() for parts in self.parts.values()]
        TRACKER.reply(
            self.conversation,
            asked,
            has_text=self.has_text,
            final=self.finished,
            counts_follow=self.counts_follow,
        )


class _Parts:
    """Fragments of one streamed call."""

    def __init__(self) -> None:
        self.call_id: str | None = None
        self.tool = self.arguments = ""
        self.custom = False

    def add(self, fragment: Any) -> None:
        self.call_id = name(field(fragment, "id")) or self.call_id
        custom = field(fragment, "custom")
        self.custom = self.custom or custom is not None
        function = field(fragment, "function") or custom
        self.tool += name(field(function, "name")) or ""
        self.arguments += name(field(function, "arguments")) or name(field(function, "input")) or ""

    def asked(self) -> Asked:
        return Asked(self.call_id, self.tool, free_text(self.arguments) if self.custom else self.arguments)


def open_sink(method: str, url: str, body: dict[str, Any]) -> Sink | None:
    """What follows this request, if it belongs to an agent loop."""
    if method == "post" and url.endswith("/chat/completions"):
        return _chat(body)
    if method == "post" and url.endswith("/responses"):
        return open_responses(SOURCE, body)
    if "/threads/" in url and "/runs" in url and "/steps" not in url and not url.endswith("/cancel"):
        return open_run(SOURCE, url, body)
    return None


def _chat(body: dict[str, Any]) -> Sink | None:
    out = outgoing_chat(body, SOURCE)
    conversation = TRACKER.request(out)
    return None if conversation is None else ChatSink(conversation, body, out.unnamed)


def outgoing_chat(body: dict[str, Any], source: str) -> Outgoing:
    """A Chat Completions request, as OpenAI's own SDK and LiteLLM send it."""
    offered = [*offered_tools(body.get("tools")), *offered_tools(body.get("functions"))]
    out = Outgoing(source, tools=offered, model=name(body.get("model")))
    messages = items(body.get("messages"))
    asked_in: dict[str, int] = {}
    last_of_model, unnamed = -1, 0
    answers: list[tuple[int, str, Any]] = []
    for position, message in enumerate(messages):
        role = field(message, "role")
        if role == "assistant":
            out.has_model_items, last_of_model = True, position
            unnamed += _asks_without_id(message)
            for call in _asked(message, unnamed):
                if call.call_id is not None:
                    asked_in[call.call_id] = position
                    out.asked[call.call_id] = call
            continue
        content = field(message, "content")
        chain(out.history, [role, field(message, "tool_call_id"), content])
        out.user_last = role == "user"
        if role == "user":
            out.query = text_of(content)
        elif role in ("system", "developer") and out.system is None:
            out.system = text_of(content)
        elif role == "tool" and name(field(message, "tool_call_id")):
            answers.append((position, field(message, "tool_call_id"), _content(content)))
        elif role == "function":
            answers.append((position, made_id(unnamed), _content(content)))
    out.unnamed = unnamed
    out.answers = [
        Answer(call_id, content, asked_in=asked_in.get(call_id, -1), last=position > last_of_model)
        for position, call_id, content in answers
        if position > asked_in.get(call_id, -1)
    ]
    return out


def _content(content: Any) -> Any:
    """A tool message's content: its text where it is text throughout, else as it stands."""
    return answer_of(content)


def _asks_without_id(message: Any) -> bool:
    """Whether it has a `function_call`, of which a message has one at most: what came before `tool_calls`."""
    return field(message, "function_call") is not None


def _asked(message: Any, unnamed: int) -> list[Asked]:
    """Calls in an assistant message, functions and custom tools alike; `unnamed` is the place of a call
    without an id among such calls."""
    found = []
    single = field(message, "function_call")
    if (tool := name(field(single, "name"))) is not None:
        found.append(Asked(made_id(unnamed), tool, field(single, "arguments")))
    for call in items(field(message, "tool_calls")):
        custom = field(call, "custom")
        function = field(call, "function") or custom
        tool = name(field(function, "name"))
        if tool is not None:
            arguments = field(function, "arguments") if custom is None else free_text(field(custom, "input"))
            found.append(Asked(name(field(call, "id")), tool, arguments))
    return found


OPENAI = Framework(
    name=SOURCE,
    title="OpenAI SDK, raw loops",
    distribution="openai",
    versions=">=1.66,<4",
    targets=sdk_targets("openai", open_sink),
    covers="Chat Completions, Responses, Assistants: sync, async, streaming, parse, raw responses",
    limits=(
        Limit("bounds", "exact times, errors and nesting need @pdoctor_trace.tool or wrap_tools"),
        Limit("unparsable replies", "malformed arguments raise inside `.parse` before there is a call"),
        Limit("sockets", "websocket and realtime sessions are not seen"),
        Limit("plain HTTP", "nor are requests that are made without the SDK"),
        Limit(
            "calls without ids",
            "what a `function_call` of the deprecated `functions` asks for has no id, and is told as "
            "`function_call:1`, `function_call:2`, ... by its place in the history",
        ),
        Limit(
            "identical calls",
            "identical calls of one message that run in another order are told apart by their answers, and "
            "marked ambiguous where those do not show the results",
        ),
        Limit(
            "held histories",
            "a step of another process that sends only `previous_response_id` shows no calls: whether those "
            "of the step before ran stays unknown",
        ),
        Limit(
            "refusals in words",
            "that a person did not let a tool run is told by usual English words of the answer, or where a "
            "tool under @pdoctor_trace.tool was not seen starting",
        ),
    ),
)
