"""Our collector beside Phoenix and MLflow: the same requests, until every span is durable and can be read.

    python tests/benchmarks/bench_peers.py [--spans 3000] [--own-runs 2000] [--environments DIR]

The peers are installed, each into an environment of its own below `.environments/`, at their newest
releases. They get the first `--spans` spans of the load, ours gets all of it and also judges every run:
directly, without announcements (as traces of other vendors are), and with Z3. A second, shorter load ends
with kill -9 right after the last acknowledgement. CPU seconds are those of all processes of a server. Prints
one table; exits 1 where a gate is missed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import distributions
from pathlib import Path

from ingest_load import POLICY, Request, requests
from servers import (
    PROTOBUF,
    Watch,
    collector,
    cpu_seconds,
    free_port,
    judged,
    null_server,
    send,
    tree,
)

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 180
SETTLE_SECONDS = 600
"""The slower peer needs a minute for 3,000 spans."""
GATES = {"direct": 100.0, "z3": 20.0}
"""Times the spans per CPU second of the slower peer."""
FASTER = 200.0
"""Those of the faster one, of runs that are not announced."""
RSS_MIB, TIMES_NULL, TIMES_DISK = 200.0, 50.0, 0.45


@dataclass(frozen=True)
class Peer:
    """One server that stores OTLP traces in SQLite."""

    name: str
    package: str
    command: tuple[str, ...]
    """With {bin}, {folder} and {port}; the environment also with {grpc_port}."""
    environment: Mapping[str, str]
    headers: Mapping[str, str]


PEERS = (
    Peer(
        "Phoenix",
        "arize-phoenix",
        ("{bin}/phoenix", "serve"),
        {
            "PHOENIX_WORKING_DIR": "{folder}",
            "PHOENIX_PORT": "{port}",
            "PHOENIX_GRPC_PORT": "{grpc_port}",
            "PHOENIX_HOST": "127.0.0.1",
            "PHOENIX_TELEMETRY_ENABLED": "false",
            "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false",
            "PHOENIX_SQL_DATABASE_URL": "sqlite:///{folder}/store.db",
        },
        {},
    ),
    Peer(
        "MLflow",
        "mlflow",
        (
            "{bin}/mlflow", "server", "--backend-store-uri", "sqlite:///{folder}/store.db",
            "--default-artifact-root", "{folder}/artifacts", "--host", "127.0.0.1", "--port", "{port}",
            "--workers", "1",
        ),
        {"MLFLOW_DISABLE_TELEMETRY": "true"},
        {"x-mlflow-experiment-id": "0"},
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """What one server needed."""

    server: str
    spans: int
    spans_per_cpu_second: float
    cpu_us_per_span: float
    readable_after_s: float
    """From the first request until every span could be read (ours: until every run was judged)."""
    rss_mib: float
    disk_bytes_per_span: float
    lost_after_kill: str


def installed(peer: Peer, home: Path) -> Path:
    """The environment with the peer, made on first use."""
    place = home / f"peer-{peer.name.lower()}"
    if not (place / ".ready").exists():
        print(f"installing {peer.package} into {place}", file=sys.stderr)
        venv.create(place, with_pip=True, clear=True)
        pip = [str(place / "bin/python"), "-m", "pip", "--disable-pip-version-check", "install", "-q"]
        subprocess.run([*pip, peer.package], check=True, stdout=sys.stderr)
        (place / ".ready").touch()
    return place


def version(peer: Peer, place: Path) -> str:
    found = distributions(path=[str(path) for path in place.glob("lib/python*/site-packages")])
    return next((d.version for d in found if d.metadata["Name"].lower() == peer.package), "?")


@contextlib.contextmanager
def running(peer: Peer, place: Path, folder: Path) -> Iterator[tuple[int, int]]:
    """(process id, port) of the peer with an empty store."""
    ports = {"port": str(free_port()), "grpc_port": str(free_port())}
    known = {"bin": str(place / "bin"), "folder": str(folder), **ports}
    own = {name: value.format(**known) for name, value in peer.environment.items()}
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [part.format(**known) for part in peer.command],
            env={**os.environ, **own, "DO_NOT_TRACK": "true"},
            cwd=folder, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
        try:
            yield process.pid, int(known["port"])
        finally:
            end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """Stop a server and its workers (its own session, nobody else's)."""
    members = tree(process.pid)
    process.terminate()
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pid in members[1:]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def count(store: Path, query: str) -> int:
    """One number from the store, over a connection of our own; -1 while it cannot be read."""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=5)) as connection:
            return int(connection.execute(query).fetchone()[0] or 0)
    except sqlite3.Error:
        return -1


