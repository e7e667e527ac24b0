"""The OTLP/gRPC receiver: the same checks, limits and promises as over HTTP."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

from collector.budget import Held, busy, end_now, owner, too_long
from collector.errors import CollectorError
from collector.otlp.errors import INTERNAL, ExportError, malformed, refused
from collector.otlp.http import success
from collector.otlp.intake import Authorize, Intake
from collector.tls import Certificate, Pair

log = logging.getLogger("collector.otlp")

SERVICE = "opentelemetry.proto.collector.{0}.v1.{1}Service"
Export = Callable[[AsyncIterator[bytes], Any], Awaitable[bytes]]
SenderOf = Callable[[str, Mapping[bytes, bytes]], str]
"""(peer as gRPC writes it, headers) -> address of the sender."""
SILENT_MS, IDLE_MS = 5_000, 60_000
"""Until a connection that says nothing, and one without a call, is closed."""
STREAMS = 100
"""Calls of one connection at once."""
UNREAD_BYTES = 1024 * 1024
"""What a message counts in the budget while it is being read: how much of it has come is not told."""


Called = Callable[[str, str, float], object]
"""Told of every call that has ended: (service, code, seconds)."""


async def start(
    host: str,
    port: int,
    intake: Intake,
    *,
    certificate: Certificate | None,
    sender_of: SenderOf,
    called: Called = lambda *_: None,
    shared: bool = False,
) -> tuple[Any, int]:
    """(server, port), with TLS where there is a certificate; raises OSError where the address is taken.

    A `shared` port is that of all workers of one collector.
    """
    server = grpc.aio.server(
        options=(
            ("grpc.max_receive_message_length", intake.limits.grpc_bytes),
            ("grpc.max_concurrent_streams", STREAMS),
            ("grpc.server_handshake_timeout_ms", SILENT_MS),
            ("grpc.max_connection_idle_ms", IDLE_MS),
            ("grpc.so_reuseport", int(shared)),  # two collectors on one port would each get half of the spans
        )
    )
    server.add_generic_rpc_handlers(tuple(_services(intake, sender_of, called)))
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        if certificate is None:
            bound = server.add_insecure_port(address)
        else:
            bound = server.add_secure_port(address, credentials(certificate))
    except RuntimeError as failure:
        raise OSError(f"cannot listen on {host}:{port} for gRPC: {failure}") from None
    await server.start()
    return server, bound


def credentials(certificate: Certificate) -> Any:
    """Every handshake gets the newest pair of the certificate."""
    used = certificate.pair

    def renewed() -> Any:
        """On a thread of gRPC's, at each handshake; None = the one that it has."""
        nonlocal used
        if (pair := certificate.pair) is used:
            return None
        used = pair
        return told(pair)

    return grpc.dynamic_ssl_server_credentials(told(used), renewed, require_client_authentication=False)


def told(pair: Pair) -> Any:
    return grpc.ssl_server_certificate_configuration([(pair.key, pair.certificate)])


def _services(intake: Intake, sender_of: SenderOf, called: Called) -> list[Any]:
    """The calls have one message each; as streams they are asked for it, so that it can be refused unread."""
    exports: dict[str, Export] = {
        "Trace": _traces(intake, sender_of),
        "Metrics": _nothing(intake.authorize, sender_of),
        "Logs": _nothing(intake.authorize, sender_of),
    }
    return [
        grpc.method_handlers_generic_handler(
            SERVICE.format("trace" if name == "Trace" else name.lower(), name),
            {"Export": grpc.stream_unary_rpc_method_handler(_measured(export, name, called))},
        )
        for name, export in exports.items()
    ]


def _measured(export: Export, service: str, called: Called) -> Export:
    async def timed(messages: AsyncIterator[bytes], context: Any) -> bytes:
        began, code = time.perf_counter(), "CANCELLED"
        try:
            answer = await export(messages, context)
            code = "OK"
            return answer
        finally:
            if code != "OK" and context.code() is not None:
                code = _CODES[context.code()]
            called(service, code, time.perf_counter() - began)

    return timed


_CODES = {key: status.name for status in grpc.StatusCode for key in (status, status.value[0])}
"""A status, or its number -> its name."""


def _traces(intake: Intake, sender_of: SenderOf) -> Export:
    async def export(messages: AsyncIterator[bytes], context: Any) -> bytes:
        try:
            headers = _headers(context)
            address = sender_of(context.peer(), headers)
            project = await intake.authorize(headers)
            with intake.budget.open(owner(headers, address)) as held:
                body = await _message(messages, held, intake.limits.body_seconds)
                rejections = (await intake.take(project, held, body, "", "protobuf")).rejections
        except ExportError as failure:
            await _abort(context, failure.grpc, failure.message, failure.retry_after)
        except CollectorError as said:
            refusal = refused(said)
            await _abort(context, refusal.grpc, refusal.message, refusal.retry_after)
        except Exception:
            log.exception("a gRPC export failed")
            await _abort(context, INTERNAL, "internal error; the collector's log has the details", None)
        return success(rejections, "protobuf")

    return export


async def _message(messages: AsyncIterator[bytes], held: Held, seconds: float) -> bytes:
    """The one message of a call; raises as `read_body` does."""
    held.resize(UNREAD_BYTES)
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(seconds) as clock:
            held.evict = lambda: loop.call_soon_threadsafe(end_now, clock, loop)
            body = await anext(messages, None)
    except TimeoutError:
        raise (busy() if held.gave_way else too_long(seconds)) from None
    finally:
        held.evict = None
    if body is None:
        raise malformed("the call has no message")
    held.resize(len(body))
    return body


def _nothing(authorize: Authorize, sender_of: SenderOf) -> Export:
    async def export(_messages: AsyncIterator[bytes], context: Any) -> bytes:
        headers = _headers(context)
        sender_of(context.peer(), headers)
        try:
            await authorize(headers)
        except CollectorError as said:
            await _abort(context, refused(said).grpc, said.message, None)
        return b""

    return export


def _headers(context: Any) -> Mapping[bytes, bytes]:
    return {
        key.encode(): value.encode() if isinstance(value, str) else value
        for key, value in context.invocation_metadata() or ()
    }


async def _abort(context: Any, code: int, message: str, retry_after: int | None) -> None:
    """End the call; a client retries only where `RetryInfo` says when."""
    details = Status(code=code, message=message)
    if retry_after is not None:
        info = AnyMessage()
        info.Pack(RetryInfo(retry_delay=Duration(seconds=retry_after)))
        details.details.append(info)
    by_number = {status.value[0]: status for status in grpc.StatusCode}
    metadata = (("grpc-status-details-bin", details.SerializeToString()),)
    await context.abort(by_number[code], message, trailing_metadata=metadata)
