"""One budget of bytes over all bodies that are being read, decoded or queued.

Where it is used up a newcomer is refused, unless bodies that are still coming in hold more than it does:
those give way, the biggest first, so that many that never end cannot keep out a small one that does.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from collector.errors import CollectorError, Overloaded
from collector.fair import Flow

SHARE = 0.5
"""Of the budget that one key, or one address without a key, may hold."""
YOUNG_SECONDS = 1.0
"""A body that has been coming in for less gives way only to a smaller one."""


class TooLong(CollectorError):
    """The body did not arrive in time."""

    code = "timeout"
    status = 408


class Full(Overloaded):
    """There is no room for the body now."""


class Gone(Exception):
    """The client closed the connection before its body was complete."""


class Held:
    """What one request holds; a context manager that gives it back."""

    __slots__ = ("_budget", "evict", "flow", "gave_way", "since", "size")

    def __init__(self, budget: Budget, flow: Flow) -> None:
        self._budget, self.flow = budget, flow
        self.size = 0
        self.since = time.monotonic()
        self.evict: Callable[[], object] | None = None
        """Ends the reading of a body, from any thread; None where it is complete."""
        self.gave_way = False

    @property
    def who(self) -> str:
        """Whose share it uses."""
        return self.flow.who

    def resize(self, size: int) -> None:
        """Hold so many bytes from now on; raises Overloaded where there is no room for them."""
        self._budget.resize(self, size)

    def __enter__(self) -> Held:
        return self

    def __exit__(self, *_exc: object) -> None:
        self._budget.resize(self, 0)


def owner(headers: Mapping[bytes, bytes], address: str) -> str:
    """Whose share of the budget a request uses: that of its key, else of its address."""
    return headers.get(b"authorization", b"").decode("latin-1") or address


class Budget:
    """May be used from any thread."""

    def __init__(self, total: int) -> None:
        self.total, self.used, self.refused = total, 0, 0
        """In bytes; and how often there was no room."""
        self._share = int(total * SHARE)
        self._by: Counter[str] = Counter()
        self._all: set[Held] = set()
        self._lock = threading.Lock()

    def open(self, who: str, connection: str = "") -> Held:
        """A request of `who`, a key or an address, which holds nothing yet."""
        return Held(self, Flow(who, connection))

    def resize(self, held: Held, size: int) -> None:
        if held.gave_way:
            if size:
                raise busy()
            return
        with self._lock:
            leaving = self._leaving(held, size) if size > held.size else []
            for one in leaving:
                one.gave_way = True
                self.refused += 1
                self._account(one, 0)
            self._account(held, size)
        for one in leaving:
            with contextlib.suppress(RuntimeError):  # its event loop is gone
                (one.evict or int)()

    def _leaving(self, held: Held, size: int) -> list[Held]:
        """Who has to give way for `held`; raises Overloaded where that would not do."""
        more = size - held.size
        over = max(self.used + more - self.total, 0)
        own = max(self._by[held.who] + more - max(self._share, size), 0)  # one alone may be bigger
        if not over and not own:
            return []
        old = time.monotonic() - YOUNG_SECONDS
        found = []
        for one in sorted(self._all, key=lambda one: (-one.size, one.since)):
            mine = one.who == held.who
            if one is held or one.evict is None or not (mine or over > 0):
                continue
            if one.size > size or (one.size == size and one.since < old):
                found.append(one)
                over -= one.size
                own -= one.size if mine else 0
                if over <= 0 and own <= 0:
                    return found
        self.refused += 1
        raise busy()

    def _account(self, held: Held, size: int) -> None:
        self.used += size - held.size
        self._by[held.who] += size - held.size
        held.size = size
        if size:
            self._all.add(held)
            return
        self._all.discard(held)
        if not self._by[held.who]:
            del self._by[held.who]


def busy() -> Full:
    return Full("too many bodies are being read", "send again in a moment")


async def read_body(receive: Callable[[], Any], held: Held, *, limit: int, seconds: float) -> bytes | None:
    """The body of an ASGI request, or None where it has over `limit` bytes.

    Raises Overloaded where it has to give way, TooLong and Gone.
    """
    message = await receive_first(receive, seconds)
    first: bytes = message.get("body", b"")
    if not message.get("more_body"):
        if len(first) > limit:
            return None
        held.resize(len(first))
        return first
    return await _rest(receive, held, first, limit, seconds)


async def receive_first(receive: Callable[[], Any], seconds: float) -> Any:
    try:
        async with asyncio.timeout(seconds):
            message = await receive()
    except TimeoutError:
        raise too_long(seconds) from None
    if message["type"] == "http.disconnect":
        raise Gone
    return message


async def _rest(
    receive: Callable[[], Any], held: Held, first: bytes, limit: int, seconds: float
) -> bytes | None:
    loop = asyncio.get_running_loop()
    parts, size, more = [first], len(first), True
    try:
        async with asyncio.timeout(seconds) as clock:
            held.evict = lambda: loop.call_soon_threadsafe(end_now, clock, loop)
            while True:
                held.resize(size)
                if size > limit:
                    return None
                if not more:
                    return b"".join(parts)
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Gone
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                more = message.get("more_body", False)
    except TimeoutError:
        raise (busy() if held.gave_way else too_long(seconds)) from None
    finally:
        held.evict = None


def end_now(clock: asyncio.Timeout, loop: asyncio.AbstractEventLoop) -> None:
    """Have a time limit run out, unless what it is for has ended."""
    with contextlib.suppress(RuntimeError):
        clock.reschedule(loop.time())


def too_long(seconds: float) -> TooLong:
    return TooLong(f"the body did not arrive within {seconds:g} s", "send it again")
