"""OpenAI Chat Completions: request -> dialogue, answer -> response or event stream."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synth.simulated_model.dialogue import (
    Answer,
    Asked,
    Dialogue,
    OfferedTool,
    attempt_of,
    offered,
    text_of,
)
from synth.simulated_model.plan_texts import PlanRequest, plan_request

Event = tuple[str | None, Mapping[str, Any] | str]
"""(SSE event name or None, data)."""

FRAGMENT = 7
"""Characters of arguments per streamed chunk: small, so that clients must join them."""


def read(body: Mapping[str, Any], key: str) -> Dialogue:
    """The dialogue of a `/v1/chat/completions` request."""
    messages: Sequence[Mapping[str, Any]] = body["messages"]
    if asked := plan_request(messages):
        return _for_a_plan(body["model"], messages, asked, key)
    turns = _turns(messages)
    return Dialogue(
        model=body["model"],
        text="\n\n".join(
            text_of(m.get("content")) for m in messages if m["role"] not in ("assistant", "tool")
        ),
        tools=tuple(offered(tool["function"]) for tool in body.get("tools") or ()),
        turns=turns,
        key=key,
        attempt=attempt_of(tuple(call.id for turn in turns for call in turn)),
        way="streamed" if body.get("stream") else "calls",
    )


def _for_a_plan(
    model: str,
    messages: Sequence[Mapping[str, Any]],
    asked: tuple[PlanRequest, tuple[OfferedTool, ...]],
    key: str,
) -> Dialogue:
    """The request of a planning agent; its conversation carries no ids, so it always is the first."""
    request, tools = asked
    begun = any(message["role"] == "assistant" for message in messages)
    turns = ((),) if begun else ()
    text = next(text_of(message.get("content")) for message in messages if message["role"] == "user")
    return Dialogue(model, text, tools, turns, key, 0, request)


def _turns(messages: Sequence[Mapping[str, Any]]) -> tuple[tuple[Asked, ...], ...]:
    """Each assistant message with the tool messages that directly follow it; ids may be reused later."""
    turns: list[tuple[Asked, ...]] = []
    for at, message in enumerate(messages):
        if message["role"] == "assistant":
            answers = _answers_after(messages[at + 1 :])
            turns.append(tuple(_asked(call, answers) for call in message.get("tool_calls") or ()))
    return tuple(turns)


def _answers_after(messages: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    answers: dict[str, str] = {}
    for message in messages:
        if message["role"] != "tool":
            break
        answers[message["tool_call_id"]] = text_of(message.get("content"))
    return answers


def _asked(call: Mapping[str, Any], answers: Mapping[str, str]) -> Asked:
    function = call["function"]
    return Asked(call["id"], function["name"], function["arguments"], answers.get(call["id"]))


def write(answer: Answer, model: str, id: str) -> dict[str, Any]:
    """The response body."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.text, "refusal": None}
    if answer.asks:
        message["tool_calls"] = [
            {"id": ask.id, "type": "function", "function": {"name": ask.tool, "arguments": ask.arguments}}
            for ask in answer.asks
        ]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(answer)}
    return {**_head(model, id, "chat.completion"), "choices": [choice], "usage": usage(answer)}


def stream(answer: Answer, model: str, id: str, include_usage: bool) -> Iterator[Event]:
    """The same response as server-sent events; arguments come in fragments."""

    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> Event:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return (None, {**_head(model, id, "chat.completion.chunk"), "choices": [choice]})

    yield chunk({"role": "assistant", "content": None if answer.text is None else ""})
    for word in (answer.text or "").splitlines(keepends=True):
        yield chunk({"content": word})
    for index, ask in enumerate(answer.asks):
        head = {"index": index, "id": ask.id, "type": "function"}
        yield chunk({"tool_calls": [{**head, "function": {"name": ask.tool, "arguments": ""}}]})
        for piece in fragments(ask.arguments):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, _finish(answer))
    if include_usage:
        yield (None, {**_head(model, id, "chat.completion.chunk"), "choices": [], "usage": usage(answer)})
    yield (None, "[DONE]")


def fragments(text: str) -> list[str]:
    return [text[at : at + FRAGMENT] for at in range(0, len(text), FRAGMENT)]


def usage(answer: Answer) -> dict[str, int]:
    """Made-up but stable token counts, so that budgets can be tested: a token is four characters."""
    said = (answer.text or "") + "".join(ask.tool + ask.arguments for ask in answer.asks)
    completion = 1 + len(said) // 4
    return {"prompt_tokens": 100, "completion_tokens": completion, "total_tokens": 100 + completion}


def _finish(answer: Answer) -> str:
    return "tool_calls" if answer.asks else "stop"


def _head(model: str, id: str, kind: str) -> dict[str, Any]:
    return {"id": id, "object": kind, "created": int(time.time()), "model": model}
