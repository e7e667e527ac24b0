"""Spans per CPU second of the whole collector, beside a server that only reads the same bytes.

    python tests/benchmarks/bench_ingest.py [--runs 2000]

Every run is judged by one policy: directly (twice, the second time with gzip), then with Z3 on each run.
Clock and CPU end when every run has its verdict, read over the API. Ratios of one run on one machine are
what counts; rates depend on the machine. Prints one JSON document; exits 1 where a gate is missed.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from ingest_load import BAD_EVERY, POLICY, Request, requests

GATES = {"times_null_server": 50.0, "rss_mib": 200.0, "disk_bytes_per_span": 2_000.0}
TICK = os.sysconf("SC_CLK_TCK")

NULL_SERVER = """
import uvicorn, sys
async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})
uvicorn.run(app, port=int(sys.argv[1]), log_level="error", lifespan="off", http="httptools", loop="uvloop")
"""


def tree(pid: int) -> list[int]:
    """A process and its descendants."""
    found = [pid]
    for at in found:
        for children in Path(f"/proc/{at}/task").glob("*/children"):
            found += map(int, children.read_text().split())
    return found


def cpu_seconds(pid: int) -> float:
    fields = (Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split() for one in tree(pid))
    return sum(int(field[11]) + int(field[12]) for field in fields) / TICK


def rss_mib(pid: int) -> float:
    """Proportional set size: pages that processes share count once."""
    total = 0
    for one in tree(pid):
        for line in Path(f"/proc/{one}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1])
    return total / 1024


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def send(port: int, load: Sequence[Request], packed: bool, connections: int = 2) -> list[float]:
    """Post every request once; returns the seconds that each took."""
    waiting, took = list(load)[::-1], []
    lock = threading.Lock()
    headers = {"content-type": "application/x-protobuf"}
    if packed:
        headers["content-encoding"] = "gzip"

    def work() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        while True:
            with lock:
                if not waiting:
                    connection.close()
                    return
                item = waiting.pop()
            body = item.packed if packed else item.body
            began = time.perf_counter()
            while True:
                connection.request("POST", "/v1/traces", body, headers)
                answer = connection.getresponse()
                answer.read()
                if answer.status == 200:
                    break
                assert answer.status == 503, answer.status
                time.sleep(0.1)
            took.append(time.perf_counter() - began)

    threads = [threading.Thread(target=work) for _ in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return took


def get(port: int, path: str) -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path)
    found = json.loads(connection.getresponse().read())
    connection.close()
    return found


def null_server(load: Sequence[Request]) -> float:
    """CPU seconds of a server that reads and forgets the same requests."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-c", NULL_SERVER, str(port)])
    try:
        wait_for(port)
        send(port, load[:2], False)
        before = cpu_seconds(process.pid)
        for _ in range(5):
            send(port, load, False)
        return (cpu_seconds(process.pid) - before) / 5
    finally:
        process.terminate()
        process.wait()


def wait_for(port: int) -> None:
    for _ in range(400):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"nothing listens on {port}")


COLLECTOR = """
import sys
from pathlib import Path
from collector.app import serve
folder = Path(sys.argv[1])
serve(http_port=0, grpc_port=None, store=f"sqlite:///{folder / 'store.db'}",
      policies=folder / "policies.yaml", z3_check_policies=sys.argv[2])
"""


def collector(load: Sequence[Request], packed: bool, z3: str, folder: Path) -> dict[str, float]:
    (folder / "policies.yaml").write_text(POLICY)
    command = [sys.executable, "-c", COLLECTOR, str(folder), z3]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline().rpartition(":")[2])
        warm = list(requests(20, seed=1))
        send(port, warm, packed)
        judged(port, 20)
        time.sleep(2)
        cpu, began = cpu_seconds(process.pid), time.perf_counter()
        took = sorted(send(port, load, packed))
        runs = sum(len(item.runs) for item in load)
        stats = judged(port, runs + 20)
        seconds, used = time.perf_counter() - began, cpu_seconds(process.pid) - cpu
        bad = len(range(0, runs, BAD_EVERY)) + 2
        assert stats["outcomes"] == {"fail": bad, "pass": runs + 20 - bad}, stats
        spans = sum(item.spans for item in load)
        disk = sum(file.stat().st_size for file in folder.glob("store.db*"))
        return {
            "spans": spans,
            "spans_per_cpu_second": round(spans / used),
            "cpu_us_per_span": round(used / spans * 1e6, 1),
            "spans_per_second": round(spans / seconds),
            "post_ms_p50": round(took[len(took) // 2] * 1e3, 1),
            "post_ms_p99": round(took[int(len(took) * 0.99)] * 1e3, 1),
            "rss_mib": round(rss_mib(process.pid), 1),
            "disk_bytes_per_span": round(disk / spans),
        }
    finally:
        process.terminate()
        process.wait()


def judged(port: int, runs: int) -> Any:
    """The statistics once every run has its verdict."""
    while True:
        stats = get(port, "/api/v1/stats")
        if stats["runs"] >= runs and stats["unchecked"] == 0 and sum(stats["outcomes"].values()) >= runs:
            return stats
        time.sleep(0.2)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=2000)
    chosen = options.parse_args()
    load = list(requests(chosen.runs))
    spans = sum(item.spans for item in load)
    floor = null_server(load) / spans
    report: dict[str, Any] = {"null_server_cpu_us_per_span": round(floor * 1e6, 2)}
    for name, packed, z3 in (("direct", False, "off"), ("gzip", True, "off"), ("z3", False, "all")):
        with tempfile.TemporaryDirectory() as folder:
            report[name] = collector(load, packed, z3, Path(folder))
            report[name]["times_null_server"] = round(report[name]["cpu_us_per_span"] / floor / 1e6, 1)
    missed = [
        f"{name}.{gate} is {report[name][gate]}, the gate is {limit}"
        for name in ("direct", "gzip")
        for gate, limit in GATES.items()
        if report[name][gate] > limit
    ]
    print(json.dumps({**report, "missed": missed}, indent=1))
    raise SystemExit(1 if missed else 0)


if __name__ == "__main__":
    main()
