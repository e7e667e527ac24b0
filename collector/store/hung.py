"""A PostgreSQL that hangs: nobody waits longer for it than was said.

A server that is stopped, or behind a network that swallows everything, keeps its connections: no time limit
of its own ends a query then. So the waiting is bounded here, by the time without any sign of life.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine, event


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds to wait for a database."""

    answer: float = 30.0
    """For a sign of life during a statement, and for the whole of it where the server lives."""
    ping: float = 10.0
    """That a connection is still there."""
    connect: int = 10


PATIENT = Patience()
QUICK = Patience(4.0, 1.5, 3)
"""Of receivers and pages: together under five seconds."""


PAUSE_SECONDS = 1.0
"""Between two tries of a database that hangs; all others are told at once."""


GRACE_SECONDS = 0.3
"""A server that lives ends a statement by itself; it gets a moment to say so."""


class Watched:
    """How an engine waits; `told` hears whenever a wait begins (True) and ends."""

    def __init__(self, patience: Patience) -> None:
        self.patience = patience
        self.told: Callable[[bool], object] = lambda _: None
        self.hung_at = -math.inf
        """When the database did not answer in time (monotonic seconds)."""
        self.unbounded = True
        """A migration may take its time."""
        self._here = threading.local()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """What follows may have to wait."""
        self.told(True)
        try:
            yield
        finally:
            self.told(False)

    @contextmanager
    def checking(self) -> Iterator[None]:
        """A connection is taken from the pool, or made."""
        self._here.checks = True
        try:
            yield
        finally:
            self._here.checks = False

    @property
    def hung(self) -> bool:
        """It has just not answered: whoever asks again at once would wait for nothing."""
        return time.monotonic() - self.hung_at < PAUSE_SECONDS

    @property
    def limit(self) -> float:
        """Seconds for what this thread waits for now."""
        if self.unbounded:
            return math.inf
        if getattr(self._here, "checks", False):
            return self.patience.ping
        return self.patience.answer + GRACE_SECONDS


def watch(engine: Engine, watched: Watched) -> None:
    """Have all connections of a PostgreSQL engine wait as `watched` says."""
    from psycopg.errors import ConnectionTimeout

    bounded = _bounded(watched)

    @event.listens_for(engine, "do_connect")
    def _connect(_dialect: Any, _record: Any, given: Any, named: Any) -> Any:
        try:
            connection = bounded.connect(*given, **{**named, "connect_timeout": watched.patience.connect})
        except ConnectionTimeout:
            watched.hung_at = time.monotonic()
            raise
        if not watched.unbounded:
            connection.execute(f"SET statement_timeout = {int(watched.patience.answer * 1000)}")
            connection.commit()
        return connection


def _bounded(watched: Watched) -> Any:
    from psycopg import Connection, OperationalError

    class Bounded(Connection[Any]):
        def wait(self, gen: Any, *given: Any, **named: Any) -> Any:
            with watched.waiting():
                return super().wait(self._patiently(gen), *given, **named)

        def _patiently(self, steps: Any) -> Any:
            """The same steps, until nothing has come for too long."""
            limit, heard = watched.limit, time.monotonic()
            try:
                wanted = next(steps)
                while True:
                    ready = yield wanted
                    now = time.monotonic()
                    if ready:
                        heard = now
                    elif now - heard > limit:
                        watched.hung_at = now
                        self.pgconn.finish()
                        raise OperationalError(f"the database has not answered for {limit:g} s")
                    wanted = steps.send(ready)
            except StopIteration as end:
                return end.value

    return Bounded
