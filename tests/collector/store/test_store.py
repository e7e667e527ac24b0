"""The store itself: one schema, no writes by an old program, full and read-only disks, damage."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, text
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from collector.errors import BadStore, Overloaded
from collector.otlp.segments import from_protobuf, without
from collector.server import running
from collector.settings import Limits
from collector.store import Store, closings, neighbours, open_store, reads, schema, stored, work
from collector.store import ingest as ingest_
from collector.store.ingest import KnownKeys, put
from collector.store.prepared import several
from tests.support.plans import plans_of
from tests.support.traces import Client, agent_request, agent_spans, new_id, request, settings


def url(folder: Path) -> str:
    return f"sqlite:///{folder / 'store.db'}"


def ingest(store: object, *runs: str, calls: int = 3, now: float = 0.0) -> int:
    """Store whole runs in one transaction each; returns how many spans were new."""
    new = 0
    for run in runs:
        batch = from_protobuf(agent_request(run, ["a"] * calls), Limits())
        with store.write() as connection:  # type: ignore[attr-defined]
            arrivals = [(1, segment) for segment in batch.segments]
            new += put(connection, arrivals, KnownKeys(), without, now=now, open_check=1)  # type: ignore[arg-type]
    return new


def test_a_store_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    open_store(url(tmp_path)).close()
    with sqlite3.connect(tmp_path / "store.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    before = (tmp_path / "store.db").read_bytes()
    with pytest.raises(BadStore, match="schema 9999, this version knows up to") as caught:
        open_store(url(tmp_path))
    assert "upgrade" in str(caught.value.hint)
    assert (tmp_path / "store.db").read_bytes() == before


def test_a_database_of_something_else_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "store.db") as connection:
        connection.execute("CREATE TABLE users (id)")
    connection.close()
    with pytest.raises(BadStore, match="other tables"):
        open_store(url(tmp_path))


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("nonsense", "no store address"),
        ("mysql://host/db", "no store address"),
        ("sqlite://", "no store address"),
        ("sqlite:////no/such/folder/x.db", "does not exist"),
    ],
)
def test_a_bad_address_says_what_is_expected(address: str, why: str) -> None:
    with pytest.raises(BadStore, match=why):
        open_store(address)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "store.db").write_bytes(b"not a database at all" * 100)
    with pytest.raises(BadStore, match="cannot open"):
        open_store(url(tmp_path))


def test_every_span_is_stored_once_whatever_the_batches(tmp_path: Path) -> None:
    store = open_store(url(tmp_path))
    run = new_id()
    spans = agent_spans(run, ["a", "b", "c"])
    new = 0
    for part in ([0, 1], [1, 2], [2, 3], [0, 1, 2, 3], [3]):
        batch = from_protobuf(request(*(spans[i] for i in part)).SerializeToString(), Limits())
        with store.write() as connection:
            arrivals = [(1, segment) for segment in batch.segments]
            new += put(connection, arrivals, KnownKeys(), without, now=0, open_check=1)
    assert new == 4
    with store.read() as connection:
        assert connection.scalar(text("SELECT sum(spans) FROM segments")) == 4
        assert connection.scalar(text("SELECT sum(length(span_keys)) FROM segments")) == 32 + 24 + 24
    store.close()


def test_what_sqlite_refuses_is_told_as_by_sqlalchemy_and_without_values(tmp_path: Path) -> None:
    store = open_store(url(tmp_path))
    secret = {"run": 1, "spans": 1, "span_keys": b"what people sent", "payload": None}
    with pytest.raises(IntegrityError) as refused, store.write() as connection:
        ingest_.ADD_SEGMENTS.run(connection, [secret])
    assert "segments.payload" in str(refused.value)
    assert "what people sent" not in str(refused.value)
    with store.write() as connection:
        connection.execute(text("DROP TABLE closings"))
    for attempt in (store.read, store.write):
        with pytest.raises(Overloaded, match="no such table: closings"), attempt() as connection:
            closings.are_due(connection, 0.0)
    store.close()


def test_claims_are_exclusive_and_come_back_when_the_lease_ends(tmp_path: Path) -> None:
    store = open_store(url(tmp_path))
    ingest(store, *(new_id() for _ in range(5)))
    first = work.claim(store, "one", now=10, lease=5, limit=3)
    second = work.claim(store, "two", now=10, lease=5, limit=9)
    assert (len(first), len(second)) == (3, 2)
    assert not {c.run for c in first} & {c.run for c in second}
    assert work.claim(store, "three", now=11, lease=5, limit=9) == []
    work.release(store, "one")
    assert {c.run for c in work.claim(store, "three", now=12, lease=5, limit=9)} == {c.run for c in first}
    late = work.claim(store, "four", now=18, lease=5, limit=9)
    assert {c.run for c in late} == {c.run for c in (*first, *second)}
    store.close()


def test_runs_are_not_given_up_because_collectors_were_killed_around_them(tmp_path: Path) -> None:
    store = open_store(url(tmp_path))
    ingest(store, *(new_id() for _ in range(3)))
    for kill in range(9):
        claims = work.claim(store, "one", now=10 + 10 * kill, lease=5, limit=3)
        assert [claim.attempts for claim in claims] == [1, 1, 1]
    store.close()


def test_only_the_run_that_stopped_its_checker_uses_up_an_attempt(tmp_path: Path) -> None:
    store = open_store(url(tmp_path))
    ingest(store, *(new_id() for _ in range(3)))
    for _ in range(5):
        claims = work.claim(store, "one", now=10, lease=5, limit=3)
        work.release(store, "one", culprit=claims[0].key)
        work.claim(store, "one", now=10, lease=5, limit=3)
        work.release(store)  # the whole collector was killed
    last = {claim.key: claim.attempts for claim in work.claim(store, "one", now=10, lease=5, limit=3)}
    assert sorted(last.values())[:2] == [1, 1]
    assert max(last.values()) > 1
    store.close()


@pytest.mark.parametrize(
    "wanted",
    [
        {}, {"case": "x"}, {"agent": "x"}, {"outcome": "fail"}, {"error_type": "order"}, {"service": "x"},
        {"tool": "x"}, {"policy": "x"}, {"agent": "x", "outcome": "fail", "tool": "x"}, {"since": 1.0},
    ],
)  # fmt: skip
def test_newest_runs_come_from_an_index_that_has_them_in_order(
    tmp_path: Path, wanted: dict[str, Any]
) -> None:
    store = open_store(url(tmp_path))
    plan = plans(store, lambda connection: reads.list_runs(connection, 1, reads.Filter(**wanted), limit=50))
    assert sorts_and_scans(plan) == []
    store.close()


def test_arrivals_and_checks_look_their_rows_up(tmp_path: Path) -> None:
    store = open_store(url(tmp_path))
    run = new_id()
    ingest(store, run)

    def ask(connection: Connection) -> None:
        ingest_.RUN_ROWS.ask(connection, project=1, keys=several(connection, [run]))
        ingest_.SPAN_KEYS.ask(connection, runs=several(connection, [1]))
        for query in (stored.payloads, neighbours.guests, neighbours.hosts, stored.weights):
            query(connection, [1])
        neighbours.bindings(connection, [run])

    assert sorts_and_scans(plans(store, ask)) == ["USE TEMP B-TREE FOR ORDER BY"] * 2  # a run's own segments
    store.close()


def test_a_query_without_its_index_is_noticed(tmp_path: Path) -> None:
    store = open_store(url(tmp_path))
    newest = select(schema.runs).where(schema.runs.c.source == "x").order_by(schema.runs.c.last_seen)
    found = sorts_and_scans(plans(store, lambda connection: connection.execute(newest).all()))
    assert found == ["SCAN runs", "USE TEMP B-TREE FOR ORDER BY"]
    store.close()


def plans(store: Store, ask: Callable[[Connection], object]) -> list[str]:
    """The steps that SQLite takes for all the queries that `ask` makes."""
    return [step for plan in plans_of(store, ask) for step in plan]


def sorts_and_scans(plan: Sequence[str]) -> list[str]:
    """The steps that grow with the store (a list of given ids does not, nor a statement without a table)."""
    steady = ("VIRTUAL TABLE", "CONSTANT ROW")
    return [
        step
        for step in plan
        if step.startswith(("SCAN", "USE TEMP")) and not any(what in step for what in steady)
    ]


def test_a_damaged_segment_costs_only_its_own_spans(tmp_path: Path) -> None:
    hurt, whole = new_id(), new_id()
    with running(settings(tmp_path, checkers=0)) as at, Client(at) as client:
        for run in (hurt, whole):
            first, *rest = agent_spans(run, ["a", "b"])
            client.send(request(first).SerializeToString())
            client.send(request(*rest).SerializeToString())
    with sqlite3.connect(tmp_path / "store.db") as connection:
        connection.execute("UPDATE segments SET payload = substr(payload, 1, 60) WHERE id = 1")
    connection.close()
    with running(settings(tmp_path)) as at, Client(at) as client:
        assert client.judged(whole)["problems"] == []
        found = client.judged(hurt)
        assert [call["name"] for call in found["calls"]] == ["b"]
        assert "1 stored segments are damaged and were left out" in found["problems"]


def test_a_full_disk_is_answered_with_503_and_nothing_is_lost_or_broken(tmp_path: Path) -> None:
    """The database may not grow (as on a full disk); then it may again."""
    program = f"""
