"""JSON bodies of API requests: one value, a list, `{"items": [...]}`, or JSON lines."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from collector.budget import Gone, Held, owner, read_body
from collector.errors import BadRequest
from collector.otlp.errors import for_want_of_memory

if TYPE_CHECKING:
    from fastapi import Request  # a process that judges reads bodies, too, and needs no web framework

BODY_BYTES = 20 * 1024 * 1024
VALUES = 1_000_000
"""In one body; each takes up to a hundred bytes."""
SLOW_SECONDS = 1.0
"""After a body that came for longer its key is looked at again."""
ITEMS = 10_000
"""In one list: what is stored in one transaction, which keeps others waiting."""


class TooLarge(BadRequest):
    code = "too_large"
    status = 413


class HeldBody(NamedTuple):
    """A body, and the room that it has in the budget."""

    body: bytes
    held: Held


async def raw_body(request: Request, limit: int = BODY_BYTES) -> bytes:
    """The body, at most `limit` bytes; raises TooLarge (413), and Full where there is no room for it now."""
    async with held_body(request, limit) as held:
        return held.body


@asynccontextmanager
async def held_body(request: Request, limit: int = BODY_BYTES) -> AsyncIterator[HeldBody]:
    """As `raw_body`; there is less room for others as long as the block has it."""
    service = request.app.state.service
    address, connection = request.scope["flow"]
    who = owner(dict(request.headers.raw), address)
    try:
        with service.budget.open(who, connection) as held:
            seconds, began = service.settings.limits.body_seconds, time.monotonic()
            body = await read_body(request.receive, held, limit=limit, seconds=seconds)
            again = getattr(request.state, "grant_again", None)
            if again is not None and time.monotonic() - began > SLOW_SECONDS:
                await again()
            if body is None:
                raise TooLarge(f"the body is over the limit of {limit} bytes", "send it in parts")
            yield HeldBody(body, held)
    except Gone:
        raise BadRequest("the body is cut short") from None


async def documents(request: Request) -> list[Any]:
    """Every JSON value of the body; raises BadRequest with the line where it is not JSON."""
    return values_in(await raw_body(request), request.headers.get("content-type", ""))


@asynccontextmanager
async def documents_in_turn(request: Request, *, each: bytes) -> AsyncIterator[list[Any]]:
    """As `documents`, for lists that take long: those of one request at a time.

    `each` is what every item says once: many of it are refused before the event loop reads them.
    """
    async with held_body(request) as held, request.app.state.service.lists:
        few_items(held.body.count(each))
        found = values_in(held.body, request.headers.get("content-type", ""))
        few_items(len(found))
        yield found


def few_items(count: int) -> None:
    if count > ITEMS:
        raise TooLarge(f"{count} items are over the limit of {ITEMS}", "send them in parts")


def values_in(body: bytes, kind: str) -> list[Any]:
    """Every JSON value of a body of this `Content-Type`; raises TooLarge where there are too many."""
    bounded(body.count(b",") + body.count(b"[") + body.count(b"{"))
    if "ndjson" in kind or "jsonl" in kind:
        return json_lines(body)
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as flaw:
        if for_want_of_memory(flaw):
            raise MemoryError from None
        if b"\n" in body.strip():
            return json_lines(body)
        raise BadRequest(f"the body is not JSON: {flaw}", "send one object, a list, or JSON lines") from None
    if isinstance(value, dict) and isinstance(value.get("items"), list) and len(value) == 1:
        value = value["items"]
    return value if isinstance(value, list) else [value]


def bounded(values: int) -> None:
    if values > VALUES:
        raise TooLarge(f"about {values} values are over the limit of {VALUES}", "send them in parts")


def json_lines(body: bytes) -> list[Any]:
    bounded(body.count(b"\n"))
    values = []
    for number, line in enumerate(body.splitlines(), 1):
        if line.strip():
            try:
                values.append(orjson.loads(line))
            except orjson.JSONDecodeError as flaw:
                if for_want_of_memory(flaw):
                    raise MemoryError from None
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
