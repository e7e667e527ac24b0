"""Redaction of encoded spans: everything a sender wrote, but never an id."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.model import REDACTED, Batch, Segment
from collector.otlp.raw import Head, Traces
from collector.otlp.redaction import PROTECTED, Purse, Redactor
from collector.otlp.segments import digest_of

BYTES_WITHHELD = b"[redacted: bytes]"


def redacted(batch: Batch, redactor: Redactor) -> Batch:
    """The batch without its secrets; run ids and span keys are as before.

    What we do not know we cannot search: unknown fields are not kept.
    """
    heads = _Heads(batch.shared, redactor, Purse())
    segments = tuple(_segment(segment, heads) for segment in batch.segments)
    return replace(batch, segments=segments, shared=heads.kept)


class _Heads:
    """Resources and scopes without their secrets; one that segments only name is cleaned once."""

    def __init__(self, shared: Mapping[bytes, bytes], redactor: Redactor, purse: Purse) -> None:
        self.redactor, self.purse = redactor, purse
        self.kept: dict[bytes, bytes] = {}
        self._shared = shared
        self._renamed: dict[tuple[bytes, Any], bytes] = {}

    def clean(self, part: Any, kind: Any) -> None:
        """A part of a segment, whose content is a message of `kind`."""
        if not part.shared:
            part.content, part.schema_url = self._cleaned(part, kind)
            return
        name = part.shared, kind
        if name not in self._renamed:
            content, schema_url = self._cleaned(Head.FromString(self._shared[part.shared]), kind)
            body = Head(content=content, schema_url=schema_url).SerializeToString()
            self._renamed[name] = digest_of(body)
            self.kept[self._renamed[name]] = body
        part.shared = self._renamed[name]

    def _cleaned(self, part: Any, kind: Any) -> tuple[bytes, bytes]:
        message = kind.FromString(part.content)
        _pairs(message.attributes, self.redactor, self.purse)
        if kind is InstrumentationScope:
            _texts(message, ("name", "version"), self.redactor, self.purse)
        message.DiscardUnknownFields()
        schema_url = self.redactor.text(part.schema_url.decode(), self.purse) if part.schema_url else ""
        return message.SerializeToString(), schema_url.encode()


def _segment(segment: Segment, heads: _Heads) -> Segment:
    data = Traces.FromString(segment.payload)
    named: dict[bytes, None] = {}
    for resource_spans in data.parts:
        heads.clean(resource_spans, Resource)
        for scope_spans in resource_spans.parts:
            heads.clean(scope_spans, InstrumentationScope)
            named |= {part.shared: None for part in (resource_spans, scope_spans) if part.shared}
            spans = [_cleaned_span(span, heads) for span in scope_spans.parts]
            del scope_spans.parts[:]
            scope_spans.parts.extend(spans)
    return replace(segment, payload=data.SerializeToString(), shared=tuple(named))


def _cleaned_span(content: bytes, heads: _Heads) -> bytes:
    span = Span.FromString(content)
    _span(span, heads.redactor, heads.purse)
    span.DiscardUnknownFields()
    return bytes(span.SerializeToString())


def _span(span: Any, redactor: Redactor, purse: Purse) -> None:
    _texts(span, ("name", "trace_state"), redactor, purse)
    if span.HasField("status"):
        _texts(span.status, ("message",), redactor, purse)
    _marked_pairs(span.attributes, redactor, purse)
    for event in span.events:
        _texts(event, ("name",), redactor, purse)
        _pairs(event.attributes, redactor, purse)
    for link in span.links:
        _texts(link, ("trace_state",), redactor, purse)
        _pairs(link.attributes, redactor, purse)


def _marked_pairs(pairs: Any, redactor: Redactor, purse: Purse) -> None:
    """Attributes of a span; where something was taken out, one more says which texts may stand for it."""
    if not redactor.marks:
        _pairs(pairs, redactor, purse)
        return
    before = [pair.SerializeToString(deterministic=True) for pair in pairs]
    _pairs(pairs, redactor, purse)
    if any(
        pair.SerializeToString(deterministic=True) != said for pair, said in zip(pairs, before, strict=True)
    ):
        marks = pairs.add(key=REDACTED).value.array_value.values
        for mark in redactor.marks:
            marks.add(string_value=mark)


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