import sys, time
from tests.support.traces import Client, agent_request, new_id, settings
from pathlib import Path
from collector.server import running
from sqlalchemy import event
from collector.store import engine as engine_module

limits = []
original = engine_module._engine
def limited(*given):
    made = original(*given)
    @event.listens_for(made, "connect")
    def _limit(connection, _record):
        limits.append(connection)
    return made
engine_module._engine = limited
with running(settings(Path({str(tmp_path)!r}), checkers=0)) as url, Client(url) as client:
    stored, statuses = [], []
    for number in range(400):
        if number == 5:
            for connection in limits:
                pages = connection.execute("PRAGMA page_count").fetchone()[0]
                connection.execute(f"PRAGMA max_page_count = {{pages + 8}}")
        run = new_id()
        answer = client.send(agent_request(run, ["a"] * 20))
        statuses.append(answer.status_code)
        if answer.status_code == 200:
            stored.append(run)
        else:
            assert answer.status_code == 503, answer.text
            assert answer.headers["retry-after"]
            break
    assert statuses[-1] == 503, statuses
    assert client.http.get("/readyz").status_code in (200, 503)
    for connection in limits:
        connection.execute("PRAGMA max_page_count = 1000000")
    assert client.send(agent_request(new_id(), ["a"])).status_code == 200
    for run in stored:
        assert len(client.get(f"/runs/{{run}}/spans")["items"]) == 21
    print(len(stored))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 5
    connection = sqlite3.connect(tmp_path / "store.db")
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_a_read_only_store_is_answered_with_overloaded(tmp_path: Path) -> None:
    store = open_store(url(tmp_path))
    with store.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA query_only = 1")
    with pytest.raises(Overloaded, match="refuses to write"):
        ingest(store, new_id())
    with store.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA query_only = 0")
    assert ingest(store, new_id()) == 4
    store.close()


