"""The one mutable thing of the package: whether tracing is on, and with what it captures and exports."""

from __future__ import annotations

from . import otel
from .capture import Capture
from .export import Exporter
from .settings import Settings
from .wire import Record


class Runtime:
    """Replaced as a whole by `install()`; `on` is what every wrapper looks at first."""

    __slots__ = ("capture", "exporter", "on", "settings")

    def __init__(self) -> None:
        self.on = False
        self.settings = Settings()
        self.capture = Capture()
        self.exporter: Exporter | None = None


ACTIVE = Runtime()


def recording() -> bool:
    """Whether what the host does now is to be recorded."""
    return ACTIVE.on and not otel.suppressed()


def emit(record: Record) -> None:
    """Hand a finished span to the exporter, if records are wanted."""
    exporter = ACTIVE.exporter
    if exporter is not None:
        exporter.put(record, _content_bytes(record))


def _content_bytes(record: Record) -> int:
    return 300 + sum(len(value) for value in record.body if isinstance(value, bytes))
