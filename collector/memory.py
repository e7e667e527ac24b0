"""How much memory this process has, what it may have, and giving back what it no longer needs."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from traceback import clear_frames
from typing import TypeVar

from collector.errors import Overloaded

try:
    import resource
except ImportError:  # not on Windows, where no such bound can be set
    resource = None  # type: ignore[assignment]

Item = TypeVar("Item")
STATM = Path("/proc/self/statm")
LOOK = 16
"""Items between two looks at the memory."""
TRIM_SECONDS = 5.0
"""Between two looks whether there may be something to return."""
TRIM_BYTES = 16 * 1024 * 1024
"""More than after the last search for cycles."""
SEARCH_ROUNDS = 12
"""So many looks from one search for cycles to the next."""
ALLOCATOR = {-3: 4 * 1024 * 1024, -1: 16 * 1024 * 1024, -8: 4}
"""`M_MMAP_THRESHOLD`, `M_TRIM_THRESHOLD` and `M_ARENA_MAX` of malloc.h."""
READ_BYTES = 96 * 1024 * 1024
"""That the spans of one run may take in the process that receives."""


class TooBig(Overloaded):
    """What was asked for does not fit into the memory that there is for it."""

    code = "too_big"


def resident() -> int:
    """Bytes of physical memory that this process has; 0 where the system does not tell."""
    try:
        return int(STATM.read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def bounded(items: Iterable[Item], most: int | None = None) -> Iterator[Item]:
    """The items of a run; raises TooBig once the process has grown by more than `most` over them."""
    with _looking() as resident_now:
        began = resident_now()
        for number, item in enumerate(items):
            if number % LOOK == LOOK - 1 and resident_now() - began > (READ_BYTES if most is None else most):
                raise TooBig("the run is too big to be put together here", "GET its `/spans`, in pages")
            yield item


@contextlib.contextmanager
def _looking() -> Iterator[Callable[[], int]]:
    """`resident` for many looks: opening the file takes ten times as long as reading it again."""
    try:
        file = os.open(STATM, os.O_RDONLY)
    except OSError:
        yield resident
        return
    page = os.sysconf("SC_PAGE_SIZE")
    try:
        yield lambda: int(os.pread(file, 100, 0).split()[1]) * page
    finally:
        os.close(file)


def limit(mib: int) -> None:
    """Have this process fail for want of memory, not the machine."""
    if resource is None:
        return
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    wanted = mib * 1024 * 1024
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (wanted if hard < 0 else min(wanted, hard), hard))


def keep_little() -> None:
    """Have the C library keep little of what is freed: by itself it raises its bounds with what came.

    After one body of 40 MB it would keep as much in the arena of each thread, for good.
    """
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        for option, value in ALLOCATOR.items():
            mallopt(option, value)


def give_back() -> None:
    """Return freed memory to the system: the C library keeps what many small objects have used.

    What only a search for cycles finds is freed before; processes that calmed theirs would wait long for it.
    """
    gc.collect()
    _trim()


def _trim() -> None:
    """Return what is free already; other threads go on meanwhile."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


class Trimmer:
    """A thread that returns freed memory: soon where the process has grown, now and then in any case."""

    def __init__(self, pause: float = TRIM_SECONDS) -> None:
        self._pause, self._rounds, self._least = pause, 0, resident()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pdoctor-trimmer", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join(10)

    def _run(self) -> None:
        while not self._stop.wait(self._pause):
            self._rounds += 1
            if self._rounds % SEARCH_ROUNDS == 0:
                give_back()
                self._least = resident()
            elif resident() - self._least > TRIM_BYTES:
                _trim()  # what is in use now may be free at the next look


@contextlib.contextmanager
def given_back() -> Iterator[None]:
    """What the block leaves goes back to the system, also where it fails."""
    try:
        yield
    except BaseException as failed:
        clear_frames(failed.__traceback__)  # which hold what was made so far
        raise
    finally:
        give_back()
