"""Install the hooks: patch what is imported already, and whatever else at the moment it is imported.

Nothing is imported here. `uninstall()` makes every wrapper a plain pass-through at once; the wrappers stay
where they are, because restoring saved originals would throw out whoever wrapped after us.
"""

from __future__ import annotations

import functools
import os
import threading
import time
from typing import Any

from . import announce, boot, ids, pauses, plugins, process_pools, propagate, raw_loops, runtime, sdkspans
from .asking import DOOR
from .capture import Capture
from .export import Exporter, Way
from .frameworks import FRAMEWORKS, Entry
from .harmless import FAILURES, guarded
from .importing import before_import, when_imported
from .patching import WAITING, Row, patch_all
from .settings import LOG, Redactor, Settings, from_environment, load_redactor, with_changes

AWAKE, LEFT_ALONE, BROKEN = "awake", "disabled", "broken"
_AS_IT_IS = "as it is"
"""The redactor that is set already, or the one from the environment."""


def install(*, redactor: Redactor | str | None = _AS_IT_IS, **changes: Any) -> None:
    """Turn tracing on; may be called again to change settings (by name, see `pdoctor_trace.settings`).

    `redactor` is a function (kind, text) -> text, or `module:function`, or None for none.
    Raises ValueError for a setting that does not exist or cannot be used, ImportError for `export="otel"`
    without the OpenTelemetry SDK.
    """
    HERE.install(redactor, changes)


def use_opentelemetry(**changes: Any) -> None:
    """Turn tracing on with every span through a TracerProvider of the OpenTelemetry SDK, and no other way.

    The host's provider, else one of ours that OTEL_* variables describe. Other settings may be changed as by
    `install()`. Raises ImportError where the extra `otel` is not installed.
    """
    install(export="otel", **changes)


def uninstall() -> None:
    """Turn every wrapper into a pass-through at once; what was recorded so far is still delivered."""
    runtime.ACTIVE.on = False


def flush(timeout: float | None = None) -> bool:
    """Deliver what was recorded so far; True when the collector has everything.

    Raw SDK conversations of the calling thread or task count as ended: calls that were requested and
    never answered are reported as not executed.
    """
    guarded(raw_loops.end_here)
    return HERE.flush(timeout)


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
        "frameworks": dict(HERE.hooks.states),
        "targets": HERE.hooks.targets(),
        "guards": [one.told() for one in DOOR.guards],
    }


def begin() -> None:
    """What the first framework, or the first use of one of our names, does."""
    try:
        install()
    except ImportError as error:
        LOG.error("pdoctor_trace: this program is not traced: %s", error)


class Hooks:
    """Every framework that is known here, and what became of its targets."""

    def __init__(self) -> None:
        self.states: dict[str, str] = {}
        """Framework -> waiting, awake, disabled or broken."""
        self.rows: list[Row] = []
        self._broken: dict[str, str] = {}
        """Framework -> why its adapter cannot be loaded."""
        self._registered = False
        self._lock = threading.RLock()

    def register(self) -> None:
        """Wait for the frameworks' packages, our own and other distributions'; once."""
        if not self._registered:
            self._registered = True
            disabled = {name.strip() for name in runtime.ACTIVE.settings.disabled_frameworks.split(",")}
            known: list[Entry | plugins.Outside] = [*FRAMEWORKS, *(guarded(plugins.adapters) or ())]
            for entry in known:
                self._wait_for(entry, disabled)

    def _wait_for(self, entry: Entry | plugins.Outside, disabled: set[str]) -> None:
        if entry.name in self.states:
            LOG.warning("the adapter %s is not used: there is one of that name", entry.adapter)
            return
        self.states[entry.name] = LEFT_ALONE if entry.name in disabled else WAITING
        if entry.name not in disabled:
            for package in entry.packages:
                before_import(package, functools.partial(self._wake, entry))

    def _wake(self, entry: Entry | plugins.Outside) -> None:
        """One of the framework's packages is about to be imported: load the adapter, wait for its modules."""
        with self._lock:
            if self.states[entry.name] == AWAKE:
                return
            self.states[entry.name] = AWAKE
        try:
            targets = entry.load().targets
        except Exception as error:
            self.states[entry.name] = BROKEN
            self._broken[entry.name] = f"{type(error).__name__}: {error}"
            LOG.warning("the adapter %s cannot be loaded: %s", entry.name, self._broken[entry.name])
            return
        modules: dict[str, list[Row]] = {}
        for target in targets:
            row = Row(entry.name, target)
            self.rows.append(row)
            modules.setdefault(target.module, []).append(row)
        for module, rows in modules.items():
            when_imported(module, functools.partial(patch_all, rows))

    def targets(self) -> list[dict[str, Any]]:
        """Rows for `status()`, one a target and one for each adapter that is broken."""
        broken = {"target": "", "state": BROKEN, "optional": False}
        return [
            *(row.told() for row in self.rows),
            *({"framework": name, **broken, "problem": why} for name, why in self._broken.items()),
        ]

    def after_fork(self) -> None:
        """A lock may have been held by a thread that is not here."""
        self._lock = threading.RLock()


