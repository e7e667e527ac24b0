"""One thread that writes spans: requests that wait together are committed together.

A request is answered only after its commit; what cannot be queued is refused, never dropped.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from collector.errors import CollectorError, Overloaded, Unstorable
from collector.model import Batch
from collector.otlp.segments import without
from collector.store import Store
from collector.store.ingest import KnownKeys, put

log = logging.getLogger("collector.writer")

ANSWER_SECONDS = 4.5
"""A sender waits so long for the store; by then it is told to come back."""
GROUP_BYTES = 8 * 1024 * 1024
"""At most so much in one transaction, so that a commit stays short."""


@dataclass(slots=True)
class Waiting:
    project: int
    batch: Batch
    done: Callable[[BaseException | None], object]
    """Called from the writer's thread, with None once the batch is durable."""
    left: bool = False
    """Nobody waits any more: it need not be stored."""


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
        self._queue: deque[Waiting] = deque()
        self._bytes = 0
        self._wake = threading.Condition()
        self._closing = False
        self._known = KnownKeys()
        self.counters = Counters()
        self._thread = threading.Thread(target=self._run, name="pdoctor-writer", daemon=True)
        self._thread.start()

    def submit(self, project: int, batch: Batch, done: Callable[[BaseException | None], object]) -> Waiting:
        """Queue a batch; raises Overloaded at once where too much waits already."""
        with self._wake:
            if self._closing:
                raise Overloaded("the collector is shutting down", "send again in a moment", retry_after=2)
            if self._bytes and self._bytes + batch.size > self._limit:
                self.counters.refused += 1
                raise Overloaded("too many spans are waiting to be stored", "send again in a moment")
            waiting = Waiting(project, batch, done)
            self._queue.append(waiting)
            self._bytes += batch.size
            self._wake.notify()
            return waiting

    async def store(self, project: int, batch: Batch) -> None:
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

        waiting = self.submit(project, batch, lambda failure: loop.call_soon_threadsafe(settle, failure))
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
            ends = self._ends(group)
            with self._wake:
                self._bytes -= sum(waiting.batch.size for waiting in group)
            if any(failure is None for _, failure in ends):
                self._after_commit()  # first: the checker can begin while the senders are answered
            for waiting, failure in ends:
                try:
                    waiting.done(failure)
                except RuntimeError:  # the event loop that waited is gone
                    log.debug("nobody waits for a batch any more")

    def _ends(self, group: list[Waiting]) -> list[tuple[Waiting, BaseException | None]]:
        """How each batch of a group ended; one that cannot be stored must not stop those beside it."""
        failure = self._commit(group)
        if isinstance(failure, Unstorable) and len(group) > 1:
            return [(waiting, self._commit([waiting])) for waiting in group]
        return [(waiting, failure) for waiting in group]

    def _take(self) -> list[Waiting]:
        with self._wake:
            while not self._queue and not self._closing:
                self._wake.wait()
            group: list[Waiting] = []
            size = 0
            while self._queue and (not group or size + self._queue[0].batch.size <= GROUP_BYTES):
                group.append(self._queue.popleft())
                size += group[-1].batch.size
            return group

    def _commit(self, group: list[Waiting]) -> BaseException | None:
        began = time.monotonic()
        kept = [waiting for waiting in group if not waiting.left]
        arrivals = [(waiting.project, segment) for waiting in kept for segment in waiting.batch.segments]
        bodies = {digest: body for waiting in kept for digest, body in waiting.batch.shared.items()}
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
        self._took(time.monotonic() - began)
        self.counters.spans += spans
        self.counters.batches += len(group)
        self.counters.commits += 1
        self.counters.failed_at = None
        return None

    def _forget(self) -> None:
        """After a rollback the remembered keys may name spans that were not stored."""
        self._known = KnownKeys()
        self.counters.failures += 1
        self.counters.failed_at = time.monotonic()
