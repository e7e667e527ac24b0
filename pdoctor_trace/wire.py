"""Finished spans -> OTLP protobuf bytes, written by hand: a third of the cost of building messages.

Only the part of the OTLP trace message that we emit exists here. `tests/pdoctor_trace/test_wire.py`
decodes the bytes with the official protobuf classes and compares field by field.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from . import semconv
from .capture import Truncated

AttributeValue = str | bytes | bool | int
"""Bytes are UTF-8 text already encoded (JSON from `capture`)."""


class Record(NamedTuple):
    """One finished span, kept small because thousands may wait for the collector."""

    trace_id: int
    span_id: int
    parent_id: int
    """0 = none."""
    name: str
    start_ns: int
    end_ns: int
    error: str | None
    """Status message of a failed span; None = status unset."""
    head: tuple[AttributeValue | None, ...]
    """Attributes that repeat from call to call, encoded once: alternating key, value."""
    body: tuple[AttributeValue | None, ...]
    """Attributes of this span alone: alternating key, value; None values are left out."""


TRUNCATED = semconv.TRUNCATED
_KIND_INTERNAL = b"\x30\x01"
_HEADS: dict[tuple[AttributeValue | None, ...], bytes] = {}
_KEYS: dict[str, bytes] = {}
_MAX_MEMO = 4_096


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


_SMALL = tuple(_varint(number) for number in range(16_384))


def _sized(tag: bytes, content: bytes) -> bytes:
    size = len(content)
    return tag + (_SMALL[size] if size < 16_384 else _varint(size)) + content


def _text(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def _any_value(value: AttributeValue) -> bytes:
    if isinstance(value, bytes):
        return _sized(b"\x0a", value)
    if isinstance(value, str):
        return _sized(b"\x0a", _text(value))
    if isinstance(value, bool):
        return b"\x10\x01" if value else b"\x10\x00"
    return b"\x18" + _varint(value & 0xFFFF_FFFF_FFFF_FFFF)


def _key(key: str) -> bytes:
    """The key field of a KeyValue; ours are few, so they are encoded once."""
    encoded = _KEYS.get(key)
    if encoded is None:
        encoded = _sized(b"\x0a", _text(key))
        if len(_KEYS) < _MAX_MEMO:
            _KEYS[key] = encoded
    return encoded


def _attributes(pairs: Sequence[AttributeValue | None], tag: bytes) -> bytes:
    parts = []
    cut = False
    for index in range(0, len(pairs), 2):
        value = pairs[index + 1]
        if value is None:
            continue
        parts.append(_sized(tag, _key(pairs[index]) + _sized(b"\x12", _any_value(value))))  # type: ignore[arg-type]
        cut = cut or type(value) is Truncated
    if cut:
        parts.append(_sized(tag, _key(TRUNCATED) + _sized(b"\x12", _any_value(True))))
    return b"".join(parts)


def _head(pairs: tuple[AttributeValue | None, ...]) -> bytes:
    encoded = _HEADS.get(pairs)
    if encoded is None:
        encoded = _attributes(pairs, b"\x4a")
        if len(_HEADS) < _MAX_MEMO:
            _HEADS[pairs] = encoded
    return encoded


def span_bytes(record: Record) -> bytes:
    """The record as the `spans` field of a ScopeSpans message."""
    trace_id, span_id, parent_id, name, start, end, error, head, body = record
    parts = [
        b"\x0a\x10",
        trace_id.to_bytes(16, "big"),
        b"\x12\x08",
        span_id.to_bytes(8, "big"),
        b"\x22\x08" + parent_id.to_bytes(8, "big") if parent_id else b"",
        _sized(b"\x2a", _text(name)),
        _KIND_INTERNAL,
        b"\x39",
        start.to_bytes(8, "little"),
        b"\x41",
        end.to_bytes(8, "little"),
        _head(head),
        _attributes(body, b"\x4a"),
    ]
    if error is not None:
        parts.append(_sized(b"\x7a", _sized(b"\x12", _text(error)) + b"\x18\x02"))
    return _sized(b"\x12", b"".join(parts))


def request_bytes(
    spans: Iterable[bytes], resource: Mapping[str, AttributeValue], scope: str, version: str
) -> bytes:
    """An ExportTraceServiceRequest around encoded spans."""
    flat = tuple(part for pair in resource.items() for part in pair)
    scope_field = _sized(b"\x0a", _sized(b"\x0a", _text(scope)) + _sized(b"\x12", _text(version)))
    scope_spans = _sized(b"\x12", scope_field + b"".join(spans))
    return _sized(b"\x0a", _sized(b"\x0a", _attributes(flat, b"\x0a")) + scope_spans)


def rejected_spans(response: bytes) -> int:
    """`partial_success.rejected_spans` of an ExportTraceServiceResponse; 0 where there is none."""
    partial = _fields(response).get(1)
    if not isinstance(partial, bytes):
        return 0
    rejected = _fields(partial).get(1, 0)
    return rejected if isinstance(rejected, int) else 0


def _fields(message: bytes) -> dict[int, int | bytes]:
    """Top-level varint and length-delimited fields; reading stops at anything else or at the end."""
    found: dict[int, int | bytes] = {}
    position = 0
    while position < len(message):
        tag, position = _read_varint(message, position)
        value, position = _read_varint(message, position)
        if tag & 7 == 2:
            found[tag >> 3] = message[position : position + value]
            position += value
        elif tag & 7 == 0:
            found[tag >> 3] = value
        else:
            break
    return found


def _read_varint(message: bytes, position: int) -> tuple[int, int]:
    number = shift = 0
    while position < len(message):
        byte = message[position]
        position += 1
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            break
    return number, position
