"""What was said, as `gen_ai.input.messages` and its like spell it; all of it goes by content mode."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from . import runtime


def input_messages(query: str | None) -> bytes | None:
    """JSON text of the user's query, None where there is none or none may be kept."""
    kept = runtime.ACTIVE.capture.query(query)
    if kept is None:
        return None
    clean = kept.encode("utf-8", "replace").decode()
    return orjson.dumps([{"role": "user", "parts": [{"type": "text", "content": clean}]}])


def output_messages(text: str, calls: Iterable[tuple[str | None, str, Any]]) -> bytes | None:
    """JSON text of the one message that a model wrote: its text, and calls as (id, tool, arguments)."""
    capture = runtime.ACTIVE.capture
    said = capture.said(text) if text else None
    parts: list[dict[str, Any]] = [] if said is None else [{"type": "text", "content": said}]
    for call_id, tool, given in calls:
        part: dict[str, Any] = {"type": "tool_call", "name": tool.encode("utf-8", "replace").decode()}
        if call_id is not None:
            part["id"] = call_id.encode("utf-8", "replace").decode()
        arguments, _ = capture.argument_text(given)
        if arguments is not None:
            part["arguments"] = orjson.Fragment(bytes(arguments))
        parts.append(part)
    return orjson.dumps([{"role": "assistant", "parts": parts}]) if parts else None
