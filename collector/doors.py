"""The HTTP connections of a collector: how many there may be, and which one goes for a new one.

Files are few (often 1,024 for a process): without a bound, connections that say nothing would use them up,
and nobody else could connect, nor the store open its file. One address cannot take them all. A front may, if
it is known as one; an unknown one that has its share gives up silent connections before new ones are refused.
"""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import time
from collections.abc import Callable
from itertools import islice
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
"""Who has been answered since, or whose body has been coming in for less, does not go for a new one."""


class Connection(Protocol):
    """As far as it matters here."""

    def leave(self) -> None:
        """Close it, whatever it is waiting for."""


class _Address:
    """The connections of one address."""

    __slots__ = ("all", "is_front", "new", "reading", "silent")

    def __init__(self, is_front: bool) -> None:
        self.is_front = is_front
        self.all: set[Connection] = set()
        self.new: dict[Connection, float] = {}
        """Before the first request: the longest silent first, and since when (monotonic)."""
        self.silent: dict[Connection, float] = {}
        """Between two requests, and since when."""
        self.reading: dict[Connection, float] = {}
        """In the middle of a body, and since when."""

    def waiting(self) -> tuple[float, Connection] | None:
        """The connection that is waited for longest, and since when: it may be closed for another."""
        found = [(since, one) for one, since in islice(self.new.items(), 1)]
        for one, since in (*islice(self.silent.items(), 1), *islice(self.reading.items(), 1)):
            if time.monotonic() - since > YOUNG_SECONDS:
                found.append((since, one))
        return min(found, key=lambda one: one[0], default=None)

    def forget(self, connection: Connection) -> None:
        """It is not waited for now."""
        for waiting in (self.new, self.silent, self.reading):
            waiting.pop(connection, None)


class Doors:
    """Used from the event loop only."""

    def __init__(
        self,
        most: int,
        most_of_one: int = 0,
        is_front: Callable[[str], bool] = lambda _: False,
        told: Callable[[int], object] = lambda _: None,
    ) -> None:
        """`most_of_one`: of one address that is no front; 0 = all.

        `told` hears how many there are, whenever that changes.
        """
        self._told_of = told
        self.most = min(most, most_files() - SPARE_FILES)
        self.most_of_one = min(most_of_one or self.most, self.most)
        self._is_front = is_front
        self.refused = 0
        """New connections that were closed at once."""
        self.dropped = 0
        """Waiting ones that were closed because of a new one."""
        self._at: dict[Connection, str] = {}
        """The address of each."""
        self._addresses: dict[str, _Address] = {}
        self._told = 0.0

    @property
    def open(self) -> int:
        return len(self._at)

    def enter(self, connection: Connection, address: str) -> bool:
        """Whether there is room for a new connection; makes some where that is possible.

        An address that has as many as one may have gives one of its own, else the one with the most does.
        """
        address = network_of(address)
        own = self._addresses.get(address)
        if own is not None and not own.is_front and len(own.all) >= self.most_of_one:
            found = own.waiting()
        elif len(self._at) >= self.most:
            found = self._of_the_greediest()
        else:
            return self._let_in(connection, address)
        self._tell()
        if found is None:
            self.refused += 1
            return False
        victim = found[1]
        self.dropped += 1
        self.gone(victim)
        victim.leave()
        return self._let_in(connection, address)

    def _let_in(self, connection: Connection, address: str) -> bool:
        self._at[connection] = address
        if address not in self._addresses:
            self._addresses[address] = _Address(self._is_front(address))
        self._addresses[address].all.add(connection)
        self._addresses[address].new[connection] = time.monotonic()
        self._told_of(len(self._at))
        return True

    def _of_the_greediest(self) -> tuple[float, Connection] | None:
        """As `waiting`, of the address with the most connections that has such a one; of fronts last."""
        waiting = [(one.is_front, -len(one.all), one.waiting()) for one in self._addresses.values()]
        found = [(is_front, less, *which) for is_front, less, which in waiting if which is not None]
        return min(found, key=lambda one: one[:3])[2:] if found else None

    def _of(self, connection: Connection) -> _Address | None:
        address = self._at.get(connection)
        return None if address is None else self._addresses[address]

    def silent(self, connection: Connection) -> None:
        """It has been answered, and is waited for another request."""
        if (own := self._of(connection)) is not None:
            own.forget(connection)
            own.silent[connection] = time.monotonic()

    def reading(self, connection: Connection) -> None:
        """The head of a request is complete."""
        if (own := self._of(connection)) is not None:
            own.forget(connection)
            own.reading[connection] = time.monotonic()

    def answering(self, connection: Connection) -> None:
        """The body, too."""
        if (own := self._of(connection)) is not None:
            own.reading.pop(connection, None)

    def is_reading(self, connection: Connection) -> bool:
        own = self._of(connection)
        return own is not None and connection in own.reading

    def gone(self, connection: Connection) -> None:
        if (own := self._of(connection)) is None:
            return
        own.all.discard(connection)
        own.forget(connection)
        address = self._at.pop(connection)
        self._told_of(len(self._at))
        if not own.all:
            del self._addresses[address]

    def _tell(self) -> None:
        now = time.monotonic()
        if now - self._told > TELL_SECONDS or not self._told:
            self._told = now
            log.warning(
                "too many connections (%d, %d from one address): silent ones are closed, others refused",
                len(self._at), max(len(one.all) for one in self._addresses.values()),
                extra={"closed": self.dropped + 1, "refused": self.refused},
            )  # fmt: skip


def network_of(address: str) -> str:
    """What counts as one address: whoever has one of IPv6 has the others of its /64."""
    if ":" not in address:
        return address
    try:
        found = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    return str(found.ipv4_mapped or ipaddress.IPv6Network((found, 64), strict=False))


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
