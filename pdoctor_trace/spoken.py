"""What was said, as `gen_ai.input.messages` and its like spell it; all of it goes by content mode."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from . import runtime
from .values import clean, json_bytes


def input_messages(query: str | None) -> bytes | None:
    """JSON text of the user's query, None where there is none or none may be kept."""
    kept = runtime.ACTIVE.capture.query(query)
    if kept is None:
        return None
    return json_bytes([{"role": "user", "parts": [{"type": "text", "content": clean(kept)}]}])


def output_messages(text: str, calls: Iterable[tuple[str | None, str, Any]]) -> bytes | None:
    """JSON text of the one message that a model wrote: its text, and calls as (id, tool, arguments)."""
    capture = runtime.ACTIVE.capture
    said = capture.said(text) if text else None
    parts: list[dict[str, Any]] = [] if said is None else [{"type": "text", "content": said}]
    for call_id, tool, given in calls:
        part: dict[str, Any] = {"type": "tool_call", "name": clean(tool)}
        if call_id is not None:
            part["id"] = clean(call_id)
        arguments, _ = capture.argument_text(given)
        if arguments is not None:
            part["arguments"] = orjson.Fragment(bytes(arguments))
        parts.append(part)
    return json_bytes([{"role": "assistant", "parts": parts}]) if parts else None
