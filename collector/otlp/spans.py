"""Stored segments back to spans."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from collector.model import Span

STATUS = {0: "unset", 1: "ok", 2: "error"}


def spans_of(payloads: Iterable[bytes]) -> Iterator[Span]:
    """The spans of a run's segments, each once, in the order of arrival."""
    seen: set[bytes] = set()
    for payload in payloads:
        for resource_spans in TracesData.FromString(payload).resource_spans:
            resource = attributes(resource_spans.resource.attributes)
            for scope_spans in resource_spans.scope_spans:
                scope = scope_spans.scope.name
                for message in scope_spans.spans:
                    key = message.trace_id + message.span_id
                    if key not in seen:
                        seen.add(key)
                        yield span_of(message, resource, scope)


def span_of(message: Any, resource: dict[str, Any], scope: str) -> Span:
    parent = message.parent_span_id
    failed, said = "unset", ""
    if message.HasField("status"):
        failed, said = STATUS.get(message.status.code, "unset"), message.status.message
    return Span(
        trace_id=message.trace_id.hex(),
        span_id=message.span_id.hex(),
        parent_id=parent.hex() if parent and any(parent) else None,
        name=message.name,
        start_ns=message.start_time_unix_nano,
        end_ns=message.end_time_unix_nano,
        status=failed,
        status_message=said,
        attributes=LazyAttributes(message.attributes),
        events=events_of(message.events) if message.events else (),
        resource=resource,
        scope=scope,
    )


def events_of(events: Iterable[Any]) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    return tuple((event.name, attributes(event.attributes)) for event in events)


class LazyAttributes(Mapping[str, Any]):
    """Attributes of a span, made into Python values when something beyond the first is asked for.

    Most spans are model calls with long messages. One look at their first attribute, the operation,
    says that no dialect needs the rest, which would cost more than everything else about the span.
    """

    __slots__ = ("_pairs", "_values")

    def __init__(self, pairs: Any) -> None:
        self._pairs = pairs
        self._values: dict[str, Any] | None = None

    def loaded(self) -> dict[str, Any]:
        """All of them, as a plain dict: quicker for many look-ups."""
        values = self._values
        if values is None:
            values = self._values = attributes(self._pairs)
        return values

    def get(self, key: str, default: Any = None) -> Any:
        if self._values is None and self._pairs:
            first = self._pairs[0]
            if first.key == key:
                return plain(first.value)
        return self.loaded().get(key, default)

    def __getitem__(self, key: str) -> Any:
        return self.loaded()[key]

    def first_key(self) -> str | None:
        """Name of the attribute that was set first."""
        return self._pairs[0].key if self._pairs else None

    def __iter__(self) -> Iterator[str]:
        return iter(self.loaded())

    def __len__(self) -> int:
        return len(self.loaded())


def attributes(pairs: Iterable[Any]) -> dict[str, Any]:
    """Repeated KeyValue as a dict; the last of equal keys wins."""
    return {pair.key: plain(pair.value) for pair in pairs}


def plain(value: Any) -> Any:
    """An AnyValue as a Python value; no value is None."""
    text = value.string_value  # by far the most frequent kind, and cheaper to try than to ask for
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