class Installation:
    """What this process has set up, and all exporters that may still hold spans of it."""

    def __init__(self) -> None:
        self.hooks = Hooks()
        self._lock = threading.RLock()
        self._replaced: list[Way] = []
        """Exporters of earlier settings."""
        self._end_by: tuple[int, float] = (0, 0.0)
        """(process, when the last span of it must have left; monotonic seconds)."""
        self._threads_patched = False

    def install(self, redactor: Redactor | str | None, changes: dict[str, Any]) -> None:
        with self._lock:
            base = runtime.ACTIVE.settings if runtime.ACTIVE.exporter is not None else from_environment()
            if isinstance(redactor, str) and redactor is not _AS_IT_IS:
                changes["redactor"] = redactor
            settings = with_changes(base, changes)
            self._configure(settings, redactor)
            guarded(self.hooks.register)
            if settings.threads and not self._threads_patched:
                self._threads_patched = True
                guarded(propagate.patch_threads)
                guarded(process_pools.patch_process_pools)
            runtime.ACTIVE.on = not settings.trace_disabled
            if runtime.ACTIVE.on and os.environ.get("PDOCTOR_GUARD"):
                from .guarding import from_environment as guard_of

                guarded(guard_of, os.environ)

    def _configure(self, settings: Settings, redactor: Redactor | str | None) -> None:
        active = runtime.ACTIVE
        if redactor is _AS_IT_IS and active.exporter is not None:
            chosen = active.capture.redactor
        elif isinstance(redactor, str):
            chosen = _loaded(settings.redactor)
        else:
            chosen = redactor
        active.capture = Capture(settings.content, settings.max_value_bytes, settings.hash_key, chosen)
        if active.exporter is None or settings != active.settings:
            self._replace_exporter(settings)
        active.settings = settings
        boot.arrange_ends(settings)

    def _replace_exporter(self, settings: Settings) -> None:
        """The old exporter keeps delivering what it has; both are flushed at exit."""
        made = _way_out(settings)
        if runtime.ACTIVE.exporter is not None:
            self._replaced.append(runtime.ACTIVE.exporter)
            runtime.ACTIVE.exporter.retire()
        self._forget_what_has_delivered()
        runtime.ACTIVE.exporter = made
        sdkspans.go_through(getattr(made, "provider", None))

    def flush(self, timeout: float | None) -> bool:
        """One time limit for all of them."""
        deadline = time.monotonic() + (runtime.ACTIVE.settings.exit_timeout if timeout is None else timeout)
        done = [exporter.flush(max(deadline - time.monotonic(), 0)) for exporter in self._exporters()]
        self._forget_what_has_delivered()
        return all(done)

    def _exporters(self) -> list[Way]:
        """All that may hold spans; first the one in use, as others may have lost their collector."""
        active = runtime.ACTIVE.exporter
        return [*([] if active is None else [active]), *self._replaced]

    def _forget_what_has_delivered(self) -> None:
        self._replaced[:] = [exporter for exporter in self._replaced if exporter.counters()["queued"]]

    def deliver_what_is_left(self) -> None:
        """One time limit for everything, however many ways of ending a process goes through."""
        if self._end_by[0] != os.getpid():
            self._end_by = os.getpid(), time.monotonic() + runtime.ACTIVE.settings.exit_timeout
        deadline = self._end_by[1]
        guarded(raw_loops.end)
        if runtime.ACTIVE.exporter is not None:
            guarded(runtime.ACTIVE.exporter.last_words)
        for exporter in self._exporters():
            guarded(exporter.close, max(deadline - time.monotonic(), 0))

    def after_fork(self) -> None:
        """The child has one thread and none of the parent's records; a lock may be held by another."""
        self._lock = threading.RLock()
        self.hooks.after_fork()
        ids.reseed()
        raw_loops.forget_everything()
        announce.forget_all()
        pauses.PAUSED.forget_all()
        self._replaced.clear()
        if runtime.ACTIVE.exporter is not None:
            runtime.ACTIVE.exporter.forget_parent()


def _loaded(reference: str) -> Redactor | None:
    """A redactor that cannot be loaded must not mean that everything is kept: then nothing is."""
    try:
        return load_redactor(reference)
    except Exception as error:
        LOG.warning("redactor %s cannot be loaded (%s): no content is kept", reference, error)
        return lambda kind, text: ""


def _way_out(settings: Settings) -> Way | None:
    if settings.export == "otel":
        from .sdkexport import SdkExport

        return SdkExport(settings)
    return Exporter(settings) if settings.records else None


HERE = Installation()
"""That of this process."""
