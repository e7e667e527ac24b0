"""What a collector tells its checker processes, and back: JSON lines over pipes."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

import orjson

from collector.settings import Limits, Settings

PASSED_ON = (
    "store_url", "open_check_seconds", "grace_seconds", "idle_seconds", "check_seconds", "z3_check",
    "z3_check_policies", "log_format", "log_level",
)  # fmt: skip


def settings_to_json(settings: Settings, worker: str, board: int) -> bytes:
    """The first line on a checker's standard input (the store's password never stands in a command line)."""
    values: dict[str, Any] = {name: asdict(settings)[name] for name in PASSED_ON}
    return orjson.dumps({"worker": worker, "board": board, "settings": values}) + b"\n"


def settings_from_json(line: bytes) -> tuple[Settings, str, int]:
    """(settings, worker, descriptor of the board)."""
    said = orjson.loads(line)
    known = {field.name for field in fields(Settings)}
    passed = {name: value for name, value in said["settings"].items() if name in known}
    return Settings(**passed, limits=Limits()), said["worker"], said["board"]
