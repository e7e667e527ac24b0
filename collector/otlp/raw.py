"""OTLP's trace messages down to the spans, which stay encoded as they came.

A second look at the same bytes with this schema gives every span's own bytes for a tenth of what
encoding it again costs; and segments are put together from them without copying span by span. No text
is looked at: a request with text that is no UTF-8, which protobuf refuses as a whole, can be read here.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_FIELD = descriptor_pb2.FieldDescriptorProto
_PACKAGE = "collector.raw"


def _schema() -> descriptor_pb2.FileDescriptorProto:
    """Field numbers are OTLP's: `TracesData`, `ResourceSpans`, `ScopeSpans`."""
    schema = descriptor_pb2.FileDescriptorProto(name="collector/raw.proto", package=_PACKAGE, syntax="proto3")

    def message(name: str, content: str, inner: str | None, innermost: int) -> None:
        fields = schema.message_type.add(name=name).field
        one, several = _FIELD.LABEL_OPTIONAL, _FIELD.LABEL_REPEATED
        if content:
            fields.add(name=content, number=1, type=_FIELD.TYPE_BYTES, label=one)
            fields.add(name="schema_url", number=3, type=_FIELD.TYPE_BYTES, label=one)
        of = f".{_PACKAGE}.{inner}" if inner else None
        kind = _FIELD.TYPE_MESSAGE if inner else _FIELD.TYPE_BYTES
        fields.add(name="parts", number=innermost, type=kind, label=several, type_name=of)

    message("ScopeSpans", "scope", None, 2)
    message("ResourceSpans", "resource", "ScopeSpans", 2)
    message("TracesData", "", "ResourceSpans", 1)
    return schema


_pool = descriptor_pool.DescriptorPool()
_pool.Add(_schema())

Traces: Any = message_factory.GetMessageClass(_pool.FindMessageTypeByName(f"{_PACKAGE}.TracesData"))
"""Its `parts` are resources, whose `parts` are scopes, whose `parts` are encoded spans."""
