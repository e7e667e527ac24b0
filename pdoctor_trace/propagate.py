"""The active run follows into threads and executors that are started while it is active.

Only our own frame is carried, not the host's other context variables, so nothing changes for the host.
Worker threads of an executor live longer than the run that happened to start them: they get no frame
of their own, each piece of work submitted brings its own.
"""

from __future__ import annotations

import concurrent.futures
import sys
import threading
from collections.abc import Callable
from typing import Any

import wrapt

from . import runtime
from .runs import CURRENT, Frame, current

_POOL_WORKERS = (
    ("concurrent.futures.thread", "_worker"),
    ("multiprocessing.pool", "worker"),
)


def patch_threads() -> None:
    """Wrap `Thread.start` and `ThreadPoolExecutor.submit`."""
    wrapt.wrap_function_wrapper(threading.Thread, "start", _start)
    wrapt.wrap_function_wrapper(concurrent.futures.ThreadPoolExecutor, "submit", _submit)


def _start(wrapped: Any, thread: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    frame = current() if runtime.ACTIVE.on else None
    if frame is not None and not _is_pool_worker(thread):
        thread.run = _in_frame_once(frame, thread)
    return wrapped(*args, **kwargs)


def _submit(wrapped: Any, executor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    frame = current() if runtime.ACTIVE.on else None
    if frame is None or not args:
        return wrapped(*args, **kwargs)
    return wrapped(_InFrame(frame, args[0]), *args[1:], **kwargs)


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
