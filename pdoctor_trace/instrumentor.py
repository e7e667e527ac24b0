"""Entry points for `opentelemetry-instrument`, under names that no other vendor uses.

The loader runs the pre-instrument hooks first and then one instrumentor after the other, and stops at
the first exception: the pre-instrument hook is why another vendor's failure does not disable us, and
that nothing here raises is why we never disable them. Installing twice does nothing. The rest of the
package is imported by the functions: where it cannot be, this module still loads.
"""

from __future__ import annotations

import os
import sys
from typing import Any

NAME = "pdoctor_trace"


def pre_instrument() -> None:
    """Called before any instrumentor; the list of disabled ones is not applied to hooks, so we read it.

    Loading this module has turned tracing on already, as importing the package does.
    """
    if _disabled():
        _turn_off()
        return
    try:
        from .boot import start

        start(os.environ)
    except Exception as error:
        sys.stderr.write(f"pdoctor_trace could not start, this program is not traced: {error!r}\n")


class PDoctorInstrumentor:
    """What the loader of OpenTelemetry expects of an instrumentor, without its base class."""

    def instrument(self, **kwargs: Any) -> None:
        """Turn tracing on, unless it is on already."""
        pre_instrument()

    def uninstrument(self, **kwargs: Any) -> None:
        """Turn tracing off at once."""
        _turn_off()

    def instrumentation_dependencies(self) -> tuple[str, ...]:
        """None: frameworks are optional, each is patched when it is imported."""
        return ()


def _turn_off() -> None:
    boot = sys.modules.get("pdoctor_trace.boot")
    if boot is not None:
        boot.stop()


def _disabled() -> bool:
    listed = os.environ.get("OTEL_PYTHON_DISABLED_INSTRUMENTATIONS", "")
    return not {NAME, "*"}.isdisjoint(name.strip() for name in listed.split(","))
