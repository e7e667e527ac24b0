"""The OTLP/HTTP receiver as a bare ASGI application.

No web framework here: at one span per request it would cost twice of everything else together.
Success is sent only after `store` has returned, that is after the commit.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

import orjson
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from collector.errors import CollectorError
from collector.model import Batch, Rejection
from collector.otlp.body import decompress, decompress_if_small, encoding_of
from collector.otlp.errors import (
    CONTENT_TYPES,
    DEADLINE_EXCEEDED,
    INTERNAL,
    UNIMPLEMENTED,
    Encoding,
    ExportError,
    refused,
    too_large,
)
from collector.otlp.json_in import from_json
from collector.otlp.segments import from_protobuf
from collector.settings import Limits

log = logging.getLogger("collector.otlp")

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Store = Callable[[str, Batch], Awaitable[None]]
"""(project, batch) -> durable and visible, or Overloaded."""
Authorize = Callable[[Mapping[bytes, bytes]], Awaitable[str]]
"""Headers (lower case) -> project that the sender may write to; raises Unauthorized or Forbidden."""

PATHS = ("/v1/traces", "/v1/metrics", "/v1/logs")
INLINE_BYTES: dict[Encoding, int] = {"protobuf": 1024 * 1024, "json": 128 * 1024}
"""Up to this size a body, after decompression, is decoded on the event loop (a few ms): handing it to a
thread would cost more, in waiting for the interpreter. Bigger ones go to a thread."""
BUG = ExportError(500, INTERNAL, "internal error; the collector's log has the details")
NAMED_REJECTIONS = 20
"""So many rejected spans are named in the answer; the rest is counted."""


def receiver(
    store: Store, authorize: Authorize, limits: Limits
) -> Callable[[Any, Receive, Send], Awaitable[None]]:
    """The ASGI application for `PATHS`."""

    async def app(scope: Any, receive: Receive, send: Send) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        kind = headers.get(b"content-type", b"")
        try:
            if scope["method"] != "POST":
                raise ExportError(405, UNIMPLEMENTED, f"{scope['method']} is not possible here; send POST")
            encoding = encoding_of(kind.decode("latin-1"))
            project = await authorize(headers)
            body = await _body(headers, receive, limits)
            rejections: tuple[Rejection, ...] = ()
            if scope["path"] == "/v1/traces":
                batch = await decode(
                    body, headers.get(b"content-encoding", b"").decode("latin-1"), encoding, limits
                )
                if batch.segments:
                    await store(project, batch)
                rejections = batch.rejections
            await _respond(send, 200, encoding, success(rejections, encoding))
        except ExportError as failure:
            await _refuse(send, failure, kind)
        except CollectorError as said:
            await _refuse(send, refused(said), kind)
        except _Gone:
            return
        except Exception:
            log.exception("an export request failed")
            await _refuse(send, BUG, kind)

    return app


class _Gone(Exception):
    """The client closed the connection before its body was complete."""


async def decode(body: bytes, content_encoding: str, encoding: Encoding, limits: Limits) -> Batch:
    """The batch in a body; big ones are decoded off the event loop."""

    def read(plain: bytes) -> Batch:
        return from_json(plain, limits) if encoding == "json" else from_protobuf(plain, limits)

    small = decompress_if_small(body, content_encoding, min(INLINE_BYTES[encoding], limits.decoded_bytes))
    if small is not None:
        return read(small)
    return await asyncio.to_thread(lambda: read(decompress(body, content_encoding, limits.decoded_bytes)))


def success(rejections: tuple[Rejection, ...], encoding: Encoding) -> bytes:
    """An `ExportTraceServiceResponse`; `partial_success` only where spans were rejected."""
    if not rejections:
        return b"{}" if encoding == "json" else b""
    named = "; ".join(f"{r.span}: {r.reason}" for r in rejections[:NAMED_REJECTIONS])
    more = len(rejections) - NAMED_REJECTIONS
    message = named + (f"; and {more} more" if more > 0 else "")
    if encoding == "json":
        return orjson.dumps(
            {"partialSuccess": {"rejectedSpans": str(len(rejections)), "errorMessage": message}}
        )
    response = ExportTraceServiceResponse()
    response.partial_success.rejected_spans = len(rejections)
    response.partial_success.error_message = message
    return bytes(response.SerializeToString())


async def _body(headers: Mapping[bytes, bytes], receive: Receive, limits: Limits) -> bytes:
    hint = "send smaller batches (OTEL_BSP_MAX_EXPORT_BATCH_SIZE)"
    announced = headers.get(b"content-length", b"")
    if announced.isdigit() and int(announced) > limits.body_bytes:
        raise too_large("the body", limits.body_bytes, hint)
    try:
        async with asyncio.timeout(limits.body_seconds):
            message = await receive()
            if not message.get("more_body") and message["type"] == "http.request":
                first: bytes = message.get("body", b"")
                if len(first) > limits.body_bytes:
                    raise too_large("the body", limits.body_bytes, hint)
                return first
            parts, size = [], 0
            while True:
                if message["type"] == "http.disconnect":
                    raise _Gone
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > limits.body_bytes:
                    raise too_large("the body", limits.body_bytes, hint)
                if not message.get("more_body"):
                    return b"".join(parts)
                message = await receive()
    except TimeoutError:
        raise ExportError(
            408, DEADLINE_EXCEEDED, f"the body did not arrive within {limits.body_seconds:g} s; send it again"
        ) from None


async def _refuse(send: Send, failure: ExportError, content_type: bytes) -> None:
    """Say why a request was not taken, in the form that its sender seems to read: its type may be wrong."""
    form: Encoding = "json" if b"json" in content_type.lower() else "protobuf"
    await _respond(send, failure.http, form, failure.body(form), failure.retry_after)


async def _respond(
    send: Send, status: int, encoding: Encoding, body: bytes, retry_after: int | None = None
) -> None:
    headers = [(b"content-type", CONTENT_TYPES[encoding]), (b"content-length", str(len(body)).encode())]
    if retry_after is not None:
        headers.append((b"retry-after", str(retry_after).encode()))
    if status == 405:
        headers.append((b"allow", b"POST"))
    if status in (408, 413):
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


__all__ = ["PATHS", "receiver"]
