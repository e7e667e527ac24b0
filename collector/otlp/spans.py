"""Stored segments back to spans."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage

from collector.model import LAST_NS, NO_ATTRIBUTE, NO_ATTRIBUTES, Span
from collector.otlp.raw import Head, Traces

NO_SPAN = bytes(8)
STATUS = {0: "unset", 1: "ok", 2: "error"}


NOTHING: Mapping[bytes, bytes] = {}


def spans_of(payloads: Iterable[bytes], shared: Mapping[bytes, bytes] = NOTHING) -> Iterator[Span]:
    """The spans of a run's segments, each once, in the order of arrival.

    `shared` has the resources and scopes that the segments only name, by digest.
    """
    seen: set[bytes] = set()
    heads = _Heads(shared)
    trace, trace_hex = b"", ""  # nearly always the same for a whole run
    for payload in payloads:
        for resource_spans in Traces.FromString(payload).parts:
            resource = heads.resource(resource_spans)
            for scope_spans in resource_spans.parts:
                scope = heads.scope(scope_spans)
                for content in scope_spans.parts:
                    message = SpanMessage.FromString(content)
                    trace_id, span_id = message.trace_id, message.span_id
                    key = trace_id + span_id
                    if key in seen:
                        continue
                    seen.add(key)
                    if trace_id != trace:
                        trace, trace_hex = trace_id, trace_id.hex()
                    yield span_of(message, trace_hex, span_id, resource, scope)


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
    return Span(
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
    )


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
        for pair in pairs:
            self.first = (pair.key, plain(pair.value))
            break

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


def attributes(pairs: Iterable[Any]) -> dict[str, Any]:
    """Repeated KeyValue as a dict; the last of equal keys wins."""
    values: dict[str, Any] = {}
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
