"""The gRPC connections of a collector: how many there may be, and which of them go.

The library takes all that come, and would use up the files of the process. So they are looked for among
those, and shut down where there are too many: first of each address that has more than its share, then of
those with the most. Which of them is at work cannot be seen, so any may go; a sender tries again.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import logging
import os
import random
import socket
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from collector.doors import SPARE_FILES, most_files, network_of

log = logging.getLogger("collector")

LOOK_SECONDS = 0.5
FILES = Path("/proc/self/fd")
"""Of this process, by number; elsewhere than on Linux there is no bound."""
LEAST = SPARE_FILES // 2
"""Connections that there may be where files are few."""


class GrpcDoors:
    """One port."""

    def __init__(
        self, port: int, most: int, most_of_one: int, http: int, is_front: Callable[[str], bool]
    ) -> None:
        """At most `most`, and of an address that is no front `most_of_one` (0 = all); `http` are those there
        may be over HTTP, which need files, too."""
        self.port = port
        self.most = min(most, max(LEAST, most_files() - SPARE_FILES - http))
        self.most_of_one = min(most_of_one or self.most, self.most)
        self._is_front = is_front

    async def look_loop(self) -> None:
        """Look for ever."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if closed := await asyncio.to_thread(self.look):
                log.warning("too many gRPC connections: some were closed", extra={"closed": closed})

    def look(self) -> int:
        """Shut down those that are too many; how many these were."""
        found: dict[str, list[int]] = defaultdict(list)
        for number in self._files():
            if (address := self._address(number)) is not None:
                found[address].append(number)
        return sum(self._shut(number, address) for number, address in self._too_many(found))

    def _files(self) -> Iterable[int]:
        """Of this process; nothing where they are so few that no bound is passed."""
        try:
            files = os.listdir(FILES)
        except FileNotFoundError:
            return ()
        except OSError:  # no file is left to look with
            return range(most_files())
        return map(int, files) if len(files) > self.most_of_one else ()

    def _too_many(self, found: dict[str, list[int]]) -> Iterator[tuple[int, str]]:
        """Files that have to go, with their addresses."""
        for address, numbers in found.items():
            random.shuffle(numbers)
            if not self._is_front(address):
                yield from ((number, address) for number in numbers[self.most_of_one :])
                del numbers[self.most_of_one :]
        most_first = [(self._is_front(address), -len(numbers), address) for address, numbers in found.items()]
        heapq.heapify(most_first)
        for _ in range(sum(map(len, found.values())) - self.most):
            is_front, less, address = most_first[0]
            yield found[address].pop(), address
            heapq.heapreplace(most_first, (is_front, less + 1, address))

    def _address(self, number: int) -> str | None:
        """Who is at the other end of this file; None where it is no connection of this port."""
        with _opened(number) as seen:
            return None if seen is None else self._peer(seen)

    def _peer(self, seen: socket.socket) -> str | None:
        try:
            own, peer = seen.getsockname(), seen.getpeername()
        except OSError:
            return None
        is_own = seen.family in (socket.AF_INET, socket.AF_INET6) and own[1] == self.port
        return network_of(peer[0]) if is_own else None

    def _shut(self, number: int, address: str) -> bool:
        """The file may have become another one's meanwhile: what is shut is looked at once more."""
        with _opened(number) as seen, contextlib.suppress(OSError):
            if seen is not None and self._peer(seen) == address:
                seen.shutdown(socket.SHUT_RDWR)
                return True
        return False


@contextlib.contextmanager
def _opened(number: int) -> Iterator[socket.socket | None]:
    """A file as the socket that it is, if it is one; it stays open afterwards."""
    try:
        seen = socket.socket(fileno=number)
    except OSError:
        yield None
        return
    try:
        yield seen
    finally:
        seen.detach()
