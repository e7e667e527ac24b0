"""One thread that writes spans: requests that wait together are committed together.

A request is answered only after its commit; what cannot be queued is refused, never dropped. Senders are
written in turn, and one request with very many runs in several transactions: the others wait for one.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from collector.errors import CollectorError, Overloaded, Unstorable
from collector.fair import Flow, Turns
from collector.model import Batch, Segment
from collector.otlp.segments import without
from collector.store import Store
from collector.store.ingest import KnownKeys, put

log = logging.getLogger("collector.writer")

ANSWER_SECONDS = 4.5
"""A sender waits so long for the store; by then it is told to come back."""
GROUP_BYTES = 8 * 1024 * 1024
"""At most so much in one transaction, so that a commit stays short."""
GROUP_SEGMENTS = 2_000
"""The same of runs that it touches."""
TURN_SEGMENTS = 500
"""Of one request, until it is another sender's turn."""
GROUP_SECONDS = 0.02
"""What a transaction takes, about, while several senders send: each waits for one, and then for its own."""
FEWEST_SEGMENTS = 50
"""Of a transaction all the same: a commit has its price."""
SMALL_BYTES = 4096
"""A segment of so many bytes costs twice as much as one of none, about."""
NOBODY = Flow("")
SEVERAL_SECONDS = 2.0
"""So long after two senders in turn there are several."""


@dataclass(slots=True, eq=False)
class Waiting:
    project: int
    batch: Batch
    size: int
    """Bytes of the batch."""
    done: Callable[[BaseException | None], object]
    """Called from the writer's thread, with None once the batch is durable."""
    left: bool = False
    """Nobody waits any more: it need not be stored."""
    is_over: bool = False
    """Who waits has been told."""
    _taken: int = 0

    @property
    def is_taken(self) -> bool:
        """Nothing of it is left to be stored."""
        return self.left or self.is_over or self._taken == len(self.batch.segments)

    @property
    def _left(self) -> int:
        """Segments that are still to be stored."""
        return len(self.batch.segments) - self._taken

    @property
    def is_small(self) -> bool:
        """Is what is left of it stored in a moment?"""
        return self._left <= FEWEST_SEGMENTS

    @property
    def cost(self) -> float:
        """Of its next portion, in small segments."""
        bytes_each = self.size / max(1, len(self.batch.segments))
        return 1 + min(self._left, TURN_SEGMENTS) * (1 + bytes_each / SMALL_BYTES)

    def next(self, segments: int, size: int) -> Part:
        """What is to be stored next: so many segments, and bytes, but one segment at least."""
        found: list[Segment] = []
        while not self.is_taken and len(found) < segments and size > 0:
            found.append(self.batch.segments[self._taken])
            self._taken += 1
            size -= len(found[-1].payload)
        return Part(self, found)


@dataclass(frozen=True, slots=True)
class Part:
    """Some segments of a batch, which one transaction stores."""

    of: Waiting
    segments: Sequence[Segment]

    @property
    def size(self) -> int:
        return sum(len(segment.payload) for segment in self.segments)


class Pace:
    """How many segments a transaction has room for."""

    def __init__(self) -> None:
        self._seconds = 0.0
        """Of a segment, about."""
        self._last: Flow | None = None
        self._several_until = 0.0

    def came(self, flow: Flow) -> None:
        """Something of this sender is to be stored."""
        if flow != self._last:
            if self._last is not None:
                self._several_until = time.monotonic() + SEVERAL_SECONDS
            self._last = flow

    @property
    def several(self) -> bool:
        """Do several send?"""
        return time.monotonic() <= self._several_until

    def took(self, segments: int, seconds: float) -> None:
        """A transaction took so long."""
        if segments >= FEWEST_SEGMENTS:
            one = seconds / segments
            self._seconds = self._seconds * 0.7 + one * 0.3 if self._seconds else one

    def segments(self) -> int:
        """As many as are quickly stored where several senders wait for each other, else all that fit."""
        if not self._seconds or not self.several:
            return GROUP_SEGMENTS
        return min(GROUP_SEGMENTS, max(FEWEST_SEGMENTS, int(GROUP_SECONDS / self._seconds)))


@dataclass(slots=True)
class Counters:
    spans: int = 0
    batches: int = 0
    commits: int = 0
    refused: int = 0
    failures: int = 0
    failed_at: float | None = None
    """When spans could not be stored (monotonic seconds), None once others were."""


