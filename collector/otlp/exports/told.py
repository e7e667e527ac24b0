"""A span as an export tells of it, and spans as an OTLP request."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any, NamedTuple

import orjson
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from collector.model import LAST_NS
from collector.otlp.exports.rows import Place, Refused, Row, as_row
from synth.errors import BadInput
from synth.observed import kind_of, text_in

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
UNITS = ((10**17, 1), (10**14, 10**3), (10**11, 10**6), (0, 10**9))
"""A number from the first of these on is in units of as many nanoseconds."""
_HEX = re.compile(r"[0-9a-f]+")


@dataclass(frozen=True, slots=True)
class ToldSpan:
    """One span; ids are those of the export."""

    trace: str
    id: str
    parent: str | None
    name: str
    start_ns: int
    end_ns: int
    """0 = it goes on."""
    attributes: Mapping[str, Any]
    error: str | None = None
    resource: Mapping[str, Any] = field(default_factory=dict)
    scope: str = ""
    place: Place = ""

    @property
    def run_id(self) -> str:
        """Of the run that the collector makes of it."""
        return trace_hex(self.trace)


class Form(NamedTuple):
    """The export of one product."""

    name: str
    knows: Callable[[Row], bool]
    """Is a row one of its?"""
    read: Callable[[Iterable[tuple[Place, Any]], Refused], Iterator[ToldSpan]]


def each(
    rows: Iterable[tuple[Place, Any]], refused: Refused, read: Callable[[Row], ToldSpan | None]
) -> Iterator[ToldSpan]:
    """What `read` makes of each row; what it raises BadInput for is refused."""
    for place, value in rows:
        try:
            span = read(as_row(value))
        except BadInput as bad:
            refused(place, str(bad))
            continue
        if span is not None:
            yield span


def once_each(spans: Iterable[ToldSpan], refused: Refused) -> Iterator[ToldSpan]:
    """The first of several spans of one id in a trace; another one that says something else is refused."""
    known: dict[tuple[str, str], ToldSpan] = {}
    for span in spans:
        first = known.setdefault((span.run_id, span_hex(span.id)), span)
        if first is span:
            yield span
        elif first != span:
            refused(span.id, "stands there twice and says different things; the first is taken")


def needed(row: Row, *names: str) -> str:
    """The first of these fields that has text; BadInput where none has."""
    for name in names:
        found = text_in(row, name)
        if found:
            return found
    raise BadInput(f"a row needs {' or '.join(names)}", field=names[0])


def optional(row: Row, *names: str) -> str | None:
    """The first of these fields that has text, None where none has; BadInput for what is no text."""
    return next((found for name in names if (found := text_in(row, name))), None)


def instant(row: Row, *names: str) -> int:
    """Wall-clock nanoseconds of the first of these fields that says something; 0 where none does.

    Text is ISO 8601 (without an offset: UTC); a number is in seconds, milli-, micro- or nanoseconds, by
    its size.
    """
    for name in names:
        value = row.get(name)
        if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
            continue
        ns = _nanoseconds(value, name)
        if not 0 < ns < LAST_NS:
            raise BadInput(f"{value!r} is no time between 1970 and 2262", field=name)
        return ns
    return 0


def _nanoseconds(value: Any, name: str) -> int:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise BadInput(
                f"expected a time such as 2026-11-20T10:00:00Z, got {kind_of(value)}", field=name
            ) from None
    if isinstance(value, datetime):
        told = value if value.tzinfo else value.replace(tzinfo=UTC)
        return (told - EPOCH) // timedelta(microseconds=1) * 1000
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise BadInput(f"expected a time, got {kind_of(value)}", field=name)
    return next(round(value * unit) for least, unit in UNITS if abs(value) >= least)


def trace_hex(text: str) -> str:
    """32 hex digits: those of the export where it has them (a UUID, too), else a digest."""
    plain = text.lower().replace("-", "").removeprefix("trace_")
    if len(plain) == 32 and _HEX.fullmatch(plain) and plain.strip("0"):
        return plain
    return blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()


def span_hex(text: str) -> str:
    """16 hex digits, likewise."""
    plain = text.lower()
    if len(plain) == 16 and _HEX.fullmatch(plain) and plain.strip("0"):
        return plain
    return blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


def request_of(spans: Sequence[ToldSpan]) -> bytes:
    """An ExportTraceServiceRequest in protobuf."""
    request = ExportTraceServiceRequest()
    sources: dict[tuple[str, bytes], Any] = {}
    for span in spans:
        key = span.scope, orjson.dumps(dict(span.resource), option=orjson.OPT_SORT_KEYS)
        if key not in sources:
            resource = request.resource_spans.add()
            _set(resource.resource.attributes, span.resource)
            sources[key] = resource.scope_spans.add()
            sources[key].scope.name = span.scope
        _add(sources[key].spans.add(), span)
    return bytes(request.SerializeToString())


def _add(target: Any, span: ToldSpan) -> None:
    target.trace_id, target.span_id = bytes.fromhex(span.run_id), bytes.fromhex(span_hex(span.id))
    if span.parent is not None:
        target.parent_span_id = bytes.fromhex(span_hex(span.parent))
    target.name = _clean(span.name)
    target.start_time_unix_nano, target.end_time_unix_nano = span.start_ns, span.end_ns
    _set(target.attributes, span.attributes)
    if span.error is not None:
        target.status.code, target.status.message = Status.STATUS_CODE_ERROR, _clean(span.error)


def _set(target: Any, attributes: Mapping[str, Any]) -> None:
    for key, value in attributes.items():
        if value is not None:
            _fill(target.add(key=_clean(key)).value, value)


def _fill(target: Any, value: Any) -> None:
    """An AnyValue: what is neither text nor a number or a flag is JSON text."""
    if isinstance(value, bool):
        target.bool_value = value
    elif isinstance(value, int) and -(2**63) <= value < 2**63:
        target.int_value = value
    elif isinstance(value, float):
        target.double_value = value
    elif isinstance(value, str):
        target.string_value = _clean(value)
    else:
        target.string_value = json_text(value)


def json_text(value: Any) -> str:
    """JSON text of what a file said; times of Parquet are ISO 8601, what has no form is its text."""
    return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode()


def _clean(text: str) -> str:
    """Text that UTF-8 can hold."""
    return text.encode("utf-8", "replace").decode()
