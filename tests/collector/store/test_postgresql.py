"""PostgreSQL as the store: its address and driver, claims by several workers, several collectors at once."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from sqlalchemy import text
from test_filters import fill, lists_agree

from collector.errors import BadStore
from collector.model import Segment
from collector.otlp.segments import from_protobuf, without
from collector.server import running
from collector.settings import READY, Limits
from collector.store import Store, catalog, events, open_store, projects, retention, schema, webhooks, work
from collector.store.ingest import KnownKeys, put
from tests.support.postgresql import Cluster, cluster
from tests.support.soak import soaks
from tests.support.traces import (
    PROTOBUF,
    Client,
    agent_request,
    agent_spans,
    case_json,
    new_id,
    request,
    settings,
    until,
)


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


def test_filters_of_lists_mean_the_same(postgresql: Cluster) -> None:
    store = open_store(postgresql.database())
    try:
        lists_agree(store, fill(store), times=150)
    finally:
        store.close()


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
    hook = webhooks.add_webhook(store, 1, url="https://x/", secret="s", outcomes=["fail"], now=0)
    with store.write() as connection:
        news = [(1, run, "fail", f"d{run}", "{}") for run in range(1, 31)]
        webhooks.enqueue(store, connection, news, now=0)
        webhooks.enqueue(store, connection, news, now=0)
    with ThreadPoolExecutor(3) as pool:
        taken = list(pool.map(lambda _: webhooks.take(store, now=1, lease=60), range(3)))
    ids = [delivery.id for share in taken for delivery in share]
    assert len(ids) == len(set(ids)) == 30
    assert webhooks.drop_webhook(store, 1, hook)
    projects.change(store, 1, {"retention_days": 1})
    with ThreadPoolExecutor(3) as pool:
        pruned = list(pool.map(lambda _: retention.prune(store, now=1e9), range(3)))
    assert sum(pruned) == 30
    with store.read() as connection:
        for table in (schema.runs, schema.segments, schema.deliveries):
            assert connection.execute(table.select()).first() is None
    store.close()


def test_the_stream_of_verdicts_skips_none_that_becomes_visible_late(postgresql: Cluster) -> None:
    """A conclusion with a lower number is committed after one with a higher number."""
    store = open_store(postgresql.database())
    ingest(store, new_id(), new_id())
    insert = text("INSERT INTO verdicts (run, at, body) VALUES (:run, 0, '{}')")
    with store.engine.connect() as slow:
        events.announce(store, slow)
        slow.execute(insert, {"run": 1})
        with store.write() as quick:
            events.announce(store, quick)
            quick.execute(insert, {"run": 2})
        with ThreadPoolExecutor(1) as pool:
            reader = pool.submit(events.verdicts_since, store, limit=9)
            with pytest.raises(TimeoutError):
                reader.result(0.3)
            slow.commit()
            assert [row["run"] for row in reader.result(10)] == [1, 2]
    store.close()


def test_only_one_collector_exports_at_a_time(postgresql: Cluster) -> None:
    address = postgresql.database()
    one, two = open_store(address), open_store(address)
    with events.turn(one) as first, events.turn(two) as second:
        assert (first, second) == (True, False)
    with events.turn(two) as second:
        assert second
    for store in (one, two):
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
        for _ in until():
            if client.send(agent_request(later, ["a"])).status_code == 200:
                break
        assert client.judged(later)["spans"] == client.judged(run)["spans"] == 2
        for _ in until():
            if client.http.get("/readyz").status_code == 200:
                break
        assert client.http.get("/readyz").status_code == 200


class Sender(threading.Thread):
    """Sends runs in pieces, each again until it is acknowledged by one of the collectors."""

    def __init__(self, urls: list[str], pieces: list[bytes]) -> None:
        super().__init__(daemon=True)
        self.urls, self.pieces, self.stopping = urls, pieces, False

    def run(self) -> None:
        for number, piece in enumerate(self.pieces):
            turn = number
            while not self.stopping and not self.acknowledged(self.urls[turn % len(self.urls)], piece):
                turn += 1
                time.sleep(0.05)

    def acknowledged(self, url: str, piece: bytes) -> bool:
        try:
            answer = httpx.post(
                f"{url}/v1/traces", content=piece, headers=PROTOBUF, timeout=20, trust_env=False
            )
        except httpx.TransportError:
            return False
        return answer.status_code == 200


def chaos(server: Cluster, *, runs: int, blows: int, seed: int) -> None:
    """kill -9 of the database and of collectors under load: at the end every count is exact."""
    dice, address, case = random.Random(seed), server.database(), "case-1"
    expected: dict[str, str] = {}
    pieces: list[bytes] = []
    for _ in range(runs):
        run, right = dice.randbytes(16).hex(), dice.random() < 0.5
        expected[run] = "pass" if right else "fail"
        spans = agent_spans(run, ["do_a", "do_b"] if right else ["do_b", "do_a"], case=case)
        cut = dice.randrange(1, len(spans))
        pieces += [request(*part).SerializeToString() for part in (spans[:cut], spans[cut:])]
    fleet = [Collector(address) for _ in range(2)]
    urls = [collector.url for collector in fleet]
    senders = [Sender(urls, pieces[at::3]) for at in range(3)]
    try:
        with Client(urls[0]) as client:
            client.post("/cases", case_json(case, "a < b"))
        for sender in senders:
            sender.start()
        for blow in range(blows):
            time.sleep(dice.uniform(0.2, 0.8))
            if blow % 2:
                server.crash()
                time.sleep(dice.uniform(0, 0.3))
                server.start()
            else:
                struck = blow // 2 % 2
                fleet[struck].kill()
                fleet[struck] = Collector(address)  # a port of its own: others may take one that is free
                urls[struck] = fleet[struck].url
        for sender in senders:
            sender.join(240)
            assert not sender.is_alive(), "the clients were not acknowledged in time"
        with Client(urls[0]) as client:
            outcomes = {run: client.judged(run, seconds=90)["outcome"] for run in expected}
            assert outcomes == expected
            assert client.get("/stats")["runs"] == runs
        assert server.execute(address, "SELECT sum(spans) FROM segments") == 3 * runs
        assert server.execute(address, "SELECT count(*) FROM runs WHERE spans <> 3") == 0
        wrong = sum(outcome == "fail" for outcome in expected.values())
        assert server.execute(address, "SELECT count(*) FROM findings") == wrong
        twice = (
            "SELECT count(*) FROM (SELECT run, body FROM verdicts GROUP BY run, body HAVING count(*) > 1) x"
        )
        assert server.execute(address, twice) == 0
    finally:
        for sender in senders:
            sender.stopping = True
        for collector in fleet:
            collector.kill()


class Collector:
    """`pdoctor serve` on PostgreSQL as a process of its own."""

    def __init__(self, address: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pdoctor_trace", "serve", "--http-port", "0", "--grpc-port", "off",
             "--store", address, "--log-level", "error", "--check-seconds", "3"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith(READY), self.process.communicate()[1]
        self.url = line.removeprefix(READY).strip()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.mark.heavy
def test_kills_of_the_database_and_a_collector_lose_and_double_nothing() -> None:
    with cluster(durable=True) as server:
        chaos(server, runs=60, blows=2, seed=1)


@pytest.mark.heavy
def test_many_kills_of_the_database_and_of_collectors_lose_and_double_nothing() -> None:
    with cluster(durable=True) as server:
        many = soaks()
        chaos(server, runs=600 if many else 200, blows=20 if many else 6, seed=2)
