"""Install the hooks: patch what is imported already, and whatever else at the moment it is imported.

Nothing is imported here. A target that is missing in the installed version of a framework becomes a row
of `status()`, never an exception. `uninstall()` makes every wrapper a plain pass-through at once; the
wrappers stay where they are, because restoring saved originals would throw out whoever wrapped after us.
"""

from __future__ import annotations

import functools
import os
import threading
import time
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from . import announce, export, outside, propagate, raw_loops, runs, runtime
from .capture import Capture
from .frameworks import FRAMEWORKS, Entry
from .guard import FAILURES, guarded
from .importing import before_import, when_imported
from .settings import LOG, Redactor, Settings, from_environment, load_redactor, with_changes

if TYPE_CHECKING:
    from .framework import Target
    from .span import Wrapper

_LATER = 0x20 | 0x80 | 0x100 | 0x200
"""Code flags of functions whose body does not run when they are called: all generators and coroutines."""
WAITING, PATCHED, MISSING = "waiting", "patched", "missing"
AWAKE, LEFT_ALONE, BROKEN = "awake", "disabled", "broken"
_MOST_LAYERS = 50


class Row:
    """What became of one target."""

    __slots__ = ("framework", "problem", "state", "target")

    def __init__(self, framework: str, target: Target) -> None:
        self.framework, self.target = framework, target
        self.state, self.problem = WAITING, ""


_AS_IT_IS = "as it is"
"""The redactor that is set already, or the one from the environment."""

_lock = threading.RLock()
_rows: list[Row] = []
_states: dict[str, str] = {}
"""Framework -> waiting, awake, disabled or broken."""
_broken: dict[str, str] = {}
"""Framework -> why its adapter cannot be loaded."""
_once: set[str] = set()
_replaced: list[export.Exporter] = []
"""Exporters of earlier settings that may still hold spans."""
_end_by: tuple[int, float] = (0, 0.0)
"""(process, when the last span of it must have left; monotonic seconds)."""


def install(*, redactor: Redactor | str | None = _AS_IT_IS, **changes: Any) -> None:
    """Turn tracing on; may be called again to change settings (by name, see `pdoctor_trace.settings`).

    `redactor` is a function (kind, text) -> text, or `module:function`, or None for none.
    Raises ValueError for a setting that does not exist or cannot be used.
    """
    with _lock:
        base = runtime.ACTIVE.settings if runtime.ACTIVE.exporter is not None else from_environment()
        if isinstance(redactor, str) and redactor is not _AS_IT_IS:
            changes["redactor"] = redactor
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
    guarded(raw_loops.end_here)
    done = [exporter.flush(timeout) for exporter in _exporters()]
    _forget_what_has_delivered()
    return all(done)


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
        "frameworks": dict(_states),
        "targets": [*map(_row, _rows), *(_broken_row(*pair) for pair in _broken.items())],
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


def _configure(settings: Settings, redactor: Redactor | str | None) -> None:
    active = runtime.ACTIVE
    if redactor is _AS_IT_IS and active.exporter is not None:
        chosen = active.capture.redactor
    elif isinstance(redactor, str):
        chosen = _loaded(settings.redactor)
    else:
        chosen = redactor
    active.capture = Capture(settings.content, settings.max_value_bytes, settings.hash_key, chosen)
    if active.exporter is None or settings != active.settings:
        _replace_exporter(settings)
    active.settings = settings


def _loaded(reference: str) -> Redactor | None:
    """A redactor that cannot be loaded must not mean that everything is kept: then nothing is."""
    try:
        return load_redactor(reference)
    except Exception as error:
        LOG.warning("redactor %s cannot be loaded (%s): no content is kept", reference, error)
        return lambda kind, text: ""


def _replace_exporter(settings: Settings) -> None:
    """The old exporter keeps delivering what it has; both are flushed at exit."""
    if runtime.ACTIVE.exporter is not None:
        _replaced.append(runtime.ACTIVE.exporter)
        runtime.ACTIVE.exporter.retire()
    _forget_what_has_delivered()
    runtime.ACTIVE.exporter = export.Exporter(settings) if settings.records else None
    _register_once("exit", _at_process_end)


def _exporters() -> list[export.Exporter]:
    """All that may hold spans."""
    active = runtime.ACTIVE.exporter
    return [*_replaced, *([] if active is None else [active])]


def _forget_what_has_delivered() -> None:
    _replaced[:] = [exporter for exporter in _replaced if exporter.counters()["queued"]]


def _at_process_end() -> None:
    export.at_exit(_deliver_what_is_left)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_after_fork)
    settings = runtime.ACTIVE.settings
    if settings.sigterm_flush:
        guarded(export.flush_on_sigterm, _deliver_what_is_left, settings.exit_timeout + 1)


