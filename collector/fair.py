"""Lines of several senders, served in turn: one with many requests does not keep out the others."""

from __future__ import annotations

import asyncio
import heapq
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, NamedTuple, TypeVar

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


class Flow(NamedTuple):
    """Who is served in turn."""

    who: str
    """A sender: its key, else its address."""
    connection: str = ""
    """Which of its connections: a name that no other has, whoever's it is."""


def flow_of(peer: tuple[Any, ...] | None) -> Flow:
    """Of a connection, by (address, port, ...) of its other end, where that is known."""
    address, port = (peer or ("", 0))[:2]
    return Flow(address, f"{address}:{port}")


class Turns(Generic[Item]):
    """A line for each sender; whose turn it was stands behind all others. Not safe between threads.

    Of one sender the connections share what it gets, so that one that wants little does not wait for one
    that wants much: self-clocked fair queueing (Golestani, INFOCOM 1994).
    """

    def __init__(self) -> None:
        self._lines: OrderedDict[str, _Shared[Item]] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def of(self, who: str) -> int:
        """How much of one sender waits."""
        return len(self._lines.get(who, ()))

    def put(self, flow: Flow, item: Item, cost: float = 1.0) -> None:
        """`cost` of its first portion, in any unit that is one for the whole line."""
        if flow.who not in self._lines:
            self._lines[flow.who] = _Shared()
        self._lines[flow.who].put(flow.connection, item, cost)
        self._size += 1

    def first(self) -> Item:
        """What is next; raises IndexError where nothing waits."""
        return self._next()[1].first()

    def pass_on(self, cost: float = 1.0) -> None:
        """What is next had a portion, and waits for another of this cost: the others come before."""
        who, shared = self._next()
        shared.pass_on(cost)
        self._lines.move_to_end(who)

    def charge(self, flow: Flow, more: float) -> None:
        """What a connection has had cost so much more than was said, or less: its next comes later."""
        if flow.who in self._lines:
            self._lines[flow.who].charge(flow.connection, more)

    def drop(self, flow: Flow, item: Item) -> None:
        """This sender no longer waits with it, if it still did."""
        shared = self._lines.get(flow.who)
        if shared is not None and shared.drop(item):
            self._size -= 1
            if not shared:
                del self._lines[flow.who]

    def take(self) -> Item:
        """What is next, out of the line; raises IndexError where nothing waits."""
        who, shared = self._next()
        item = shared.take()
        self._size -= 1
        if shared:
            self._lines.move_to_end(who)
        else:
            del self._lines[who]
        return item

    def _next(self) -> tuple[str, _Shared[Item]]:
        for found in self._lines.items():
            return found
        raise IndexError


