"""What the model of a run may call, as `gen_ai.tool.definitions` spells it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from . import runtime
from .values import clean, json_bytes

Offer = tuple[str, str | None] | tuple[str, str | None, Any]
"""Name and description of a tool, and, where the framework has it, the JSON schema of its parameters."""


def schema_text(parameters: Any) -> bytes | None:
    """JSON text of what is kept of a schema: in content mode `full` only, and only where it is whole."""
    capture = runtime.ACTIVE.capture
    if capture.mode != "full" or not issubclass(type(parameters), dict):
        return None
    text = capture.whole(parameters)
    return text if type(text) is bytes else None


def definitions(tools: Mapping[str, str | None], schemas: Mapping[str, bytes]) -> bytes | None:
    """JSON text of tools (name -> description) and of their schemas; without these where it got too long."""
    if not tools:
        return None
    if sum(map(len, schemas.values())) > runtime.ACTIVE.capture.limit:
        schemas = {}
    return json_bytes([_definition(name, tools[name], schemas.get(name)) for name in tools])


def _definition(name: str, description: str | None, schema: bytes | None) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "function", "name": name}
    if description:
        found["description"] = clean(description)
    if schema is not None:
        found["parameters"] = orjson.Fragment(schema)
    return found
