"""Drills: a backup, and an upgrade of an older store, while 2,000 spans a second keep coming.

Nothing that was acknowledged may be missing, whole and rightly judged. How long spans were refused, and what
rate the machine gave, is printed and never decides. `PDOCTOR_OLDER` may name a checkout of an older version,
whose collector then fills the store; else today's does, and what later revisions of its schema brought is
taken out of it.
"""

from __future__ import annotations

import http.client
import itertools
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine

from tests.support.postgresql import Cluster
from tests.support.real_collector import Collector, pdoctor
from tests.support.schemas import take_back
from tests.support.soak import tell, tries
from tests.support.traces import (
    PROTOBUF,
    Client,
    agent_spans,
    case_json,
    eventually,
    free_port,
    new_id,
    request,
)

pytestmark = [pytest.mark.heavy, pytest.mark.both_engines]

RATE = 2_000
"""Spans a second that are asked for."""
RUNS = 40
"""In a request."""
SENDERS = 4
SECONDS = float(tries(200))
"""Of load before, and after, what is drilled."""
ORDERS = {"pass": ["do_a", "do_b", "do_c", "do_d"], "fail": ["do_b", "do_a", "do_c", "do_d"]}
SPANS = len(ORDERS["pass"]) + 1
"""Of a run."""
OLDER = os.environ.get("PDOCTOR_OLDER")


@dataclass(frozen=True)
class Taken:
    """A request that was acknowledged."""

    at: float
    """When (monotonic)."""
    waited: float
    """Seconds from the first time it was sent."""
    refused: int
    """How often it was not taken before."""
    runs: Mapping[str, str]
    """Run -> the outcome it has to get."""


