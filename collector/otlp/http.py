"""The OTLP/HTTP receiver as a bare ASGI application.

No web framework here: at one span per request it would cost twice of everything else together.
Success is sent only after `store` has returned, that is after the commit.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

import orjson
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from collector.budget import Gone, Held, owner, read_body
from collector.errors import CollectorError
from collector.model import Rejection
from collector.otlp.body import encoding_of
from collector.otlp.errors import (
    CONTENT_TYPES,
    INTERNAL,
    UNIMPLEMENTED,
    Encoding,
    ExportError,
    refused,
    too_large,
)
from collector.otlp.intake import Intake
from collector.settings import Limits

log = logging.getLogger("collector.otlp")

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
PATHS = ("/v1/traces", "/v1/metrics", "/v1/logs")
BUG = ExportError(500, INTERNAL, "internal error; the collector's log has the details")
HAS_SPANS = "has_spans"
"""In the scope of a request that was taken: whether it brought any."""
NAMED_REJECTIONS = 20
"""So many rejected spans are named in the answer; the rest is counted."""


def receiver(intake: Intake) -> Callable[[Any, Receive, Send], Awaitable[None]]:
    """The ASGI application for `PATHS`."""

    async def app(scope: Any, receive: Receive, send: Send) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        kind = headers.get(b"content-type", b"")
        try:
            if scope["method"] != "POST":
                raise ExportError(405, UNIMPLEMENTED, f"{scope['method']} is not possible here; send POST")
            encoding = encoding_of(kind.decode("latin-1"))
            project, since = await intake.authorize(headers), time.monotonic()
            address, connection = scope["flow"]
            with intake.budget.open(owner(headers, address), connection) as held:
                body = await _body(headers, receive, held, intake.limits)
                await intake.authorize_again(headers, since)
                rejections: tuple[Rejection, ...] = ()
                scope[HAS_SPANS] = False
                if scope["path"] == "/v1/traces":
                    coding = headers.get(b"content-encoding", b"").decode("latin-1")
                    batch = await intake.take(project, held, body, coding, encoding)
                    rejections, scope[HAS_SPANS] = batch.rejections, bool(batch.segments)
            await _respond(send, 200, encoding, success(rejections, encoding))
        except ExportError as failure:
            await _refuse(send, failure, kind)
        except CollectorError as said:
            await _refuse(send, refused(said), kind)
        except Gone:
            return
        except Exception:
            log.exception("an export request failed")
            await _refuse(send, BUG, kind)

    return app


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


async def _body(headers: Mapping[bytes, bytes], receive: Receive, held: Held, limits: Limits) -> bytes:
    announced = headers.get(b"content-length", b"")
    body = None
    if not (announced.isdigit() and int(announced) > limits.body_bytes):
        body = await read_body(receive, held, limit=limits.body_bytes, seconds=limits.body_seconds)
    if body is None:
        hint = "send smaller batches (OTEL_BSP_MAX_EXPORT_BATCH_SIZE)"
        raise too_large("the body", limits.body_bytes, hint)
    return body


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
    if status in (408, 413, 429, 503):  # what is left of the body is not read
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


__all__ = ["PATHS", "receiver"]
