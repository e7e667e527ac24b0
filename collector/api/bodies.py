"""JSON bodies of API requests: one value, a list, `{"items": [...]}`, or JSON lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import orjson

from collector.budget import Gone, read_body
from collector.errors import BadRequest

if TYPE_CHECKING:
    from fastapi import Request  # a process that judges reads bodies, too, and needs no web framework

BODY_BYTES = 20 * 1024 * 1024
DEPTH = 60


class TooLarge(BadRequest):
    code = "too_large"
    status = 413


async def raw_body(request: Request, limit: int = BODY_BYTES) -> bytes:
    """The body, at most `limit` bytes; raises TooLarge (413), and Full where there is no room for it now."""
    service = request.app.state.service
    who = request.headers.get("authorization") or (request.client.host if request.client else "")
    try:
        with service.budget.open(who) as held:
            seconds = service.settings.limits.body_seconds
            body = await read_body(request.receive, held, limit=limit, seconds=seconds)
    except Gone:
        raise BadRequest("the body is cut short") from None
    if body is None:
        raise TooLarge(f"the body is over the limit of {limit} bytes", "send it in parts")
    return body


async def documents(request: Request) -> list[Any]:
    """Every JSON value of the body; raises BadRequest with the line where it is not JSON."""
    return values_in(await raw_body(request), request.headers.get("content-type", ""))


def values_in(body: bytes, kind: str) -> list[Any]:
    """Every JSON value of a body of this `Content-Type`."""
    if "ndjson" in kind or "jsonl" in kind:
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
    return only_object(await documents(request))


def object_in(body: bytes, kind: str) -> dict[str, Any]:
    """A body of this `Content-Type` as one JSON object."""
    return only_object(values_in(body, kind))


def only_object(found: list[Any]) -> dict[str, Any]:
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
