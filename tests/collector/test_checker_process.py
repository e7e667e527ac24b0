"""The checker process and the page that it shares with its parent."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import func, select
from traces import agent_request, new_id

from collector.model import Segment
from collector.otlp.segments import from_protobuf, without
from collector.pipeline.board import Board
from collector.pipeline.supervisor import Supervisor
from collector.settings import Limits, Settings
from collector.store import Store, open_store, schema
from collector.store.ingest import KnownKeys, put


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
