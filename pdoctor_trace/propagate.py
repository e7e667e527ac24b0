"""The active run follows into threads and executors that are started while it is active.

Only our own frame is carried, not the host's other context variables, so nothing changes for the host.
Worker threads of an executor live longer than the run that happened to start them: they get no frame
of their own, each piece of work submitted brings its own.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from typing import Any

from . import runtime
from .importing import when_imported
from .runs import CURRENT, Frame, current

_POOL_WORKERS = (
    ("concurrent.futures.thread", "_worker"),
    ("multiprocessing.pool", "worker"),
)


def patch_threads() -> None:
    """Wrap `Thread.start` and `ThreadPoolExecutor.submit`."""
    threading.Thread.start = _starting(threading.Thread.start)  # type: ignore[method-assign]
    when_imported("concurrent.futures.thread", _patch_pool)


def _patch_pool(module: Any) -> None:
    pool = module.ThreadPoolExecutor
    pool.submit = _submitting(pool.submit)


def _starting(start: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(start)
    def started(self: threading.Thread) -> None:
        frame = current() if runtime.recording() else None
        if frame is not None and not _is_pool_worker(self):
            self.run = _in_frame_once(frame, self)  # type: ignore[method-assign]
        start(self)

    return started


def _submitting(submit: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(submit)
    def submitted(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        frame = current() if runtime.recording() else None
        if frame is None or not args:
            return submit(self, *args, **kwargs)
        return submit(self, _InFrame(frame, args[0]), *args[1:], **kwargs)

    return submitted


class _InFrame:
    """A function that runs inside a frame."""

    __slots__ = ("frame", "function")

    def __init__(self, frame: Frame, function: Callable[..., Any]) -> None:
        self.frame, self.function = frame, function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        token = CURRENT.set(self.frame)
        try:
            return self.function(*args, **kwargs)
        finally:
            CURRENT.reset(token)


def _in_frame_once(frame: Frame, thread: threading.Thread) -> Callable[[], None]:
    """Replaces `thread.run` on the instance for its one run, so subclasses with a `run` of their own work."""
    original = thread.run

    def run() -> None:
        del thread.run
        CURRENT.set(frame)
        original()

    return run


def _is_pool_worker(thread: threading.Thread) -> bool:
    target = getattr(thread, "_target", None)
    return any(
        target is not None and target is getattr(sys.modules.get(module), name, None)
        for module, name in _POOL_WORKERS
    )