def _deliver_what_is_left() -> None:
    """One time limit for everything, however many ways of ending a process goes through."""
    global _end_by
    if _end_by[0] != os.getpid():
        _end_by = os.getpid(), time.monotonic() + runtime.ACTIVE.settings.exit_timeout
    deadline = _end_by[1]
    guarded(raw_loops.end)
    guarded(_announce_open_runs)
    for exporter in _exporters():
        guarded(exporter.close, max(deadline - time.monotonic(), 0))


def _announce_open_runs() -> None:
    for span in announce.due(time.time_ns(), 0):
        runtime.emit(span, len(span))


def _after_fork() -> None:
    """The child has one thread and none of the parent's records; a lock may have been held by another."""
    global _lock
    _lock = threading.RLock()
    runs.reseed()
    raw_loops.forget_everything()
    announce.forget_all()
    _replaced.clear()
    if runtime.ACTIVE.exporter is not None:
        runtime.ACTIVE.exporter.forget_parent()


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
    known: list[Entry | outside.Outside] = [*FRAMEWORKS, *(guarded(outside.adapters) or ())]
    for entry in known:
        if entry.name in _states:
            LOG.warning("the adapter %s is not used: there is one of that name", entry.adapter)
            continue
        _states[entry.name] = LEFT_ALONE if entry.name in disabled else WAITING
        if entry.name not in disabled:
            for package in entry.packages:
                before_import(package, functools.partial(_wake, entry))


def _wake(entry: Entry | outside.Outside) -> None:
    """One of the framework's packages is about to be imported: load the adapter, wait for its modules."""
    with _lock:
        if _states[entry.name] == AWAKE:
            return
        _states[entry.name] = AWAKE
    try:
        targets = entry.load().targets
    except Exception as error:
        _states[entry.name] = BROKEN
        _broken[entry.name] = f"{type(error).__name__}: {error}"
        LOG.warning("the adapter %s cannot be loaded: %s", entry.name, _broken[entry.name])
        return
    modules: dict[str, list[Row]] = {}
    for target in targets:
        row = Row(entry.name, target)
        _rows.append(row)
        modules.setdefault(target.module, []).append(row)
    for module, rows in modules.items():
        when_imported(module, functools.partial(_patch_all, rows))


def _patch_all(rows: list[Row], module: Any) -> None:
    for row in rows:
        guarded(_patch, row, module)


def _patch(row: Row, module: Any) -> None:
    """Wrap one target; where our wrapper is already, below others or not, it stays as it is.

    Also called when a module is reloaded or imported anew: its functions are new then.
    """
    holder, name = module, row.target.attribute
    if "." in name:
        class_name, _, name = name.partition(".")
        holder = getattr(module, class_name, None)
    if holder is None or not hasattr(holder, name):
        row.state = MISSING
        row.problem = f"{row.target.module} has no {row.target.attribute}"
        return
    if not _wrapped_by(row.target.wrapper, getattr(holder, name)):
        _wrap(holder, name, row.target.wrapper)
    row.state, row.problem = PATCHED, ""


def _wrap(holder: Any, name: str, wrapper: Wrapper) -> None:
    """A method that is a plain function gets a plain function: wrapt would make a proxy on each call."""
    original = vars(holder).get(name)
    if (
        isinstance(holder, type)
        and type(original) is FunctionType
        and not original.__code__.co_flags & _LATER
    ):
        setattr(holder, name, _method(original, wrapper))
        return
    import wrapt

    wrapt.wrap_function_wrapper(holder, name, wrapper)


def _method(original: FunctionType, wrapper: Wrapper) -> Any:
    @functools.wraps(original)
    def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return wrapper(MethodType(original, self), self, args, kwargs)

    made: Any = method
    made._self_wrapper = wrapper  # as wrapt calls it
    return made


def _wrapped_by(wrapper: Any, function: Any) -> bool:
    """Whether one of the function's layers is ours."""
    for _ in range(_MOST_LAYERS):
        if getattr(function, "_self_wrapper", None) is wrapper:
            return True
        function = getattr(function, "__wrapped__", None)
        if function is None:
            break
    return False


def _row(row: Row) -> dict[str, Any]:
    return {
        "framework": row.framework,
        "target": f"{row.target.module}:{row.target.attribute}",
        "state": row.state,
        "optional": row.target.optional,
        "problem": row.problem,
    }


def _broken_row(framework: str, problem: str) -> dict[str, Any]:
    return {
        "framework": framework,
        "target": "",
        "state": BROKEN,
        "optional": False,
        "problem": problem,
    }
