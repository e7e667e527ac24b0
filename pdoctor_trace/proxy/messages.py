"""JSON-RPC as far as somebody in between has to read and write it."""

from __future__ import annotations

import json
import re
from typing import Any, TypeGuard

import orjson

PARSE_ERROR, INVALID_REQUEST, INTERNAL_ERROR = -32700, -32600, -32603
CONNECTION_CLOSED = -32000
"""As the SDKs have it: the other side went away before it answered."""
_SHOWN = 80


class Malformed(ValueError):
    """No JSON-RPC message; the text says what came and what was expected."""

    def __init__(self, code: int, text: str, id_: Any = None) -> None:
        super().__init__(text)
        self.code, self.id = code, id_


def read(raw: bytes | bytearray) -> list[dict[str, Any]]:
    """The messages of a line or a body: one, or those of a batch. Raises `Malformed`."""
    try:
        said = _loaded(raw)
    except (ValueError, RecursionError) as error:
        raise Malformed(PARSE_ERROR, f"not JSON ({_first(str(error))}): {shown(raw)}") from None
    messages = said if type(said) is list else [said]
    for message in messages or [None]:
        if type(message) is not dict or not ({"method", "result", "error"} & message.keys()):
            id_ = message.get("id") if type(message) is dict else None
            text = f"expected a JSON-RPC request, notification or response, got {shown(raw)}"
            raise Malformed(INVALID_REQUEST, text, id_)
    return messages


def _loaded(raw: bytes | bytearray) -> Any:
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        return json.loads(raw)  # which also takes NaN and half surrogates


def shown(raw: bytes | bytearray) -> str:
    """The beginning of what came."""
    text = bytes(raw[:_SHOWN]).decode(errors="replace").strip()
    return repr(text + "…" if len(raw) > _SHOWN else text)


def _first(text: str) -> str:
    return text.partition("\n")[0][:_SHOWN]


def written(message: Any) -> bytes:
    """A message in one line, without its end."""
    try:
        return orjson.dumps(message)
    except (TypeError, ValueError):  # as above
        return json.dumps(message).encode()


def key(id_: Any) -> bytes:
    """1 and "1" are two ids."""
    return written(id_)


def error(id_: Any, code: int, text: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": text}}


def tool_error(message: dict[str, Any], text: str) -> dict[str, Any]:
    """What a server answers whose tool failed."""
    result: dict[str, Any] = {"content": [{"type": "text", "text": text}], "isError": True}
    if version(message) is not None:  # from 2026-07-28 on each request says it, and results what they are
        result["resultType"] = "complete"
    return {"jsonrpc": "2.0", "id": message.get("id"), "result": result}


def is_answer(said: dict[str, Any] | None) -> TypeGuard[dict[str, Any]]:
    """Whether it is an answer to give, and no request that goes on."""
    return said is not None and "method" not in said


def part(of: Any, name: str) -> dict[str, Any]:
    """An object inside of another one; empty where there is none."""
    found = of.get(name) if type(of) is dict else None
    return found if type(found) is dict else {}


def meta(message: dict[str, Any]) -> dict[str, Any]:
    return part(part(message, "params"), "_meta")


def version(message: dict[str, Any]) -> Any:
    """What the request itself says of the protocol that it speaks."""
    return meta(message).get("io.modelcontextprotocol/protocolVersion")


_ID = rb'"id"\s*:\s*(-?\d+|"[^"\\]*")'
_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"'
_AT_FIRST = re.compile(rb"\s*\{\s*(?:" + _VERSION + rb"\s*,\s*)?" + _ID + rb"\s*[,}]")
_AT_LAST = re.compile(rb",\s*" + _ID + rb"\s*(?:,\s*" + _VERSION + rb")?\s*\}\s*$")


def id_of(head: bytes, tail: bytes) -> Any:
    """The id of a message that is too long: it stands before or behind what is long, or is not known."""
    found = _AT_FIRST.match(head) or _AT_LAST.search(tail)
    return None if found is None else orjson.loads(found[1])
