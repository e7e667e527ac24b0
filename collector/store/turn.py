"""A turn to write to a file of SQLite: all processes of a collector have one between them.

SQLite looks for its turn less and less often, up to ten times a second: a writer that goes on and on leaves
nothing to those that wait, whichever came first. Here who waits looks often, and all equally often.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.engine import Connection

from collector.store.prepared import as_usual, driver_of

BUSY_SECONDS = 15.0
"""So long a connection waits for its turn, and for other locks of the file."""
LOOK_SECONDS = 0.0005
"""Between two looks; a look takes 10 us."""
LONG_SECONDS, SELDOM_SECONDS = 0.25, 0.01
"""Whoever waits for longer looks less often: something holds the file for long."""
BEGIN = "BEGIN IMMEDIATE"


def begin(connection: Connection) -> None:
    """Begin a transaction that writes; raises SQLAlchemy's errors, after `BUSY_SECONDS` that it is locked."""
    began = time.monotonic()
    connection.begin()
    with at_once(connection) as driver:
        while True:
            try:
                driver.execute(BEGIN)
                return
            except sqlite3.Error as failure:
                waited = time.monotonic() - began
                code = getattr(failure, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
                if code & 0xFF != sqlite3.SQLITE_BUSY or waited > BUSY_SECONDS:
                    raise as_usual(connection, BEGIN, failure) from failure
            time.sleep(LOOK_SECONDS if waited < LONG_SECONDS else SELDOM_SECONDS)


@contextmanager
def at_once(connection: Connection) -> Iterator[sqlite3.Connection]:
    """In the block the driver waits for no lock of the file: what is held by another one fails."""
    driver = driver_of(connection)
    driver.execute("PRAGMA busy_timeout = 0")
    try:
        yield driver
    finally:
        driver.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")
