"""A few bytes that a checker and its parent share: what the checker is at, and its last sign of life.

The checker writes them before every run. A line over a pipe instead would wake the collector's process
for every run, which costs more than the judging.
"""

from __future__ import annotations

import mmap
import os
import struct
import tempfile
import time
from typing import Literal, NamedTuple, get_args

LAYOUT = struct.Struct("=Qdq80s240s")
"""Judgements begun, last sign of life (monotonic), state, key of the run, policy."""
State = Literal["away", "idle", "busy"]
"""`away`: it starts, or waits for the database; nothing of that is the fault of a run."""
STATES: tuple[State, ...] = get_args(State)
NOBODY = LAYOUT.pack(0, 0.0, 0, b"", b"")
Busy = tuple[str, float, str]
"""(key of the run that is being judged, monotonic time since when, id of the policy or empty)."""


class Said(NamedTuple):
    """What the page says."""

    begun: int
    """Judgements."""
    busy: Busy | None
    """What the checker judges, None unless it judges."""
    state: State
    beat: float
    """The last sign of life, monotonic; 0 = none yet."""


class Board:
    """One shared page; the parent makes it, the checker opens it by the descriptor it inherits."""

    def __init__(self, descriptor: int | None = None) -> None:
        self.descriptor = shared_file(LAYOUT.size) if descriptor is None else descriptor
        self._page = mmap.mmap(self.descriptor, LAYOUT.size)
        self._begun = 0
        self._state: State = "away"
        self._key = self._policy = b""

    def reading(self, key: str) -> None:
        """This process now reads a batch of runs, the first of which has this key."""
        self._key = key.encode()[:80]
        self.at("")

    def at(self, policy: str) -> None:
        """This process now judges the run in hand by the policy with this id."""
        self._state, self._policy = "busy", policy.encode()[:240]
        self._write(self._state)

    def begin(self, key: str) -> None:
        """This process now judges the run with this key."""
        self._begun += 1
        self.reading(key)

    def idle(self) -> None:
        """This process judges nothing now."""
        self._state, self._key, self._policy = "idle", b"", b""
        self._write(self._state)

    def away(self, is_away: bool) -> None:
        """This process begins to wait for the database, or goes on with what it was at."""
        self._write("away" if is_away else self._state)

    def clear(self) -> None:
        """Forget what a checker that has ended wrote."""
        self._page[:] = NOBODY

    def read(self) -> Said:
        said = self._page[:]
        while said != (again := self._page[:]):  # the other process was writing just then
            said = again
        begun, beat, state, *names = LAYOUT.unpack(said)
        key, policy = (name.rstrip(b"\0").decode(errors="replace") for name in names)
        busy = (key, beat, policy) if STATES[state] == "busy" else None
        return Said(begun, busy, STATES[state], beat)

    def close(self) -> None:
        self._page.close()
        os.close(self.descriptor)

    def _write(self, state: State) -> None:
        number = STATES.index(state)
        self._page[:] = LAYOUT.pack(self._begun, time.monotonic(), number, self._key, self._policy)


def shared_file(size: int) -> int:
    """Descriptor of memory of so many bytes that processes can share."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("pdoctor-shared")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.truncate(descriptor, size)
    return descriptor
