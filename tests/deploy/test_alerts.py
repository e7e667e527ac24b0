"""Every alert fires when what it watches breaks: real collectors break, Prometheus judges what they tell.

`/metrics` is read before and after. Both readings are made into series of hours (what is counted goes on as
fast), and promtool says which alerts fire on them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from collector import app
from collector.access import new_key
from collector.clock import Clock
from collector.server import running
from collector.store import open_store
from collector.ui import overview
from tests.support.certificates import make
from tests.support.deployed import DEPLOY, alerts
from tests.support.drills import program
from tests.support.postgresql import cluster
from tests.support.traces import Client, agent_request, eventually, new_id, settings

pytestmark = pytest.mark.heavy

CALM, BROKEN = 60, 720
"""Samples of each, four a minute."""
PACE = 8
"""Samples in which as much is counted again."""
Reading = dict[str, float]


class Usage(NamedTuple):
    """Of a disk, as `shutil.disk_usage` tells it."""

    total: int
    used: int
    free: int


class Told(NamedTuple):
    """What a collector told before and after something broke."""

    before: Reading
    after: Reading
    falling: frozenset[str] = frozenset()
    """Gauges that go on as the two readings did, an hour apart."""


@dataclass
class Site:
    """Where a scenario takes place."""

    folder: Path
    patch: pytest.MonkeyPatch
    stack: ExitStack
    free: float = 1e11
    wall: float = field(default_factory=time.time)
    passed: float = field(default_factory=time.monotonic)

    def collector(self, **given: Any) -> Client:
        """One that runs until the scenario ends."""
        known = settings(self.folder, **given)
        url = self.stack.enter_context(running(known)).replace("0.0.0.0", "127.0.0.1")
        return self.stack.enter_context(Client(url))


def read(client: Client) -> Reading:
    """What Prometheus would keep of one look; `up` is its own word for whether there was an answer."""
    try:
        text = client.http.get("/metrics").text
    except httpx.TransportError:
        return {"up": 0.0}
    now, found = time.time(), {"up": 1.0}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            of_now = name.startswith("pdoctor_tls")  # promtool's time begins at 0
            found[name] = float(value) - (now if of_now else 0.0)
    return found


def down(site: Site) -> Told:
    with running(settings(site.folder, checkers=0)) as url, Client(url) as client:
        before = read(client)
    with Client(url) as client:
        return Told(before, read(client))


def no_database(site: Site) -> Told:
    server = site.stack.enter_context(cluster())
    client = site.collector(store_url=server.database(), checkers=0)
    before = read(client)
    server.end(signal.SIGQUIT)
    with suppress(httpx.TransportError):
        client.send(agent_request(new_id(), ["a"]))
    eventually(lambda: read(client)["pdoctor_database_up"] == 0, 60)
    return Told(before, read(client))


def not_stored(site: Site) -> Told:
    """Somebody has taken a table away."""
    client = site.collector(checkers=0)
    before = read(client)
    with sqlite3.connect(site.folder / "store.db") as other:
        other.execute("DROP TABLE segments")
    assert client.send(agent_request(new_id(), ["a"])).status_code == 503
    return Told(before, read(client))


def behind(site: Site) -> Told:
    """Nobody judges, and time passes."""
    clock = Clock(wall=lambda: site.wall, passed=lambda: site.passed)
    site.patch.setattr("collector.service.clock_for", lambda _store: clock)
    client = site.collector(checkers=0, max_lag_seconds=5.0)
    client.send(agent_request(new_id(), ["a"]))
    before = {**read(client), "pdoctor_runs_due": 0.0, "pdoctor_check_lag_seconds": 0.0}
    site.wall += 100
    site.passed += 100
    eventually(lambda: client.send(agent_request(new_id(), ["a"])).status_code == 503, 60)
    return Told(before, read(client))


def clock_set(site: Site) -> Told:
    clock = Clock(wall=lambda: site.wall, passed=lambda: site.passed)
    site.patch.setattr("collector.service.clock_for", lambda _store: clock)
    client = site.collector(checkers=0)
    before = read(client)
    site.wall -= 600
    client.send(agent_request(new_id(), ["a"]))
    return Told(before, read(client))


def checker_ends(site: Site) -> Told:
    client = site.collector()
    before = read(client)
    children = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    pids = [int(pid) for one in children for pid in one.read_text().split()]
    for pid in pids:
        if b"pipeline.checker" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGKILL)
    eventually(lambda: read(client)["pdoctor_checker_restarts_total"] > 0, 60)
    return Told(before, read(client))


def disk(site: Site, free: float) -> Told:
    client = site.collector(checkers=0)
    before = read(client)
    site.free = free
    return Told(before, read(client), frozenset({"pdoctor_disk_free_bytes"} if free > 1e10 else ()))


def slow_disk(site: Site) -> Told:
    client = site.collector(checkers=0)
    before = read(client)
    other = sqlite3.connect(site.folder / "store.db", check_same_thread=False, isolation_level=None)
    for _ in range(2):
        other.execute("BEGIN IMMEDIATE")
        free = threading.Timer(2.6, other.execute, ("COMMIT",))
        free.start()
        assert client.send(agent_request(new_id(), ["a"])).status_code == 200
        free.join()
    other.close()
    return Told(before, read(client))


def busy_loop(site: Site) -> Told:
    client = site.collector(checkers=0)
    before, plain = read(client), app.refusal

    def slow(scope: Any, settings: Any) -> Any:
        time.sleep(1.1)
        return plain(scope, settings)

    site.patch.setattr(app, "refusal", slow)
    for _ in range(2):
        client.http.get("/healthz")
    site.patch.setattr(app, "refusal", plain)
    time.sleep(0.3)
    return Told(before, read(client))


def full_of_connections(site: Site) -> Told:
    client = site.collector(checkers=0, max_connections=10)
    before, place = read(client), httpx.URL(client.url)
    for _ in range(20):
        site.stack.enter_context(socket.create_connection((place.host, place.port or 0)))
    eventually(lambda: read(client)["pdoctor_connections_dropped_total"] > 0, 60)
    return Told(before, read(client))


def broken_page(site: Site) -> Told:
    client = site.collector(checkers=0)
    before = read(client)

    def broken(*_: Any) -> Any:
        raise RuntimeError("broken on purpose")

    site.patch.setattr(overview, "found", broken)
    assert httpx.get(client.url, trust_env=False).status_code == 500  # the connection ends with it
    return Told(before, read(client))


def key_in_clear(site: Site) -> Told:
    known = settings(site.folder)
    store = open_store(known.store_url)
    key = new_key(store, project="default", name="n", scopes=["admin"])
    store.close()
    client = site.collector(checkers=0, trusted_proxies=("127.0.0.1",))
    client.http.headers["authorization"] = f"Bearer {key}"
    before = read(client)
    client.http.get("/", headers={"x-forwarded-for": "203.0.113.9", "x-forwarded-proto": "http"})
    return Told(before, read(client))


def old_certificate(site: Site) -> Told:
    readings = []
    for days in (30, 3):
        made = make(site.folder, f"days{days}", days=days)
        given = settings(site.folder, tls_cert=made.certificate, tls_key=made.key, checkers=0)
        with running(given) as url, Client(url, verify=made.trusted) as client:
            readings.append(read(client))
    return Told(*readings)


SCENARIOS: dict[str, tuple[Callable[[Site], Told], set[str]]] = {
    "down": (down, {"PDoctorDown"}),
    "no database": (no_database, {"PDoctorDatabaseDown"}),
    "nothing is stored": (not_stored, {"PDoctorStoreFailures"}),
    "behind": (behind, {"PDoctorBehind", "PDoctorNoVerdicts", "PDoctorRefusing"}),
    "clock set": (clock_set, {"PDoctorClockSet"}),
    "checkers end": (checker_ends, {"PDoctorCheckerRestarts"}),
    "disk nearly full": (lambda site: disk(site, 1e9), {"PDoctorDiskLow"}),
    "disk fills": (lambda site: disk(site, 9.7e10), {"PDoctorDiskFullSoon"}),
    "slow disk": (slow_disk, {"PDoctorSlowCommits"}),
    "busy loop": (busy_loop, {"PDoctorEventLoopLate"}),
    "connections": (full_of_connections, {"PDoctorConnectionsRefused"}),
    "broken page": (broken_page, {"PDoctorServerErrors"}),
    "key in clear": (key_in_clear, {"PDoctorKeyInClear"}),
    "old certificate": (old_certificate, {"PDoctorCertificateExpires"}),
}
ALSO = {
    "no database": {"PDoctorStoreFailures", "PDoctorServerErrors", "PDoctorRefusing"},
    "nothing is stored": {"PDoctorServerErrors", "PDoctorRefusing"},
    "clock set": {"PDoctorNoVerdicts"},
    "slow disk": {"PDoctorNoVerdicts"},
    "disk nearly full": {"PDoctorDiskFullSoon"},
}
"""What may come along."""


def test_every_alert_has_a_scenario() -> None:
    assert {alert for _, expected in SCENARIOS.values() for alert in expected} == {*alerts()}


def series(told: Told) -> list[dict[str, str]]:
    """Both readings as promtool takes series."""
    found = []
    for name in told.before.keys() | told.after.keys():
        bare = name.partition("{")[0]
        labels = 'instance="collector:4318",job="pdoctor"'
        full = name.replace("{", f"{{{labels},") if "{" in name else f"{name}{{{labels}}}"
        before, after = told.before.get(name), told.after.get(name)
        calm = f"_x{CALM - 1}" if before is None else f"{before:.9g}x{CALM - 1}"
        if after is None:
            rest = f"_x{BROKEN}"
        elif re.search("_(total|bucket|sum|count)$", bare):
            step = (after - (before or 0.0)) / PACE
            rest = f"{after:.9g}+{step:.9g}x{BROKEN}" if step >= 0 else f"{after:.9g}x{BROKEN}"
        elif bare in told.falling:
            rest = f"{before:.9g}-{((before or 0.0) - after) / 240:.9g}x{BROKEN}"
        else:
            rest = f"{after:.9g}x{BROKEN}"
        found.append({"series": full, "values": f"{calm} {rest}"})
    return found


def fire(told: Told, folder: Path, expected: set[str], allowed: set[str]) -> None:
    """promtool must find that nothing fires while all is well, and then what is expected."""
    firing = 'ALERTS{alertstate="firing"}'
    names = "|".join(sorted(allowed | expected))
    others = f'count by (alertname) ({firing[:-1]},alertname!~"{names}"}})'
    asked: list[dict[str, Any]] = [
        {"expr": f"count({firing})", "eval_time": "14m", "exp_samples": []},
        {"expr": others, "eval_time": "150m", "exp_samples": []},
    ]
    for name in expected:
        count = f'count(max_over_time({firing[:-1]},alertname="{name}"}}[130m]))'
        asked.append({"expr": count, "eval_time": "150m", "exp_samples": [{"labels": "{}", "value": 1}]})
    shutil.copy(DEPLOY / "monitoring" / "alerts.yml", folder / "alerts.yml")
    test = {"interval": "15s", "input_series": series(told), "promql_expr_test": asked}
    file = folder / "test.yml"
    file.write_text(json.dumps({"rule_files": ["alerts.yml"], "evaluation_interval": "15s", "tests": [test]}))
    done = subprocess.run([program("promtool"), "test", "rules", str(file)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.usefixtures("cold_checkers")
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_an_alert_fires_when_what_it_watches_breaks(
    scenario: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    breaks, expected = SCENARIOS[scenario]
    with ExitStack() as stack:
        site = Site(tmp_path, monkeypatch, stack)
        monkeypatch.setattr(shutil, "disk_usage", lambda _path: Usage(int(2e11), 0, int(site.free)))
        told = breaks(site)
    fire(told, tmp_path, expected, ALSO.get(scenario, set()))
