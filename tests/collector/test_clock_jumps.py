"""A clock that is set while a collector runs, or between two runs of it: nothing is lost, nothing waits."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from collector.access import new_key
from collector.clock import Clock
from collector.errors import Unauthorized
from collector.otlp.segments import from_protobuf
from collector.pipeline.board import Board
from collector.pipeline.checker import Checker
from collector.pipeline.janitor import HOLD_SECONDS
from collector.service import Service, clock_for
from collector.settings import Limits
from collector.store import open_store, projects, schema, work
from tests.support.postgresql import Cluster
from tests.support.traces import agent_request, new_id, settings, until

HOUR, DAY = 3600.0, 86_400.0


class Machine:
    """Its clock, which somebody sets, and the time that passes there."""

    def __init__(self) -> None:
        self.wall, self.passed = 1_790_000_000.0, 500.0
        self.clock = self.booted()

    def booted(self) -> Clock:
        """The clock of a program that starts now."""
        return Clock(wall=lambda: self.wall, passed=lambda: self.passed)

    def wait(self, seconds: float) -> None:
        self.wall += seconds
        self.passed += seconds


@contextmanager
def collector(folder: Path, machine: Machine, **others: Any) -> Iterator[Service]:
    """A collector that cleans up all the time; its checker is run by the test, see `look`."""
    known = settings(folder, janitor_seconds=0.001, checkers=0, **others)
    service = Service(known, machine.booted())
    try:
        yield service
    finally:
        service.close()


def send(service: Service, *, root: bool = True) -> str:
    """One run, stored by the collector's own writer."""
    key, stored = new_id(), threading.Event()
    batch = from_protobuf(agent_request(key, ["a"], root=root), Limits())
    service.writer.submit(1, batch, lambda failure: failure is None and stored.set())
    assert stored.wait(30)
    return key


def look(service: Service) -> dict[str, bool]:
    """Judge what is due: run -> whether it was complete."""
    board = Board()
    checker = Checker(service.store, service.settings, "w", board, clock=service.clock)
    while checker.round(service.clock()):
        pass
    board.close()
    return looked(service)


def looked(service: Service) -> dict[str, bool]:
    with service.store.read() as connection:
        query = select(schema.runs.c.key, schema.runs.c.complete).where(schema.runs.c.complete.is_not(None))
        return {row.key: row.complete for row in connection.execute(query)}


def rounds(service: Service) -> None:
    """The janitor went round at least once from beginning to end."""
    assert service.lead is not None
    seen = service.lead.janitor.rounds
    for _ in until():
        if service.lead.janitor.rounds >= seen + 2:
            return
    raise AssertionError("the janitor does not go round")


def runs(service: Service) -> int:
    with service.store.read() as connection:
        return len(connection.execute(select(schema.runs.c.id)).all())


