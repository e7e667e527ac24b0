"""The checker process and the page that it shares with its parent."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import func, select

from collector.errors import Unstorable
from collector.model import Batch, Segment
from collector.otlp.errors import refused
from collector.otlp.segments import from_protobuf, without
from collector.pipeline.board import Board
from collector.pipeline.checker import Checker
from collector.pipeline.supervisor import Supervisor
from collector.pipeline.writer import Writer
from collector.settings import Limits, Settings
from collector.store import Store, open_store, schema
from collector.store.ingest import KnownKeys, put
from tests.support.traces import agent_request, new_id


def test_the_board_tells_what_is_judged_and_since_when() -> None:
    parent = Board()
    checker = Board(os.dup(parent.descriptor))
    assert parent.read() == (0, None)
    before = time.monotonic()
    checker.begin("run-1")
    checker.begin("run-2")
    begun, busy = parent.read()
    assert begun == 2
    assert busy is not None
    assert busy[0] == "run-2"
    assert before <= busy[1] <= time.monotonic()
    checker.idle()
    assert parent.read() == (2, None)
    parent.clear()
    assert parent.read() == (0, None)
    checker.close()
    parent.close()


def test_a_checker_that_hangs_is_killed_and_the_next_one_judges_the_rest(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    runs = fill(store, 600)
    settings = Settings(
        store_url=f"sqlite:///{tmp_path / 'store.db'}",
        check_seconds=1.0,
        z3_check="off",
        z3_check_policies="off",
    )
    supervisor = Supervisor(store, settings)
    try:
        hung = until(lambda: supervisor._board.read()[1], pause=0.0)
        assert supervisor._process is not None
        os.kill(supervisor._process.pid, signal.SIGSTOP)
        assert hung
        until(lambda: supervisor.restarts == 1)
        until(lambda: unjudged(store) == 0)
        assert supervisor.alive
        assert supervisor.judged >= runs
    finally:
        supervisor.close()
        store.close()


def test_a_checker_that_has_time_is_left_alone(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    fill(store, 40)
    url = f"sqlite:///{tmp_path / 'store.db'}"
    supervisor = Supervisor(store, Settings(store_url=url, z3_check="off", z3_check_policies="off"))
    try:
        until(lambda: unjudged(store) == 0)
        assert supervisor.restarts == 0
    finally:
        supervisor.close()
        store.close()


def fill(store: Store, runs: int) -> int:
    """So many runs of two calls, due now."""
    arrivals: list[tuple[int, Segment]] = []
    for _ in range(runs):
        batch = from_protobuf(agent_request(new_id(), ["a", "b"]), Limits())
        arrivals += [(1, segment) for segment in batch.segments]
    with store.write() as connection:
        put(connection, arrivals, KnownKeys(), without, now=time.time(), open_check=0)
    return runs


def unjudged(store: Store) -> int:
    with store.read() as connection:
        runs = schema.runs
        return int(connection.scalar(select(func.count()).where(runs.c.checked < runs.c.version)) or 0)


def until(ask: Callable[[], object], *, pause: float = 0.05, seconds: float = 180.0) -> object:
    """The first true answer."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if answer := ask():
            return answer
        time.sleep(pause)
    pytest.fail("waited in vain")


@pytest.mark.parametrize("condition", ["NEW.outcome IS NOT 'undecided'", "true"])
def test_a_run_that_cannot_be_recorded_does_not_stop_the_others(tmp_path: Path, condition: str) -> None:
    """The planted fault: a database that refuses the verdict of one run, or whatever is said of it."""
    url = f"sqlite:///{tmp_path / 'store.db'}"
    store = open_store(url)
    fill(store, 5)
    with store.write() as connection:
        connection.exec_driver_sql(
            f"CREATE TRIGGER fault BEFORE INSERT ON verdicts WHEN NEW.run = 3 AND {condition} "
            "BEGIN SELECT RAISE(ABORT, 'planted'); END"
        )
    board = Board()
    checker = Checker(store, Settings(store_url=url, z3_check="off", z3_check_policies="off"), "w", board)
    checker.round(time.time())
    with store.read() as connection:
        runs, verdicts = schema.runs, schema.verdicts
        recorded = sorted(connection.scalars(select(verdicts.c.run)))
        queue = list(connection.scalars(select(runs.c.id).where(runs.c.due <= time.time())))
    expected = [1, 2, 4, 5] if condition == "true" else [1, 2, 3, 4, 5]
    assert recorded == expected  # each once
    assert queue == []
    store.close()
    board.close()


def test_a_batch_that_cannot_be_stored_is_refused_alone_and_for_good(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    good, bad = new_id(), new_id()
    with store.write() as connection:
        connection.exec_driver_sql(
            f"CREATE TRIGGER fault BEFORE INSERT ON runs WHEN NEW.key = '{bad}' "
            "BEGIN SELECT RAISE(ABORT, 'planted'); END"
        )
    writer = Writer(store, queue_bytes=1_000_000, open_check=0)
    ends: dict[str, BaseException | None] = {}
    hold = threading.Lock()
    with hold:  # the first batch waits in its callback, so that the others are one group
        first = threading.Event()
        writer.submit(1, batch(new_id()), lambda _: (first.set(), hold.acquire(), hold.release()))
        assert first.wait(10)
        for key in (bad, good):
            writer.submit(1, batch(key), lambda failure, key=key: ends.__setitem__(key, failure))
    writer.close()
    assert ends[good] is None
    assert isinstance(ends[bad], Unstorable)
    refusal = refused(ends[bad])
    assert (refusal.http, refusal.retry_after) == (400, None)
    store.close()


def batch(key: str) -> Batch:
    return from_protobuf(agent_request(key, ["a"]), Limits())
