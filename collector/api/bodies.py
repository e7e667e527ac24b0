"""JSON bodies of API requests: one value, a list, `{"items": [...]}`, or JSON lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from fastapi import Request

from collector.errors import BadRequest

BODY_BYTES = 20 * 1024 * 1024
DEPTH = 60


class TooLarge(BadRequest):
    code = "too_large"
    status = 413


async def raw_body(request: Request, limit: int = BODY_BYTES) -> bytes:
    """The body, at most `limit` bytes; raises TooLarge (413)."""
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            raise TooLarge(f"the body is over the limit of {limit} bytes", "send it in parts")
        parts.append(part)
    return b"".join(parts)


async def documents(request: Request) -> list[Any]:
    """Every JSON value of the body; raises BadRequest with the line where it is not JSON."""
    body = await raw_body(request)
    if "ndjson" in request.headers.get("content-type", "") or "jsonl" in request.headers.get(
        "content-type", ""
    ):
        return json_lines(body)
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as flaw:
        if b"\n" in body.strip():
            return json_lines(body)
        raise BadRequest(f"the body is not JSON: {flaw}", "send one object, a list, or JSON lines") from None
    if isinstance(value, dict) and isinstance(value.get("items"), list) and len(value) == 1:
        value = value["items"]
    return value if isinstance(value, list) else [value]


def json_lines(body: bytes) -> list[Any]:
    values = []
    for number, line in enumerate(body.splitlines(), 1):
        if line.strip():
            try:
                values.append(orjson.loads(line))
            except orjson.JSONDecodeError as flaw:
                raise BadRequest(
                    f"line {number} is not JSON: {flaw}", "send one JSON object a line"
                ) from None
    return values


async def json_object(request: Request) -> dict[str, Any]:
    """The body as one JSON object."""
    found = await documents(request)
    if len(found) != 1 or not isinstance(found[0], dict):
        raise BadRequest("the body is not one JSON object")
    return found[0]


def reject_unknown(said: Mapping[str, object], known: set[str], what: str) -> None:
    """Raise BadRequest where `said` has a field that nobody would read."""
    unknown = sorted(set(said) - known)
    if unknown:
        raise BadRequest(
            f"{what} has an unknown field {unknown[0]!r}", f"known fields: {', '.join(sorted(known))}"
        )
