"""An export request to segments: each span checked on its own, then grouped by run.

The stored form is again OTLP protobuf, so an export is a copy and nothing that we do not understand
is lost. Attributes are not read here beyond the run id: reading them costs seven times the parsing,
and only a judged run needs it. Spans are decoded one at a time: small elements take thirty times their
bytes in memory, and never those of more than one span.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.dialects.names import RUN_CALLS, RUN_ID
from collector.model import Batch, Rejection, Segment
from collector.otlp.counting import count_parts
from collector.otlp.errors import ExportError, for_want_of_memory, malformed, too_large
from collector.otlp.raw import Head, Ids, Traces
from collector.settings import Limits

HEX32 = re.compile(r"[0-9a-f]{32}")
RUN_MARK = b"pdoctor.run."
NO_TRACE, NO_SPAN = bytes(16), bytes(8)
INLINE_BYTES = 512
"""A resource or scope up to this size is copied to each run of a request; a bigger one is kept once."""
COUNTED_BYTES = 1024 * 1024
"""A bigger body is counted before protobuf sees it, to whom two bytes can cost eighty."""

FEW_BYTES = 64 * 1024
"""Up to this size all parts of a body can be looked at."""


def from_protobuf(body: bytes, limits: Limits) -> Batch:
    """Decode an `ExportTraceServiceRequest`; raises ExportError where nothing can be read.

    A broken span does not cost its neighbours. A resource, scope or schema URL that cannot be read is
    left out: its spans are still worth keeping.
    """
    if len(body) > COUNTED_BYTES:
        count_parts(body, limits)
    try:
        raw = Traces.FromString(body)
    except DecodeError as flaw:
        if for_want_of_memory(flaw):
            raise MemoryError from None
        raise not_readable() from None
    return batch_of(raw, limits)


def not_readable() -> ExportError:
    return malformed("the body is no protobuf ExportTraceServiceRequest, or it is cut short")


def batch_of(raw: Any, limits: Limits, rejections: Collection[Rejection] = ()) -> Batch:
    """Check every span of a request and group the good ones by run."""
    _check_counts(raw, limits)
    refused = list(rejections)
    groups: dict[str, _Group] = {}
    for origin, i, content in _spans(raw, limits):
        size = len(content)
        if origin.flaw or size > limits.span_bytes:
            said = origin.flaw or f"the span has {size} bytes; at most {limits.span_bytes} are taken"
            refused.append(Rejection(_place(origin, i, Ids.FromString(content)), said))
            continue
        try:
            span = Span.FromString(content)
        except DecodeError as flaw:
            if for_want_of_memory(flaw):
                raise MemoryError from None
            refused.append(Rejection(_place(origin, i), "not a readable protobuf Span"))
            continue
        trace_id, span_id, parent = span.trace_id, span.span_id, span.parent_span_id
        reason = flaw_of(trace_id, span_id, parent, span, size, limits)
        if reason:
            refused.append(Rejection(_place(origin, i, span), reason))
            continue
        run_id, is_root = None, not parent or parent == NO_SPAN
        if RUN_MARK in content:  # a hit may also lie in some other text
            run_id, announces = marks_of(span)
            is_root |= announces
        if run_id is None:
            run_id = trace_id.hex()
        group = groups.get(run_id)
        if group is None:
            group = groups[run_id] = _Group(run_id)
        group.add(origin, trace_id, trace_id + span_id, content, is_root)
    segments = tuple(group.segment() for group in groups.values())
    shared = {head.digest: head.body for group in groups.values() for head in group.heads}
    return Batch(segments, tuple(refused), shared)


class _Head:
    """What the spans of one resource or scope share, as a segment says it: in `fields`, or by its digest."""

    __slots__ = ("body", "digest", "fields")

    def __init__(self, part: Any, kind: Any) -> None:
        """Of a part whose content is a message of `kind`; what cannot be read of it is left out."""
        content = part.content if _is_readable(kind.FromString, part.content) else b""
        schema_url = part.schema_url if _is_readable(bytes.decode, part.schema_url) else b""
        self.fields: Mapping[str, bytes] = {"content": content, "schema_url": schema_url}
        self.body = self.digest = b""
        if len(content) + len(schema_url) > INLINE_BYTES:
            self.body = Head(**self.fields).SerializeToString()
            self.digest = digest_of(self.body)
            self.fields = {"shared": self.digest}


def digest_of(head: bytes) -> bytes:
    """What names a resource or scope that is kept once."""
    return blake2b(head, digest_size=16).digest()


def _is_readable(read: Callable[[bytes], Any], content: bytes) -> bool:
    try:
        read(content)
    except (DecodeError, UnicodeDecodeError) as flaw:
        if for_want_of_memory(flaw):
            raise MemoryError from None
        return False
    return True


class _Origin:
    """Where the spans of one scope stand in a request, and what they share."""

    __slots__ = ("flaw", "number", "resource", "scope")

    def __init__(self, number: tuple[int, int], resource: _Head, scope: _Head, flaw: str | None) -> None:
        self.number, self.resource, self.scope, self.flaw = number, resource, scope, flaw


EMPTY = _Head(Head(), Resource)


def _spans(raw: Any, limits: Limits) -> Iterator[tuple[_Origin, int, bytes]]:
    """(origin, place there, encoded span) of a request."""
    for r, resource_spans in enumerate(raw.parts):
        of_resource = _too_long("resource", resource_spans, limits)
        resource = EMPTY if of_resource else _Head(resource_spans, Resource)
        for s, scope_spans in enumerate(resource_spans.parts):
            flaw = of_resource or _too_long("scope", scope_spans, limits)
            scope = EMPTY if flaw else _Head(scope_spans, InstrumentationScope)
            origin = _Origin((r, s), resource, scope, flaw)
            for i, content in enumerate(scope_spans.parts):
                yield origin, i, content


def _too_long(what: str, part: Any, limits: Limits) -> str | None:
    size = len(part.content) + len(part.schema_url)
    return (
        f"its {what} has {size} bytes; at most {limits.head_bytes} are taken"
        if size > limits.head_bytes
        else None
    )


def has_few_spans(body: bytes, most: int) -> bool:
    """Whether a request has at most so many resources, scopes and spans each; also where it is none.

    No more of them than that are looked at: each is an object once it is. To protobuf so are all of them,
    which takes 30 ms for a megabyte of empty ones.
    """
    if len(body) > FEW_BYTES:
        try:
            count_parts(body, Limits(spans=most))
        except ExportError:
            return False
        return True
    try:
        raw = Traces.FromString(body)
    except DecodeError:
        return True
    scopes = spans = 0
    if len(raw.parts) > most:
        return False
    for resource in raw.parts:
        scopes += len(resource.parts)
        if scopes > most:
            return False
        spans += sum(len(scope.parts) for scope in resource.parts)
    return spans <= most


def _check_counts(raw: Any, limits: Limits) -> None:
    bounded(len(raw.parts), "resourceSpans", limits)
    bounded(sum(len(resource.parts) for resource in raw.parts), "scopeSpans", limits)
    bounded(sum(len(scope.parts) for resource in raw.parts for scope in resource.parts), "spans", limits)


def bounded(count: int, what: str, limits: Limits) -> None:
    """Empty ones cost two bytes each, and each costs more than a span: millions would take minutes."""
    if count > limits.spans:
        raise too_large(f"{count} {what} in one request", limits.spans, "send smaller batches")


class _Group:
    """The spans of one run while a request is taken apart."""

    __slots__ = ("has_root", "heads", "keys", "origins", "run_id", "spans", "traces")

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.keys: dict[bytes, None] = {}
        self.has_root = False
        self.traces: set[bytes] = set()
        self.spans: list[bytes] = []
        self.origins: list[tuple[_Origin, list[bytes]]] = []
        self.heads: list[_Head] = []

    def add(self, origin: _Origin, trace_id: bytes, key: bytes, content: bytes, is_root: bool) -> None:
        if key in self.keys:
            return
        self.keys[key] = None
        self.has_root |= is_root
        self.traces.add(trace_id)
        if not self.origins or origin is not self.origins[-1][0]:
            self.spans = []
            self.origins.append((origin, self.spans))
            self.heads += [head for head in (origin.resource, origin.scope) if head.digest]
        self.spans.append(content)

    def segment(self) -> Segment:
        traces = (trace.hex() for trace in self.traces)
        return Segment(
            run_id=self.run_id,
            keys=tuple(self.keys),
            payload=_payload(self.origins),
            has_root=self.has_root,
            trace_ids=tuple(sorted(trace for trace in traces if trace != self.run_id)),
            shared=tuple({head.digest: None for head in self.heads}),
        )


def _payload(origins: list[tuple[_Origin, list[bytes]]]) -> bytes:
    """An encoded `TracesData` of the given encoded spans with their resources and scopes."""
    traces = Traces()
    for origin, spans in origins:
        resource = traces.parts.add(**origin.resource.fields)
        resource.parts.add(**origin.scope.fields, parts=spans)
    return bytes(traces.SerializeToString())


def flaw_of(
    trace_id: bytes, span_id: bytes, parent: bytes, span: Any, size: int, limits: Limits
) -> str | None:
    """Why a span of `size` encoded bytes cannot be taken, or None."""
    if len(trace_id) != 16 or trace_id == NO_TRACE:
        return f"trace_id is {trace_id[:16].hex() or 'empty'}; expected 16 bytes, not all zero"
    if len(span_id) != 8 or span_id == NO_SPAN:
        return f"span_id is {span_id[:8].hex() or 'empty'}; expected 8 bytes, not all zero"
    if len(parent) not in (0, 8):
        return f"parent_span_id has {len(parent)} bytes; expected 8 or none"
    if size > 2 * limits.attributes:  # an element has two bytes at least: smaller spans need no counting
        for name in ("attributes", "events", "links"):
            if len(getattr(span, name)) > limits.attributes:
                return f"{len(getattr(span, name))} {name}; at most {limits.attributes} are taken"
        if elements_over(span, limits.elements):
            return f"its attribute values have more than {limits.elements} elements"
    return None


def elements_over(span: Any, most: int) -> bool:
    """Are there more elements in the lists and maps of a span's attributes? Looks at no more than those."""
    lists = [span.attributes, *(one.attributes for one in (*span.events, *span.links))]
    for values in lists:
        most -= len(values)
        if most < 0:
            return True
        for item in values:
            value = item.value if hasattr(item, "key") else item
            kind = value.WhichOneof("value")
            if kind == "array_value" or kind == "kvlist_value":
                lists.append(getattr(value, kind).values)
    return False


