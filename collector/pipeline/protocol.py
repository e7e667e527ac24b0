"""What a collector tells its checker processes, and back: JSON lines over pipes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import orjson

from collector.settings import Settings

Stopped = Mapping[str, Sequence[str]]
"""Key of a run -> the policies at which checkers had to be stopped, in that order."""


@dataclass(frozen=True, slots=True)
class Order:
    """What a checker process is to be."""

    settings: Settings
    worker: str
    board: int
    """Descriptor of the page that it shares with its parent."""
    ears: int
    """Descriptor of the pipe by which it hears of work."""
    room: int
    """That of the memory that all share."""
    clock: float
    """Offset of the clock that it shares."""
    stopped: Stopped = field(default_factory=dict)
    """Where earlier checkers were stopped."""


def to_json(order: Order) -> bytes:
    """The first line on a checker's standard input (the store's password never stands in a command line)."""
    settings = order.settings
    values: dict[str, Any] = {
        one.name: getattr(settings, one.name) for one in fields(settings) if one.metadata["checker"]
    }
    said = {one.name: getattr(order, one.name) for one in fields(Order)}
    return orjson.dumps({**said, "settings": values}) + b"\n"


def from_json(line: bytes, table: type[Settings] = Settings) -> Order:
    said = orjson.loads(line)
    known = {one.name for one in fields(table)}
    passed = {name: value for name, value in said["settings"].items() if name in known}
    return Order(**{**said, "settings": table(**passed)})
