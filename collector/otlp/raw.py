"""OTLP's trace messages down to the spans, which stay encoded as they came.

A look at the bytes with this schema costs a tenth of reading the spans, and segments are put together from
them without copying span by span. No text is looked at: a request with text that is no UTF-8, which protobuf
refuses as a whole, can be read here.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from opentelemetry.proto.trace.v1.trace_pb2 import Span

_FIELD = descriptor_pb2.FieldDescriptorProto
_PACKAGE = "collector.raw"
_WHOLE = "collector.whole"
SHARED = 100
"""Field of ours in what is stored, far from OTLP's: the digest of a resource or scope that is kept once."""


def _schema(package: str, span: str | None) -> descriptor_pb2.FileDescriptorProto:
    """Field numbers are OTLP's: `TracesData`, `ResourceSpans`, `ScopeSpans`, `Span`.

    `span` is the message that spans are read as; None = they stay bytes.
    """
    schema = descriptor_pb2.FileDescriptorProto(
        name=f"{package.replace('.', '/')}.proto", package=package, syntax="proto3"
    )

    def message(name: str, single: dict[str, int], parts: int | None = None, of: str | None = None) -> None:
        fields = schema.message_type.add(name=name).field
        for field, number in single.items():
            fields.add(name=field, number=number, type=_FIELD.TYPE_BYTES, label=_FIELD.LABEL_OPTIONAL)
        if parts is not None:
            kind = _FIELD.TYPE_MESSAGE if of else _FIELD.TYPE_BYTES
            inner = f".{of}" if of else None
            fields.add(name="parts", number=parts, type=kind, label=_FIELD.LABEL_REPEATED, type_name=inner)

    message("Head", {"content": 1, "schema_url": 3})
    message("Ids", {"trace_id": 1, "span_id": 2})
    message("ScopeSpans", {"content": 1, "schema_url": 3, "shared": SHARED}, parts=2, of=span)
    of_package = f"{package}.ScopeSpans", f"{package}.ResourceSpans"
    message("ResourceSpans", {"content": 1, "schema_url": 3, "shared": SHARED}, parts=2, of=of_package[0])
    message("TracesData", {}, parts=1, of=of_package[1])
    return schema


_pool = descriptor_pool.DescriptorPool()
_pool.Add(_schema(_PACKAGE, None))


def _message(name: str) -> Any:
    return message_factory.GetMessageClass(_pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))


def _whole() -> Any:
    """Added to the pool of OpenTelemetry's messages, whose spans it has."""
    schema = _schema(_WHOLE, Span.DESCRIPTOR.full_name)
    schema.dependency.append(Span.DESCRIPTOR.file.name)
    pool = Span.DESCRIPTOR.file.pool
    pool.Add(schema)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_WHOLE}.TracesData"))


Traces = _message("TracesData")
"""Its `parts` are resources, whose `parts` are scopes, whose `parts` are encoded spans.

`content` is the encoded resource or scope; in what is stored `shared` may stand for it and its schema URL.
"""
WholeTraces = _whole()
"""The same with the spans decoded: quicker than one by one, and in memory all together."""
Head = _message("Head")
"""A resource or scope and its schema URL, without what is in it: the same fields in both."""
Ids = _message("Ids")
"""Of a span that is not read otherwise."""