def marks_of(span: Any) -> tuple[str | None, bool]:
    """(run id if it is one, whether the span ends its run), as our tracer's attributes say."""
    run_id, announces = None, False
    for attribute in span.attributes:
        name = attribute.key
        if name == RUN_ID:
            run_id = attribute.value.string_value
        elif name == RUN_CALLS:
            announces = True
    return run_id if run_id is not None and HEX32.fullmatch(run_id) else None, announces


def without(segment: Segment, known: Collection[bytes]) -> Segment:
    """The segment less the spans that are stored already; the same object where there are none."""
    if not any(key in known for key in segment.keys):
        return segment
    data = Traces.FromString(segment.payload)
    each = iter(segment.keys)
    for resource_spans in data.parts:
        for scope_spans in resource_spans.parts:
            kept = [span for span, key in zip(scope_spans.parts, each, strict=False) if key not in known]
            del scope_spans.parts[:]
            scope_spans.parts.extend(kept)
    keys = tuple(key for key in segment.keys if key not in known)
    return replace(segment, keys=keys, payload=data.SerializeToString())


def _place(origin: _Origin, i: int, span: Any = None) -> str:
    r, s = origin.number
    place = f"resource_spans[{r}].scope_spans[{s}].spans[{i}]"
    if span is None:
        return place
    known = f" (trace_id {span.trace_id.hex() or 'empty'}, span_id {span.span_id.hex() or 'empty'})"
    return place + known[:120]
