"""LangSmith: runs as its client's `list_runs()` gives them, as JSON, or the rows of a bulk export."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from collector.dialects import langsmith as names
from collector.dialects.names import INPUT_TOKENS, OUTPUT_TOKENS, REQUEST_MODEL, TOOL_DEFINITIONS
from collector.dialects.reading import json_value
from collector.otlp.exports.rows import Place, Refused, Row
from collector.otlp.exports.told import Form, ToldSpan, each, instant, json_text, needed, optional
from synth.errors import BadInput
from synth.observed import kind_of

LONGEST_LITERAL = 65_536
"""Characters of a dict as Python spells it; longer ones stay text."""
DEEPEST_LITERAL = 500
"""Opening brackets of one kind in it."""


def knows(row: Row) -> bool:
    return "run_type" in row and "id" in row


def read(rows: Iterable[tuple[Place, Any]], refused: Refused) -> Iterator[ToldSpan]:
    yield from each(rows, refused, _span)


def _span(row: Row) -> ToldSpan:
    kind, own = needed(row, "run_type"), needed(row, "id")
    inputs, outputs = _object(row, "inputs"), _object(row, "outputs")
    extra = _object(row, "extra") or {}
    metadata = extra.get("metadata")
    said: dict[str, Any] = {names.KIND: kind}
    for name, value in metadata.items() if isinstance(metadata, Mapping) else ():
        if isinstance(value, str | int | float):
            said[names.METADATA + str(name)] = value
    if kind == "tool":
        said["gen_ai.prompt"], said["gen_ai.completion"] = _arguments(inputs), _text(outputs)
    else:
        said["gen_ai.prompt"], said["gen_ai.completion"] = _text(inputs), _text(outputs)
    if kind == "llm":
        said |= _model(inputs or {}, extra, said)
    root = optional(row, "parent_run_id") is None
    return ToldSpan(
        trace=optional(row, "trace_id") or (own if root else needed(row, "trace_id")),
        id=own,
        parent=optional(row, "parent_run_id"),
        name=optional(row, "name") or kind,
        start_ns=instant(row, "start_time"),
        end_ns=instant(row, "end_time"),
        attributes={name: value for name, value in said.items() if value is not None},
        error=optional(row, "error"),
        scope=names.SCOPE,
    )


def _object(row: Row, name: str) -> Mapping[str, Any] | None:
    """A field that is an object; bulk exports have its JSON text."""
    value = json_value(row.get(name))
    if value is not None and not isinstance(value, Mapping):
        raise BadInput(f"expected an object, got {kind_of(value)}", field=name)
    return value


def _arguments(inputs: Mapping[str, Any] | None) -> str | None:
    """A LangChain tool has the text of its arguments in `input`: JSON, or as Python spells a dict."""
    if inputs is None or set(inputs) != {"input"} or not isinstance(inputs["input"], str):
        return _text(inputs)
    said = json_value(inputs["input"])
    if isinstance(said, Mapping):
        return inputs["input"]
    return _literal(inputs["input"]) or json_text(inputs)


def _literal(said: str) -> str | None:
    """The dict of Python that a text spells, as JSON, where it does and JSON can hold it."""
    if said[:1] != "{" or len(said) > LONGEST_LITERAL or max(map(said.count, "{[(")) > DEEPEST_LITERAL:
        return None
    try:
        value = ast.literal_eval(said)
        return json_text(value) if isinstance(value, Mapping) else None
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _model(inputs: Mapping[str, Any], extra: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    given = extra.get("invocation_params")
    parameters: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    tools = inputs.get("tools") or parameters.get("tools")
    metadata = extra.get("metadata")
    usage = metadata.get("usage_metadata") if isinstance(metadata, Mapping) else None
    counted: Mapping[str, Any] = usage if isinstance(usage, Mapping) else {}
    model = said.get(names.METADATA + "ls_model_name") or parameters.get("model")
    return {
        REQUEST_MODEL: model if isinstance(model, str) else None,
        TOOL_DEFINITIONS: json_text(tools) if isinstance(tools, list) else None,
        INPUT_TOKENS[0]: counted.get("input_tokens"),
        OUTPUT_TOKENS[0]: counted.get("output_tokens"),
    }


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json_text(value)


FORM = Form("LangSmith runs", knows, read)
