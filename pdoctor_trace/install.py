"""Install the hooks: patch what is imported already, and whatever else at the moment it is imported.

Nothing is imported here. A target that is missing in the installed version of a framework becomes a row
of `status()`, never an exception. `uninstall()` makes every wrapper a plain pass-through at once; the
wrappers stay where they are, because restoring saved originals would throw out whoever wrapped after us.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import wrapt

from . import export, propagate, runs, runtime
from .capture import Capture
from .framework import Framework, Target
from .frameworks import FRAMEWORKS
from .guard import FAILURES, guarded
from .settings import LOG, Redactor, Settings, from_environment, load_redactor, with_changes

WAITING, PATCHED, MISSING, LEFT_ALONE = "waiting", "patched", "missing", "disabled"


@dataclass(slots=True)
class Row:
    """What became of one target."""

    framework: Framework
    target: Target
    state: str = WAITING
    problem: str = ""


_lock = threading.RLock()
_rows: list[Row] = []
_once: set[str] = set()


def install(*, redactor: Redactor | None = None, **changes: Any) -> None:
    """Turn tracing on; may be called again to change settings (by name, see `pdoctor_trace.settings`).

    Raises ValueError for a setting that does not exist or cannot be used.
    """
    with _lock:
        base = runtime.ACTIVE.settings if runtime.ACTIVE.exporter is not None else from_environment()
        settings = with_changes(base, changes)
        _configure(settings, redactor)
        _register_hooks()
        runtime.ACTIVE.on = not settings.trace_disabled


def uninstall() -> None:
    """Turn every wrapper into a pass-through at once; what was recorded so far is still delivered."""
    runtime.ACTIVE.on = False


def flush(timeout: float | None = None) -> bool:
    """Deliver what was recorded so far; True when the collector has everything.

    Raw SDK conversations of the calling thread or task count as ended: calls that were requested and
    never answered are reported as not executed.
    """
    from .raw_loops import tracker

    guarded(tracker.end_here)
    exporter = runtime.ACTIVE.exporter
    return exporter.flush(timeout) if exporter is not None else True


def status() -> dict[str, Any]:
    """What is traced and what became of the spans so far, as a JSON-ready dictionary."""
    exporter, settings = runtime.ACTIVE.exporter, runtime.ACTIVE.settings
    return {
        "installed": runtime.ACTIVE.on,
        "endpoint": settings.endpoint,
        "content": settings.content,
        "spans": exporter.counters() if exporter is not None else None,
        "last_problem": exporter.last_problem if exporter is not None else "",
        "internal_errors": dict(FAILURES),
        "targets": [_row(row) for row in _rows],
    }


def start(environ: Any = os.environ) -> None:
    """What importing the package does: install, unless the environment says not to; never raises."""
    guarded(_start, environ)


def _start(environ: Any) -> None:
    settings = from_environment(environ)
    otel_off = environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    if settings.trace_disabled or (otel_off and "PDOCTOR_TRACE_DISABLED" not in environ):
        return
    install()


def _configure(settings: Settings, redactor: Redactor | None) -> None:
    active = runtime.ACTIVE
    if redactor is None and settings.redactor:
        redactor = _loaded(settings.redactor)
    if redactor is None and active.exporter is not None:
        redactor = active.capture.redactor
    active.capture = Capture(settings.content, settings.max_value_bytes, settings.hash_key, redactor)
    if active.exporter is None or settings != active.settings:
        _replace_exporter(settings)
    active.settings = settings


def _loaded(reference: str) -> Redactor:
    """A redactor that cannot be loaded must not mean that everything is kept: then nothing is."""
    try:
        found = load_redactor(reference)
        if found is not None:
            return found
    except Exception as error:
        LOG.warning("PDOCTOR_REDACTOR=%s cannot be loaded (%s): no content is kept", reference, error)
    return lambda kind, text: ""


def _replace_exporter(settings: Settings) -> None:
    """The old exporter keeps delivering what it has; both are flushed at exit."""
    exporter = export.Exporter(settings) if settings.records else None
    runtime.ACTIVE.exporter = exporter
    if exporter is not None:
        export.at_exit(exporter.close)
    _register_once("exit", _at_process_end)


def _at_process_end() -> None:
    from .raw_loops import tracker

    export.at_exit(lambda: guarded(tracker.end_all))
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_after_fork)
    if runtime.ACTIVE.settings.sigterm_flush:
        guarded(export.flush_on_sigterm, _flush_before_the_end)


def _flush_before_the_end() -> None:
    from .raw_loops import tracker

    guarded(tracker.end_all)
    exporter = runtime.ACTIVE.exporter
    if exporter is not None:
        exporter.close()


def _after_fork() -> None:
    from .raw_loops import tracker

    runs.reseed()
    tracker.TRACKER.forget_everything()
    exporter = runtime.ACTIVE.exporter
    if exporter is not None:
        exporter.forget_parent()


def _register_hooks() -> None:
    _register_once("hooks", _register_all_hooks)
    if runtime.ACTIVE.settings.threads:
        _register_once("threads", propagate.patch_threads)


def _register_once(what: str, action: Callable[[], None]) -> None:
    if what not in _once:
        _once.add(what)
        guarded(action)


def _register_all_hooks() -> None:
    disabled = {name.strip() for name in runtime.ACTIVE.settings.disabled_frameworks.split(",")}
    modules: dict[str, list[Row]] = {}
    for framework in FRAMEWORKS:
        for target in framework.targets:
            row = Row(framework, target)
            _rows.append(row)
            if framework.name in disabled:
                row.state = LEFT_ALONE
            else:
                modules.setdefault(target.module, []).append(row)
    for module, rows in modules.items():
        _patch_when_imported(module, rows)


def _patch_when_imported(module: str, rows: list[Row]) -> None:
    def hook(imported: Any) -> None:
        for row in rows:
            guarded(_patch, row, imported)

    if module in sys.modules:
        hook(sys.modules[module])
    else:
        wrapt.register_post_import_hook(hook, module)


def _patch(row: Row, module: Any) -> None:
    """Wrap one target; a second call finds our wrapper and leaves it."""
    if row.state == PATCHED:
        return
    holder, name = module, row.target.attribute
    if "." in name:
        class_name, _, name = name.partition(".")
        holder = getattr(module, class_name, None)
    if holder is None or not hasattr(holder, name):
        row.state = MISSING
        row.problem = f"{row.target.module} has no {row.target.attribute}"
        return
    wrapt.wrap_function_wrapper(holder, name, row.target.wrapper)
    row.state = PATCHED


def _row(row: Row) -> dict[str, Any]:
    return {
        "framework": row.framework.name,
        "target": f"{row.target.module}:{row.target.attribute}",
        "state": row.state,
        "optional": row.target.optional,
        "problem": row.problem,
    }