class Load:
    """Requests at a rate; what is not acknowledged is sent again, as exporters do."""

    def __init__(self, port: int) -> None:
        self._port, self._numbers = port, itertools.count()
        self._over = threading.Event()
        self.taken: list[Taken] = []
        self._began = time.monotonic()
        self._threads = [threading.Thread(target=self._send, daemon=True) for _ in range(SENDERS)]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Returns when all that was begun is acknowledged."""
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _send(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        while not self._over.is_set():
            runs = {new_id(): outcome for outcome, _ in zip(itertools.cycle(ORDERS), range(RUNS))}
            spans = (agent_spans(run, ORDERS[outcome], case="drill") for run, outcome in runs.items())
            body = request(*itertools.chain.from_iterable(spans)).SerializeToString()
            due = self._began + next(self._numbers) * RUNS * SPANS / RATE
            self._over.wait(max(0.0, due - time.monotonic()))
            began, refused = time.monotonic(), 0
            while not acknowledged(connection, body):
                refused += 1
                time.sleep(0.05)
            now = time.monotonic()
            self.taken.append(Taken(now, now - began, refused, runs))
        connection.close()

    @property
    def runs(self) -> dict[str, str]:
        """Of everything acknowledged until now."""
        return {run: outcome for one in [*self.taken] for run, outcome in one.runs.items()}

    def rate(self, began: float, ended: float) -> float:
        """Spans acknowledged per second of that time."""
        found = sum(len(one.runs) for one in self.taken if began <= one.at <= ended)
        return found * SPANS / (ended - began)


def acknowledged(connection: http.client.HTTPConnection, body: bytes) -> bool:
    try:
        connection.request("POST", "/v1/traces", body, PROTOBUF)
        answer = connection.getresponse()
        said = answer.read()
    except (OSError, http.client.HTTPException):
        connection.close()
        return False
    assert answer.status in (200, 429, 503), said
    return answer.status == 200


@contextmanager
def loaded(port: int) -> Iterator[Load]:
    load = Load(port)
    try:
        yield load
    finally:
        load.end()


@contextmanager
def serving(url: str, port: int = 0, environment: Mapping[str, str] | None = None) -> Iterator[Collector]:
    made = Collector(url, port, "--log-level", "warning", environment=environment)
    try:
        yield made
    finally:
        made.kill()


def outcomes(client: Client) -> dict[str, tuple[str, int]]:
    """Run -> (outcome, spans), once all are judged."""
    waiting = client.get("/stats")["unchecked"]
    while waiting:  # as long as fewer and fewer do
        less = partial(lambda before: client.get("/stats")["unchecked"] < before, waiting)
        eventually(less)
        waiting = client.get("/stats")["unchecked"]
    found: dict[str, tuple[str, int]] = {}
    cursor: dict[str, str] = {}
    while True:
        page = client.get("/runs", limit=1000, **cursor)
        found |= {run["id"]: (run["outcome"], run["spans"]) for run in page["items"]}
        if page["cursor"] is None:
            return found
        cursor = {"cursor": page["cursor"]}


def as_they_have_to_be(runs: Mapping[str, str]) -> dict[str, tuple[str, int]]:
    return {run: (outcome, SPANS) for run, outcome in runs.items()}


def of(runs: Mapping[str, str], found: Mapping[str, tuple[str, int]]) -> dict[str, Any]:
    return {run: found.get(run) for run in runs}


def elsewhere(url: str, folder: Path, request: pytest.FixtureRequest) -> str:
    """An empty store of the same kind."""
    if url.startswith("sqlite"):
        return f"sqlite:///{folder / 'elsewhere.db'}"
    server: Cluster = request.getfixturevalue("postgresql")
    return server.database()


def show(capsys: pytest.CaptureFixture[str], what: str, **figures: float) -> None:
    rounded = {name: round(value, 2) for name, value in figures.items()}
    tell(what, Counter(rounded))  # type: ignore[arg-type]
    with capsys.disabled():
        said = ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in rounded.items())
        sys.stdout.write(f"\n{what}: {said}\n")


def test_a_backup_under_load_holds_all_that_was_acknowledged_before_it(
    store_url: str, tmp_path: Path, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "backup"
    with serving(store_url) as collector, Client(collector.url) as client:
        client.post("/cases", case_json("drill", "a < b", actions=("a", "b", "c", "d")))
        with loaded(collector.port) as load:
            time.sleep(SECONDS)
            before, began = load.runs, time.monotonic()
            subprocess.run([pdoctor(), "backup", str(file), "--store", store_url], check=True)
            ended = time.monotonic()
            time.sleep(SECONDS)
        there = outcomes(client)
    assert len(before) >= RUNS
    assert of(load.runs, there) == as_they_have_to_be(load.runs)
    again = elsewhere(store_url, tmp_path, request)
    subprocess.run([pdoctor(), "restore", str(file), "--store", again], check=True)
    with serving(again) as collector, Client(collector.url) as client:
        kept = outcomes(client)
    assert of(before, kept) == as_they_have_to_be(before)
    assert kept == of(kept, there)
    meanwhile = [one for one in load.taken if began <= one.at <= ended]
    show(
        capsys, f"backup under load, {store_url.partition(':')[0]}",
        spans_a_second=load.rate(load.taken[0].at, load.taken[-1].at), runs_in_it=len(kept),
        seconds=ended - began, refused=sum(one.refused for one in load.taken),
        slowest_answer_meanwhile=max((one.waited for one in meanwhile), default=0.0),
    )  # fmt: skip


OLD = "0007"
"""The revision whose stores are upgraded: the first since which spans are stored as they are now."""


def test_an_upgrade_under_load_loses_nothing_that_either_version_acknowledged(
    store_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    older = {**os.environ, "PYTHONPATH": OLDER} if OLDER else None
    port = free_port()
    with serving(store_url, port, older) as collector:
        with Client(collector.url) as client:
            client.post("/cases", case_json("drill", "a < b", actions=("a", "b", "c", "d")))
        load = Load(port)
        time.sleep(SECONDS)
        stop = time.monotonic()
        collector.end()
        stopped = time.monotonic()
        before = load.runs
    if not OLDER:
        engine = create_engine(store_url.replace("postgresql://", "postgresql+psycopg://"))
        take_back(engine, OLD, tmp_path)
        engine.dispose()
    start = time.monotonic()
    with serving(store_url, port) as collector, Client(collector.url) as client:
        ready = time.monotonic()
        time.sleep(SECONDS)
        load.end()
        there = outcomes(client)
    after = load.runs.keys() - before.keys()
    assert len(before) >= RUNS
    assert len(after) >= RUNS
    assert of(load.runs, there) == as_they_have_to_be(load.runs)
    first = min(one.at for one in load.taken if one.at > start)
    show(
        capsys, f"upgrade under load, {store_url.partition(':')[0]}",
        spans_a_second=load.rate(load.taken[0].at, stop),
        spans_a_second_after=load.rate(ready, load.taken[-1].at),
        runs_in_the_older=len(before), seconds_to_stop=stopped - stop, seconds_to_start=ready - start,
        seconds_without_an_answer=stopped - stop + first - start,
        slowest_answer=max(one.waited for one in load.taken),
    )  # fmt: skip
