"""Lines of several senders, served in turn: one with many requests does not keep out the others."""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

Item = TypeVar("Item")
LONGEST_WAIT = 1.0
"""Seconds that a question waits for others of the same address, at most; what they cost is known as long."""
SENT_SECONDS = 2.0
"""Somebody who has sent spans since sends."""
LONGEST_COST = 0.05
"""Seconds that an answer counts at most: it may have waited for something, and not worked."""
REFUSED_SECONDS = 0.02
"""What is refused counts as if it had taken so long: nobody needs very many refusals."""
TIMES = 2
"""An address has half of the time for its questions, while others send."""
SLICE_SECONDS = 0.004
"""Of work in one go of the event loop; what is ready beside it waits no longer than that and one more."""


class Turns(Generic[Item]):
    """A line for each sender; whose turn it was stands behind all others. Not safe between threads."""

    def __init__(self) -> None:
        self._lines: OrderedDict[str, deque[Item]] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def of(self, who: str) -> int:
        """How much of one sender waits."""
        return len(self._lines.get(who, ()))

    def put(self, who: str, item: Item) -> None:
        self._lines.setdefault(who, deque()).append(item)
        self._size += 1

    def first(self) -> tuple[str, Item]:
        """What is next, and whose it is; raises IndexError where nothing waits."""
        for who, line in self._lines.items():
            return who, line[0]
        raise IndexError

    def pass_on(self) -> None:
        """What is next stays so for its sender, the others come before."""
        self._lines.move_to_end(self.first()[0])

    def drop(self, who: str, item: Item) -> None:
        """This sender no longer waits with it, if it still did."""
        line = self._lines.get(who)
        if line and item in line:
            line.remove(item)
            self._size -= 1
            if not line:
                del self._lines[who]

    def take(self) -> Item:
        """What is next, out of the line; raises IndexError where nothing waits."""
        who, item = self.first()
        line = self._lines[who]
        line.popleft()
        self._size -= 1
        if line:
            self._lines.move_to_end(who)
        else:
            del self._lines[who]
        return item


class Slices:
    """Work on the event loop in slices: between two of them all else that is ready is done."""

    def __init__(self) -> None:
        self._used = 0.0
        self._clears = False
        self._waiting: Turns[asyncio.Future[None]] = Turns()

    @property
    def is_free(self) -> bool:
        """Is there time left in this slice, and nobody waiting?"""
        return self._used < SLICE_SECONDS and not self._waiting

    async def turn(self, who: str) -> None:
        """Returns when it is the turn of this sender."""
        if not self.is_free:
            await self._line_up(who)

    async def begin(self, who: str, seconds: float) -> None:
        """Returns when it is the turn of this sender to begin what costs the event loop so much."""
        await self.turn(who)
        with self.work():
            self.owe(seconds)

    def when_free(self, who: str, then: Callable[[], object]) -> None:
        """Calls `then` when it is the turn of this sender, but not at once."""
        self._line_up(who).add_done_callback(lambda _: then())

    def _line_up(self, who: str) -> asyncio.Future[None]:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.put(who, turn)
        self._clear_soon()
        return turn

    def owe(self, seconds: float) -> None:
        """What was begun in this slice will cost so much more, beside all that waits."""
        self._used += seconds

    @contextmanager
    def work(self) -> Iterator[None]:
        """The block is work of the event loop."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self._used += time.perf_counter() - began
            self._clear_soon()

    def _clear_soon(self) -> None:
        if not self._clears:
            self._clears = True
            asyncio.get_running_loop().call_soon(self._clear)

    def _clear(self) -> None:
        self._used, self._clears = 0.0, False
        while self._waiting:
            turn = self._waiting.take()
            if not turn.done():  # else who waited has left
                turn.set_result(None)
                self._clear_soon()
                return


class Pace:
    """Who asks much and fast waits between two answers, while somebody else sends spans.

    An address has one answer after the other then, with as much time between them as they take.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._costs: OrderedDict[str, _Cost] = OrderedDict()
        """Of each address that was answered within the last second; the one answered last stands last."""
        self._sender, self._sent, self._other_sent = "", -math.inf, -math.inf
        """Who sent last, and when; and when anybody else did."""

    def sent(self, who: str) -> None:
        """This address sends spans."""
        if who != self._sender:
            self._sender, self._other_sent = who, self._sent
        self._sent = self._clock()

    def took(self, who: str, seconds: float) -> None:
        """An answer to this address took so long."""
        now, seconds = self._clock(), min(seconds, LONGEST_COST)
        cost = self._costs.pop(who, None) or _Cost(now, seconds)
        cost.at, cost.seconds = now, (cost.seconds + seconds) / 2
        self._costs[who] = cost
        while self._costs and now - next(iter(self._costs.values())).at > LONGEST_WAIT:
            self._costs.popitem(last=False)

    async def turn(self, who: str) -> None:
        """Returns when this address may be answered again."""
        if seconds := self.wait(who):
            await asyncio.sleep(seconds)

    def wait(self, who: str) -> float:
        """Seconds until this address may be answered again; the next one of it comes after that."""
        now = self._clock()
        cost = self._costs.get(who)
        if cost is None or now - cost.at > LONGEST_WAIT or not self._others_send(who, now):
            return 0.0
        begins = max(now, cost.next)
        cost.next = min(begins + TIMES * cost.seconds, now + LONGEST_WAIT)
        return begins - now

    def _others_send(self, who: str, now: float) -> bool:
        return now - (self._other_sent if who == self._sender else self._sent) < SENT_SECONDS


class _Cost:
    """What answers to one address cost."""

    __slots__ = ("at", "next", "seconds")

    def __init__(self, now: float, seconds: float) -> None:
        self.at = self.next = now
        """When it was answered last, and when it is answered next."""
        self.seconds = seconds
        """That an answer takes, about."""
