"""Forgetting what is old, now and then, and never because a clock jumped."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Mapping

from collector.clock import Clock
from collector.errors import CollectorError
from collector.store import Store, campaigns, counts, readiness, retention, shared, stretches

log = logging.getLogger("collector")

AWAY_SECONDS = 3600.0
"""A store that nobody had open for longer may only seem so, by a clock that was set meanwhile."""
HOLD_SECONDS = 3600.0
"""So long nothing is forgotten then: whoever runs the collector can set the clock right."""
COUNT_SECONDS = 86_400.0
JUMP_SECONDS = 60.0
"""A change of the machine's clock that is told."""


class Janitor:
    """A thread that deletes expired runs in small transactions and says what was done meanwhile."""

    def __init__(
        self, store: Store, clock: Clock, tally: Callable[[], Mapping[str, int]], *, pause: float
    ) -> None:
        self._store, self._clock, self._tally, self._pause = store, clock, tally, pause
        self._stop = threading.Event()
        self._jump, self._counted = 0.0, -math.inf
        self.hold_until = clock.passed() + held_for(store, clock())
        """Nothing is forgotten before (seconds that have passed)."""
        self.rounds = 0
        self._thread = threading.Thread(target=self._run, name="pdoctor-janitor", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join(10)

    def _run(self) -> None:
        said = self._tally()
        while not self._stop.wait(self._pause):
            try:
                self._round()
            except CollectorError as failure:
                log.warning("old runs could not be deleted: %s", failure.message)
            except Exception:
                log.exception("old runs could not be deleted")
            if (tally := self._tally()) != said:
                said = tally
                log.info("so far", extra=dict(tally))
            self.rounds += 1

    def _round(self) -> None:
        self._look_at_clock()
        readiness.seen_open(self._store, now=self._clock())
        self._count()
        while stretches.refresh(self._store) and not self._stop.is_set():
            pass
        if self._clock.passed() < self.hold_until:
            return
        deleted = 0
        while (batch := retention.prune(self._store, now=self._clock())) and not self._stop.is_set():
            deleted += batch
        if deleted:
            log.info("expired runs deleted", extra={"runs": deleted})
            retention.shrink(self._store)
        while campaigns.prune(self._store, now=self._clock()) and not self._stop.is_set():
            pass
        while shared.forget(self._store) and not self._stop.is_set():
            pass

    def _count(self) -> None:
        """Once a day, and at the start, hold what is counted against what is there."""
        if self._clock.passed() - self._counted < COUNT_SECONDS:
            return
        self._counted = self._clock.passed()
        if counts.set_right(self._store):
            log.warning("the counts of runs were wrong; they have been counted again")
        stretches.forget_nothing(self._store)

    def _look_at_clock(self) -> None:
        """Tell of a jump once; times of arrival go on as before it until a restart."""
        jump = self._clock.jump
        if abs(jump - self._jump) > JUMP_SECONDS:
            self._jump = jump
            said = "the machine's clock is %+.0f s from where it was: times go on as before until a restart"
            log.warning(said, jump)


def held_for(store: Store, now: float) -> float:
    """Seconds for which nothing is to be forgotten after a start at `now`."""
    last = readiness.last_open(store)
    if last is None or now - last <= AWAY_SECONDS:
        return 0.0
    log.warning(
        "by this machine's clock nobody had the store open for %.1f h: old runs are kept for another hour",
        (now - last) / 3600,
    )
    return HOLD_SECONDS