class Writer:
    """Takes batches from any thread and stores them in groups."""

    def __init__(
        self,
        store: Store,
        *,
        queue_bytes: int,
        open_check: float,
        after_commit: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.time,
        took: Callable[[float], None] = lambda _: None,
    ) -> None:
        """`took` is told the seconds of each transaction."""
        self._store, self._limit, self._open_check = store, queue_bytes, open_check
        self._after_commit, self._clock, self._took = after_commit, clock, took
        self._queue: Turns[Waiting] = Turns()
        self._bytes = 0
        self._wake = threading.Condition()
        self._closing = False
        self._known = KnownKeys()
        self._pace = Pace()
        self.counters = Counters()
        self._thread = threading.Thread(target=self._run, name="pdoctor-writer", daemon=True)
        self._thread.start()

    def submit(
        self,
        project: int,
        batch: Batch,
        done: Callable[[BaseException | None], object],
        *,
        flow: Flow = NOBODY,
    ) -> Waiting:
        """Queue a batch of a sender; raises Overloaded at once where too much waits already."""
        size = batch.size
        with self._wake:
            if self._closing:
                raise Overloaded("the collector is shutting down", "send again in a moment", retry_after=2)
            if self._bytes and self._bytes + size > self._limit:
                self.counters.refused += 1
                raise Overloaded("too many spans are waiting to be stored", "send again in a moment")
            waiting = Waiting(project, batch, size, done)
            self._queue.put(flow, waiting, waiting.cost)
            self._pace.came(flow)
            self._bytes += size
            self._wake.notify()
            return waiting

    async def store(self, project: int, batch: Batch, flow: Flow = NOBODY) -> None:
        """Like `submit`, awaited: returns after the commit.

        Raises Overloaded where the store hangs; what is sent again then is stored once all the same.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()

        def settle(failure: BaseException | None) -> None:
            if future.done():
                return
            if failure is None:
                future.set_result(None)
            else:
                future.set_exception(failure)

        waiting = self.submit(
            project, batch, lambda failure: loop.call_soon_threadsafe(settle, failure), flow=flow
        )
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await future
        except TimeoutError:
            waiting.left = True
            said = f"the spans could not be stored within {ANSWER_SECONDS:g} s"
            raise Overloaded(said, "send again in a moment", retry_after=5) from None

    @property
    def queued_bytes(self) -> int:
        return self._bytes

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def close(self) -> None:
        """Store what waits, then stop."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._thread.join()

    def _run(self) -> None:
        while group := self._take():
            failures = self._failures(group)
            ended = [one for one in _batches(group) if not one.is_over and (one.is_taken or one in failures)]
            with self._wake:
                for one in ended:
                    one.is_over = True
                    self._bytes -= one.size
            self.counters.batches += sum(one not in failures for one in ended)
            if len(failures) < len(_batches(group)):
                self._after_commit()  # first: the checker can begin while the senders are answered
            for one in ended:
                try:
                    one.done(failures.get(one))
                except RuntimeError:  # the event loop that waited is gone
                    log.debug("nobody waits for a batch any more")

    def _failures(self, group: Sequence[Part]) -> dict[Waiting, BaseException]:
        """Why batches could not be stored; one that cannot must not stop those beside it."""
        failure = self._commit(group)
        if isinstance(failure, Unstorable) and len(_batches(group)) > 1:
            alone = {one: [part for part in group if part.of is one] for one in _batches(group)}
            ends = {one: self._commit(parts) for one, parts in alone.items()}
            return {one: failure for one, failure in ends.items() if failure is not None}
        return {} if failure is None else dict.fromkeys(_batches(group), failure)

    def _take(self) -> list[Part]:
        """What the next transaction stores, of all senders in turn; empty at the end."""
        with self._wake:
            while not self._queue and not self._closing:
                self._wake.wait()
            group: list[Part] = []
            only_small = self._pace.several
            segments, size = self._pace.segments(), GROUP_BYTES
            while self._queue and segments > 0 and size > 0:
                waiting = self._queue.first()
                if only_small and not waiting.is_small:
                    if group:
                        break  # what is small does not wait for what is big beside it
                    only_small = False
                group.append(waiting.next(min(segments, TURN_SEGMENTS), size))
                segments -= len(group[-1].segments)
                size -= group[-1].size
                if waiting.is_taken:
                    self._queue.take()
                else:
                    self._queue.pass_on(waiting.cost)
            return group

    def _commit(self, group: Sequence[Part]) -> BaseException | None:
        began = time.monotonic()
        arrivals = [(part.of.project, segment) for part in group for segment in part.segments]
        if not arrivals:
            return None
        bodies = {digest: body for one in _batches(group) for digest, body in one.batch.shared.items()}
        try:
            with self._store.write() as connection:
                spans = put(
                    connection, arrivals, self._known, without,
                    now=self._clock(), open_check=self._open_check, bodies=bodies,
                )  # fmt: skip
        except CollectorError as failure:
            self._forget()
            return failure
        except MemoryError:
            self._forget()
            return Overloaded("no memory for these spans now", "send again in a moment", retry_after=5)
        except Exception as failure:
            log.exception("a group of spans could not be stored")
            self._forget()
            return Unstorable(
                f"the spans could not be stored: {type(failure).__name__}",
                "the collector's log has the reason",
            )
        seconds = time.monotonic() - began
        self._pace.took(len(arrivals), seconds)
        self._took(seconds)
        self.counters.spans += spans
        self.counters.commits += 1
        self.counters.failed_at = None
        return None

    def _forget(self) -> None:
        """After a rollback the remembered keys may name spans that were not stored."""
        self._known = KnownKeys()
        self.counters.failures += 1
        self.counters.failed_at = time.monotonic()


def _batches(group: Sequence[Part]) -> list[Waiting]:
    """Those that a group has parts of."""
    return list(dict.fromkeys(part.of for part in group))
