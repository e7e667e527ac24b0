"""What LangChain knows of a model and of its reply, for `chat` spans."""

from __future__ import annotations

from typing import Any

from pdoctor_trace.adapter import Chat, OpenRun, Reply, begin_chat, provider_name

_CHAT = "_pdoctor_chat"
"""Attribute of a callback manager that is there for one request alone."""


def begin(managers: Any, run: OpenRun, model: str | None) -> None:
    """The requests of these callback managers leave."""
    for manager in managers:
        metadata = getattr(manager, "metadata", None)
        said = metadata.get("ls_provider") if isinstance(metadata, dict) else None
        vars(manager)[_CHAT] = begin_chat(run, provider_name(said), model)


def end(manager: Any, response: Any, error: BaseException | None = None) -> None:
    """The request of this one was answered, or failed."""
    chat: Chat | None = vars(manager).pop(_CHAT, None)
    if chat is not None:
        chat.close(Reply() if response is None else _reply(response), error)


def _reply(response: Any) -> Reply:
    reply = Reply()
    for generation in response.generations[0]:
        message = getattr(generation, "message", None)
        said, used = _dict(message, "response_metadata"), _dict(message, "usage_metadata")
        reply.model = _text(said, "model_name", "model") or reply.model
        reply.response_id = _text(said, "id") or reply.response_id
        reply.input_tokens = used.get("input_tokens", reply.input_tokens)
        reply.output_tokens = used.get("output_tokens", reply.output_tokens)
        reason = _text(said, "finish_reason", "stop_reason", "done_reason", "status")
        reply.finish += [reason] if reason else []
        reply.texts.append(_written(getattr(message, "content", None)))
        for kind in ("tool_calls", "invalid_tool_calls"):
            asked = getattr(message, kind, None) or ()
            reply.calls += [(call["id"], call["name"] or "", call["args"]) for call in asked]
    return reply


def _written(content: Any) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = (block.get("text") for block in blocks if isinstance(block, dict))
    return "".join(text for text in texts if isinstance(text, str))


def _dict(message: Any, name: str) -> dict[str, Any]:
    found = getattr(message, name, None)
    return found if isinstance(found, dict) else {}


def _text(said: dict[str, Any], *names: str) -> str | None:
    found = (said.get(name) for name in names)
    return next((text for text in found if type(text) is str and text), None)
