"""A browser that leaves before its page is there: the database does not go on working for it."""

from __future__ import annotations

import http.client
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from sqlalchemy import text

from collector.errors import Left
from collector.server import running
from collector.store import open_store, reads
from collector.store.leaving import Asker, asker
from tests.support.traces import PATIENCE, eventually, settings

FOR_EVER = {
    "sqlite": "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n",
    "postgresql": "SELECT pg_sleep(600)",
}


@pytest.mark.both_engines
def test_what_is_read_for_a_page_ends_when_its_reader_leaves(
    tmp_path: Path, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, ended, failures = threading.Event(), threading.Event(), list[BaseException]()

    def slow(connection: Any, *_: Any) -> int:
        begun.set()
        try:
            return int(connection.scalar(text(FOR_EVER[connection.dialect.name])))
        except BaseException as failure:
            failures.append(failure)
            raise
        finally:
            ended.set()

    monkeypatch.setattr(reads, "first_findings", slow)
    with running(settings(tmp_path, store_url=store_url)) as url:
        asked = http.client.HTTPConnection(urlsplit(url).netloc)
        asked.request("GET", "/runs?q=agent:somebody")
        assert begun.wait(PATIENCE)
        assert not ended.wait(0.2), "it goes on as long as somebody waits"
        asked.close()
        assert ended.wait(PATIENCE)
        again = http.client.HTTPConnection(urlsplit(url).netloc, timeout=PATIENCE)
        again.request("GET", "/api/v1/stats")
        answer = again.getresponse()
        answer.read()
        assert answer.status == 200, "others are answered as before"
        eventually(lambda: 'status="499"' in metrics(again))
        assert 'status="503"' not in metrics(again), "who left is no failure of ours"
        again.close()
    assert failures


def metrics(connection: http.client.HTTPConnection) -> str:
    connection.request("GET", "/metrics")
    return connection.getresponse().read().decode()


def test_nothing_more_is_begun_for_who_has_left(tmp_path: Path) -> None:
    store, who = open_store(f"sqlite:///{tmp_path / 'store.db'}"), Asker()
    token = asker.set(who)
    try:
        with store.read() as connection:
            assert connection.scalar(text("SELECT 1")) == 1
        who.leave()
        with pytest.raises(Left, match="nobody waits"), store.read():
            pass
    finally:
        asker.reset(token)
        store.close()
