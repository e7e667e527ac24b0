"""MLflow tracing: `mlflow.spanType`, inputs and outputs; every attribute is JSON text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from collector.dialects.reading import (
    Dialect,
    SeenAgent,
    SeenCall,
    json_value,
    last_user_text,
    loaded,
    plain_call,
    text,
)
from collector.model import Span


def read_call(span: Span) -> SeenCall | None:
    """A span of type TOOL."""
    attributes = loaded(span)
    if json_value(attributes.get("mlflow.spanType")) != "TOOL":
        return None
    return plain_call(
        span,
        id=None,
        tool=text(json_value(attributes.get("mlflow.spanFunctionName"))) or span.name,
        arguments=json_value(attributes.get("mlflow.spanInputs")),
        result=json_value(attributes.get("mlflow.spanOutputs")),
    )


def read_agent(span: Span) -> SeenAgent | None:
    """A span of type AGENT, or the root."""
    attributes = loaded(span)
    kind = json_value(attributes.get("mlflow.spanType"))
    if kind is None or (kind != "AGENT" and span.parent_id is not None):
        return None
    inputs: Any = json_value(attributes.get("mlflow.spanInputs"))
    if isinstance(inputs, Mapping):
        inputs = inputs.get("messages") or inputs.get("input") or inputs.get("query")
    return SeenAgent(span=span, agent=span.name, query=last_user_text(inputs), source="mlflow")


DIALECT = Dialect("mlflow", read_call, read_agent)
