"""Protobuf frames by hand, to read a request that protobuf refuses as a whole.

Each span is tried alone, so that one bad span does not cost its neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage

from collector.model import Rejection


class WireError(ValueError):
    """The bytes are no protobuf frames."""


def fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """(field number, content) of each length-delimited field; other wire types are skipped."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == 2:
            size, at = _varint(data, at)
            if at + size > len(data):
                raise WireError(f"field {tag >> 3} announces {size} bytes, {len(data) - at} are left")
            yield tag >> 3, data[at : at + size]
            at += size
        elif kind == 0:
            _, at = _varint(data, at)
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        else:
            raise WireError(f"unknown wire type {kind}")
    if at != len(data):
        raise WireError("the last field is cut short")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 64:
        if at >= len(data):
            raise WireError("a number is cut short")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise WireError("a number has more than 64 bits")


def salvage(data: bytes) -> tuple[ExportTraceServiceRequest, list[Rejection]]:
    """The readable part of a request that protobuf refused; raises WireError where even frames are broken."""
    request = ExportTraceServiceRequest()
    rejections: list[Rejection] = []
    resources = [part for number, part in fields(data) if number == 1]
    for r, resource_part in enumerate(resources):
        resource_spans = request.resource_spans.add()
        for number, part in fields(resource_part):
            if number == 1:
                _merge(resource_spans.resource, part)
            elif number == 2:
                scope_spans = resource_spans.scope_spans.add()
                s = len(resource_spans.scope_spans) - 1
                spans = 0
                for inner, content in fields(part):
                    if inner == 1:
                        _merge(scope_spans.scope, content)
                    elif inner == 2:
                        place = f"resource_spans[{r}].scope_spans[{s}].spans[{spans}]"
                        spans += 1
                        try:
                            scope_spans.spans.append(SpanMessage.FromString(content))
                        except DecodeError:
                            rejections.append(Rejection(place, "not a readable protobuf Span"))
    return request, rejections


def _merge(message: object, content: bytes) -> None:
    """Fill a resource or scope; an unreadable one stays empty, its spans are still worth keeping."""
    try:
        message.MergeFromString(content)  # type: ignore[attr-defined]
    except DecodeError:
        message.Clear()  # type: ignore[attr-defined]
