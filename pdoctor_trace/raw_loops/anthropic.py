"""Anthropic SDK: Messages loops, and the exact executions of its tool runner."""

from __future__ import annotations

from typing import Any

from pdoctor_trace.adapter import Framework, Given, Limit, Target, with_arguments
from pdoctor_trace.calls import Reading
from pdoctor_trace.reading import field
from pdoctor_trace.wrappers import Visit, around, around_async

from .conversations import Conversation
from .messages import Answer, Asked, Outgoing
from .reading import answer_of, chain, items, name, offered_tools, text_of
from .sdk import Sink, sdk_targets
from .tracker import TRACKER

SOURCE = "anthropic"
PAUSE = "pause_turn"
"""Why a message stops whose tools run on the provider's side, to be sent back as it is."""


class MessageSink:
    """One Messages request."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.message_id: str | None = None
        self.turn: int | None = None
        self.blocks: dict[Any, _Block] = {}
        self.has_text = self.finished = self.pauses = self.sent = False

    def whole(self, reply: Any) -> None:
        content = items(field(reply, "content"))
        asked = [_asked(block) for block in content if field(block, "type") == "tool_use"]
        self.has_text = any((name(field(block, "text")) or "").strip() for block in content)
        self.message_id = name(field(reply, "id"))
        self._reply(asked, final=field(reply, "stop_reason") != PAUSE)

    def item(self, event: Any) -> None:
        """A call is known when its content block stops; the host may run it before the message ends."""
        kind, index = field(event, "type"), field(event, "index")
        if kind == "message_start":
            self.message_id = name(field(field(event, "message"), "id"))
        elif kind == "content_block_start":
            self._start(index, field(event, "content_block"))
        elif kind == "content_block_delta":
            self._delta(index, field(event, "delta"))
        elif kind == "content_block_stop" and index in self.blocks:
            self._send(self.blocks.pop(index))
        elif kind == "message_delta":
            self.pauses = field(field(event, "delta"), "stop_reason") == PAUSE
        elif kind == "message_stop":
            self.finished = True

    def end(self) -> None:
        for block in self.blocks.values():
            self._send(block)
        self._reply([], final=self.finished and not self.sent and not self.pauses)

    def _start(self, index: Any, block: Any) -> None:
        if field(block, "type") == "tool_use":
            self.blocks[index] = _Block(name(field(block, "id")), name(field(block, "name")) or "")

    def _delta(self, index: Any, delta: Any) -> None:
        if field(delta, "type") == "text_delta" and (name(field(delta, "text")) or "").strip():
            if not self.has_text and self.turn is not None:
                TRACKER.text_came(self.conversation, self.turn)
            self.has_text = True
        elif field(delta, "type") == "input_json_delta" and index in self.blocks:
            self.blocks[index].text += name(field(delta, "partial_json")) or ""

    def _send(self, block: _Block) -> None:
        self.sent = True
        self._reply([Asked(block.call_id, block.tool, block.text)], final=False)

    def _reply(self, asked: list[Asked], *, final: bool) -> None:
        self.turn = TRACKER.reply(
            self.conversation, asked, has_text=self.has_text, final=final, key=self.message_id, turn=self.turn
        )


class _Block:
    """A streamed tool_use block."""

    def __init__(self, call_id: str | None, tool: str) -> None:
        self.call_id, self.tool, self.text = call_id, tool, ""


def open_sink(method: str, url: str, body: dict[str, Any]) -> Sink | None:
    """What follows this request, if it belongs to an agent loop."""
    if method != "post" or not url.endswith("/messages"):
        return None
    conversation = TRACKER.request(_outgoing(body))
    return None if conversation is None else MessageSink(conversation)


def _outgoing(body: dict[str, Any]) -> Outgoing:
    out = Outgoing(SOURCE, tools=offered_tools(body.get("tools")), model=name(body.get("model")))
    out.key = name(field(body.get("thread"), "previous_message_id"))
    out.system = text_of(body.get("system"))
    asked_in: dict[str, int] = {}
    answers: list[tuple[int, str, Any, bool]] = []
    last_of_model = -1
    for position, message in enumerate(items(body.get("messages"))):
        role, content = field(message, "role"), field(message, "content")
        blocks = items(content)
        if role == "assistant":
            out.has_model_items, last_of_model = True, position
            for block in blocks:
                if field(block, "type") == "tool_use" and name(field(block, "id")):
                    asked_in[field(block, "id")] = position
                    out.asked[field(block, "id")] = _asked(block)
            continue
        results = [block for block in blocks if field(block, "type") == "tool_result"]
        chain(out.history, [role, _comparable(content)])
        out.user_last = role == "user" and not results
        if out.user_last:
            out.query = text_of(content)
        for block in results:
            if name(field(block, "tool_use_id")):
                found = _content(field(block, "content"))
                answers.append(
                    (position, field(block, "tool_use_id"), found, field(block, "is_error") is True)
                )
    out.answers = [
        Answer(call_id, content, failed, asked_in.get(call_id, -1), position > last_of_model)
        for position, call_id, content, failed in answers
        if position > asked_in.get(call_id, -1)
    ]
    return out


def _comparable(content: Any) -> Any:
    """Content without SDK objects and cache markers, which come and go between requests."""
    if not isinstance(content, list | tuple):
        return content
    keys = ("type", "text", "tool_use_id", "content")
    return [[field(block, key) if name(field(block, key)) else None for key in keys] for block in content]


def _content(content: Any) -> Any:
    return answer_of(content)


def _asked(block: Any) -> Asked:
    return Asked(name(field(block, "id")), name(field(block, "name")) or "", field(block, "input"))


# -- the SDK's own tool runner


def _read(result: Any) -> Reading:
    """The runner's own word on failure."""
    return Answer("", _content(field(result, "content")), field(result, "is_error") is True).reading


def _enter_runner(runner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    asked = args[1] if len(args) > 1 else kwargs.get("tool_use")
    return TRACKER.visit(field(asked, "id"), name(field(asked, "name")) or "", field(asked, "input"), _read)


def _refuse_run(visit: Any, text: str, runner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """As the runner tells of a tool that failed."""
    asked = args[1] if len(args) > 1 else kwargs.get("tool_use")
    return {"type": "tool_result", "tool_use_id": field(asked, "id"), "content": text, "is_error": True}


def _change_run(changed: dict[str, Any], runner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Given:
    """The block that is run is another one; that in the messages says what the model wrote."""
    return with_arguments(
        args, kwargs, 1, "tool_use", lambda asked: asked.model_copy(update={"input": changed})
    )


_RUNNER = "anthropic.lib.tools._beta_runner"

ANTHROPIC = Framework(
    name=SOURCE,
    title="Anthropic SDK, raw loops",
    distribution="anthropic",
    versions=">=0.40,<3",
    targets=(
        *sdk_targets("anthropic", open_sink),
        Target(
            _RUNNER,
            "BaseSyncToolRunner._run_tool",
            around(_enter_runner, _refuse_run, change=_change_run),
            optional=True,
        ),
        Target(
            _RUNNER,
            "BaseAsyncToolRunner._run_tool",
            around_async(_enter_runner, _refuse_run, change=_change_run),
            optional=True,
        ),
    ),
    covers="Messages: sync, async, streaming, beta, raw responses; the SDK's tool runner with exact times",
    limits=(
        Limit(
            "bounds", "exact times, errors and nesting of own loops need @pdoctor_trace.tool or wrap_tools"
        ),
        Limit("parsed arguments", "whole replies hold parsed arguments: only streams show those malformed"),
        Limit("unreadable replies", "a reply that the SDK cannot read raises before there is a call"),
    ),
)
