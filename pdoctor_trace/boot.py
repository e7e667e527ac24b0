"""What importing the package does: wait. All else is loaded when there is something to trace.

Most programs that import us, or that are started by `pdoctor run`, import an agent framework much later or
never. Until then there are the finder that notices such an import, and what is done at the end of a process:
signals can be arranged by the main thread only, and a framework may be imported by any.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

from . import plugins, process_end
from .frameworks import FRAMEWORKS, Entry
from .harmless import guarded
from .importing import before_import
from .settings import Settings, from_environment

_waits = _arranged = False
_loading = threading.RLock()


def start(environ: Any = os.environ) -> None:
    """Trace what is imported already and wait for the rest, unless the environment says not to."""
    guarded(_start, environ)


def stop() -> None:
    """Wait no longer, and trace no more."""
    global _waits
    _waits = False
    if _installation() is not None:
        _installation().uninstall()


def loaded() -> Any:
    """The module `installation`, with tracing turned on where it was waited for."""
    global _waits
    with _loading:
        __import__(f"{__package__}.installation")
        if _waits:
            _waits = False
            _installation().begin()
    return _installation()


def _start(environ: Any) -> None:
    global _waits
    settings = from_environment(environ)
    otel_off = environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    if settings.trace_disabled or (otel_off and "PDOCTOR_TRACE_DISABLED" not in environ):
        return
    _waits = True
    if _installation() is not None or settings.export != "records" or settings.redactor:
        loaded()
        return
    arrange_ends(settings)
    disabled = {name.strip() for name in settings.disabled_frameworks.split(",")}
    known: list[Entry | plugins.Outside] = [*FRAMEWORKS, *(guarded(plugins.adapters) or ())]
    for entry in known:
        for package in entry.packages if entry.name not in disabled else ():
            before_import(package, _wake)


def arrange_ends(settings: Settings) -> None:
    """What is done when the process ends, once."""
    global _arranged
    if not _arranged:
        _arranged = True
        limit = settings.exit_timeout + 1 if settings.sigterm_flush else None
        guarded(process_end.arrange, _deliver, _after_fork, limit)


def tell(error: Exception) -> None:
    """Say that nothing can be traced; the program must not fail because somebody wanted to watch it."""
    sys.stderr.write(f"pdoctor_trace is not usable here, this program is not traced: {error!r}\n")


def _wake() -> None:
    """A framework is about to be imported; once all is loaded, its adapter waits for that, too."""
    global _waits
    if _waits:
        try:
            loaded()
        except Exception as error:
            _waits = False
            tell(error)


def _installation() -> Any:
    return sys.modules.get(f"{__package__}.installation")


def _deliver() -> None:
    if _installation() is not None:
        _installation().HERE.deliver_what_is_left()


def _after_fork() -> None:
    """A lock may have been held by a thread that is not here."""
    global _loading
    _loading = threading.RLock()
    if _installation() is not None:
        _installation().HERE.after_fork()
