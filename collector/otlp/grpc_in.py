"""The OTLP/gRPC receiver: the same checks, limits and promises as over HTTP."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
import re
import socket
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import partial
from typing import Any
from urllib.parse import quote_from_bytes

from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

from collector.budget import Held, busy, end_now, owner, too_long
from collector.doors import Doors
from collector.errors import CollectorError
from collector.otlp.errors import (
    INTERNAL,
    RESOURCE_EXHAUSTED,
    UNIMPLEMENTED,
    ExportError,
    malformed,
    refused,
)
from collector.otlp.hpack import literal
from collector.otlp.http import BUG, success
from collector.otlp.http2 import Connection, Stream
from collector.otlp.intake import Intake
from collector.tls import Certificate, accept

log = logging.getLogger("collector.otlp")

SERVICE = "/opentelemetry.proto.collector.{0}.v1.{1}Service/Export"
SERVICES: dict[bytes, str] = {
    SERVICE.format("trace" if name == "Trace" else name.lower(), name).encode(): name
    for name in ("Trace", "Metrics", "Logs")
}
"""Path of a call -> its service."""
SenderOf = Callable[[str, Iterable[tuple[bytes, bytes]]], str]
"""(address of a connection, headers) -> address of the sender."""
Called = Callable[[str, str, float], object]
"""Told of every call that has ended: (service, code, seconds)."""
CODES = (
    "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
    "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE",
    "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
)  # fmt: skip
"""By number."""
IS_GRPC = re.compile(rb"application/grpc(\+proto)?[ \t]*(;.*)?", re.IGNORECASE).fullmatch
"""gRPC-Web and JSON, which begin with the same word, are other protocols."""
PACKED = (b"gzip", b"deflate")
CODINGS = (b"", b"identity", *PACKED)
PREFIX_BYTES = 5
"""Before a message: whether it is compressed, and how long it is."""
BACKLOG = 1024
TOLD_CHARACTERS = 1000
"""Of what was wrong."""

STATUS_200 = b"\x88"
HEAD = STATUS_200 + literal(b"content-type", b"application/grpc")
OK = literal(b"grpc-status", b"0")
NO_GRPC = literal(b":status", b"415")
TAKES = literal(b"grpc-accept-encoding", b"identity,gzip,deflate")


async def start(
    host: str,
    port: int,
    intake: Intake,
    *,
    certificate: Certificate | None,
    doors: Doors,
    sender_of: SenderOf,
    called: Called = lambda *_: None,
    shared: bool = False,
) -> tuple[Server, int]:
    """(server, port), with TLS where there is a certificate; raises OSError where the address is taken.

    A `shared` port is that of all workers of one collector.
    """
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:  # two collectors on one port would each get half of the spans
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except OSError as failure:
        listening.close()
        raise OSError(f"cannot listen on {host}:{port} for gRPC: {failure}") from None
    receiver = Receiver(intake, sender_of, called)
    connections: set[Connection] = set()
    most = intake.limits.grpc_bytes + PREFIX_BYTES
    make = partial(Connection, receiver.serve, most, doors, intake.slices, connections)
    context = certificate.context("h2") if certificate else None
    accepting = accept(listening, context, doors, make)
    return Server(listening, accepting, connections), listening.getsockname()[1]


class Server:
    """The connections of one port."""

    def __init__(
        self, listening: socket.socket, accepting: Coroutine[Any, Any, None], connections: set[Connection]
    ) -> None:
        """`accepting` puts connections into the set."""
        self._listening, self._connections = listening, connections
        self._accepting = asyncio.create_task(accepting)

    async def stop(self, seconds: float) -> None:
        """Take no more, and let what has begun end for so long."""
        self._accepting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._accepting
        self._listening.close()
        for one in self._connections:
            one.say_goodbye()
        until = time.monotonic() + seconds
        while any(one.streams for one in self._connections) and time.monotonic() < until:
            await asyncio.sleep(0.01)
        for one in list(self._connections):
            one.leave()


class Receiver:
    """Answers calls."""

    def __init__(self, intake: Intake, sender_of: SenderOf, called: Called) -> None:
        self._intake, self._sender_of, self._called = intake, sender_of, called

    async def serve(self, call: Stream) -> None:
        headers = dict(call.headers)
        if not IS_GRPC(headers.get(b"content-type", b"")):
            call.answer(NO_GRPC)
            return
        service = SERVICES.get(headers.get(b":path", b""))
        if service is None:
            call.answer(failed(ExportError(404, UNIMPLEMENTED, "there is no such method here")))
            return
        began, code = time.perf_counter(), "CANCELLED"
        try:
            message = await self._answered(call, headers, service)
            data = b"\0" + len(message).to_bytes(PREFIX_BYTES - 1) + message
            code = "OK"
            call.answer(HEAD, data, OK)
        except ExportError as failure:
            code = CODES[failure.grpc]
            call.answer(failed(failure))
        finally:
            self._called(service, code, time.perf_counter() - began)

    async def _answered(self, call: Stream, headers: Mapping[bytes, bytes], service: str) -> bytes:
        """The message of the answer; raises ExportError."""
        try:
            address = self._sender_of(call.connection.flow.who, call.headers)
            if service != "Trace":
                await self._intake.authorize(headers)
                return b""
            with self._intake.budget.open(owner(headers, address), call.connection.flow.connection) as held:
                return await self._export(call, headers, held)
        except CollectorError as said:
            raise refused(said) from None
        except ExportError as failure:
            if failure.http == 413:
                failure.grpc = RESOURCE_EXHAUSTED
            raise
        except Exception:
            log.exception("a gRPC export failed")
            raise BUG from None

    async def _export(self, call: Stream, headers: Mapping[bytes, bytes], held: Held) -> bytes:
        message = Message(call, held, self._intake.limits.grpc_bytes)
        project, since = await self._intake.authorize(headers), time.monotonic()
        coding = headers.get(b"grpc-encoding", b"")
        if coding not in CODINGS:
            raise ExportError(415, UNIMPLEMENTED, "expected gzip, deflate or no compression")
        body = await message.whole(self._intake.limits.body_seconds)
        await self._intake.authorize_again(headers, since)
        packed = coding.decode() if message.is_packed else ""
        if message.is_packed and coding not in PACKED:
            raise ExportError(400, INTERNAL, "the message is compressed, and grpc-encoding does not say how")
        batch = await self._intake.take(project, held, body, packed, "protobuf")
        return success(batch.rejections, "protobuf")


class Message:
    """The one message of a call while it comes in; what has come is held."""

    def __init__(self, call: Stream, held: Held, most: int) -> None:
        """Raises as `read_body` does, and so does `whole`."""
        self._call, self._held, self._most = call, held, most
        self._end: asyncio.Future[None] | None = None
        self._flaw: Exception | None = None
        self._grow()
        call.grew = self._grown

    @property
    def is_packed(self) -> bool:
        return bool(self._call.body[0])

    def _grown(self) -> None:
        try:
            self._grow()
        except (CollectorError, ExportError) as flaw:
            self._flaw = flaw
        if self._end is not None and not self._end.done() and (self._flaw or self._call.ended):
            self._end.set_result(None)

    def _grow(self) -> None:
        body = self._call.body
        self._held.resize(len(body))
        if len(body) >= PREFIX_BYTES and int.from_bytes(body[1:PREFIX_BYTES]) > self._most:
            raise ExportError(
                413,
                RESOURCE_EXHAUSTED,
                f"the message is over the limit of {self._most}; send smaller batches",
            )

    async def whole(self, seconds: float) -> bytes:
        """What it says, still packed where it is."""
        if not self._call.ended and self._flaw is None:
            await self._wait(seconds)
        if self._flaw is not None:
            raise self._flaw
        body = self._call.body
        if not body:
            raise malformed("the call has no message")
        if len(body) < PREFIX_BYTES or int.from_bytes(body[1:PREFIX_BYTES]) != len(body) - PREFIX_BYTES:
            raise malformed("the message has another length than it says, or there is more than one")
        whole = bytes(memoryview(body)[PREFIX_BYTES:])
        self._call.body = bytearray(body[:PREFIX_BYTES])
        return whole

    async def _wait(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._end = loop.create_future()
        try:
            async with asyncio.timeout(seconds) as clock:
                self._held.evict = partial(loop.call_soon_threadsafe, end_now, clock, loop)
                await self._end
        except TimeoutError:
            raise (busy() if self._held.gave_way else too_long(seconds)) from None
        finally:
            self._held.evict = None
            del clock  # it knows the task, which holds this frame when it is cancelled


def failed(failure: ExportError) -> bytes:
    """An answer without a message; a client retries only where `RetryInfo` says when."""
    said = failure.message[:TOLD_CHARACTERS]
    details = Status(code=failure.grpc, message=said)
    if failure.retry_after is not None:
        info = AnyMessage()
        info.Pack(RetryInfo(retry_delay=Duration(seconds=failure.retry_after)))
        details.details.append(info)
    packed = base64.b64encode(details.SerializeToString()).rstrip(b"=")
    return b"".join((
        HEAD, literal(b"grpc-status", str(failure.grpc).encode()),
        literal(b"grpc-message", quote_from_bytes(said.encode(errors="replace"), safe=PRINTABLE).encode()),
        literal(b"grpc-status-details-bin", packed), TAKES,
    ))  # fmt: skip


PRINTABLE = "".join(map(chr, range(0x20, 0x7F))).replace("%", "")
