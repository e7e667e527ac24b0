"""The OTLP/gRPC receiver: the same checks, limits and promises as over HTTP."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

from collector.errors import CollectorError
from collector.otlp.errors import INTERNAL, ExportError, refused
from collector.otlp.http import INLINE_BYTES, Authorize, Store, success
from collector.otlp.segments import from_protobuf
from collector.settings import Limits

log = logging.getLogger("collector.otlp")

SERVICE = "opentelemetry.proto.collector.{0}.v1.{1}Service"
Export = Callable[[bytes, Any], Awaitable[bytes]]


async def start(host: str, port: int, store: Store, authorize: Authorize, limits: Limits) -> tuple[Any, int]:
    """(server, port); raises OSError where the address is taken."""
    server = grpc.aio.server(
        options=(
            ("grpc.max_receive_message_length", limits.body_bytes),
            ("grpc.so_reuseport", 0),  # two collectors on one port would each get half of the spans
        )
    )
    server.add_generic_rpc_handlers(tuple(_services(store, authorize, limits)))
    try:
        bound = server.add_insecure_port(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
    except RuntimeError as failure:
        raise OSError(f"cannot listen on {host}:{port} for gRPC: {failure}") from None
    await server.start()
    return server, bound


def _services(store: Store, authorize: Authorize, limits: Limits) -> list[Any]:
    exports: dict[str, Export] = {
        "Trace": _traces(store, authorize, limits),
        "Metrics": _nothing(authorize),
        "Logs": _nothing(authorize),
    }
    return [
        grpc.method_handlers_generic_handler(
            SERVICE.format("trace" if name == "Trace" else name.lower(), name),
            {"Export": grpc.unary_unary_rpc_method_handler(export)},
        )
        for name, export in exports.items()
    ]


def _traces(store: Store, authorize: Authorize, limits: Limits) -> Export:
    async def export(body: bytes, context: Any) -> bytes:
        try:
            project = await authorize(_headers(context))
            if len(body) > INLINE_BYTES["protobuf"]:
                batch = await asyncio.to_thread(from_protobuf, body, limits)
            else:
                batch = from_protobuf(body, limits)
            if batch.segments:
                await store(project, batch)
        except ExportError as failure:
            await _abort(context, failure.grpc, failure.message, failure.retry_after)
        except CollectorError as said:
            refusal = refused(said)
            await _abort(context, refusal.grpc, refusal.message, refusal.retry_after)
        except Exception:
            log.exception("a gRPC export failed")
            await _abort(context, INTERNAL, "internal error; the collector's log has the details", None)
        return success(batch.rejections, "protobuf")

    return export


def _nothing(authorize: Authorize) -> Export:
    async def export(_body: bytes, context: Any) -> bytes:
        try:
            await authorize(_headers(context))
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
