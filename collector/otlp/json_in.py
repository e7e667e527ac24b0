"""OTLP/JSON to the same messages that protobuf gives (ids are hex here, not the base64 of proto3 JSON).

Unknown fields are ignored, as the protocol asks. A span that does not fit rejects itself only.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

import orjson
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from collector.model import Batch, Rejection
from collector.otlp.errors import for_want_of_memory, malformed, too_large
from collector.otlp.raw import Traces
from collector.otlp.segments import batch_of, bounded
from collector.settings import Limits


class Misfit(ValueError):
    """A value does not fit its field."""


def from_json(body: bytes, limits: Limits) -> Batch:
    """Decode an OTLP/JSON request; raises ExportError where nothing can be read."""
    if body.count(b"{") + body.count(b"[") > limits.containers:
        raise too_large("the number of objects and lists in one request", limits.containers, "send less")
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as flaw:
        if for_want_of_memory(flaw):
            raise MemoryError from None
        raise malformed(f"the body is not JSON: {flaw}") from None
    request = ExportTraceServiceRequest()
    rejections: list[Rejection] = []
    try:
        sources = listed(document, "resourceSpans", "the body")
        _check_counts(sources, limits)
        for r, resource_spans in enumerate(sources):
            _resource_spans(request, r, resource_spans, limits, rejections)
    except (ValueError, TypeError) as flaw:  # Misfit, or what protobuf itself refuses
        raise malformed(str(flaw)) from None
    return batch_of(Traces.FromString(request.SerializeToString()), limits, rejections)


def _check_counts(sources: list[Any], limits: Limits) -> None:
    """Before anything is made of them: small ones come in millions."""
    bounded(len(sources), "resourceSpans", limits)
    scopes = spans = 0
    for r, source in enumerate(sources):
        found = listed(source, "scopeSpans", f"resourceSpans[{r}]")
        scopes += len(found)
        bounded(scopes, "scopeSpans", limits)
        for s, scope in enumerate(found):
            spans += len(listed(scope, "spans", f"resourceSpans[{r}].scopeSpans[{s}]"))
    bounded(spans, "spans", limits)


def _resource_spans(request: Any, r: int, source: Any, limits: Limits, rejections: list[Rejection]) -> None:
    place = f"resourceSpans[{r}]"
    scopes = listed(source, "scopeSpans", place)
    target = request.resource_spans.add(schema_url=text(source, "schemaUrl"))
    resource = source.get("resource") or {}
    attributes(target.resource.attributes, resource, limits, f"{place}.resource")
    for s, scope_spans in enumerate(scopes):
        inner = f"{place}.scopeSpans[{s}]"
        spans = listed(scope_spans, "spans", inner)
        out = target.scope_spans.add(schema_url=text(scope_spans, "schemaUrl"))
        scope = scope_spans.get("scope") or {}
        if not isinstance(scope, dict):
            raise Misfit(f"{inner}.scope is {kind(scope)}; expected an object")
        out.scope.name, out.scope.version = text(scope, "name"), text(scope, "version")
        for i, span in enumerate(spans):
            where = f"{inner}.spans[{i}]"
            try:
                out.spans.append(span_message(span, limits))
            except Misfit as flaw:
                rejections.append(Rejection(where + _ids(span), str(flaw)))
            except (ValueError, TypeError, UnicodeEncodeError) as flaw:
                rejections.append(Rejection(where + _ids(span), f"a value does not fit its field: {flaw}"))


def span_message(source: Any, limits: Limits) -> SpanMessage:
    """One span; raises Misfit (or ValueError, TypeError from protobuf) where a value does not fit."""
    if not isinstance(source, dict):
        raise Misfit(f"the span is {kind(source)}; expected an object")
    status = source.get("status") or {}
    if not isinstance(status, dict):
        raise Misfit(f"status is {kind(status)}; expected an object")
    span = SpanMessage(
        trace_id=hex_id(source, "traceId"),
        span_id=hex_id(source, "spanId"),
        parent_span_id=hex_id(source, "parentSpanId"),
        trace_state=text(source, "traceState"),
        name=text(source, "name"),
        kind=enum(source, "kind", SpanMessage.SpanKind),
        start_time_unix_nano=number(source, "startTimeUnixNano"),
        end_time_unix_nano=number(source, "endTimeUnixNano"),
        flags=number(source, "flags"),
        dropped_attributes_count=number(source, "droppedAttributesCount"),
        dropped_events_count=number(source, "droppedEventsCount"),
        dropped_links_count=number(source, "droppedLinksCount"),
    )
    span.status.code = enum(status, "code", Status.StatusCode)
    span.status.message = text(status, "message")
    attributes(span.attributes, source, limits, "the span")
    for event in listed(source, "events", "the span", limits):
        out = span.events.add(time_unix_nano=number(event, "timeUnixNano"), name=text(event, "name"))
        attributes(out.attributes, event, limits, "an event")
    for link in listed(source, "links", "the span", limits):
        to = span.links.add(
            trace_id=hex_id(link, "traceId"),
            span_id=hex_id(link, "spanId"),
            trace_state=text(link, "traceState"),
        )
        attributes(to.attributes, link, limits, "a link")
    return span


def attributes(target: Any, owner: Any, limits: Limits, where: str) -> None:
    """Copy the `attributes` list of `owner` into a repeated KeyValue field."""
    for pair in listed(owner, "attributes", where, limits):
        if not isinstance(pair, dict) or not isinstance(pair.get("key"), str):
            raise Misfit(f"an attribute of {where} has no key")
        any_value(target.add(key=pair["key"]).value, pair.get("value"), limits, limits.depth)


def any_value(target: Any, source: Any, limits: Limits, depth: int) -> None:
    """Fill an AnyValue; null and an empty object mean no value."""
    if source is None:
        return
    if not isinstance(source, dict):
        raise Misfit(
            f'an attribute value is {kind(source)}; expected an object such as {{"stringValue": ...}}'
        )
    if depth == 0:
        raise Misfit(f"an attribute value is nested deeper than {limits.depth}")
    for name, value in source.items():
        if value is None:
            continue
        if name == "stringValue":
            target.string_value = text(source, name)
        elif name == "boolValue":
            if not isinstance(value, bool):
                raise Misfit(f"boolValue is {kind(value)}; expected true or false")
            target.bool_value = value
        elif name == "intValue":
            target.int_value = number(source, name, signed=True)
        elif name == "doubleValue":
            target.double_value = double(value)
        elif name == "bytesValue":
            target.bytes_value = base64_bytes(text(source, name))
        elif name == "arrayValue":
            target.array_value.SetInParent()
            for item in listed(value, "values", "an arrayValue", limits):
                any_value(target.array_value.values.add(), item, limits, depth - 1)
        elif name == "kvlistValue":
            target.kvlist_value.SetInParent()
            for pair in listed(value, "values", "a kvlistValue", limits):
                if not isinstance(pair, dict):
                    raise Misfit(f"a value of a kvlistValue is {kind(pair)}; expected an object with a key")
                entry = target.kvlist_value.values.add(key=text(pair, "key"))
                any_value(entry.value, pair.get("value"), limits, depth - 1)


def listed(owner: Any, name: str, where: str, limits: Limits | None = None) -> list[Any]:
    """The list `owner[name]`; missing or null means empty."""
    if not isinstance(owner, dict):
        raise Misfit(f"{where} is {kind(owner)}; expected an object")
    value = owner.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise Misfit(f"{name} of {where} is {kind(value)}; expected a list")
    if limits is not None and len(value) > limits.attributes:
        raise Misfit(f"{len(value)} {name} in {where}; at most {limits.attributes} are taken")
    return value


def text(owner: Mapping[str, Any], name: str) -> str:
    """`owner[name]` as text, "" where it is missing."""
    value = owner.get(name) if isinstance(owner, dict) else None
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Misfit(f"{name} is {kind(value)}; expected text")
    return value


def number(owner: Mapping[str, Any], name: str, *, signed: bool = False) -> int:
    """A whole number, which 64-bit fields write as text."""
    value = owner.get(name) if isinstance(owner, dict) else None
    if value is None or value == "":
        return 0
    if (
        isinstance(value, str) and len(value) <= 20 and value.isascii() and value.removeprefix("-").isdigit()
    ) or (isinstance(value, float) and value.is_integer()):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise Misfit(
            f"{name} is {value if isinstance(value, float) else kind(value)}; expected a whole number"
        )
    low, high = (-(2**63), 2**63) if signed else (0, 2**64)
    if not low <= value < high:
        raise Misfit(f"{name} is {value}; expected {low} <= {name} < {high}")
    return value


def double(value: Any) -> float:
    """A number; proto3 JSON writes the special ones as text."""
    if isinstance(value, str) and value in ("NaN", "Infinity", "-Infinity"):
        return float(value.replace("Infinity", "inf"))
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            raise Misfit(f"doubleValue is {value[:40]!r}; expected a number") from None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Misfit(f"doubleValue is {kind(value)}; expected a number")
    return float(value)


def enum(owner: Mapping[str, Any], name: str, values: Any) -> Any:
    """An enum by number or by name; unknown ones count as 0."""
    value = owner.get(name)
    if isinstance(value, str) and not value.isdigit():
        return int(values.Value(value)) if value in values.keys() else 0  # noqa: SIM118 (not a dict)
    found = number(owner, name)
    return found if found < 2**31 else 0


def hex_id(owner: Any, name: str) -> bytes:
    """An id: hex digits of either case; "" where it is missing."""
    if not isinstance(owner, dict):
        raise Misfit(f"the owner of {name} is {kind(owner)}; expected an object")
    value = text(owner, name)
    try:
        return bytes.fromhex(value) if value.isalnum() else _no_id(value, name)
    except ValueError:
        raise Misfit(f"{name} is {value[:40]!r}; expected hex digits") from None


def _no_id(value: str, name: str) -> bytes:
    if value:
        raise Misfit(f"{name} is {value[:40]!r}; expected hex digits")
    return b""


def base64_bytes(value: str) -> bytes:
    """Base64 of either alphabet, padded or not."""
    plain = value.replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise Misfit("bytesValue is not base64") from None


def kind(value: Any) -> str:
    """The JSON name of a value's type, for messages."""
    names = {dict: "an object", list: "a list", str: "text", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def _ids(span: Any) -> str:
    if not isinstance(span, dict):
        return ""
    return f" (traceId {str(span.get('traceId'))[:32]}, spanId {str(span.get('spanId'))[:16]})"
