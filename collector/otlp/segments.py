"""An export request to segments: each span checked on its own, then grouped by run.

The stored form is again OTLP protobuf, so an export is a copy and nothing that we do not understand
is lost. Attributes are not read here beyond the run id: reading them costs seven times the parsing,
and only a judged run needs it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import compress
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from collector.dialects.names import RUN_CALLS, RUN_ID
from collector.model import Batch, Rejection, Segment
from collector.otlp.errors import malformed, too_large
from collector.otlp.raw import Traces
from collector.settings import Limits

HEX32 = re.compile(r"[0-9a-f]{32}")
RUN_MARK = b"pdoctor.run."
NO_TRACE, NO_SPAN = bytes(16), bytes(8)


def from_protobuf(body: bytes, limits: Limits) -> Batch:
    """Decode an `ExportTraceServiceRequest`; raises ExportError where nothing can be read."""
    rejections: list[Rejection] = []
    try:
        request = ExportTraceServiceRequest.FromString(body)
    except DecodeError:
        body, rejections = _readable_part(body, limits)
        request = ExportTraceServiceRequest.FromString(body)
    return batch_of(request, limits, rejections, encoded=body)


def _readable_part(body: bytes, limits: Limits) -> tuple[bytes, list[Rejection]]:
    """A request that protobuf refused as a whole, less the spans that it cannot read.

    Each span is tried alone, so that a broken one does not cost its neighbours. A resource, scope or
    schema URL that cannot be read is left out: its spans are still worth keeping.
    """
    try:
        raw = Traces.FromString(body)
    except DecodeError:
        raise malformed("the body is no protobuf ExportTraceServiceRequest, or it is cut short") from None
    _check_counts(raw, limits)
    rejections: list[Rejection] = []
    for r, resource in enumerate(raw.parts):
        _clear_unreadable(resource, ("resource", "schema_url"), lambda said: said)
        for s, scope in enumerate(resource.parts):
            _clear_unreadable(scope, ("scope", "schema_url"), lambda said: {"parts": [said]})
            place = f"resource_spans[{r}].scope_spans[{s}]"
            rejections += [
                Rejection(f"{place}.spans[{i}]", "not a readable protobuf Span") for i in _taken_out(scope)
            ]
    return raw.SerializeToString(), rejections


def _clear_unreadable(part: Any, names: Iterable[str], within: Callable[[Any], Mapping[str, Any]]) -> None:
    """Empty the fields of a resource or scope that cannot be read; `within` puts one into a resource."""
    for name in names:
        said = getattr(part, name)
        if said and not _is_readable(within({name: said})):
            part.ClearField(name)


def _taken_out(scope: Any) -> list[int]:
    """Takes the unreadable spans out of a scope; where they stood."""
    readable = [_is_readable({"parts": [{"parts": [content]}]}) for content in scope.parts]
    kept = list(compress(scope.parts, readable))
    del scope.parts[:]
    scope.parts.extend(kept)
    return [i for i, is_readable in enumerate(readable) if not is_readable]


def _is_readable(resource: Mapping[str, Any]) -> bool:
    """Whether protobuf takes a request of this resource alone, as deep in it as it stands in a whole one."""
    try:
        ExportTraceServiceRequest.FromString(Traces(parts=[resource]).SerializeToString())
    except DecodeError:
        return False
    return True


def batch_of(
    request: Any, limits: Limits, rejections: Collection[Rejection] = (), *, encoded: bytes | None = None
) -> Batch:
    """Check every span of a decoded request and group the good ones by run."""
    raw = Traces.FromString(request.SerializeToString() if encoded is None else encoded)
    _check_counts(raw, limits)
    refused = list(rejections)
    groups: dict[str, _Group] = {}
    for origin, i, span, content in _spans(request, raw):
        trace_id, span_id, parent = span.trace_id, span.span_id, span.parent_span_id
        reason = flaw_of(trace_id, span_id, parent, span, len(content), limits)
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
    return Batch(tuple(group.segment() for group in groups.values()), tuple(refused))


class _Origin:
    """Where the spans of one scope stand in a request, and what they share."""

    __slots__ = ("number", "resource_spans", "scope_spans")

    def __init__(self, number: tuple[int, int], resource_spans: Any, scope_spans: Any) -> None:
        self.number, self.resource_spans, self.scope_spans = number, resource_spans, scope_spans


def _spans(request: Any, raw: Any) -> Iterator[tuple[_Origin, int, Any, bytes]]:
    """(origin, place there, span, the same span encoded) of a request that was decoded in two ways."""
    for r, (resource_spans, scopes) in enumerate(zip(request.resource_spans, raw.parts, strict=True)):
        for s, (scope_spans, spans) in enumerate(zip(resource_spans.scope_spans, scopes.parts, strict=True)):
            origin = _Origin((r, s), resource_spans, scope_spans)
            for i, (span, content) in enumerate(zip(scope_spans.spans, spans.parts, strict=True)):
                yield origin, i, span, content


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

    __slots__ = ("has_root", "keys", "origins", "run_id", "spans", "traces")

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.keys: dict[bytes, None] = {}
        self.has_root = False
        self.traces: set[bytes] = set()
        self.spans: list[bytes] = []
        self.origins: list[tuple[_Origin, list[bytes]]] = []

    def add(self, origin: _Origin, trace_id: bytes, key: bytes, content: bytes, is_root: bool) -> None:
        if key in self.keys:
            return
        self.keys[key] = None
        self.has_root |= is_root
        self.traces.add(trace_id)
        if not self.origins or origin is not self.origins[-1][0]:
            self.spans = []
            self.origins.append((origin, self.spans))
        self.spans.append(content)

    def segment(self) -> Segment:
        traces = (trace.hex() for trace in self.traces)
        return Segment(
            run_id=self.run_id,
            keys=tuple(self.keys),
            payload=_payload(self.origins),
            has_root=self.has_root,
            trace_ids=tuple(sorted(trace for trace in traces if trace != self.run_id)),
        )


def _payload(origins: list[tuple[_Origin, list[bytes]]]) -> bytes:
    """An encoded `TracesData` of the given encoded spans with their resources and scopes."""
    traces = Traces()
    for origin, spans in origins:
        resource_spans, scope_spans = origin.resource_spans, origin.scope_spans
        resource = traces.parts.add(
            resource=resource_spans.resource.SerializeToString(),
            schema_url=resource_spans.schema_url.encode(),
        )
        resource.parts.add(
            scope=scope_spans.scope.SerializeToString(),
            schema_url=scope_spans.schema_url.encode(),
            parts=spans,
        )
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
    if size > limits.span_bytes:
        return f"the span has {size} bytes; at most {limits.span_bytes} are taken"
    if size > 2 * limits.attributes:  # an element has two bytes at least: smaller spans need no counting
        for name in ("attributes", "events", "links"):
            if len(getattr(span, name)) > limits.attributes:
                return f"{len(getattr(span, name))} {name}; at most {limits.attributes} are taken"
    return None


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
    data = TracesData.FromString(segment.payload)
    for resource_spans in data.resource_spans:
        for scope_spans in resource_spans.scope_spans:
            kept = [span for span in scope_spans.spans if span.trace_id + span.span_id not in known]
            del scope_spans.spans[:]
            scope_spans.spans.extend(kept)
    keys = tuple(key for key in segment.keys if key not in known)
    return Segment(segment.run_id, keys, data.SerializeToString(), segment.has_root, segment.trace_ids)


def _place(origin: _Origin, i: int, span: Any) -> str:
    r, s = origin.number
    known = f" (trace_id {span.trace_id.hex() or 'empty'}, span_id {span.span_id.hex() or 'empty'})"
    return f"resource_spans[{r}].scope_spans[{s}].spans[{i}]" + known[:120]
