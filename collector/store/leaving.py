"""Who asked for something and left: the statement that the database still works at for them is ended."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

from sqlalchemy.engine import Connection

from collector.errors import Left
from collector.store.prepared import driver_of


class Asker:
    """Whoever waits for an answer; `leave` may be called by any thread."""

    def __init__(self) -> None:
        self.has_left = False
        self._ends: list[Callable[[], object]] = []
        self._guard = threading.Lock()

    def leave(self) -> None:
        """End what runs for the asker now, and refuse what would begin."""
        with self._guard:
            self.has_left = True
            for end in self._ends:
                with contextlib.suppress(Exception):  # the statement is over, or its server is gone
                    end()

    @contextlib.contextmanager
    def served(self, connection: Connection) -> Iterator[None]:
        """Statements of this connection are ended with the asker. Raises Left where that is over."""
        end = _end_of(connection)
        with self._guard:
            if self.has_left:
                raise nobody()
            self._ends.append(end)
        try:
            yield
        except Exception:
            if self.has_left:  # it is why this failed
                raise nobody() from None
            raise
        finally:
            with self._guard:  # afterwards the connection serves somebody else
                self._ends.remove(end)


def nobody() -> Left:
    return Left("nobody waits for the answer any more", "ask again")


asker: ContextVar[Asker | None] = ContextVar("asker", default=None)
"""Who waits for what this thread finds out; None = whoever it is, it is found out."""


def _end_of(connection: Connection) -> Callable[[], object]:
    if connection.dialect.name == "sqlite":
        return driver_of(connection).interrupt
    psycopg: Any = connection.connection.dbapi_connection
    return lambda: psycopg.cancel()


@contextlib.contextmanager
def served(connection: Connection) -> Iterator[None]:
    """What is read in the block is for the asker of this thread, if there is one."""
    who = asker.get()
    with who.served(connection) if who is not None else contextlib.nullcontext():
        yield
