"""The one mutable thing of the package: whether tracing is on, and with what it captures and exports."""

from __future__ import annotations

from typing import Any

from . import otel
from .capture import Capture
from .export import Way
from .settings import Settings
from .wire import Span


class Runtime:
    """Replaced as a whole by `install()`; `on` is what every wrapper looks at first."""

    __slots__ = ("capture", "exporter", "on", "settings")

    def __init__(self) -> None:
        self.on = False
        self.settings = Settings()
        self.capture = Capture()
        self.exporter: Way | None = None


ACTIVE = Runtime()


def recording() -> bool:
    """Whether what the host does now is to be recorded."""
    if not ACTIVE.on:
        return False
    context = otel.current()
    return not context or not otel.asks_for_silence(context)


def ready() -> None:
    """A run begins: have somebody there who tells of it should it not end."""
    exporter = ACTIVE.exporter
    if exporter is not None and exporter.asleep:
        exporter.wake_up()


def emit(span: Span, content_bytes: int) -> None:
    """Hand a finished span with so much content to the exporter, if records are wanted."""
    exporter = ACTIVE.exporter
    if exporter is not None:
        exporter.put(span, content_bytes)


def arguments(given: Any) -> bytes | None:
    """JSON text of what is kept of a call's arguments by the content mode; None where nothing is."""
    return ACTIVE.capture.arguments(given)


def argument_text(text: Any) -> tuple[bytes | None, bool]:
    """The same of arguments that a model wrote as JSON text, and whether they were well formed."""
    return ACTIVE.capture.argument_text(text)


def outcome(value: Any) -> bytes | None:
    """JSON text of what is kept of a tool's result, to close its call with."""
    return ACTIVE.capture.result(value)
