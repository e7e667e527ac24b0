"""Finished spans -> OTLP protobuf bytes, written by hand: a third of the cost of building messages.

Only the part of the OTLP trace message that we emit exists here. `tests/pdoctor_trace/test_wire.py`
decodes the bytes with the official protobuf classes and compares field by field.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from struct import Struct
from typing import NamedTuple

from . import semconv
from .values import Truncated

AttributeValue = str | bytes | bool | int | tuple[str, ...]
"""Bytes are UTF-8 text already encoded (JSON from `values`)."""


SpanName = tuple[int, int]
"""(trace id, span id)."""
Pairs = tuple[AttributeValue | None, ...]
"""Alternating key and value; None values are left out."""


_KIND_INTERNAL, _KIND_CLIENT = b"\x30\x01", b"\x30\x03"
_TEXTS = (bytes, str, Truncated)
_KEYS: dict[str, bytes] = {}
_MAX_MEMO = 4_096


_ONE_BYTE = tuple(bytes((number,)) for number in range(128))


def _varint(number: int) -> bytes:
    if number < 128:
        return _ONE_BYTE[number]
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def _sized(tag: bytes, content: bytes) -> bytes:
    return tag + _varint(len(content)) + content


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
    if isinstance(value, tuple):
        return _sized(b"\x2a", b"".join(_sized(b"\x0a", _any_value(text)) for text in value))
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


def kept(pairs: Pairs) -> tuple[Pairs, int]:
    """The pairs that say something, which may wait long, and about how many bytes they have."""
    found: list[AttributeValue | None] = []
    size = 0
    for key, value in zip(pairs[::2], pairs[1::2], strict=True):
        if value is not None:
            found += (key, value)
            if type(value) in _TEXTS:
                size += len(value)  # type: ignore[arg-type]
    return tuple(found), size


def attribute_bytes(pairs: Pairs) -> bytes:
    """Attributes of a span, ready for `span_bytes`."""
    parts: list[bytes] = []
    for key, value in zip(pairs[::2], pairs[1::2], strict=True):
        if type(value) is str:
            value = _text(value)
        if type(value) is bytes or type(value) is Truncated:
            parts += (_TEXT_HEADS[key][len(value)], value)  # type: ignore[index]
        elif type(value) is int:
            parts.append(_NUMBERS[key][value])  # type: ignore[index]
        elif value is not None:
            parts.append(_attribute(b"\x4a", key, value))  # type: ignore[arg-type]
    return _joined(parts)


EVENTS = "events"
"""Where the events of a call stand among its rare attributes; their value is from `event_bytes`."""


def event_bytes(name: str, time_ns: int, pairs: Pairs) -> bytes:
    """Something that happened during a span, as the `events` field of its message."""
    happened = b"\x09" + time_ns.to_bytes(8, "little") + _sized(b"\x12", _text(name))
    return _sized(b"\x5a", happened + _attributes(pairs, b"\x1a"))


def run_bytes(trace_id: int, pairs: Pairs) -> bytes:
    """What all spans of a run share: the trace id and attributes, encoded."""
    return b"\x0a\x10" + trace_id.to_bytes(16, "big") + attribute_bytes(pairs)


class Head:
    """What repeats from call to call: the span's name and the attributes of the tool; encoded once."""

    __slots__ = ("encoded", "name", "pairs")

    def __init__(self, name: str, pairs: Pairs) -> None:
        self.name, self.pairs = name, pairs
        self.encoded = _name(name) + attribute_bytes(pairs)


class CallRecord(NamedTuple):
    """One finished tool call, kept small because thousands may wait for the collector."""

    head: Head
    run: bytes
    """From `run_bytes`."""
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
    rare: Mapping[str, AttributeValue] | None = None
    """Attributes that few calls have, and `EVENTS`."""


class SpanRecord(NamedTuple):
    """Any other finished span, as `span_bytes` takes it; whoever sends it encodes it."""

    run: bytes
    """From `run_bytes`."""
    span_id: int
    parent_id: int
    """0 = none."""
    name: str
    start_ns: int
    end_ns: int
    error: str | None
    """Status message of what failed; None = status unset."""
    pairs: Pairs
    client: bool = False
    """Whether it is of a request to a service."""
    link: SpanName | None = None
    """The span of another trace that it goes on from."""


Span = bytes | CallRecord | SpanRecord
"""A finished span; bytes are encoded already."""


class _Memo(dict[int, bytes]):
    """A function of a small number, remembered; of a large one, computed each time."""

    __slots__ = ("_compute",)

    def __init__(self, compute: Callable[[int], bytes]) -> None:
        super().__init__()
        self._compute = compute

    def __missing__(self, number: int) -> bytes:
        computed = self._compute(number)
        if 0 <= number < _MAX_MEMO:
            self[number] = computed
        return computed


def _numbers(key: str) -> _Memo:
    """Value of an integer attribute -> the attribute."""
    return _Memo(lambda number: _attribute(b"\x4a", key, number))


def _text_heads(key: str) -> _Memo:
    """Length of a text attribute's value -> all of the attribute that comes before that value."""

    def head(size: int) -> bytes:
        length = b"\x0a" + _varint(size)
        value = b"\x12" + _varint(len(length) + size) + length
        field = _key(key) + value
        return b"\x4a" + _varint(len(field) + size) + field

    return _Memo(head)


class _ByKey(dict[str, _Memo]):
    """What is remembered of each attribute; the keys are ours, so they are few."""

    __slots__ = ("_make",)

    def __init__(self, make: Callable[[str], _Memo]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: str) -> _Memo:
        made = self._make(key)
        if len(self) < _MAX_MEMO:
            self[key] = made
        return made