@pytest.mark.heavy
def test_a_hundred_thousand_runs_are_listed_in_milliseconds(tmp_path: Path) -> None:
    """Newest 50 by outcome, one run, and the counts, with 100,000 runs stored."""
    from collector.store import reads

    store = open_store(url(tmp_path))
    rows = [
        {
            "project": 1, "key": f"{i:032x}", "first_seen": i, "last_seen": i, "version": 1, "checked": 1,
            "outcome": "fail" if i % 97 == 0 else "pass", "listed": True, "agent": f"agent-{i % 17}",
        }
        for i in range(100_000)
    ]  # fmt: skip
    with store.write() as connection:
        connection.execute(schema.runs.insert(), rows)
    with store.read() as connection:
        for ask in (
            lambda: reads.list_runs(connection, 1, reads.Filter(outcome="fail", agent="agent-3"), limit=50),
            lambda: reads.one_run(connection, 1, f"{77:032x}"),
        ):
            ask()
            began = time.process_time()
            for _ in range(20):
                ask()
            assert (time.process_time() - began) / 20 < 0.02
    store.close()


@pytest.mark.usefixtures("cold_checkers")
def test_the_checker_keeps_no_port_open(tmp_path: Path) -> None:
    """A socket that a checker inherited would keep the address taken after a crash."""
    with running(settings(tmp_path)) as at, Client(at) as client:
        client.send(agent_request(new_id(), ["a"]))
        threads = Path(f"/proc/{os.getpid()}/task").glob("*/children")
        children = [child for thread in threads for child in thread.read_text().split()]
        checkers = [
            child
            for child in children
            if b"collector.pipeline.checker" in Path(f"/proc/{child}/cmdline").read_bytes()
        ]
        assert checkers
        for child in checkers:
            assert not any(link.startswith("socket:") for link in open_files(child))


