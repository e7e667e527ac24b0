"""Stored segments back to spans."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage

from collector.dialects.names import OPERATION_NAME
from collector.model import LAST_NS, NO_ATTRIBUTE, NO_ATTRIBUTES, Span
from collector.otlp.raw import Head, Traces, WholeTraces

NO_SPAN = bytes(8)
STATUS = {0: "unset", 1: "ok", 2: "error"}
WHOLE_BYTES = 256 * 1024
"""A bigger payload is decoded span by span: small elements take thirty times their bytes in memory."""
CALL = (OPERATION_NAME, "execute_tool")
"""The first attribute of most tool calls, of which the others are looked at as well."""


NOTHING: Mapping[bytes, bytes] = {}


def spans_of(payloads: Iterable[bytes], shared: Mapping[bytes, bytes] = NOTHING) -> Iterator[Span]:
    """The spans of a run's segments, each once, in the order of arrival.

    `shared` has the resources and scopes that the segments only name, by digest.
    """
    payloads = list(payloads)
    seen: set[bytes] = set()
    several = len(payloads) > 1  # in one no span is twice
    heads = _Heads(shared)
    trace, trace_hex = b"", ""  # nearly always the same for a whole run
    for resource, scope, messages in _messages(payloads, heads):
        for message in messages:
            trace_id, span_id = message.trace_id, message.span_id
            if several:
                key = trace_id + span_id
                if key in seen:
                    continue
                seen.add(key)
            if trace_id != trace:
                trace, trace_hex = trace_id, trace_id.hex()
            yield span_of(message, trace_hex, span_id, resource, scope)


def _messages(
    payloads: Iterable[bytes], heads: _Heads
) -> Iterator[tuple[Mapping[str, Any], str, Iterable[Any]]]:
    """(resource, scope, decoded spans) of each part of the payloads."""
    for payload in payloads:
        traces = _whole(payload)
        parts = Traces.FromString(payload).parts if traces is None else traces.parts
        for resource_spans in parts:
            resource = heads.resource(resource_spans)
            for scope_spans in resource_spans.parts:
                spans = scope_spans.parts
                yield (
                    resource,
                    heads.scope(scope_spans),
                    (map(SpanMessage.FromString, spans) if traces is None else spans),
                )


def _whole(payload: bytes) -> Any:
    """A payload with its spans; None where it is big, or damaged: then each is read as far as it can be."""
    if len(payload) > WHOLE_BYTES:
        return None
    try:
        return WholeTraces.FromString(payload)
    except DecodeError:
        return None


class _Heads:
    """What the resources and scopes of one run say, each decoded once."""

    def __init__(self, shared: Mapping[bytes, bytes]) -> None:
        self._shared = shared
        self._resources: dict[bytes, Mapping[str, Any]] = {b"": NO_ATTRIBUTES}
        self._scopes: dict[bytes, str] = {b"": ""}

    def resource(self, part: Any) -> Mapping[str, Any]:
        """The attributes of a resource; without any where it is named and missing."""
        key = part.shared or part.content
        found = self._resources.get(key)
        if found is None:
            found = self._resources[key] = attributes(Resource.FromString(self._content(part)).attributes)
        return found

    def scope(self, part: Any) -> str:
        """The name of a scope."""
        key = part.shared or part.content
        found = self._scopes.get(key)
        if found is None:
            found = self._scopes[key] = InstrumentationScope.FromString(self._content(part)).name
        return found

    def _content(self, part: Any) -> bytes:
        if not part.shared:
            return bytes(part.content)
        return bytes(Head.FromString(self._shared.get(part.shared, b"")).content)


def span_of(message: Any, trace_id: str, span_id: bytes, resource: Mapping[str, Any], scope: str) -> Span:
    parent = message.parent_span_id
    status, said = "unset", ""
    if message.HasField("status"):
        status, said = STATUS.get(message.status.code, "unset"), message.status.message
    events = message.events
    start_ns, end_ns = message.start_time_unix_nano, message.end_time_unix_nano
    if start_ns > LAST_NS or end_ns > LAST_NS:
        start_ns, end_ns = min(start_ns, LAST_NS), min(end_ns, LAST_NS)
    return _new_span(
        Span,
        (
            trace_id,
            span_id.hex(),
            parent.hex() if parent and parent != NO_SPAN else None,
            message.name,
            start_ns,
            end_ns,
            status,
            said,
            LazyAttributes(message.attributes),
            events_of(events) if events else (),
            resource,
            scope,
            message.flags,
            message.trace_state,
            message.dropped_attributes_count,
        ),
    )


_new_span = tuple.__new__
"""Past the generated `__new__` of `Span`, which takes as long as the rest."""


def events_of(events: Iterable[Any]) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    return tuple((event.name, attributes(event.attributes)) for event in events)


class LazyAttributes(Mapping[str, Any]):
    """Attributes of a span, made into Python values when something beyond the first is asked for.

    Most spans are model calls with long messages. One look at their first attribute, the operation,
    says that no dialect needs the rest, which would cost more than everything else about the span.
    `first` is its key and value.
    """

    __slots__ = ("_pairs", "_values", "first")

    def __init__(self, pairs: Any) -> None:
        self._pairs = pairs
        self._values: dict[str, Any] | None = None
        self.first: tuple[str | None, Any] = NO_ATTRIBUTE
        each = iter(pairs)
        for pair in each:
            value = pair.value
            self.first = (pair.key, value.string_value or plain(value))
            break
        if self.first == CALL:
            self._values = attributes(each, dict([CALL]))

    def loaded(self) -> dict[str, Any]:
        """All of them, as a plain dict: quicker for many look-ups."""
        values = self._values
        if values is None:
            values = self._values = attributes(self._pairs)
        return values

    def get(self, key: str, default: Any = None) -> Any:
        if self._values is None and self.first[0] == key:
            return self.first[1]
        return self.loaded().get(key, default)

    def __getitem__(self, key: str) -> Any:
        return self.loaded()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.loaded())

    def __len__(self) -> int:
        return len(self.loaded())


def attributes(pairs: Iterable[Any], before: dict[str, Any] | None = None) -> dict[str, Any]:
    """Repeated KeyValue as a dict; the last of equal keys wins. `before`: what is read already of them."""
    values = {} if before is None else before
    for pair in pairs:
        value = pair.value
        values[pair.key] = value.string_value or plain(value)  # nearly all are text, and not empty
    return values


def plain(value: Any) -> Any:
    """An AnyValue as a Python value; no value is None."""
    text = value.string_value  # cheaper to try than to ask for
    if text:
        return text
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    if kind == "array_value":
        return [plain(item) for item in value.array_value.values]
    if kind == "kvlist_value":
        return attributes(value.kvlist_value.values)
    return getattr(value, kind)
