"""One look at the store every second, so that whoever asks how a collector is gets an answer at once."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence

from collector.clock import Clock
from collector.errors import CollectorError
from collector.pipeline.supervisor import Supervisor
from collector.store import Store, readiness, reads

log = logging.getLogger("collector")

LOOK_SECONDS = 1.0
SLOW_SECONDS = 1.0
"""A look that takes longer is told while it goes on."""
STUCK_SECONDS = 15.0
"""Runs are due for longer, and no checker did anything in that time: this collector is not ready."""
KILL_SECONDS = 30.0
"""By then its checkers are started again."""


class Watch:
    """A thread that looks; what it saw last can be read from any other."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        supervisors: Sequence[Supervisor],
        took: Callable[[float], None] = lambda _: None,
    ) -> None:
        """`took` is told the seconds of each query."""
        self._store, self._clock, self._supervisors, self._took = store, clock, supervisors, took
        self.lag = 0.0
        """How long the longest-waiting run has been due, in seconds."""
        self._failed: str | None = None
        self._began: float | None = None
        self._ended = time.monotonic()
        self._written = 0.0
        self._moved, self._judged = time.monotonic(), 0
        """When a checker did something last, and what had been judged by then."""
        self._asked, self._stop = threading.Event(), False
        self._thread = threading.Thread(target=self._run, name="pdoctor-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop = True
        self._asked.set()
        self._thread.join(10)

    async def looked(self, within: float = 1.5) -> None:
        """Returns once the store was written to, a second ago at most, or does not answer."""
        if time.monotonic() - self._written <= LOOK_SECONDS:
            return
        before, end = self._ended, time.monotonic() + within
        self._asked.set()
        while time.monotonic() < end and (self._asked.is_set() or self._ended == before):
            await asyncio.sleep(0.01)

    @property
    def problems(self) -> list[str]:
        """Why spans cannot be stored, or are not judged."""
        began, stuck = self._began, self.stuck
        waited = 0.0 if began is None else time.monotonic() - began
        if waited > SLOW_SECONDS:
            return [f"the database has not answered for {waited:.0f} s"]
        if self._failed is not None:
            return [self._failed]
        if stuck > STUCK_SECONDS:
            return [f"runs have been due for {self.lag:.0f} s and none is judged"]
        return []

    @property
    def answers(self) -> bool:
        """Whether the database answers."""
        began = self._began
        return self._failed is None and (began is None or time.monotonic() - began <= SLOW_SECONDS)

    @property
    def stuck(self) -> float:
        """Seconds for which runs were due and no checker of this collector did anything."""
        return min(self.lag, time.monotonic() - self._moved) if self._supervisors else 0.0

    def _run(self) -> None:
        while not self._stop:
            asked = self._asked.wait(LOOK_SECONDS)
            if not self._stop:
                self._look(write=asked)
                self._follow()

    def _look(self, *, write: bool) -> None:
        began = self._began = time.monotonic()
        try:
            with self._store.read() as connection:
                self.lag = reads.lag(connection, self._clock())
            self._took(time.monotonic() - began)
            if write:
                readiness.touch(self._store, now=self._clock())
            self._failed = None
        except CollectorError as failure:
            if self._failed is None:
                log.error("%s", failure)
            self._failed = failure.message
        except Exception as failure:
            log.exception("the store could not be looked at")
            self._failed = f"the store could not be looked at: {type(failure).__name__}"
        self._ended = time.monotonic()
        self._began = None
        if write:
            self._written = self._ended
            self._asked.clear()

    def _follow(self) -> None:
        """Start the checkers again when nothing of what is due gets done."""
        judged = sum(one.judged for one in self._supervisors)
        if self.lag == 0.0 or judged != self._judged or any(one.busy for one in self._supervisors):
            self._moved, self._judged = time.monotonic(), judged
        elif self.stuck > KILL_SECONDS:
            self._moved = time.monotonic()
            for one in self._supervisors:
                one.kill(f"runs have been due for {self.lag:.0f} s and none is judged")
