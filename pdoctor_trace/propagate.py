"""The active run follows into threads, executors and thread pools that get work while it is active.

Only our own frame is carried, not the host's other context variables, so nothing changes for the host.
Worker threads of an executor live longer than the run that happened to start them: they get no frame
of their own, each piece of work submitted brings its own.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from contextvars import Context
from types import BuiltinMethodType
from typing import Any

from . import runtime
from .harmless import guarded
from .importing import when_imported
from .runs import CURRENT, Frame, current

_POOL_WORKERS = (
    ("concurrent.futures.thread", "_worker"),
    ("multiprocessing.pool", "worker"),
)


_POOL_METHODS = ("apply_async", "_map_async", "imap", "imap_unordered")
"""What all ways of giving work to a `multiprocessing.pool.ThreadPool` come through."""


def patch_threads() -> None:
    """Wrap `Thread.start`, `ThreadPoolExecutor.submit` and their like in `ThreadPool`."""
    threading.Thread.start = _starting(threading.Thread.start)  # type: ignore[method-assign]
    when_imported("concurrent.futures.thread", _patch_executor)
    when_imported("multiprocessing.pool", _patch_pool)


def _patch_executor(module: Any) -> None:
    executor = module.ThreadPoolExecutor
    executor.submit = _giving(executor.submit)


def _patch_pool(module: Any) -> None:
    for name in _POOL_METHODS:
        setattr(module.ThreadPool, name, _giving(getattr(module.ThreadPool, name)))


def _starting(start: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(start)
    def started(self: threading.Thread) -> None:
        frame = current() if runtime.recording() else None
        if frame is None:
            start(self)
            return
        guarded(_carry, frame, self)
        try:
            start(self)
        except BaseException:
            vars(self).pop("run", None)  # the host may try again
            raise

    return started


def _carry(frame: Frame, thread: threading.Thread) -> None:
    """Replace `run` on the thread for its one run, so subclasses with a `run` of their own work.

    Not on a thread that runs already or was started before, nor where `run` is not ours to replace.
    """
    own = getattr(type(thread), "run", None)
    if thread.ident is None and callable(own) and not _is_pool_worker(thread):
        vars(thread).setdefault("run", _in_frame_once(frame, thread))


def _in_frame_once(frame: Frame, thread: threading.Thread) -> Callable[[], None]:
    original = thread.run

    def run() -> None:
        vars(thread).pop("run", None)
        CURRENT.set(frame)
        original()

    return run


def _giving(give: Callable[..., Any]) -> Callable[..., Any]:
    """A method whose first argument is a function that another thread will call."""

    @functools.wraps(give)
    def given(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if args and _brings_its_context(args[0]):
            return give(self, *args, **kwargs)
        frame = current() if runtime.recording() else None
        if frame is None:
            return give(self, *args, **kwargs)
        if args:
            return give(self, _InFrame(frame, args[0]), *args[1:], **kwargs)
        if "func" in kwargs:
            kwargs["func"] = _InFrame(frame, kwargs["func"])
        return give(self, **kwargs)

    return given


def _brings_its_context(function: Any) -> bool:
    """Whether it runs in a context of its own, our frame included: what `asyncio.to_thread` gives away."""
    if type(function) is not functools.partial:
        return False
    run = function.func
    return type(run) is BuiltinMethodType and type(run.__self__) is Context


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


def _is_pool_worker(thread: threading.Thread) -> bool:
    target = getattr(thread, "_target", None)
    return any(
        target is not None and target is getattr(sys.modules.get(module), name, None)
        for module, name in _POOL_WORKERS
    )
