"""A link to the store that leads elsewhere while a collector runs: it stays with what it has opened."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from collector.server import running
from collector.store import open_store
from collector.store.engine import real_address
from tests.support.traces import Client, agent_request, new_id, settings

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
