"""OpenAI Assistants (deprecated, still in the SDK): the server runs the loop and asks for tool outputs."""

from __future__ import annotations

from typing import Any

from pdoctor_trace.reading import field

from .conversations import Conversation
from .messages import Answer, Asked, Outgoing
from .reading import items, name, offered_tools
from .sdk import Sink
from .tracker import TRACKER

ENDED = ("completed", "failed", "cancelled", "expired", "incomplete")


class RunSink:
    """A request that answers with a run: created, polled, or continued with tool outputs."""

    def __init__(self, source: str, conversation: Conversation | None) -> None:
        self.source, self.conversation = source, conversation
        self.latest: Any = None

    def whole(self, run: Any) -> None:
        run_id = name(field(run, "id"))
        conversation = self.conversation or TRACKER.by_key(run_id) or self._new(run)
        if conversation is None:
            return
        action = field(field(run, "required_action"), "submit_tool_outputs")
        asked = [_asked(call) for call in items(field(action, "tool_calls"))]
        fresh = [one for one in asked if not TRACKER.is_open(conversation, one.call_id)]
        final = field(run, "status") in ENDED
        if fresh or final:
            TRACKER.reply(conversation, fresh, has_text=False, final=final, key=run_id)
        elif run_id is not None:
            TRACKER.remember(conversation, run_id)

    def item(self, event: Any) -> None:
        kind = name(field(event, "event")) or ""
        if kind.startswith("thread.run.") and not kind.startswith("thread.run.step"):
            self.latest = field(event, "data")

    def end(self) -> None:
        if self.latest is not None:
            self.whole(self.latest)

    def _new(self, run: Any) -> Conversation | None:
        tools = offered_tools(field(run, "tools"))
        out = Outgoing(self.source, tools=tools, conversation=name(field(run, "thread_id")))
        out.model, out.user_last = name(field(run, "model")), True
        return TRACKER.request(out)


def open_run(source: str, url: str, body: dict[str, Any]) -> Sink:
    """What follows a request for a run."""
    parts = url.strip("/").split("/")
    at = parts.index("runs") + 1
    run_id = parts[at] if at < len(parts) else None
    outputs = items(body.get("tool_outputs"))
    if not outputs:
        return RunSink(source, TRACKER.by_key(run_id))
    answers = [
        Answer(field(output, "tool_call_id"), field(output, "output"))
        for output in outputs
        if name(field(output, "tool_call_id"))
    ]
    return RunSink(source, TRACKER.request(Outgoing(source, answers=answers, key=run_id)))


def _asked(call: Any) -> Asked:
    function = field(call, "function")
    return Asked(name(field(call, "id")), name(field(function, "name")) or "", field(function, "arguments"))
