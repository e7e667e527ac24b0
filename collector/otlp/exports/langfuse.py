"""Langfuse: observations, as its client, its API or its page exports them, alone or within their traces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from collector.dialects import langfuse as names
from collector.otlp.exports.rows import Place, Refused, Row
from collector.otlp.exports.told import Form, ToldSpan, each, instant, json_text, needed, optional

TYPES = frozenset(
    "AGENT CHAIN EMBEDDING EVALUATOR EVENT GENERATION GUARDRAIL RETRIEVER SPAN TOOL".split()  # noqa: SIM905
)


def knows(row: Row) -> bool:
    has_trace = "traceId" in row or "trace_id" in row or "trace" in row
    return has_trace and str(row.get("type")).upper() in TYPES and "span_data" not in row


def read(rows: Iterable[tuple[Place, Any]], refused: Refused) -> Iterator[ToldSpan]:
    yield from each(rows, refused, _span)


def _span(row: Row) -> ToldSpan:
    trace = row.get("trace")
    whole: Mapping[str, Any] = trace if isinstance(trace, Mapping) else {}
    kind = needed(row, "type").lower()
    failed = (optional(row, "level") or "").upper() == "ERROR"
    said = {
        names.TYPE: kind,
        names.INPUT: _text(row.get("input")),
        names.OUTPUT: _text(row.get("output")),
        names.MODEL: optional(row, "model", "providedModelName", "provided_model_name"),
        names.USAGE: _text(row.get("usageDetails") or row.get("usage_details") or row.get("usage")),
        names.SESSION: optional(row, "sessionId", "session_id") or optional(whole, "sessionId", "session_id"),
        names.VERSION: optional(row, "version") or optional(whole, "version"),
        names.RELEASE: optional(row, "release") or optional(whole, "release"),
        names.ENVIRONMENT: optional(row, "environment") or optional(whole, "environment"),
    }
    return ToldSpan(
        trace=optional(row, "traceId", "trace_id") or needed(whole, "id"),
        id=needed(row, "id"),
        parent=optional(row, "parentObservationId", "parent_observation_id"),
        name=optional(row, "name") or kind,
        start_ns=instant(row, "startTime", "start_time"),
        end_ns=instant(row, "endTime", "end_time"),
        attributes={name: value for name, value in said.items() if value is not None},
        error=(optional(row, "statusMessage", "status_message") or "error") if failed else None,
        scope=names.SCOPE,
    )


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json_text(value)


FORM = Form("Langfuse observations", knows, read)