def open_files(process: str) -> Iterator[str]:
    """What the files are that a process has open; those that it closes meanwhile are left out."""
    for link in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):
            yield os.readlink(link)


def test_remembered_span_keys_are_bounded_and_forgotten_ones_are_read_again(tmp_path: Path) -> None:
    known = KnownKeys(limit=30)
    for run in range(5):
        known.put(run, 1, {bytes([run, at]) for at in range(4)})
    assert known.total <= 30
    assert (known.get(0, 1), known.get(4, 2)) == (None, None)
    assert len(known.get(4, 1) or ()) == 4
    assert len(known.get(3, 1) or ()) == 4


def test_many_runs_of_one_span_are_not_all_remembered() -> None:
    """50,000 of them were 25 MB, which lay between all that came and went."""
    known = KnownKeys()
    for run in range(50_000):
        known.put(run, 1, {run.to_bytes(8)})
    assert len(known.entries) < 6_000
    assert known.get(49_999, 1)


def test_a_batch_is_cut_where_its_spans_would_fill_the_memory() -> None:
    from collector.pipeline.reading import BYTES_AT_ONCE, SPANS_AT_ONCE, parts_of

    claims = [work.Claim(run, 1, str(run), 1, 0, 0, None, 1, None, None) for run in range(5)]
    spans = (10, SPANS_AT_ONCE * 3, SPANS_AT_ONCE - 5, 5, 1)
    sizes = (10, BYTES_AT_ONCE * 3, BYTES_AT_ONCE - 5, 5, 1)
    for weights in ([(number, 0) for number in spans], [(1, number) for number in sizes]):
        parts = parts_of(claims, dict(enumerate(weights)))
        assert [[claim.run for claim in part] for part in parts] == [[0], [1], [2, 3], [4]]


def test_a_second_copy_of_a_span_says_nothing_about_its_run() -> None:
    run = new_id()
    inner = {"trace": run, "id": 7, "parent": 1, "name": "a"}
    (segment,) = from_protobuf(
        request(inner, {**inner, "parent": None}).SerializeToString(), Limits()
    ).segments
    assert (len(segment.keys), segment.has_root) == (1, False)


@pytest.mark.both_engines
def test_what_is_read_through_one_connection_is_of_one_instant(store_url: str) -> None:
    store = open_store(store_url)
    first, second = new_id(), new_id()
    ingest(store, first)
    with store.read() as connection:
        before = reads.stats(connection, 1)
        ingest(store, second)
        assert reads.stats(connection, 1) == before
    with store.read() as connection:
        assert reads.stats(connection, 1)["runs"] == before["runs"] + 1
    store.close()
