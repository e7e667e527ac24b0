"""Words in which the OpenAPI description says what things look like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
AMOUNT: Schema = {"type": "number", "minimum": 0}
COUNT: Schema = {"type": "integer", "minimum": 0}
RATE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
FLAG: Schema = {"type": "boolean"}
TIME: Schema = {"type": "string", "format": "date-time"}
ANY: Schema = {}
OPEN: Schema = {"type": "object"}
HEX32: Schema = {"type": "string", "pattern": "^[0-9a-f]{32}$"}
HEX16: Schema = {"type": "string", "pattern": "^[0-9a-f]{16}$"}
RUN_ID: Schema = {"type": "string", "example": "0af7651916cd43dd8448eb211c80319c"}

FAILURES = {
    400: "What was sent cannot be used; the message says why.",
    401: "No key, or one that is not known.",
    403: "The key does not allow this, or the request comes from another site.",
    404: "There is no such thing in this project.",
    409: "There is one of that name already.",
    413: "Too much at once.",
    415: "A content type or encoding that is not understood.",
    429: "The project has sent more spans than it may; come back after the seconds of Retry-After.",
    503: "Nothing was stored; come back after the seconds of Retry-After.",
}
"""Status -> what it says."""


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def maybe(schema: Schema) -> Schema:
    """The value, or null."""
    return {"anyOf": [schema, {"type": "null"}]}


def several(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


def one_of(*values: str) -> Schema:
    return {"type": "string", "enum": list(values)}


def record(required: Mapping[str, Schema], /, **optional: Schema) -> Schema:
    """An object; fields may be added in later versions."""
    return {"type": "object", "properties": {**required, **optional}, "required": list(required)}


def described(text: str, schema: Schema) -> Schema:
    return {"description": text, **schema}


def listing(item: Schema, **more: Schema) -> Schema:
    """One page of a list; `cursor` leads to the next, null on the last."""
    return record({"items": several(item), "cursor": maybe(TEXT), **more})


@dataclass(frozen=True, slots=True)
class Route:
    """What one request takes and what its success answers; types are media types."""

    answer: Schema
    example: Any
    body: Mapping[str, Schema] | None = None
    body_example: Any = None
    media: str = "application/json"
    failures: tuple[int, ...] = (400, 401, 403, 503)


def stored(**more: Schema) -> Schema:
    return record({"stored": COUNT}, **more)


def json_of(schema: Schema) -> Mapping[str, Schema]:
    return {"application/json": schema}


def json_lines_of(name: str) -> Mapping[str, Schema]:
    """One object, a list, `{"items": [...]}`, or one object a line."""
    many = {"anyOf": [ref(name), several(ref(name)), record({"items": several(ref(name))})]}
    return {"application/json": many, "application/x-ndjson": TEXT}


def page_of(*items: Any) -> dict[str, Any]:
    return {"items": list(items), "cursor": None}
