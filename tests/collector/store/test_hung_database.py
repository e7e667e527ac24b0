"""A PostgreSQL that stands still: senders and readers are told at once, and no run pays for it."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from sqlalchemy import select, text

from collector.errors import Overloaded
from collector.server import running
from collector.store import Patience, Store, open_store, schema
from collector.store.hung import GRACE_SECONDS, Watched
from tests.support.postgresql import Cluster
from tests.support.traces import Client, agent_request, new_id, settings, until

FIVE = 5.0
"""Seconds within which everybody has an answer."""


@pytest.mark.heavy
def test_a_database_that_hangs_is_told_within_five_seconds_and_nothing_is_lost(
    postgresql: Cluster, tmp_path: Path
) -> None:
    url = postgresql.database()
    with running(settings(tmp_path, store_url=url)) as address, Client(address) as client:
        first = new_id()
        client.send(agent_request(first, ["a"]))
        client.judged(first)
        held, statuses, waits = [new_id() for _ in range(8)], [], []

        def send(run: str) -> None:
            began = time.monotonic()
            with Client(address) as own:
                statuses.append(own.send(agent_request(run, ["a"])).status_code)
            waits.append(time.monotonic() - began)

        with postgresql.stopped():
            threads = [threading.Thread(target=send, args=(run,)) for run in held]
            for thread in threads:
                thread.start()
            time.sleep(1.5)
            began = time.monotonic()
            ready = client.http.get("/readyz")
            assert client.http.get("/healthz").status_code == 200
            assert time.monotonic() - began < 2.5
            assert (ready.status_code, "not answer" in ready.text) == (503, True), ready.text
            began = time.monotonic()
            assert client.http.get("/api/v1/runs").status_code == 503
            assert time.monotonic() - began < FIVE + 0.5
            for thread in threads:
                thread.join()
            assert set(statuses) == {503}
            assert max(waits) < FIVE + 0.5
        for run in held:
            for _ in until():
                if client.send(agent_request(run, ["a"])).status_code == 200:
                    break
            client.judged(run)
        for _ in until():
            if client.http.get("/readyz").status_code == 200:
                break
        assert client.get("/stats")["spans"] == 2 * len([first, *held])
    store = open_store(url)
    with store.read() as connection:
        assert set(connection.scalars(select(schema.runs.c.attempts))) == {0}
    store.close()


def test_a_statement_that_takes_too_long_is_ended_by_the_server(postgresql: Cluster) -> None:
    store = open_store(postgresql.database(), patience=Patience(answer=0.2))
    with pytest.raises(Overloaded, match="statement timeout"), store.read() as connection:
        connection.execute(text("SELECT pg_sleep(5)"))
    with store.read() as connection:
        assert connection.scalar(text("SELECT 1")) == 1
    store.close()


def test_a_server_without_a_sign_of_life_is_given_up_and_others_are_told_at_once(postgresql: Cluster) -> None:
    store = open_store(postgresql.database(), patience=Patience(0.2, 0.2, 2))
    told: list[bool] = []
    store.watched.told = told.append
    with pytest.raises(Overloaded, match=r"not answered for 0\.5 s"):
        ask_twice(store, postgresql)
    assert store.watched.hung_at > 0
    store.watched.hung_at += 3600  # still the same moment, however busy this machine is
    with pytest.raises(Overloaded, match="does not answer"), store.read():
        pass
    assert told == [True, False] * (len(told) // 2)
    assert told
    store.watched.hung_at, store.watched.patience = 0.0, Patience()
    with store.read() as connection:
        assert connection.scalar(text("SELECT 3")) == 3
    store.close()


def ask_twice(store: Store, postgresql: Cluster) -> None:
    """The second time nobody is there."""
    with store.read() as connection:
        connection.scalar(text("SELECT 1"))
        with postgresql.stopped():
            connection.scalar(text("SELECT 2"))


def test_a_migration_may_take_its_time() -> None:
    watched = Watched(Patience(answer=1.0, ping=0.5))
    assert watched.limit == float("inf")
    watched.unbounded = False
    assert watched.limit == 1.0 + GRACE_SECONDS
    with watched.checking():
        assert watched.limit == 0.5
    assert watched.limit == 1.0 + GRACE_SECONDS