def reached(store: Path, query: str, wanted: int) -> int:
    """The count once it is there, or as far as it came."""
    until = time.monotonic() + SETTLE_SECONDS
    while (found := count(store, query)) < wanted and time.monotonic() < until:
        time.sleep(0.2)
    return found


def accepts(port: int, body: Request, headers: Mapping[str, str]) -> None:
    """Wait until the server takes a request."""
    until = time.monotonic() + START_SECONDS
    while True:
        try:
            send(port, [body], packed=PACKED, headers=headers, connections=1)
            return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.5)


PACKED = False
"""Requests are sent as the official exporters send them by default."""
PEER_COUNT = "SELECT count(*) FROM spans"
OWN_COUNT = "SELECT sum(spans) FROM segments"


def peer_row(peer: Peer, place: Path, load: Sequence[Request], short: Sequence[Request]) -> Row:
    headers = {**PROTOBUF, **peer.headers}
    warm = list(requests(10, seed=99))
    base, total = sum(item.spans for item in warm), sum(item.spans for item in load)
    with tempfile.TemporaryDirectory() as place_of_store, contextlib.ExitStack() as stack:
        folder = Path(place_of_store)
        pid, port = stack.enter_context(running(peer, place, folder))
        accepts(port, warm[0], headers)
        send(port, warm[1:], packed=PACKED, headers=headers)
        reached(folder / "store.db", PEER_COUNT, base)
        time.sleep(1)
        cpu, began = cpu_seconds(pid), time.perf_counter()
        watch = stack.enter_context(Watch(pid))
        send(port, load, packed=PACKED, headers=headers)
        found = reached(folder / "store.db", PEER_COUNT, base + total) - base
        seconds, used = time.perf_counter() - began, cpu_seconds(pid) - cpu
        disk = sum(file.stat().st_size for file in folder.glob("store.db*"))
    return Row(
        f"{peer.name} {version(peer, place)}",
        found,
        round(found / used, 1),
        round(used / found * 1e6, 1),
        round(seconds, 1),
        round(watch.peak_mib),
        round(disk / (found + base)),
        lost_by_peer(peer, place, short),
    )


def lost_by_peer(peer: Peer, place: Path, load: Sequence[Request]) -> str:
    headers = {**PROTOBUF, **peer.headers}
    with tempfile.TemporaryDirectory() as place_of_store:
        folder = Path(place_of_store)
        with running(peer, place, folder) as (pid, port):
            accepts(port, load[0], headers)
            send(port, load[1:], packed=PACKED, headers=headers)
            kill(pid)
        return lost(count(folder / "store.db", PEER_COUNT), load)


def kill(pid: int) -> None:
    for one in reversed(tree(pid)):
        os.kill(one, signal.SIGKILL)


def lost(found: int, load: Sequence[Request]) -> str:
    sent = sum(item.spans for item in load)
    return f"{sent - max(0, found)} of {sent}"


def own_row(load: Sequence[Request], short: Sequence[Request], z3: str, name: str) -> Row:
    warm = list(requests(20, seed=99))
    spans, runs = sum(item.spans for item in load), sum(len(item.runs) for item in load)
    with tempfile.TemporaryDirectory() as place_of_store:
        folder = Path(place_of_store)
        with collector(folder, POLICY, z3) as (pid, port):
            send(port, warm, packed=PACKED)
            judged(port, 20)
            time.sleep(2)
            cpu, began = cpu_seconds(pid), time.perf_counter()
            with Watch(pid) as watch:
                send(port, load, packed=PACKED)
                judged(port, runs + 20)
            seconds, used = time.perf_counter() - began, cpu_seconds(pid) - cpu
        disk = sum(file.stat().st_size for file in folder.glob("store.db*"))
    return Row(
        name, spans, round(spans / used), round(used / spans * 1e6, 1), round(seconds, 1),
        round(watch.peak_mib), round(disk / spans), lost_by_us(short, z3),
    )  # fmt: skip


