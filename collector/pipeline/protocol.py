"""What a collector tells its checker processes, and back: JSON lines over pipes."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import orjson

from collector.settings import Settings


def settings_to_json(settings: Settings, worker: str, board: int) -> bytes:
    """The first line on a checker's standard input (the store's password never stands in a command line)."""
    values: dict[str, Any] = {
        one.name: getattr(settings, one.name) for one in fields(settings) if one.metadata["checker"]
    }
    return orjson.dumps({"worker": worker, "board": board, "settings": values}) + b"\n"


def settings_from_json(line: bytes, table: type[Settings] = Settings) -> tuple[Settings, str, int]:
    """(settings, worker, descriptor of the board)."""
    said = orjson.loads(line)
    known = {one.name for one in fields(table)}
    passed = {name: value for name, value in said["settings"].items() if name in known}
    return table(**passed), said["worker"], said["board"]
