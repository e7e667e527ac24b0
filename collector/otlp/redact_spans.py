"""Redaction of encoded spans: everything a sender wrote, but never an id."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from collector.model import Batch, Segment
from collector.otlp.redaction import PROTECTED, Purse, Redactor

BYTES_WITHHELD = b"[redacted: bytes]"


def redacted(batch: Batch, redactor: Redactor) -> Batch:
    """The batch without its secrets; run ids and span keys are as before."""
    purse = Purse()
    return replace(batch, segments=tuple(_segment(segment, redactor, purse) for segment in batch.segments))


def _segment(segment: Segment, redactor: Redactor, purse: Purse) -> Segment:
    data = TracesData.FromString(segment.payload)
    for resource_spans in data.resource_spans:
        _pairs(resource_spans.resource.attributes, redactor, purse)
        _texts(resource_spans, ("schema_url",), redactor, purse)
        for scope_spans in resource_spans.scope_spans:
            _pairs(scope_spans.scope.attributes, redactor, purse)
            _texts(scope_spans.scope, ("name", "version"), redactor, purse)
            _texts(scope_spans, ("schema_url",), redactor, purse)
            for span in scope_spans.spans:
                _span(span, redactor, purse)
    data.DiscardUnknownFields()  # what we do not know we cannot search: it is not kept
    return replace(segment, payload=data.SerializeToString())


def _span(span: Any, redactor: Redactor, purse: Purse) -> None:
    _texts(span, ("name", "trace_state"), redactor, purse)
    if span.HasField("status"):
        _texts(span.status, ("message",), redactor, purse)
    _pairs(span.attributes, redactor, purse)
    for event in span.events:
        _texts(event, ("name",), redactor, purse)
        _pairs(event.attributes, redactor, purse)
    for link in span.links:
        _texts(link, ("trace_state",), redactor, purse)
        _pairs(link.attributes, redactor, purse)


def _texts(owner: Any, names: Iterable[str], redactor: Redactor, purse: Purse) -> None:
    for name in names:
        said = getattr(owner, name)
        cleaned = redactor.text(said, purse) if said else said
        if cleaned != said:
            setattr(owner, name, cleaned)


def _pairs(pairs: Iterable[Any], redactor: Redactor, purse: Purse) -> None:
    for pair in pairs:
        if pair.key in PROTECTED:
            continue
        if redactor.is_secret_name(pair.key):
            pair.value.string_value = redactor.replacement
        else:
            _texts(pair, ("key",), redactor, purse)
            _value(pair.value, redactor, purse)


def _value(value: Any, redactor: Redactor, purse: Purse) -> None:
    kind = value.WhichOneof("value")
    if kind == "string_value":
        cleaned = redactor.text(value.string_value, purse)
        if cleaned != value.string_value:
            value.string_value = cleaned
    elif kind in ("int_value", "double_value"):
        number = getattr(value, kind)
        cleaned = redactor.value(number, purse)
        if cleaned is not number and cleaned != number:
            value.string_value = str(cleaned)
    elif kind == "array_value":
        for item in value.array_value.values:
            _value(item, redactor, purse)
    elif kind == "kvlist_value":
        _pairs(value.kvlist_value.values, redactor, purse)
    elif kind == "bytes_value":
        value.bytes_value = _bytes(value.bytes_value, redactor, purse)


def _bytes(said: bytes, redactor: Redactor, purse: Purse) -> bytes:
    """Bytes that spell a text are searched as such; others cannot be, and are not kept."""
    try:
        text = said.decode()
    except UnicodeDecodeError:
        return BYTES_WITHHELD
    return redactor.text(text, purse).encode()
