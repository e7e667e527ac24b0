"""What becomes of the name of a store while a collector runs: it stays with the file that it has opened.

Where that file has lost its name, nothing is taken: who sends would be told that spans are kept which nobody
finds again.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from collector.errors import Overloaded
from collector.server import running
from collector.store import open_store
from collector.store.engine import real_address, shown
from collector.store.readiness import touch
from tests.support.traces import Client, agent_request, eventually, new_id, settings

RULES = "actions: {A: a, B: b}\npolicies:\n  - {id: never, rule: B must never happen.}\n"


@pytest.mark.parametrize("there", [True, False])
def test_all_processes_stay_with_the_store_that_was_opened(tmp_path: Path, there: bool) -> None:
    """Those that begin only afterwards, too: a checker that is started again, a guard's, that of `check`."""
    link, first, other = (tmp_path / name for name in ("link.db", "first.db", "other.db"))
    link.symlink_to(first)
    if there:
        open_store(f"sqlite:///{other}").close()
    with running(settings(tmp_path, store_url=f"sqlite:///{link}")) as url, Client(url) as client:
        assert client.http.put("/api/v1/policies/shop", content=RULES).status_code == 200
        before = new_id()
        assert client.send(agent_request(before, ["a"])).status_code == 200
        link.unlink()
        link.symlink_to(other)
        run = {"calls": [], "tools": ["a", "b"]}
        said = client.post("/guard", {"run": run, "call": {"name": "b"}}).json()
        assert said["decision"] == "refused"
        checked = client.post("/check", {"run_id": "r", "status": "ok", "calls": [{"name": "b"}]}).json()
        assert checked["outcome"] == "fail"
        after = new_id()
        assert client.send(agent_request(after, ["b"])).status_code == 200
        assert client.judged(after)["outcome"] == "fail"
        assert client.judged(before)["judged"]
    assert other.exists() == there
    store = open_store(f"sqlite:///{first}")
    store.close()


def test_the_address_of_a_link_is_that_of_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link.db").symlink_to(tmp_path / "a b%?.db")
    real = os.path.realpath(tmp_path / "a b%?.db")
    again = real_address("sqlite:///link.db")
    store = open_store(again)
    store.close()
    assert Path(real).exists()
    assert real_address(again) == again
    assert real_address("postgresql://user:word@host/db") == "postgresql://user:word@host/db"


def moved(store: Path) -> None:
    store.rename(store.with_name("moved.db"))


def replaced(store: Path) -> None:
    """By a copy, as a restore by hand does."""
    shutil.copy(store, store.with_name("copy.db"))
    moved(store)
    store.with_name("copy.db").rename(store)


def another_folder(store: Path) -> None:
    store.parent.rename(store.parent.with_name("old"))
    store.parent.mkdir()


@pytest.mark.parametrize("done", [Path.unlink, moved, replaced, another_folder])
def test_a_store_that_lost_its_name_takes_nothing_and_says_so(
    tmp_path: Path, done: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    """Neither file is written to, by no process: those that begin afterwards, too."""
    folder = tmp_path / "own"
    folder.mkdir()
    store = folder / "store.db"
    with running(settings(tmp_path, store_url=f"sqlite:///{store}")) as url, Client(url) as client:
        before = new_id()
        assert client.send(agent_request(before, ["a"])).status_code == 200
        assert client.judged(before)
        with caplog.at_level(logging.ERROR, "collector"):
            done(store)
            refused = client.send(agent_request(new_id(), ["a"]))
            said = client.http.get("/readyz")
        assert (refused.status_code, said.status_code) == (503, 503)
        assert refused.headers["retry-after"]
        (problem,) = said.json()["problems"]
        assert problem.startswith(f"the file {store} ")
        assert client.http.get("/healthz").status_code == 200
        checked = client.post("/check", {"run_id": "r", "status": "ok", "calls": [{"name": "b"}]})
        assert (checked.status_code, problem in checked.text) == (503, True)
        assert [one.message.startswith(problem) for one in caplog.records].count(True) == 1
        there = store.stat().st_mtime_ns if store.exists() else None
    assert there == (store.stat().st_mtime_ns if store.exists() else None)


def test_a_store_that_is_put_back_goes_on(tmp_path: Path) -> None:
    store, away = tmp_path / "store.db", tmp_path / "away.db"
    with running(settings(tmp_path, store_url=f"sqlite:///{store}")) as url, Client(url) as client:
        store.rename(away)
        assert client.send(agent_request(new_id(), ["a"])).status_code == 503
        away.rename(store)
        run = new_id()
        assert client.send(agent_request(run, ["a"])).status_code == 200
        assert client.judged(run)
        eventually(lambda: client.http.get("/readyz").status_code == 200)


def test_what_was_written_where_nobody_finds_it_is_not_acknowledged(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    with pytest.raises(Overloaded, match="is gone"), store.write():
        (tmp_path / "store.db").unlink()
    with pytest.raises(Overloaded, match="is gone"):
        touch(store, now=0.0)
    store.close()
    assert not (tmp_path / "store.db").exists()


def test_the_address_that_children_have_names_the_file_itself(tmp_path: Path) -> None:
    place = tmp_path / "a b%?.db"
    store = open_store(real_address(f"sqlite:///{str(place).replace('?', '%3F')}"))
    open_store(store.address).close()
    assert "file=" not in shown(store.address)
    place.rename(tmp_path / "moved.db")
    with pytest.raises(Overloaded, match="is gone"):
        open_store(store.address)
    store.close()
    assert not place.exists()
