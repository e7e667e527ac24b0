"""OpenAI Responses API: calls and their outputs are items; the server may keep the conversation."""

from __future__ import annotations

from typing import Any

from pdoctor_trace.reading import field

from .conversations import Conversation
from .messages import Answer, Asked, Outgoing
from .reading import answer_of, chain, free_text, items, name, offered_tools, text_of
from .sdk import Sink
from .tracker import TRACKER

CALLS = ("function_call", "custom_tool_call")
OUTPUTS = ("function_call_output", "custom_tool_call_output")


class ResponsesSink:
    """One Responses request."""

    def __init__(self, conversation: Conversation, conversation_key: str | None) -> None:
        self.conversation, self.conversation_key = conversation, conversation_key
        self.response_id: str | None = None
        self.turn: int | None = None
        self.sent: set[str | None] = set()
        self.started: dict[Any, tuple[str | None, str | None]] = {}
        self.has_text = self.finished = False

    def whole(self, reply: Any) -> None:
        output = items(field(reply, "output"))
        asked = [_asked(item) for item in output if field(item, "type") in CALLS]
        self.has_text = any(field(item, "type") == "message" for item in output)
        self.response_id = name(field(reply, "id"))
        self._reply(asked, final=field(reply, "status") in (None, "completed"))

    def item(self, event: Any) -> None:
        """Calls are known one by one, each when its arguments end: the host may act on them at once."""
        kind, item = field(event, "type"), field(event, "item")
        if kind == "response.created":
            self.response_id = name(field(field(event, "response"), "id"))
        elif kind == "response.output_text.delta":
            self._text_came()
        elif kind == "response.output_item.added" and field(item, "type") in CALLS:
            self.started[field(event, "output_index")] = (
                name(field(item, "call_id")),
                name(field(item, "name")),
            )
        elif kind == "response.function_call_arguments.done":
            call_id, tool = self.started.get(field(event, "output_index"), (None, None))
            if tool is not None:
                self._send(Asked(call_id, tool, field(event, "arguments")))
        elif kind == "response.output_item.done" and field(item, "type") in CALLS:
            self._send(_asked(item))
        elif kind == "response.completed":
            self.finished = True

    def end(self) -> None:
        self._reply([], final=self.finished and not self.sent)

    def _text_came(self) -> None:
        if not self.has_text and self.turn is not None:
            TRACKER.text_came(self.conversation, self.turn)
        self.has_text = True

    def _send(self, asked: Asked) -> None:
        if asked.call_id not in self.sent:
            self.sent.add(asked.call_id)
            self._reply([asked], final=False)

    def _reply(self, asked: list[Asked], *, final: bool) -> None:
        self.turn = TRACKER.reply(
            self.conversation,
            asked,
            has_text=self.has_text,
            final=final,
            key=self.response_id,
            turn=self.turn,
        )
        if self.conversation_key is not None:
            TRACKER.remember(self.conversation, self.conversation_key)


def open_responses(source: str, body: dict[str, Any]) -> Sink | None:
    """What follows a Responses request, if it belongs to an agent loop."""
    held = body.get("conversation")
    held_id = name(held) or name(field(held, "id"))
    out = _outgoing(source, body, held_id)
    conversation = TRACKER.request(out)
    return None if conversation is None else ResponsesSink(conversation, held_id)


def _outgoing(source: str, body: dict[str, Any], held_id: str | None) -> Outgoing:
    out = Outgoing(source, tools=offered_tools(body.get("tools")), model=name(body.get("model")))
    out.key = name(body.get("previous_response_id")) or held_id
    out.conversation, out.held = held_id, True
    out.system = text_of(body.get("instructions"))
    given = body.get("input")
    sent = [{"role": "user", "content": given}] if isinstance(given, str) else items(given)
    asked_in: dict[str, int] = {}
    answers: list[tuple[int, str, Any]] = []
    last_of_model = -1
    for position, item in enumerate(sent):
        kind, role, call_id = field(item, "type"), field(item, "role"), name(field(item, "call_id"))
        if kind in CALLS or role == "assistant":
            out.has_model_items, last_of_model = True, position
            if kind in CALLS and call_id is not None:
                asked_in[call_id] = position
                out.asked[call_id] = _asked(item)
        elif kind in OUTPUTS and call_id is not None:
            answers.append((position, call_id, _output(field(item, "output"))))
            chain(out.history, [call_id, field(item, "output")])
            out.user_last = False
        elif role is not None:
            chain(out.history, [role, field(item, "content")])
            out.user_last = role == "user"
            if role == "user":
                out.query = text_of(field(item, "content"))
            elif role in ("system", "developer") and out.system is None:
                out.system = text_of(field(item, "content"))
    out.answers = [
        Answer(call_id, content, asked_in=asked_in.get(call_id, -1), last=position > last_of_model)
        for position, call_id, content in answers
        if position > asked_in.get(call_id, -1)
    ]
    return out


def _output(output: Any) -> Any:
    return answer_of(output)


def _asked(item: Any) -> Asked:
    custom = field(item, "type") == "custom_tool_call"
    arguments = free_text(field(item, "input")) if custom else field(item, "arguments")
    return Asked(name(field(item, "call_id")), name(field(item, "name")) or "", arguments)
