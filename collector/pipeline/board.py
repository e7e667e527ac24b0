"""A few bytes that a checker and its parent share: what is being judged, and since when.

The checker writes them before every run. A line over a pipe instead would wake the collector's process
for every run, which costs more than the judging.
"""

from __future__ import annotations

import mmap
import os
import struct
import tempfile
import time

LAYOUT = struct.Struct("=Qd80s")
"""Judgements begun, the monotonic time of the last (0 = idle), key of its run."""
NOBODY = LAYOUT.pack(0, 0.0, b"")


class Board:
    """One shared page; the parent makes it, the checker opens it by the descriptor it inherits."""

    def __init__(self, descriptor: int | None = None) -> None:
        self.descriptor = _shared_file() if descriptor is None else descriptor
        self._page = mmap.mmap(self.descriptor, LAYOUT.size)
        self._begun = 0

    def reading(self, key: str) -> None:
        """This process now reads a batch of runs, the first of which has this key."""
        self._page[:] = LAYOUT.pack(self._begun, time.monotonic(), key.encode()[:80])

    def begin(self, key: str) -> None:
        """This process now judges the run with this key."""
        self._begun += 1
        self.reading(key)

    def idle(self) -> None:
        """This process judges nothing now."""
        self._page[:] = LAYOUT.pack(self._begun, 0.0, b"")

    def clear(self) -> None:
        """Forget what a checker that has ended wrote."""
        self._page[:] = NOBODY

    def read(self) -> tuple[int, tuple[str, float] | None]:
        """(judgements begun, (key of the run that is being judged, monotonic time of its begin))."""
        said = self._page[:]
        while said != (again := self._page[:]):  # the other process was writing just then
            said = again
        begun, since, key = LAYOUT.unpack(said)
        return begun, (key.rstrip(b"\0").decode(errors="replace"), since) if since else None

    def close(self) -> None:
        self._page.close()
        os.close(self.descriptor)


def _shared_file() -> int:
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("pdoctor-board")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.truncate(descriptor, LAYOUT.size)
    return descriptor
