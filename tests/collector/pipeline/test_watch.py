"""What a collector knows of itself without asking anybody."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from collector.clock import Clock
from collector.model import Segment
from collector.otlp.segments import from_protobuf, without
from collector.pipeline import watch
from collector.pipeline.watch import Watch
from collector.settings import Limits
from collector.store import Store, open_store, readiness, reads, work
from collector.store.ingest import KnownKeys, put
from tests.support.traces import agent_request, new_id, until


class Child:
    """A supervisor as the watch sees it."""

    def __init__(self) -> None:
        self.judged, self.busy, self.kills = 0, False, list[str]()

    def kill(self, why: str) -> None:
        self.kills.append(why)


class Judging(Child):
    """One that has judged another run whenever it is looked at."""

    @property
    def judged(self) -> int:
        self._judged += 1
        return self._judged

    @judged.setter
    def judged(self, count: int) -> None:
        self._judged = count


class Busy(Child):
    """One that judges a run all the time."""

    def __init__(self) -> None:
        super().__init__()
        self.busy = True


@contextmanager
def watching(store: Store, *children: Child) -> Iterator[Watch]:
    made = Watch(store, Clock(), children)  # type: ignore[arg-type]
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """With one run that has been due for a minute; looked at all the time."""
    for name, seconds in (("LOOK_SECONDS", 0.005), ("STUCK_SECONDS", 0.05), ("KILL_SECONDS", 0.1)):
        monkeypatch.setattr(watch, name, seconds)
    made = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    arrivals: list[tuple[int, Segment]] = [
        (1, one) for one in from_protobuf(agent_request(new_id(), ["a"]), Limits()).segments
    ]
    with made.write() as connection:
        put(connection, arrivals, KnownKeys(), without, now=Clock()() - 60, open_check=0)
    yield made
    made.close()


def wait(ask: Any) -> None:
    for _ in until():
        if ask():
            return
    raise AssertionError("waited in vain")


def test_checkers_that_do_nothing_while_runs_are_due_are_started_again(store: Store) -> None:
    child = Child()
    with watching(store, child) as made:
        wait(lambda: made.problems)
        assert made.problems[0].startswith("runs have been due for 6")
        assert made.lag >= 60
        wait(lambda: child.kills)
        assert "none is judged" in child.kills[0]


@pytest.mark.parametrize("kind", [Judging, Busy])
def test_checkers_that_do_something_are_left_alone(store: Store, kind: type[Child]) -> None:
    child = kind()
    with watching(store, child) as made:
        for _ in range(40):
            before = made._ended
            wait(lambda before=before: made._ended != before)
        wait(lambda: made.problems == [])
        assert child.kills == []


def test_a_collector_that_only_stores_is_ready_whatever_waits(store: Store) -> None:
    with watching(store) as made:
        wait(lambda: made.lag)
        assert made.stuck == 0.0


def test_a_run_that_a_checker_holds_does_not_wait(store: Store) -> None:
    now = Clock()()
    with store.read() as connection:
        assert reads.lag(connection, now) >= 60
    assert len(work.claim(store, "w", now=now, lease=30, limit=9)) == 1
    with store.read() as connection:
        assert reads.lag(connection, now) == 0.0
        assert reads.lag(connection, now + 31) >= 60


def test_only_who_asks_has_the_store_written_to(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """An idle collector leaves the disk alone."""
    writes: list[float] = []
    monkeypatch.setattr(readiness, "touch", lambda _store, *, now: writes.append(now))
    with watching(store) as made:
        before = made._ended
        wait(lambda: made._ended != before)
        assert writes == []
        asyncio.run(made.looked())
        assert len(writes) == 1
