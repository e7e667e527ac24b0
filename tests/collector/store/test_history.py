"""The conclusions about a run that are kept: a run that is judged again for ever does not grow for ever."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from collector.model import Batch
from collector.otlp.segments import from_protobuf, without
from collector.server import running
from collector.settings import Limits
from collector.store import open_store, reads, work
from collector.store.ingest import KnownKeys, put
from tests.support.traces import Client, agent_request, new_id, settings

BODY = orjson.dumps({"verdict": None, "policies": [], "status": "ok", "problems": []}).decode()


def batch(run: str) -> Batch:
    return from_protobuf(agent_request(run, ["a"]), Limits())


def judge(url: str, run: str, times: int) -> None:
    """Record so many different conclusions about a run, and one about another each time."""
    store, other = open_store(url), new_id()
    for at in range(times):
        with store.write() as connection:
            arrivals = [(1, segment) for key in (run, other) for segment in batch(key).segments]
            put(connection, arrivals, KnownKeys(), without, now=at, open_check=0.0)
        for claim in work.claim(store, "w", now=at + 1.0, lease=1.0, limit=9):
            summary = {"outcome": "pass", "complete": True, "listed": True}
            said = work.Conclusion(claim, summary, f"{at if claim.key == run else 0}", BODY, None)
            work.finish(store, [said], now=float(at))
    with store.read() as connection:
        rows = [reads.one_run(connection, 1, key) for key in (run, other)]
        kept = [[said["at"] for said in reads.history(connection, row["id"])] for row in rows if row]
    store.close()
    assert kept == [[float(at) for at in range(times)][-work.HISTORY :], [0.0]]


@pytest.mark.both_engines(heavy="postgresql")
def test_the_newest_conclusions_about_a_run_are_kept(store_url: str) -> None:
    judge(store_url, new_id(), work.HISTORY + 3)


def test_a_page_says_that_older_ones_are_not(tmp_path: Path) -> None:
    known, told = settings(tmp_path, checkers=0), f"The newest {work.HISTORY} verdicts on a run are kept."
    few, many = new_id(), new_id()
    judge(known.store_url, few, 3)
    judge(known.store_url, many, work.HISTORY)
    with running(known) as url, Client(url) as client:
        assert told not in client.http.get(f"/runs/{few}").text
        assert told in client.http.get(f"/runs/{many}").text
        assert len(client.run(many)["history"]) == work.HISTORY
