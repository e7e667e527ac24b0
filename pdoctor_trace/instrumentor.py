"""Entry points for `opentelemetry-instrument`, under names that no other vendor uses.

The loader runs the pre-instrument hooks first and then one instrumentor after the other, and stops at
the first exception: the pre-instrument hook is why another vendor's failure does not disable us, and
that nothing here raises is why we never disable them. Installing twice does nothing.
"""

from __future__ import annotations

import os
from typing import Any

from .guard import guarded
from .install import start, uninstall

NAME = "pdoctor_trace"


def pre_instrument() -> None:
    """Called before any instrumentor; the list of disabled ones is not applied to hooks, so we read it."""
    if not _disabled():
        guarded(start, os.environ)


class PDoctorInstrumentor:
    """What the loader of OpenTelemetry expects of an instrumentor, without its base class."""

    def instrument(self, **kwargs: Any) -> None:
        """Turn tracing on, unless it is on already."""
        pre_instrument()

    def uninstrument(self, **kwargs: Any) -> None:
        """Turn tracing off at once."""
        guarded(uninstall)

    def instrumentation_dependencies(self) -> tuple[str, ...]:
        """None: frameworks are optional, each is patched when it is imported."""
        return ()


def _disabled() -> bool:
    listed = os.environ.get("OTEL_PYTHON_DISABLED_INSTRUMENTATIONS", "")
    return NAME in {name.strip() for name in listed.split(",")}