def test_a_jump_of_thirty_days_deletes_nothing_and_thirty_days_do(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    machine = Machine()
    with caplog.at_level(logging.WARNING), collector(tmp_path, machine) as service:
        projects.change(service.store, 1, {"retention_days": 7})
        send(service)
        machine.wall += 30 * DAY
        rounds(service)
        assert runs(service) == 1
        assert [r.getMessage() for r in caplog.records if "machine's clock" in r.getMessage()] == [
            "the machine's clock is +2592000 s from where it was: times go on as before until a restart"
        ]
        machine.wait(8 * DAY)
        rounds(service)
        assert runs(service) == 0


@pytest.mark.parametrize("jump", [-HOUR, 30 * DAY])
def test_a_jump_delays_no_run_and_completes_none_early(tmp_path: Path, jump: float) -> None:
    machine = Machine()
    with collector(tmp_path, machine, idle_seconds=60.0) as service:
        rootless = send(service, root=False)
        machine.wait(2)
        machine.wall += jump
        assert look(service) == {rootless: False}
        later = send(service)
        assert look(service)[later] is True
        machine.wait(30)
        assert look(service)[rootless] is False
        machine.wait(31)
        assert look(service)[rootless] is True


def test_a_start_with_a_clock_that_was_set_back_delays_no_run(tmp_path: Path) -> None:
    machine = Machine()
    with collector(tmp_path, machine, idle_seconds=60.0) as service:
        rootless = send(service, root=False)
        rooted = send(service)
    machine.wall -= HOUR
    with collector(tmp_path, machine, idle_seconds=60.0) as service:
        assert look(service) == {rootless: False, rooted: True}
        machine.wait(61)
        assert look(service)[rootless] is True


def test_a_start_that_is_right_changes_nothing_of_what_waits(tmp_path: Path) -> None:
    machine = Machine()
    with collector(tmp_path, machine, idle_seconds=60.0) as service:
        send(service, root=False)
        look(service)
        due = work.next_due(service.store)
    with collector(tmp_path, machine, idle_seconds=60.0) as service:
        assert work.next_due(service.store) == due


def test_a_start_after_a_long_time_keeps_old_runs_for_an_hour(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    machine = Machine()
    with collector(tmp_path, machine) as service:
        projects.change(service.store, 1, {"retention_days": 7})
        send(service)
        rounds(service)
    machine.wall += 30 * DAY
    with collector(tmp_path, machine) as service:
        rounds(service)
        assert runs(service) == 1
        assert "nobody had the store open for 720.0 h" in caplog.text
        machine.wait(HOLD_SECONDS + 1)
        rounds(service)
        assert runs(service) == 0


def test_a_start_after_a_short_time_forgets_at_once(tmp_path: Path) -> None:
    machine = Machine()
    with collector(tmp_path, machine) as service:
        projects.change(service.store, 1, {"retention_days": 0.001})
        send(service)
        rounds(service)
    machine.wait(600)
    with collector(tmp_path, machine) as service:
        rounds(service)
        assert runs(service) == 0


@pytest.mark.both_engines(heavy="postgresql")
def test_a_lease_of_a_collector_whose_clock_was_wrong_ends(store_url: str, tmp_path: Path) -> None:
    machine = Machine()
    with collector(tmp_path, machine, store_url=store_url) as service:
        send(service)
        now = service.clock()
        assert len(work.claim(service.store, "wrong", now=now, lease=HOUR, limit=9)) == 1
        assert work.claim(service.store, "right", now=now, lease=HOUR, limit=9) == []
        assert len(work.claim(service.store, "right", now=now, lease=30, limit=9)) == 1
        assert work.claim(service.store, "third", now=now + 29, lease=30, limit=9) == []


def test_collectors_on_one_database_have_one_clock(
    postgresql: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(postgresql.database())
    there = postgresql.execute("postgres", "SELECT extract(epoch FROM clock_timestamp())")
    monkeypatch.setattr("time.time", lambda: 5.0)
    assert abs(clock_for(store)() - float(there)) < 30
    store.close()


@pytest.mark.parametrize("jump", [-HOUR, 30 * DAY])
def test_a_jump_ends_no_question_and_no_key_and_lets_none_live_on(tmp_path: Path, jump: float) -> None:
    machine = Machine()
    with collector(tmp_path, machine) as service:
        asked = service.approvals.ask(
            1, {"tool": "refund", "text": "may it?", "seconds": 60}, service.clock()
        )
        ends = machine.wall + HOUR
        token = new_key(
            service.store, project="default", name="n", scopes=["read"], expires=ends, now=service.clock()
        )
        machine.wait(50)
        machine.wall += jump
        assert service.approvals.of(1, asked.id, service.clock()).state == "open"
        assert service.gate.grant(token, "read").allows("read")
        machine.wait(11)
        assert service.approvals.of(1, asked.id, service.clock()).state == "expired"
        machine.wait(HOUR - 62)
        assert service.gate.grant(token, "read").allows("read")
        machine.wait(2)
        with pytest.raises(Unauthorized, match="expired"):
            service.gate.grant(token, "read")
