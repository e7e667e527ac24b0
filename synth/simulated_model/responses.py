"""OpenAI Responses: server-held or resent conversation -> dialogue, answer -> response or event stream."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synth.simulated_model.chat import Event, fragments, usage
from synth.simulated_model.dialogue import Answer, Asked, Dialogue, attempt_of, offered, text_of

Items = tuple[Mapping[str, Any], ...]
"""Input and output items of a conversation so far."""


def items_of(body: Mapping[str, Any], held: Items) -> Items:
    """What the server held of the conversation, then what this request adds."""
    given = body.get("input") or []
    if isinstance(given, str):
        given = [{"type": "message", "role": "user", "content": given}]
    return (*held, *given)


def read(body: Mapping[str, Any], items: Items, key: str) -> Dialogue:
    """The dialogue of a `/v1/responses` request, given all items of its conversation."""
    turns = _turns(items)
    said = [text_of(item.get("content")) for item in items if item.get("role") not in (None, "assistant")]
    return Dialogue(
        model=body["model"],
        text="\n\n".join([*filter(None, [body.get("instructions")]), *said]),
        tools=tuple(offered(tool) for tool in body.get("tools") or () if tool.get("type") == "function"),
        turns=turns,
        key=key,
        attempt=attempt_of(tuple(call.id for turn in turns for call in turn)),
        way="streamed" if body.get("stream") else "calls",
    )


def _turns(items: Sequence[Mapping[str, Any]]) -> tuple[tuple[Asked, ...], ...]:
    """Neighbouring function calls are one model message."""
    answers = {
        i["call_id"]: text_of(i.get("output")) for i in items if i.get("type") == "function_call_output"
    }
    calls = itertools.groupby(items, key=lambda item: item.get("type") == "function_call")
    return tuple(
        tuple(Asked(i["call_id"], i["name"], i["arguments"], answers.get(i["call_id"])) for i in group)
        for is_call, group in calls
        if is_call
    )


def output_of(answer: Answer, id: str) -> list[dict[str, Any]]:
    """The output items of an answer."""
    output: list[dict[str, Any]] = []
    if answer.text is not None:
        part = {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}
        head = {"type": "message", "id": f"msg_{id}", "role": "assistant", "status": "completed"}
        output.append({**head, "content": [part]})
    for ask in answer.asks:
        head = {"type": "function_call", "id": f"fc_{ask.id}", "call_id": ask.id, "status": "completed"}
        output.append({**head, "name": ask.tool, "arguments": ask.arguments})
    return output


def write(answer: Answer, body: Mapping[str, Any], id: str) -> dict[str, Any]:
    """The response body."""
    tokens = usage(answer)
    return {
        "id": id,
        "object": "response",
        "created_at": time.time(),
        "status": "completed",
        "model": body["model"],
        "output": output_of(answer, id),
        "previous_response_id": body.get("previous_response_id"),
        "instructions": body.get("instructions"),
        "tools": body.get("tools") or [],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "temperature": body.get("temperature"),
        "top_p": 1.0,
        "metadata": {},
        "error": None,
        "incomplete_details": None,
        "usage": {
            "input_tokens": tokens["prompt_tokens"],
            "output_tokens": tokens["completion_tokens"],
            "total_tokens": tokens["total_tokens"],
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }


def stream(response: Mapping[str, Any]) -> Iterator[Event]:
    """The same response as server-sent events."""
    numbers = itertools.count()

    def event(type: str, **fields: Any) -> Event:
        return (type, {"type": type, "sequence_number": next(numbers), **fields})

    yield event(
        "response.created", response={**response, "status": "in_progress", "output": [], "usage": None}
    )
    for index, item in enumerate(response["output"]):
        steps = _call_events if item["type"] == "function_call" else _text_events
        for type, fields in steps(item):
            yield event(type, output_index=index, **fields)
        yield event("response.output_item.done", output_index=index, item=item)
    yield event("response.completed", response=response)


def _call_events(item: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "response.output_item.added", {"item": {**item, "arguments": "", "status": "in_progress"}}
    for piece in fragments(item["arguments"]):
        yield "response.function_call_arguments.delta", {"item_id": item["id"], "delta": piece}
    done = {"item_id": item["id"], "name": item["name"], "arguments": item["arguments"]}
    yield "response.function_call_arguments.done", done


def _text_events(item: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    part = item["content"][0]
    place = {"item_id": item["id"], "content_index": 0}
    yield "response.output_item.added", {"item": {**item, "content": [], "status": "in_progress"}}
    yield "response.content_part.added", {**place, "part": {**part, "text": ""}}
    yield "response.output_text.delta", {**place, "delta": part["text"], "logprobs": []}
    yield "response.output_text.done", {**place, "text": part["text"], "logprobs": []}
    yield "response.content_part.done", {**place, "part": part}
