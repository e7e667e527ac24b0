"""The turn to write to a file of SQLite."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from collector.errors import Overloaded
from collector.store import Store, open_store, turn
from collector.store.prepared import driver_of

BUSY = """
import sqlite3, sys, time

connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=15)
connection.execute("CREATE TABLE written (times INTEGER)")
connection.execute("INSERT INTO written VALUES (0)")
print("ready", flush=True)
while True:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("UPDATE written SET times = times + 1")
    end = time.perf_counter() + 0.02
    while time.perf_counter() < end:
        pass
    connection.execute("COMMIT")
    time.sleep(0.001)
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = open_store(f"sqlite:///{tmp_path / 'store.db'}", durable=False)
    yield made
    made.close()


@pytest.fixture
def busy(store: Store) -> Iterator[sqlite3.Connection]:
    """Beside a process that writes for 20 of 21 ms; reads how often it has."""
    process = subprocess.Popen([sys.executable, "-c", BUSY, str(store.file)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline()
    reads = sqlite3.connect(str(store.file), timeout=15)
    yield reads
    reads.close()
    process.kill()
    process.wait()
    process.stdout.close()


def times(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT times FROM written").fetchone()[0])


def passed(store: Store, reads: sqlite3.Connection) -> list[int]:
    """How often the other one wrote, each time that this process waited for its turn."""
    found = []
    for _ in range(40):
        time.sleep(0.05)  # or the other one would be who waits
        before = times(reads)
        with store.write():
            found.append(times(reads) - before)
    return found


def test_who_waits_is_not_passed_again_and_again_by_one_that_goes_on_writing(
    store: Store, busy: sqlite3.Connection
) -> None:
    found = passed(store, busy)
    assert (sum(found) <= 120, max(found) <= 15) == (True, True)


def test_whoever_waits_too_long_is_told_and_the_connection_waits_as_before(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = sqlite3.connect(str(store.file), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with monkeypatch.context() as hurried:
        hurried.setattr(turn, "BUSY_SECONDS", 0.3)
        with pytest.raises(Overloaded, match="refuses to write: database is locked"), store.write():
            pass
    other.execute("ROLLBACK")
    with store.write() as connection:
        connection.exec_driver_sql("UPDATE projects SET name = 'other'")
        assert driver_of(connection).in_transaction
        assert driver_of(connection).execute("PRAGMA busy_timeout").fetchone() == (15_000,)
    assert other.execute("SELECT name FROM projects").fetchall() == [("other",)]
    other.close()


def test_what_fails_for_another_reason_is_told_at_once(store: Store) -> None:
    with store.engine.connect() as connection:
        driver_of(connection).execute("BEGIN")
        with pytest.raises(OperationalError, match="within a transaction"):
            turn.begin(connection)


def test_a_file_that_is_damaged_is_told_like_one_that_is_away(store: Store) -> None:
    """It is no fault of what was sent: whoever sent it shall come again."""
    with store.write():
        pass
    assert store.file is not None
    with sqlite3.connect(store.file) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    other.close()
    with store.file.open("r+b") as file:
        file.write(b"x" * 4096)
    with pytest.raises(Overloaded, match=r"not a database|malformed"), store.write() as connection:
        connection.exec_driver_sql("UPDATE projects SET name = 'other'")
