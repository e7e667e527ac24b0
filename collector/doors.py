"""The HTTP connections of a collector: how many there may be, and which one goes for a new one.

Files are few (often 1,024 for a process): without a bound, connections that say nothing would use them up,
and nobody else could connect, nor the store open its file.
"""

from __future__ import annotations

import contextlib
import logging
import time
from typing import Protocol

try:
    import resource
except ImportError:  # not on Windows, where files are not bounded like this
    resource = None  # type: ignore[assignment]

log = logging.getLogger("collector")

SPARE_FILES = 400
"""For the store, checkers, gRPC, and connections that are accepted before the first of them is looked at."""
WANTED_FILES = 8192
TELL_SECONDS = 10.0
"""Between two lines about connections that were closed or refused."""
YOUNG_SECONDS = 1.0
"""A request whose body has been coming in for less does not go for a new connection."""


class Connection(Protocol):
    """As far as it matters here."""

    def leave(self) -> None:
        """Close it, whatever it is waiting for."""


class Doors:
    """Used from the event loop only."""

    def __init__(self, most: int) -> None:
        self.most = min(most, most_files() - SPARE_FILES)
        self.refused = 0
        """New connections that were closed at once."""
        self.dropped = 0
        """Waiting ones that were closed because of a new one."""
        self._all: set[Connection] = set()
        self._silent: dict[Connection, None] = {}
        """Between two requests, or before the first: the longest silent first."""
        self._reading: dict[Connection, float] = {}
        """In the middle of a body, and since when (monotonic seconds)."""
        self._told = 0.0

    @property
    def open(self) -> int:
        return len(self._all)

    def enter(self, connection: Connection) -> bool:
        """Whether there is room for a new connection; makes some where that is possible."""
        if len(self._all) >= self.most:
            victim = self._waiting()
            self._tell()
            if victim is None:
                self.refused += 1
                return False
            self.dropped += 1
            self.gone(victim)
            victim.leave()
        self._all.add(connection)
        self.silent(connection)
        return True

    def _waiting(self) -> Connection | None:
        for connection in self._silent:
            return connection
        for connection, since in self._reading.items():
            return connection if time.monotonic() - since > YOUNG_SECONDS else None
        return None

    def silent(self, connection: Connection) -> None:
        """It is waited for a request."""
        if connection in self._all:
            self._silent[connection] = None

    def reading(self, connection: Connection) -> None:
        """The head of a request is complete."""
        self._silent.pop(connection, None)
        self._reading[connection] = time.monotonic()

    def answering(self, connection: Connection) -> None:
        """The body, too."""
        self._reading.pop(connection, None)

    def is_reading(self, connection: Connection) -> bool:
        return connection in self._reading

    def gone(self, connection: Connection) -> None:
        self._all.discard(connection)
        self._silent.pop(connection, None)
        self._reading.pop(connection, None)

    def _tell(self) -> None:
        now = time.monotonic()
        if now - self._told > TELL_SECONDS or not self._told:
            self._told = now
            log.warning(
                "all %d connections are in use: silent ones are closed, others refused", self.most,
                extra={"closed": self.dropped + 1, "refused": self.refused},
            )  # fmt: skip


def most_files() -> int:
    """How many files this process may open; as many as the system lets it have."""
    if resource is None:
        return WANTED_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED_FILES if hard == resource.RLIM_INFINITY else min(WANTED_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return max(2 * SPARE_FILES, WANTED_FILES if soft == resource.RLIM_INFINITY else soft)
