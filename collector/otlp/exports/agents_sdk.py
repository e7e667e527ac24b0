"""OpenAI Agents SDK: what its exporter sends to the tracing backend, `trace` and `trace.span` objects.

Their words become those of the GenAI conventions: a function is a tool call, a generation or a response a
request to a model. A span without a name of its own agent is inside of the agent around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from collector.dialects.names import (
    AGENT_NAME,
    CONVERSATION_ID,
    EXECUTED,
    INPUT_MESSAGES,
    INPUT_TOKENS,
    OPERATION_NAME,
    OUTPUT_MESSAGES,
    OUTPUT_TOKENS,
    REQUEST_MODEL,
    TOOL_ARGUMENTS,
    TOOL_DEFINITIONS,
    TOOL_NAME,
    TOOL_RESULT,
)
from collector.otlp.exports.rows import Place, Refused, Row, as_row
from collector.otlp.exports.told import Form, ToldSpan, each, instant, json_text, needed, optional
from synth.errors import BadInput
from synth.observed import kind_of

SCOPE = "openai.agents.export"
UNREAD = "Invalid JSON input for tool"
"""So the SDK's error begins where it could not read a call's arguments: the tool was not started."""


def knows(row: Row) -> bool:
    return row.get("object") in ("trace", "trace.span")


def read(rows: Iterable[tuple[Place, Any]], refused: Refused) -> Iterator[ToldSpan]:
    """The spans; what the SDK says of a trace (its conversation, facts about it) is said of its top span."""
    traces: dict[str, Row] = {}
    spans: list[ToldSpan] = []
    others: list[tuple[Place, Any]] = []
    for place, value in rows:
        if isinstance(value, Mapping) and value.get("object") == "trace":
            try:
                traces.setdefault(needed(as_row(value), "id"), value)
            except BadInput as bad:
                refused(place, str(bad))
        else:
            others.append((place, value))
    spans.extend(each(others, refused, _span))
    for span in spans:
        yield span if span.trace not in traces else _of_trace(span, traces[span.trace])


def _of_trace(span: ToldSpan, trace: Row) -> ToldSpan:
    said: dict[str, Any] = {}
    if isinstance(trace.get("group_id"), str):
        said[CONVERSATION_ID] = trace["group_id"]
    metadata = trace.get("metadata")
    if span.parent is None and isinstance(metadata, Mapping):
        said |= {str(name): value for name, value in metadata.items() if isinstance(value, str | int | float)}
    return replace(span, attributes={**said, **span.attributes})


def _span(row: Row) -> ToldSpan:
    data = row.get("span_data")
    if not isinstance(data, Mapping):
        raise BadInput(f"expected an object, got {kind_of(data)}", field="span_data")
    kind = needed(data, "type")
    error = _error(row.get("error"))
    said = _said(kind, data)
    if kind == "function" and error is not None and UNREAD in error:
        said[EXECUTED] = False
    return ToldSpan(
        trace=needed(row, "trace_id"),
        id=needed(row, "id"),
        parent=optional(row, "parent_id"),
        name=optional(data, "name") or kind,
        start_ns=instant(row, "started_at"),
        end_ns=instant(row, "ended_at"),
        attributes={name: value for name, value in said.items() if value is not None},
        error=error,
        scope=SCOPE,
    )


def _said(kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
    if kind == "function":
        return {
            OPERATION_NAME: "execute_tool",
            TOOL_NAME: needed(data, "name"),
            TOOL_ARGUMENTS: _text(data.get("input")),
            TOOL_RESULT: _text(data.get("output")),
        }
    if kind == "agent":
        return {
            OPERATION_NAME: "invoke_agent",
            AGENT_NAME: optional(data, "name"),
            TOOL_DEFINITIONS: _tools(data.get("tools")),
        }
    if kind == "custom" and _is_task(data.get("data")):
        return {OPERATION_NAME: "invoke_workflow", AGENT_NAME: optional(data, "name")}
    if kind in ("generation", "response"):
        usage = data.get("usage")
        counted: Mapping[str, Any] = usage if isinstance(usage, Mapping) else {}
        return {
            OPERATION_NAME: "chat",
            REQUEST_MODEL: optional(data, "model"),
            INPUT_MESSAGES: _text(data.get("input")),
            OUTPUT_MESSAGES: _text(data.get("output")),
            INPUT_TOKENS[0]: counted.get("input_tokens"),
            OUTPUT_TOKENS[0]: counted.get("output_tokens"),
        }
    return {"openai.agents.span": kind}


def _is_task(data: Any) -> bool:
    """Is it the span around a whole run, which newer releases have?"""
    return isinstance(data, Mapping) and data.get("sdk_span_type") == "task"


def _tools(listed: Any) -> str | None:
    return json_text(listed) if isinstance(listed, list) else None


def _error(said: Any) -> str | None:
    if said is None:
        return None
    if not isinstance(said, Mapping):
        raise BadInput(f"expected an object, got {kind_of(said)}", field="error")
    inner = said.get("data")
    reason = inner.get("error") if isinstance(inner, Mapping) else None
    return ": ".join(one for one in (said.get("message"), reason) if isinstance(one, str)) or "error"


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json_text(value)


FORM = Form("OpenAI Agents traces", knows, read)
