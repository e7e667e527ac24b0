"""Backups: made while a collector works, put back elsewhere, and refused where they would do harm."""

from __future__ import annotations

import shutil
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from collector.cli import backup, restore
from collector.server import running
from tests.support.postgresql import Cluster
from tests.support.traces import Client, agent_request, case_json, new_id, settings

ORDERS = {"kept": ["do_a", "do_b"], "broken": ["do_b", "do_a"]}


def back_up(file: Path, url: str, *more: str) -> Result:
    return CliRunner().invoke(backup.command, [str(file), "--store", url, *more])


def put_back(file: Path, url: str, *more: str) -> Result:
    return CliRunner().invoke(restore.command, [str(file), "--store", url, *more])


@contextmanager
def serving(folder: Path, url: str) -> Iterator[Client]:
    with running(settings(folder, store_url=url)) as address, Client(address) as client:
        yield client


def judged_runs(client: Client, case: str) -> dict[str, str]:
    """A run that keeps the case and one that does not -> their outcomes."""
    outcomes = {}
    for calls in ORDERS.values():
        run = new_id()
        client.send(agent_request(run, calls, case=case))
        outcomes[run] = client.judged(run)["outcome"]
    return outcomes


@contextmanager
def under_load(client: Client) -> Iterator[list[str]]:
    """Runs that arrive meanwhile, each in the list once it was acknowledged."""
    sent: list[str] = []
    over = threading.Event()

    def go_on() -> None:
        while not over.is_set():
            run = new_id()
            if client.send(agent_request(run, ["do_a"])).status_code == 200:
                sent.append(run)

    sender = threading.Thread(target=go_on)
    sender.start()
    try:
        yield sent
    finally:
        over.set()
        sender.join()


@pytest.mark.heavy
@pytest.mark.both_engines
def test_what_was_acknowledged_before_a_backup_is_in_it_with_its_verdict(
    store_url: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    file = tmp_path / "backup"
    with serving(tmp_path, store_url) as client, Client(client.url) as sender:
        case = new_id()
        client.post("/cases", case_json(case, "a < b"))
        outcomes = judged_runs(client, case)
        assert sorted(outcomes.values()) == ["fail", "pass"]
        with under_load(sender) as sent:
            while len(sent) < 20:
                pass
            before = [*sent]
            made = back_up(file, store_url)
        assert made.exit_code == 0, made.output
    if store_url.startswith("sqlite"):
        elsewhere = f"sqlite:///{tmp_path / 'elsewhere.db'}"
    else:
        server: Cluster = request.getfixturevalue("postgresql")
        elsewhere = server.database()
    done = put_back(file, elsewhere)
    assert done.exit_code == 0, done.output
    with serving(tmp_path, elsewhere) as client:
        for run, outcome in outcomes.items():
            assert client.judged(run)["outcome"] == outcome
        for run in before:
            assert [call["name"] for call in client.judged(run)["calls"]] == ["do_a"]


@pytest.fixture
def filled(tmp_path: Path) -> str:
    """A store with one run that no collector uses."""
    url = f"sqlite:///{tmp_path / 'store.db'}"
    with serving(tmp_path, url) as client:
        run = new_id()
        client.send(agent_request(run, ["do_a"]))
        client.judged(run)
    return url


def runs_in(file: Path) -> int:
    with closing(sqlite3.connect(file)) as connection:
        return int(connection.execute("SELECT count(*) FROM runs").fetchone()[0])


def test_a_backup_is_one_file_for_its_owner_and_says_what_it_holds(filled: str, tmp_path: Path) -> None:
    file = tmp_path / "backup"
    assert ": 1 runs, 2 spans" in back_up(file, filled).output
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [one.name for one in tmp_path.glob("backup*")] == ["backup"]


def test_nothing_is_replaced_unless_somebody_says_so(filled: str, tmp_path: Path) -> None:
    file = tmp_path / "backup"
    file.write_text("mine")
    refused = back_up(file, filled)
    assert (refused.exit_code, "--force" in refused.output, file.read_text()) == (2, True, "mine")
    assert back_up(file, filled, "--force").exit_code == 0
    refused = put_back(file, filled)
    assert (refused.exit_code, "--force" in refused.output) == (2, True)


def test_a_store_that_is_replaced_keeps_nothing_of_its_own(filled: str, tmp_path: Path) -> None:
    file, store = tmp_path / "backup", tmp_path / "store.db"
    back_up(file, filled)
    with serving(tmp_path, filled) as client:
        for _ in range(3):
            client.send(agent_request(new_id(), ["do_a"]))
    assert runs_in(store) == 4
    assert put_back(file, filled, "--force").exit_code == 0
    assert runs_in(store) == 1


def test_a_store_in_use_is_not_replaced(filled: str, tmp_path: Path) -> None:
    file = tmp_path / "backup"
    back_up(file, filled)
    with serving(tmp_path, filled) as client:
        refused = put_back(file, filled, "--force")
        assert (refused.exit_code, "uses" in refused.output) == (2, True)
        client.send(agent_request(new_id(), ["do_a"]))
    assert runs_in(tmp_path / "store.db") == 2


def spoil(file: Path) -> None:
    """Overwrite the middle of a file."""
    size = file.stat().st_size
    with file.open("r+b") as stream:
        stream.seek(size // 3)
        stream.write(b"\xff" * (size // 3))


def newer(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")


def other(file: Path) -> None:
    file.unlink()
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE users (id)")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (spoil, "damaged"),
        (newer, "schema 9999, this version knows up to"),
        (other, "no backup of a store"),
        (lambda file: file.write_text("hello"), "is no backup"),
        (lambda file: file.write_bytes(b"PGDMP" + b"\0" * 100), "backup of postgresql"),
    ],
    ids=["damaged", "newer", "another database", "text", "PostgreSQL"],
)
def test_a_file_that_is_no_good_backup_replaces_nothing(
    filled: str, tmp_path: Path, change: object, why: str
) -> None:
    file, store = tmp_path / "backup", tmp_path / "store.db"
    back_up(file, filled)
    before = runs_in(store)
    change(file)  # type: ignore[operator]
    refused = put_back(file, filled, "--force")
    assert (refused.exit_code, why in refused.output) == (2, True), refused.output
    assert runs_in(store) == before


def test_a_backup_that_cannot_be_written_leaves_nothing(filled: str, tmp_path: Path) -> None:
    refused = back_up(tmp_path / "no such folder" / "backup", filled)
    assert (refused.exit_code, "cannot be written" in refused.output) == (2, True)
    refused = back_up(tmp_path / "backup", f"sqlite:///{tmp_path / 'none.db'}")
    assert (refused.exit_code, "there is no store" in refused.output) == (2, True)
    shutil.copyfile(tmp_path / "store.db", tmp_path / "spoilt.db")
    spoil(tmp_path / "spoilt.db")
    assert back_up(tmp_path / "backup", f"sqlite:///{tmp_path / 'spoilt.db'}").exit_code == 2
    assert not [*tmp_path.glob("backup*")]


def test_where_a_tool_is_missing_its_command_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    refused = back_up(tmp_path / "backup", "postgresql://me:secret@127.0.0.1/db")
    assert refused.exit_code == 2
    assert "pg_dump --format=custom" in refused.output
    assert "secret" not in refused.output
