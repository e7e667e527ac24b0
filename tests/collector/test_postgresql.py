"""PostgreSQL as the store: its address and driver, claims by several workers, several collectors at once."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from postgresql import Cluster
from sqlalchemy import text
from traces import Client, agent_request, case_json, new_id, settings, until

from collector.app import running
from collector.errors import BadStore
from collector.model import Segment
from collector.otlp.segments import from_protobuf, without
from collector.settings import Limits
from collector.store import Store, alerts, catalog, open_store, retention, schema, work
from collector.store.ingest import KnownKeys, put


def arrivals(*runs: str, calls: int = 3) -> list[tuple[int, Segment]]:
    return [
        (1, segment)
        for run in runs
        for segment in from_protobuf(agent_request(run, ["a"] * calls), Limits()).segments
    ]


def ingest(store: Store, *runs: str, now: float = 0.0) -> int:
    with store.write() as connection:
        return put(connection, arrivals(*runs), KnownKeys(), without, now=now, open_check=1)


def test_without_its_driver_the_command_that_installs_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "psycopg.py").write_text("raise ModuleNotFoundError(\"No module named 'psycopg'\")\n")
    done = subprocess.run(
        [sys.executable, "-m", "pdoctor_trace", "serve", "--store", "postgresql://me:word@127.0.0.1:1/db"],
        capture_output=True, text=True, timeout=60,
        env={"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert "pip install 'pdoctor-trace[scale]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:hidden-word@127.0.0.1:1/db",
        "postgres://me:hidden-word@127.0.0.1:1/db",
        "postgresql+asyncpg://me:hidden-word@127.0.0.1:1/db",
        "postgresql://me:hidden-word@127.0.0.1:port/db",
        "mysql://me:hidden-word@127.0.0.1/db",
        "postgresql://me:hidden-word@[127.0.0.1/db",
    ],
)
def test_an_address_that_does_not_work_is_said_without_its_password(address: str) -> None:
    with pytest.raises(BadStore) as caught:
        open_store(address)
    assert "hidden-word" not in str(caught.value)
    assert caught.value.hint


def test_a_database_of_something_else_and_one_of_a_newer_version_are_left_alone(postgresql: Cluster) -> None:
    other = postgresql.database()
    postgresql.execute(other, "CREATE TABLE users (id int)")
    with pytest.raises(BadStore, match="other tables"):
        open_store(other)
    newer = postgresql.database()
    open_store(newer).close()
    postgresql.execute(newer, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(BadStore, match="schema 9999, this version knows up to"):
        open_store(newer)
    tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
    assert postgresql.execute(other, tables) == 1


def test_collectors_that_start_together_make_one_schema(postgresql: Cluster) -> None:
    address = postgresql.database()
    with ThreadPoolExecutor(6) as pool:
        stores = list(pool.map(lambda _: open_store(address), range(6)))
    assert postgresql.execute(address, "SELECT count(*) FROM projects") == 1
    for store in stores:
        store.close()


def test_claims_of_many_workers_at_once_are_exclusive_and_complete(postgresql: Cluster) -> None:
    store = open_store(postgresql.database())
    runs = [new_id() for _ in range(300)]
    ingest(store, *runs)
    gate = threading.Barrier(6)

    def worker(name: str) -> list[str]:
        gate.wait()
        held: list[str] = []
        while claims := work.claim(store, name, now=10, lease=60, limit=7):
            held += [claim.key for claim in claims]
        return held

    with ThreadPoolExecutor(6) as pool:
        shares = list(pool.map(worker, [f"w{n}" for n in range(6)]))
    assert Counter(key for share in shares for key in share) == Counter(runs)
    assert sum(bool(share) for share in shares) > 1
    store.close()


def test_a_claim_that_another_holds_is_waited_for_by_nobody(postgresql: Cluster) -> None:
    store = open_store(postgresql.database())
    ingest(store, new_id(), new_id())
    with store.engine.connect() as holder:
        holder.execute(text("SELECT id FROM runs ORDER BY id LIMIT 1 FOR UPDATE"))
        with store.read() as connection:
            connection.execute(text("SET lock_timeout = '2s'"))
        assert len(work.claim(store, "other", now=10, lease=60, limit=9)) == 1
        holder.rollback()
    store.close()


def test_writers_of_the_same_runs_at_once_store_every_span_once(postgresql: Cluster) -> None:
    """Four writers, each with every run in an order of its own: no deadlock, no duplicate."""
    store = open_store(postgresql.database())
    runs = [new_id() for _ in range(40)]

    def writer(start: int) -> int:
        known, new = KnownKeys(), 0
        turned = runs[start:] + runs[:start]
        for at in range(0, len(turned), 8):
            with store.write() as connection:
                part = arrivals(*turned[at : at + 8])
                new += put(connection, part, known, without, now=0, open_check=1)
        return new

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(writer, [0, 10, 20, 30])) == 40 * 4
    with store.read() as connection:
        assert connection.scalar(text("SELECT sum(spans) FROM segments")) == 40 * 4
    store.close()


def test_two_collectors_on_one_database_judge_every_run_once(tmp_path: Path, postgresql: Cluster) -> None:
    address = postgresql.database()
    both = [settings(tmp_path, store_url=address) for _ in range(2)]
    case, runs = new_id(), [new_id() for _ in range(60)]
    with running(both[0]) as one, running(both[1]) as two, Client(one) as first, Client(two) as second:
        assert first.post("/cases", case_json(case, "a < b")).status_code == 201
        for number, run in enumerate(runs):
            order = ["do_a", "do_b"] if number % 2 else ["do_b", "do_a"]
            (first, second)[number // 2 % 2].send(agent_request(run, order, case=case))
        for number, run in enumerate(runs):
            found = (second, first)[number // 2 % 2].judged(run)
            assert (found["outcome"], len(found["history"])) == ("pass" if number % 2 else "fail", 1)
        assert first.get("/stats") == second.get("/stats")
    assert postgresql.execute(address, "SELECT count(*) FROM verdicts") == 60
    assert postgresql.execute(address, "SELECT sum(spans) FROM segments") == 180


def test_deliveries_and_retention_by_two_at_once_happen_once(postgresql: Cluster) -> None:
    store = open_store(postgresql.database())
    ingest(store, *(new_id() for _ in range(30)))
    hook = alerts.add_webhook(store, 1, url="https://x/", secret="s", outcomes=["fail"], now=0)
    with store.write() as connection:
        news = [(1, run, "fail", f"d{run}", "{}") for run in range(1, 31)]
        alerts.enqueue(store, connection, news, now=0)
        alerts.enqueue(store, connection, news, now=0)
    with ThreadPoolExecutor(3) as pool:
        taken = list(pool.map(lambda _: alerts.take(store, now=1, lease=60), range(3)))
    ids = [delivery.id for share in taken for delivery in share]
    assert len(ids) == len(set(ids)) == 30
    assert alerts.drop_webhook(store, 1, hook)
    retention.set_days(store, 1, 1)
    with ThreadPoolExecutor(3) as pool:
        pruned = list(pool.map(lambda _: retention.prune(store, now=1e9), range(3)))
    assert sum(pruned) == 30
    with store.read() as connection:
        for table in (schema.runs, schema.segments, schema.deliveries):
            assert connection.execute(table.select()).first() is None
    store.close()


def test_a_policy_change_is_seen(postgresql: Cluster) -> None:
    store = open_store(postgresql.database())

    def state() -> tuple[int, int]:
        with store.read() as connection:
            return catalog.policy_state(connection)

    states = [state()]
    for text_ in ("a", "b", "b"):
        catalog.put_policy(store, 1, "p", text_, now=0)
        states.append(state())
    catalog.drop_policy(store, 1, "p")
    states.append(state())
    assert states[2] == states[3]
    assert len(set(states)) == 4
    store.close()


def test_a_restart_of_the_database_is_survived(tmp_path: Path, postgresql: Cluster) -> None:
    address = postgresql.database()
    run, later = new_id(), new_id()
    with running(settings(tmp_path, store_url=address)) as url, Client(url) as client:
        assert client.send(agent_request(run, ["a"])).status_code == 200
        client.judged(run)
        postgresql.crash()
        refused = client.send(agent_request(later, ["a"]))
        assert (refused.status_code, bool(refused.headers.get("retry-after"))) == (503, True)
        unready = client.http.get("/readyz")
        assert (unready.status_code, "store" in unready.text) == (503, True)
        assert client.http.get("/healthz").status_code == 200
        listed = client.http.get("/api/v1/runs")
        assert (listed.status_code, listed.json()["error"]["code"]) == (503, "overloaded")
        postgresql.start()
        for _ in until(20):
            if client.send(agent_request(later, ["a"])).status_code == 200:
                break
        assert client.judged(later)["spans"] == client.judged(run)["spans"] == 2
        for _ in until(20):
            if client.http.get("/readyz").status_code == 200:
                break
        assert client.http.get("/readyz").status_code == 200
