"""Finished spans -> OTLP protobuf bytes, written by hand: a third of the cost of building messages.

Only the part of the OTLP trace message that we emit exists here. `tests/pdoctor_trace/test_wire.py`
decodes the bytes with the official protobuf classes and compares field by field.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from . import semconv
from .capture import Truncated

AttributeValue = str | bytes | bool | int
"""Bytes are UTF-8 text already encoded (JSON from `capture`)."""


Pairs = tuple[AttributeValue | None, ...]
"""Alternating key and value; None values are left out."""


_KIND_INTERNAL = b"\x30\x01"
_KEYS: dict[str, bytes] = {}
_MAX_MEMO = 4_096
_SHORT = 16_000
"""Values up to here, with their key, have lengths in the table below."""


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


def _attribute(tag: bytes, key: str, value: AttributeValue) -> bytes:
    return _sized(tag, _key(key) + _sized(b"\x12", _any_value(value)))


def _attributes(pairs: Pairs, tag: bytes) -> bytes:
    found = zip(pairs[::2], pairs[1::2], strict=True)
    return b"".join(_attribute(tag, key, value) for key, value in found if value is not None)  # type: ignore[arg-type]


def as_dict(pairs: Pairs) -> dict[str, AttributeValue | None]:
    """The pairs by key."""
    return dict(zip(pairs[::2], pairs[1::2], strict=True))  # type: ignore[arg-type]


def attribute_bytes(pairs: Pairs) -> bytes:
    """Attributes of a span, ready for `span_bytes`."""
    return _attributes(pairs, b"\x4a")


class Head:
    """What repeats from call to call: the span's name and the attributes of the tool; encoded once."""

    __slots__ = ("attributes", "name", "name_field", "pairs")

    def __init__(self, name: str, pairs: Pairs) -> None:
        self.name, self.pairs = name, pairs
        self.name_field = _sized(b"\x2a", _text(name)) + _KIND_INTERNAL + b"\x39"
        self.attributes = attribute_bytes(pairs)


class CallRecord(NamedTuple):
    """One finished tool call, kept small because thousands may wait for the collector."""

    head: Head
    trace_id: int
    run: bytes
    """Attributes that all spans of the run share, from `attribute_bytes`."""
    span_id: int
    parent_id: int
    """0 = none."""
    start_ns: int
    end_ns: int
    error: str | None
    """Status message of a failed call; None = status unset."""
    error_type: str | None
    step: int
    call_id: str | None
    arguments: bytes | None
    result: bytes | None
    turn: int | None
    has_text: bool | None


def call_bytes(record: CallRecord) -> bytes:
    """The call as the `spans` field of a ScopeSpans message."""
    head, trace_id, run, span_id, parent_id = record[:5]
    start, end, error, error_type, step = record[5:10]
    call_id, arguments, result, turn, has_text = record[10:]
    parts = [
        *_frame(trace_id, span_id, parent_id, head.name_field, start, end),
        head.attributes,
        run,
        _number(_STEP, step),
    ]
    if call_id is not None:
        parts.append(_string(_CALL_ID, _text(call_id)))
    if arguments is not None:
        parts.append(_string(_ARGUMENTS, arguments))
    if result is not None:
        parts.append(_string(_RESULT, result))
    if turn is not None:
        parts.append(_number(_TURN, turn))
        if has_text is not None:
            parts.append(_HAS_TEXT if has_text else _HAS_NO_TEXT)
    if type(arguments) is Truncated or type(result) is Truncated:
        parts.append(_TRUNCATED)
    if error is not None:
        parts.append(_string(_ERROR_TYPE, _text(error_type or "_OTHER")))
        parts.append(_failed(error))
    return _sized(b"\x12", b"".join(parts))


def span_bytes(
    trace_id: int,
    span_id: int,
    parent_id: int,
    name: str,
    start_ns: int,
    end_ns: int,
    error: str | None,
    run: bytes,
    pairs: Pairs,
) -> bytes:
    """Any other finished span (of an agent run), likewise."""
    name_field = _sized(b"\x2a", _text(name)) + _KIND_INTERNAL + b"\x39"
    parts = [*_frame(trace_id, span_id, parent_id, name_field, start_ns, end_ns), run, attribute_bytes(pairs)]
    if error is not None:
        parts.append(_failed(error))
    return _sized(b"\x12", b"".join(parts))


def _frame(
    trace_id: int, span_id: int, parent_id: int, name_field: bytes, start_ns: int, end_ns: int
) -> tuple[bytes, ...]:
    return (
        b"\x0a\x10",
        trace_id.to_bytes(16, "big"),
        b"\x12\x08",
        span_id.to_bytes(8, "big"),
        b"\x22\x08" + parent_id.to_bytes(8, "big") if parent_id else b"",
        name_field,
        start_ns.to_bytes(8, "little"),
        b"\x41",
        end_ns.to_bytes(8, "little"),
    )


def _failed(message: str) -> bytes:
    return _sized(b"\x7a", _sized(b"\x12", _text(message)) + b"\x18\x02")


def _number(key: bytes, value: int) -> bytes:
    """An integer attribute under an encoded key."""
    number = b"\x18" + (_SMALL[value] if 0 <= value < 16_384 else _varint(value & 0xFFFF_FFFF_FFFF_FFFF))
    return _sized(b"\x4a", key + _sized(b"\x12", number))


def _string(key: bytes, text: bytes) -> bytes:
    """A string attribute under an encoded key; one copy of the text instead of three."""
    size = len(text)
    if size > _SHORT:
        return _sized(b"\x4a", key + _sized(b"\x12", _sized(b"\x0a", text)))
    length = _SMALL[size]
    inner = size + 1 + len(length)
    outer = len(key) + 1 + len(_SMALL[inner]) + inner
    return b"".join((b"\x4a", _SMALL[outer], key, b"\x12", _SMALL[inner], b"\x0a", length, text))


_STEP, _TURN = _key(semconv.STEP_INDEX), _key(semconv.TURN_INDEX)
_CALL_ID, _ERROR_TYPE = _key(semconv.TOOL_CALL_ID), _key(semconv.ERROR_TYPE)
_ARGUMENTS, _RESULT = _key(semconv.TOOL_ARGUMENTS), _key(semconv.TOOL_RESULT)
_HAS_TEXT = _attribute(b"\x4a", semconv.TURN_HAS_TEXT, True)
_HAS_NO_TEXT = _attribute(b"\x4a", semconv.TURN_HAS_TEXT, False)
_TRUNCATED = _attribute(b"\x4a", semconv.TRUNCATED, True)


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
