"""Phoenix: the data frame of its client (`get_spans_dataframe()`), as JSON or Parquet.

Its attributes are OpenInference's, nested and in columns `attributes.*`; the dialect reads them flat.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from collector.otlp.exports.rows import Place, Refused, Row
from collector.otlp.exports.told import Form, ToldSpan, each, instant, needed, optional
from synth.errors import BadInput
from synth.observed import kind_of

SCOPE = "openinference.instrumentation.export"
PREFIX = "attributes."
KIND = "openinference.span.kind"
WHOLE = ("metadata", "llm.invocation_parameters", "tool.parameters")
"""Attributes that are JSON text, though the frame may have them as values."""


def knows(row: Row) -> bool:
    return "context.span_id" in row


def read(rows: Iterable[tuple[Place, Any]], refused: Refused) -> Iterator[ToldSpan]:
    yield from each(rows, refused, _span)


def _span(row: Row) -> ToldSpan:
    attributes = dict(_flat(_nested(row)))
    kind = optional(row, "span_kind")
    if kind is not None:
        attributes.setdefault(KIND, kind)
    failed = (optional(row, "status_code") or "").upper() == "ERROR"
    service = attributes.pop("service.name", None)
    return ToldSpan(
        trace=needed(row, "context.trace_id"),
        id=needed(row, "context.span_id"),
        parent=optional(row, "parent_id"),
        name=optional(row, "name") or "",
        start_ns=instant(row, "start_time"),
        end_ns=instant(row, "end_time"),
        attributes=attributes,
        error=(_raised(row) or optional(row, "status_message") or "error") if failed else None,
        resource={} if service is None else {"service.name": service},
        scope=SCOPE,
    )


def _nested(row: Row) -> Iterator[tuple[str, Any]]:
    """Attributes by name: in columns of their own, and in one of all."""
    for name, value in row.items():
        if name.startswith(PREFIX):
            yield name.removeprefix(PREFIX), value
    whole = row.get("attributes")
    if whole is not None and not isinstance(whole, Mapping):
        raise BadInput(f"expected an object, got {kind_of(whole)}", field="attributes")
    yield from (whole or {}).items()


def _flat(pairs: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    for name, value in pairs:
        if value is None or (isinstance(value, float) and math.isnan(value)):
            continue
        if name not in WHOLE and isinstance(value, Mapping):
            yield from _flat((f"{name}.{key}", inner) for key, inner in value.items())
        elif name not in WHOLE and isinstance(value, list) and any(isinstance(one, Mapping) for one in value):
            yield from _flat((f"{name}.{number}", inner) for number, inner in enumerate(value))
        else:
            yield name, value


def _raised(row: Row) -> str | None:
    """The message of the exception, where the events have one."""
    events = row.get("events")
    for event in events if isinstance(events, list) else ():
        said = event.get("attributes") if isinstance(event, Mapping) else None
        for name, value in _flat((said or {}).items()) if isinstance(said, Mapping) else ():
            if name == "exception.message" and isinstance(value, str) and value:
                return value
    return None


FORM = Form("Phoenix spans", knows, read)
