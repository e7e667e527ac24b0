"""One budget of memory for all that takes much of it: whatever comes at once, the machine has room for it.

A big body that is decoded, a run that is judged on demand, a big run that is read for an answer or judged by
a checker: each takes from here, before it begins, what it may need beyond what its process has at rest, and
waits for that. A unit is a lock on one byte of a file that all processes of a collector share, so the system
gives back what a process held, however it ended.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from collector.errors import Overloaded
from collector.memory import READ_BYTES, given_back
from collector.pipeline.board import shared_file
from collector.settings import MIB

try:
    import fcntl
except ImportError:  # not on Windows, where only the threads of one process see each other
    fcntl = None  # type: ignore[assignment]

UNIT_MIB, UNITS = 32, 5
"""With what all processes have after hours of anything, and 64 MiB of bodies, this is less than 600 MiB."""
NEXT = UNITS
"""The byte that is held by whoever is served next: who needs much is not passed by those who need little."""
LOOK_SECONDS = 0.02
PATIENCE = 10.0
"""Seconds that a request waits; then it is told to come again."""
AGAIN_SECONDS = 5


def soon() -> float:
    """Until when a request that comes now waits (monotonic seconds)."""
    return time.monotonic() + PATIENCE


class Room:
    """May be used from any thread of any process that has the descriptor."""

    def __init__(self, descriptor: int | None = None) -> None:
        self.descriptor = shared_file(UNITS + 1) if descriptor is None else descriptor
        self._own: set[int] = set()
        """Bytes that this process has locked; its threads would not keep each other out."""
        self._guard, self._front = threading.Lock(), threading.Lock()

    @contextmanager
    def taken(self, mib: int, until: float) -> Iterator[None]:
        """The block has so much, or all there is; Overloaded where that is not had `until` (monotonic)."""
        units = self._wait(min(-(-mib // UNIT_MIB), UNITS), until)
        try:
            yield
        finally:
            self._give(units)

    @contextmanager
    def reading(self, until: float) -> Iterator[None]:
        """The block may read a run of READ_BYTES; what it leaves goes back, also where it fails."""
        with self.taken(READ_BYTES // MIB, until), given_back():
            yield

    def close(self) -> None:
        os.close(self.descriptor)

    def _wait(self, count: int, until: float) -> list[int]:
        if not self._front.acquire(timeout=max(0.0, until - time.monotonic())):
            raise busy()
        try:
            first = self._had([NEXT], 1, until)
            try:
                return self._had(range(UNITS), count, until)
            finally:
                self._give(first)
        finally:
            self._front.release()

    def _had(self, units: range | list[int], count: int, until: float) -> list[int]:
        while True:
            found = self._some(units, count)
            if len(found) == count:
                return found
            self._give(found)
            if time.monotonic() > until:
                raise busy()
            time.sleep(LOOK_SECONDS)

    def _some(self, units: range | list[int], count: int) -> list[int]:
        """At most so many of them, those that are free."""
        found: list[int] = []
        with self._guard:
            for unit in units:
                if len(found) < count and unit not in self._own and self._locked(unit):
                    found.append(unit)
            self._own.update(found)
        return found

    def _locked(self, unit: int) -> bool:
        if fcntl is not None:
            try:
                fcntl.lockf(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, unit)
            except OSError:
                return False
        return True

    def _give(self, units: list[int]) -> None:
        with self._guard:
            self._own.difference_update(units)
            for unit in units if fcntl is not None else ():
                fcntl.lockf(self.descriptor, fcntl.LOCK_UN, 1, unit)


def busy() -> Overloaded:
    said = "there is no memory for this beside what is being worked at"
    return Overloaded(said, "ask again in a moment", retry_after=AGAIN_SECONDS)