_SPANS = _Memo(lambda size: b"\x12" + _varint(size))
_NUMBERS, _TEXT_HEADS = _ByKey(_numbers), _ByKey(_text_heads)
_STEPS, _TURNS = _NUMBERS[semconv.STEP_INDEX], _NUMBERS[semconv.TURN_INDEX]
_CALL_IDS, _ERROR_TYPES = _TEXT_HEADS[semconv.TOOL_CALL_ID], _TEXT_HEADS[semconv.ERROR_TYPE]
_ARGUMENTS, _RESULTS = _TEXT_HEADS[semconv.TOOL_ARGUMENTS], _TEXT_HEADS[semconv.TOOL_RESULT]
_HAS_TEXT = _attribute(b"\x4a", semconv.TURN_HAS_TEXT, True)
_HAS_NO_TEXT = _attribute(b"\x4a", semconv.TURN_HAS_TEXT, False)
_TRUNCATED = _attribute(b"\x4a", semconv.TRUNCATED, True)
_ROOT_IDS = Struct(">2sQ").pack
_IDS = Struct(">2sQ2sQ").pack
_TIMES = Struct("<cQcQ").pack
_joined = b"".join


def call_bytes(record: CallRecord) -> bytes:
    """The call as the `spans` field of a ScopeSpans message.

    The order of fields is free in protobuf, so what repeats stands in front, encoded already.
    """
    head, run, own, above, start, end, error, kind, step, call_id, given, result, turn, has_text, rare = (
        record
    )
    parts = [
        run,
        head.encoded,
        _IDS(b"\x12\x08", own, b"\x22\x08", above) if above else _ROOT_IDS(b"\x12\x08", own),
        _TIMES(b"\x39", start, b"\x41", end),
        _STEPS[step],
    ]
    if call_id is not None:
        text = _text(call_id)
        parts += (_CALL_IDS[len(text)], text)
    if given is not None:
        parts += (_ARGUMENTS[len(given)], given)
    if result is not None:
        parts += (_RESULTS[len(result)], result)
    if turn is not None:
        parts.append(_TURNS[turn])
        if has_text is not None:
            parts.append(_HAS_TEXT if has_text else _HAS_NO_TEXT)
    if type(given) is Truncated or type(result) is Truncated:
        parts.append(_TRUNCATED)
    if rare is not None:
        parts.append(_rare_bytes(rare))
    if error is not None:
        text = _text(kind or "_OTHER")
        parts += (_ERROR_TYPES[len(text)], text, _failed(error))
    body = _joined(parts)
    return _SPANS[len(body)] + body


def _rare_bytes(rare: Mapping[str, AttributeValue]) -> bytes:
    said = attribute_bytes(tuple(part for pair in rare.items() if pair[0] != EVENTS for part in pair))
    events = rare.get(EVENTS, b"")
    return said + events if isinstance(events, bytes) else said


def span_bytes(
    run: bytes,
    span_id: int,
    parent_id: int,
    name: str,
    start_ns: int,
    end_ns: int,
    error: str | None,
    pairs: Pairs,
    client: bool = False,
    link: SpanName | None = None,
) -> bytes:
    """A `SpanRecord`, given by its fields, likewise."""
    ids = _ROOT_IDS(b"\x12\x08", span_id)
    if parent_id:
        ids = _IDS(b"\x12\x08", span_id, b"\x22\x08", parent_id)
    times = _TIMES(b"\x39", start_ns, b"\x41", end_ns)
    failed = b"" if error is None else _failed(error)
    named = _name(name, _KIND_CLIENT if client else _KIND_INTERNAL)
    linked = b"" if link is None else _link(*link)
    return _sized(b"\x12", _joined((run, named, ids, times, attribute_bytes(pairs), linked, failed)))


def encoded(span: Span) -> bytes:
    """The span as the `spans` field of a ScopeSpans message."""
    if type(span) is bytes:
        return span
    return span_bytes(*span) if type(span) is SpanRecord else call_bytes(span)  # type: ignore[arg-type]


def _link(trace_id: int, span_id: int) -> bytes:
    """A span of another trace that this one goes on from."""
    return _sized(b"\x6a", b"\x0a\x10" + trace_id.to_bytes(16, "big") + _ROOT_IDS(b"\x12\x08", span_id))


def _name(name: str, kind: bytes = _KIND_INTERNAL) -> bytes:
    return _sized(b"\x2a", _text(name)) + kind


def _failed(message: str) -> bytes:
    return _sized(b"\x7a", _sized(b"\x12", _text(message)) + b"\x18\x02")


def request_bytes(
    spans: Collection[bytes], resource: Mapping[str, AttributeValue], scope: str, version: str, schema: str
) -> bytes:
    """An ExportTraceServiceRequest around encoded spans; `schema` is the URL of their attributes' schema.

    The spans may be megabytes, so they are copied once.
    """
    flat = tuple(part for pair in resource.items() for part in pair)
    of_resource = _sized(b"\x0a", _attributes(flat, b"\x0a"))
    of_scope = _sized(b"\x0a", _sized(b"\x0a", _text(scope)) + _sized(b"\x12", _text(version)))
    of_schema = _sized(b"\x1a", _text(schema))
    size = len(of_scope) + sum(map(len, spans)) + len(of_schema)
    before = of_resource + b"\x12" + _varint(size) + of_scope
    whole = len(before) - len(of_scope) + size
    return _joined((b"\x0a", _varint(whole), before, *spans, of_schema))


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