class _Shared(Generic[Item]):
    """What waits of one sender: each connection gets as much of it as the others, by cost."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, str, Item]] = []
        """When it would be done if all connections were served at once; order of coming; whose; what."""
        self._now, self._number = 0.0, 0
        self._last: dict[str, float] = {}
        """Until when each connection would have all it asked for, where that is later than now."""

    def __len__(self) -> int:
        return len(self._heap)

    def put(self, connection: str, item: Item, cost: float) -> None:
        self._number += 1
        heapq.heappush(self._heap, (self._done(connection, cost), self._number, connection, item))

    def _done(self, connection: str, cost: float) -> float:
        if len(self._last) > 2 * len(self._heap) + 16:
            self._last = {one: until for one, until in self._last.items() if until > self._now}
        until = self._last[connection] = max(self._now, self._last.get(connection, 0.0)) + cost
        return until

    def first(self) -> Item:
        return self._heap[0][3]

    def pass_on(self, cost: float) -> None:
        self._now, number, connection, item = self._heap[0]
        until = self._now + cost
        self._last[connection] = max(self._last.get(connection, 0.0), until)
        heapq.heapreplace(self._heap, (until, number, connection, item))

    def charge(self, connection: str, more: float) -> None:
        self._last[connection] = max(self._now, self._last.get(connection, 0.0)) + more

    def take(self) -> Item:
        self._now, _, _, item = heapq.heappop(self._heap)
        return item

    def drop(self, item: Item) -> bool:
        for at, waiting in enumerate(self._heap):
            if waiting[3] is item:
                del self._heap[at]
                heapq.heapify(self._heap)
                return True
        return False


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

    async def turn(self, flow: Flow, seconds: float = SLICE_SECONDS) -> None:
        """Returns when it is the turn of this sender, for work that takes so long, about."""
        if not self.is_free:
            await self._line_up(flow, seconds)

    async def begin(self, flow: Flow, seconds: float) -> None:
        """Returns when it is the turn of this sender to begin what costs the event loop so much."""
        await self.turn(flow, seconds)
        with self.work():
            self.owe(seconds)

    def when_free(self, flow: Flow, then: Callable[[], object]) -> None:
        """Calls `then` when it is the turn of this sender, but not at once."""
        self._line_up(flow, SLICE_SECONDS).add_done_callback(lambda _: then())

    def _line_up(self, flow: Flow, seconds: float) -> asyncio.Future[None]:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.put(flow, turn, seconds)
        self._clear_soon()
        return turn

    def owe(self, seconds: float) -> None:
        """What was begun in this slice will cost so much more, beside all that waits."""
        self._used += seconds

    @contextmanager
    def work(self, flow: Flow | None = None, seconds: float = 0.0) -> Iterator[None]:
        """The block is work of the event loop, of this sender, whose turn was asked for so long."""
        began = time.perf_counter()
        try:
            yield
        finally:
            took = time.perf_counter() - began
            self._used += took
            if flow is not None:
                self._waiting.charge(flow, took - seconds)
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
    """Who asks much and fast waits between two answers, while spans are sent over another connection.

    An address has one answer after the other then, with as much time between them as they take. The
    connection that sends does not wait, whatever others of its address ask, unless it asks, too.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._costs: OrderedDict[str, _Cost] = OrderedDict()
        """Of each address that was answered within the last second; the one answered last stands last."""
        self._sent: OrderedDict[str, float] = OrderedDict()
        """When each connection sent last that sends, and has asked for nothing since."""

    def sent(self, connection: str) -> None:
        """It brought spans."""
        now = self._sent[connection] = self._clock()
        self._sent.move_to_end(connection)
        while now - next(iter(self._sent.values())) >= SENT_SECONDS:
            self._sent.popitem(last=False)

    def took(self, flow: Flow, seconds: float) -> None:
        """An answer to this address took so long."""
        self._sent.pop(flow.connection, None)
        now, seconds = self._clock(), min(seconds, LONGEST_COST)
        cost = self._costs.pop(flow.who, None) or _Cost(now, seconds)
        cost.at, cost.seconds = now, (cost.seconds + seconds) / 2
        self._costs[flow.who] = cost
        while self._costs and now - next(iter(self._costs.values())).at > LONGEST_WAIT:
            self._costs.popitem(last=False)

    async def turn(self, flow: Flow) -> None:
        """Returns when this address may be answered again."""
        if seconds := self.wait(flow):
            await asyncio.sleep(seconds)

    def wait(self, flow: Flow) -> float:
        """Seconds until this address may be answered again; the next one of it comes after that."""
        now = self._clock()
        cost = self._costs.get(flow.who)
        if cost is None or now - cost.at > LONGEST_WAIT or not self._others_send(flow, now):
            return 0.0
        begins = max(now, cost.next)
        cost.next = min(begins + TIMES * cost.seconds, now + LONGEST_WAIT)
        return begins - now

    def _others_send(self, flow: Flow, now: float) -> bool:
        """Do others, and not this one?"""
        last = next(reversed(self._sent.values()), -math.inf)
        return now - last < SENT_SECONDS and now - self._sent.get(flow.connection, -math.inf) >= SENT_SECONDS


class _Cost:
    """What answers to one address cost."""

    __slots__ = ("at", "next", "seconds")

    def __init__(self, now: float, seconds: float) -> None:
        self.at = self.next = now
        """When it was answered last, and when it is answered next."""
        self.seconds = seconds
        """That an answer takes, about."""
