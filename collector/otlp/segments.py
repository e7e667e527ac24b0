"""An export request to segments: each span checked on its own, then grouped by run.

The stored form is again OTLP protobuf, so an export is a copy and nothing that we do not understand
is lost. Attributes are not read here beyond the run id: reading them costs seven times the parsing,
and only a judged run needs it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from collector.dialects.names import RUN_CALLS, RUN_ID
from collector.model import Batch, Rejection, Segment
from collector.otlp.errors import malformed, too_large
from collector.otlp.wire import WireError, frame, salvage
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
        try:
            request, rejections = salvage(body)
        except (WireError, DecodeError) as flaw:
            raise malformed(f"the body is no protobuf ExportTraceServiceRequest: {flaw}") from None
    return batch_of(request, limits, rejections)


def batch_of(request: Any, limits: Limits, rejections: Collection[Rejection] = ()) -> Batch:
    """Check every span of a decoded request and group the good ones by run."""
    bounded(len(request.resource_spans), "resourceSpans", limits)
    bounded(sum(len(rs.scope_spans) for rs in request.resource_spans), "scopeSpans", limits)
    total = sum(len(ss.spans) for rs in request.resource_spans for ss in rs.scope_spans)
    bounded(total, "spans", limits)
    refused = list(rejections)
    groups: dict[str, _Group] = {}
    for r, resource_spans in enumerate(request.resource_spans):
        for s, scope_spans in enumerate(resource_spans.scope_spans):
            for i, span in enumerate(scope_spans.spans):
                raw = span.SerializeToString()
                reason = flaw_of(span, len(raw), limits)
                if reason:
                    refused.append(Rejection(_place(r, s, i, span), reason))
                    continue
                run_id, is_root = identity(span, raw)
                group = groups.get(run_id)
                if group is None:
                    group = groups[run_id] = _Group(run_id)
                group.add((r, s), resource_spans, scope_spans, span, raw, is_root)
    return Batch(tuple(group.segment() for group in groups.values()), tuple(refused))


def bounded(count: int, what: str, limits: Limits) -> None:
    """Empty ones cost two bytes each, and each costs more than a span: millions would take minutes."""
    if count > limits.spans:
        raise too_large(f"{count} {what} in one request", limits.spans, "send smaller batches")


class _Group:
    """The spans of one run while a request is taken apart; frames are written by hand.

    Appending to a second message would copy every span deeply, which costs five times as much.
    """

    __slots__ = ("has_root", "keys", "place", "run_id", "scopes", "spans", "traces")

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.keys: dict[bytes, None] = {}
        self.has_root = False
        self.traces: set[bytes] = set()
        self.place: tuple[int, int] | None = None
        self.spans: list[bytes] = []
        self.scopes: list[tuple[Any, Any, list[bytes]]] = []

    def add(
        self,
        place: tuple[int, int],
        resource_spans: Any,
        scope_spans: Any,
        span: Any,
        raw: bytes,
        is_root: bool,
    ) -> None:
        trace_id = span.trace_id
        key = trace_id + span.span_id
        if key in self.keys:
            return
        self.keys[key] = None
        self.has_root |= is_root
        self.traces.add(trace_id)
        if place != self.place:
            self.place, self.spans = place, []
            self.scopes.append((resource_spans, scope_spans, self.spans))
        self.spans.append(raw)

    def segment(self) -> Segment:
        traces = (trace.hex() for trace in self.traces)
        return Segment(
            run_id=self.run_id,
            keys=tuple(self.keys),
            payload=b"".join(_resource_frame(*scope) for scope in self.scopes),
            has_root=self.has_root,
            trace_ids=tuple(sorted(trace for trace in traces if trace != self.run_id)),
        )


def _resource_frame(resource_spans: Any, scope_spans: Any, spans: list[bytes]) -> bytes:
    """One `ResourceSpans` of a `TracesData` message, holding the given encoded spans."""
    inner = [frame(1, scope_spans.scope.SerializeToString()), *(frame(2, span) for span in spans)]
    if scope_spans.schema_url:
        inner.append(frame(3, scope_spans.schema_url.encode()))
    outer = [frame(1, resource_spans.resource.SerializeToString()), frame(2, b"".join(inner))]
    if resource_spans.schema_url:
        outer.append(frame(3, resource_spans.schema_url.encode()))
    return frame(1, b"".join(outer))


def flaw_of(span: Any, size: int, limits: Limits) -> str | None:
    """Why a span of `size` encoded bytes cannot be taken, or None."""
    trace_id, span_id = span.trace_id, span.span_id
    if len(trace_id) != 16 or trace_id == NO_TRACE:
        return f"trace_id is {trace_id[:16].hex() or 'empty'}; expected 16 bytes, not all zero"
    if len(span_id) != 8 or span_id == NO_SPAN:
        return f"span_id is {span_id[:8].hex() or 'empty'}; expected 8 bytes, not all zero"
    if len(span.parent_span_id) not in (0, 8):
        return f"parent_span_id has {len(span.parent_span_id)} bytes; expected 8 or none"
    if size > limits.span_bytes:
        return f"the span has {size} bytes; at most {limits.span_bytes} are taken"
    if size > 2 * limits.attributes:  # an element has two bytes at least: smaller spans need no counting
        for name in ("attributes", "events", "links"):
            if len(getattr(span, name)) > limits.attributes:
                return f"{len(getattr(span, name))} {name}; at most {limits.attributes} are taken"
    return None


def identity(span: Any, raw: bytes) -> tuple[str, bool]:
    """(run id, whether this span ends its run); the trace id where no run id is given.

    The search in the encoded span only spares the walk over the attributes: a hit may lie in some
    other text.
    """
    parent = span.parent_span_id
    is_root = not parent or parent == NO_SPAN
    run_id = None
    if RUN_MARK in raw:
        for attribute in span.attributes:
            name = attribute.key
            if name == RUN_ID:
                run_id = attribute.value.string_value
            elif name == RUN_CALLS:
                is_root = True
    if run_id is None or HEX32.fullmatch(run_id) is None:
        return span.trace_id.hex(), is_root
    return run_id, is_root


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


def _place(r: int, s: int, i: int, span: Any) -> str:
    known = f" (trace_id {span.trace_id.hex() or 'empty'}, span_id {span.span_id.hex() or 'empty'})"
    return f"resource_spans[{r}].scope_spans[{s}].spans[{i}]" + known[:120]
