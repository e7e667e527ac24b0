"""The end of a process: what is done at exit, on SIGTERM, and when a worker process leaves."""

from __future__ import annotations

import _thread
import atexit
import os
import sys
import threading
from collections.abc import Callable
from types import FrameType

from .harmless import guarded

_ends: list[Callable[[], object]] = []
"""What to do when the process ends."""
_finalized_in: int | None = None
"""The process whose finalizers hold ours; a child starts with none."""


def at_exit(end: Callable[[], object]) -> None:
    """Run `end` when the interpreter ends, or the worker process of multiprocessing."""
    _ends.append(end)
    atexit.register(end)


def arrange(deliver: Callable[[], object], after_fork: Callable[[], object], limit: float | None) -> None:
    """Deliver at every end of this process, on SIGTERM within `limit` seconds (None = not then).

    In a forked child, `after_fork` is called.
    """
    at_exit(deliver)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=after_fork)
    if limit is not None:
        guarded(flush_on_sigterm, deliver, limit)


def also_when_a_worker_process_ends() -> None:
    """Worker processes leave without running atexit, but run the finalizers of multiprocessing."""
    global _finalized_in
    util = sys.modules.get("multiprocessing.util")
    if util is not None and _finalized_in != os.getpid():
        _finalized_in = os.getpid()
        util.Finalize(None, run_ends, exitpriority=0)


def run_ends() -> None:
    """All that was to be done at the end; harmless before it, and a second time."""
    for end in reversed(_ends):
        guarded(end)


def flush_on_sigterm(flush: Callable[[], object], limit: float) -> bool:
    """Send what is queued before SIGTERM ends the process, then let it end as it would have.

    Only where the host has no handler of its own and only from the main thread; a handler that the
    host installs later simply replaces this one. A second SIGTERM ends the process at once.
    """
    if threading.current_thread() is not threading.main_thread():
        return False
    import signal

    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        return False

    def end(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        in_another_thread(flush, limit)
        os.kill(os.getpid(), number)

    signal.signal(signal.SIGTERM, end)
    return True


def in_another_thread(action: Callable[[], object], limit: float) -> None:
    """Wait for an action for at most `limit` seconds.

    Not in the thread that a signal has interrupted: that may hold a lock which the action needs.
    """
    done = _thread.allocate_lock()
    done.acquire()

    def act() -> None:
        guarded(action)
        done.release()

    try:
        _thread.start_new_thread(act, ())
    except RuntimeError:  # the interpreter ends, and takes no thread any more
        act()
        return
    done.acquire(timeout=limit)