def lost_by_us(load: Sequence[Request], z3: str) -> str:
    with tempfile.TemporaryDirectory() as place_of_store:
        folder = Path(place_of_store)
        with collector(folder, POLICY, z3) as (pid, port):
            send(port, load, packed=PACKED)
            kill(pid)
        return lost(count(folder / "store.db", OWN_COUNT), load)


def beginning(load: Sequence[Request], spans: int) -> list[Request]:
    """The first requests that hold at least so many spans."""
    found: list[Request] = []
    for item in load:
        if sum(one.spans for one in found) >= spans:
            break
        found.append(item)
    return found


def table(rows: Sequence[Row], peers: Sequence[Row], null_us: float) -> str:
    slower, *_, faster = sorted(row.spans_per_cpu_second for row in peers)
    heads = ("spans/CPU s", "x slower", "x faster", "us/span", "x null", "spans", "s", "RSS MiB", "B/span")
    lines = [" " * 24 + "".join(f"{head:>12}" for head in heads) + "  lost after kill -9"]
    for row in rows:
        cells = (
            f"{row.spans_per_cpu_second:,.0f}",
            f"{row.spans_per_cpu_second / slower:.1f}",
            f"{row.spans_per_cpu_second / faster:.1f}",
            f"{row.cpu_us_per_span:,.1f}",
            f"{row.cpu_us_per_span / null_us:,.0f}",
            f"{row.spans:,}",
            f"{row.readable_after_s}",
            f"{row.rss_mib:,.0f}",
            f"{row.disk_bytes_per_span:,.0f}",
        )
        lines.append(
            f"{row.server:24}" + "".join(f"{cell:>12}" for cell in cells) + f"  {row.lost_after_kill}"
        )
    return "\n".join([*lines, f"null server: {null_us:.2f} us CPU per span"])


def missed_gates(own: Mapping[str, Row], peers: Sequence[Row], null_us: float) -> list[str]:
    slower = min(row.spans_per_cpu_second for row in peers)
    faster = max(row.spans_per_cpu_second for row in peers)
    disk = min(row.disk_bytes_per_span for row in peers)
    missed = []
    if (times := own["unannounced"].spans_per_cpu_second / faster) < FASTER:
        missed.append(f"unannounced: {times:.0f} times the faster peer, the gate is {FASTER:.0f}")
    for name, row in own.items():
        times = row.spans_per_cpu_second / slower
        if times < GATES.get(name, 0.0):
            missed.append(f"{name}: {times:.0f} times the slower peer, the gate is {GATES[name]:.0f}")
        if row.rss_mib > RSS_MIB:
            missed.append(f"{name}: {row.rss_mib} MiB, the gate is {RSS_MIB}")
        if row.disk_bytes_per_span > TIMES_DISK * disk:
            missed.append(f"{name}: {row.disk_bytes_per_span} B/span, the gate is {TIMES_DISK} x {disk}")
        if not row.lost_after_kill.startswith("0 of "):
            missed.append(f"{name}: {row.lost_after_kill} acknowledged spans lost")
    if own["direct"].cpu_us_per_span > TIMES_NULL * null_us:
        missed.append(f"direct: {own['direct'].cpu_us_per_span / null_us:.0f} times a null server")
    return missed


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--spans", type=int, default=3000, help="for each peer")
    options.add_argument("--own-runs", type=int, default=2000, help="for ours, about 18 spans each")
    options.add_argument("--environments", type=Path, default=ROOT / ".environments")
    chosen = options.parse_args()
    places = {peer.name: installed(peer, chosen.environments) for peer in PEERS}
    load = list(requests(chosen.own_runs))
    few, short = beginning(load, chosen.spans), list(requests(60, seed=5, spans=256))
    null_us = null_server(load) / sum(item.spans for item in load) * 1e6
    bare = list(requests(chosen.own_runs, announce=False))
    own = {
        "direct": own_row(load, short, "off", "ours, direct"),
        "unannounced": own_row(bare, short, "off", "ours, no announcements"),
        "z3": own_row(load, short, "all", "ours, Z3 on every run"),
    }
    peers = [peer_row(peer, places[peer.name], few, short) for peer in PEERS]
    missed = missed_gates(own, peers, null_us)
    print(table([*peers, *own.values()], peers, null_us))
    print(json.dumps({"rows": [asdict(row) for row in (*peers, *own.values())], "missed": missed}))
    raise SystemExit(1 if missed else 0)


if __name__ == "__main__":
    main()
