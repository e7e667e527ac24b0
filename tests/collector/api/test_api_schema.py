"""Schema-based fuzzing: requests made from the collector's own OpenAPI schema find no 5xx and no growth."""

from __future__ import annotations

import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.traces import JSON, PATIENCE, PROTOBUF, Client, new_id, request, until

MIB = 1024 * 1024
GROWTH = 64
"""MiB that the server may hold more after thousands of requests: caches fill, nothing else stays."""


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, int, Path]]:
    """(address, process id, log file) of a collector in a process of its own."""
    log = folder / "log.jsonl"
    program = [sys.executable, "-m", "pdoctor_trace", "serve", "--http-port", "0", "--grpc-port", "off"]
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [*program, "--store", f"sqlite:///{folder / 'store.db'}"],
            stdout=subprocess.PIPE, stderr=errors, text=True, cwd=folder,
        )  # fmt: skip
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            yield "http" + line.rpartition("http")[2].strip(), process.pid, log
        finally:
            process.terminate()
            process.wait(PATIENCE)
            process.stdout.close()


def resident(process: int, what: str = "VmRSS") -> float:
    """MiB that a process holds (`VmRSS`), or held at most (`VmHWM`)."""
    status = Path(f"/proc/{process}/status").read_text()
    found = re.search(rf"{what}:\s+(\d+) kB", status)
    assert found
    return int(found[1]) / 1024


def fuzz(url: str, key: str | None = None, *options: str) -> subprocess.CompletedProcess[str]:
    program = shutil.which("schemathesis", path=str(Path(sys.executable).parent))
    assert program, "schemathesis is not installed beside this Python"
    command = [program, "run", f"{url}/openapi.json", "--checks", "not_a_server_error", "--seed", "1"]
    command += ["--no-color", "--continue-on-failure", "--phases", "examples,coverage,fuzzing", *options]
    if key:
        command += ["-H", f"Authorization: Bearer {key}"]
    environment = {**os.environ, "PYTHONWARNINGS": ""}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=600)


def failures(log: Path) -> list[str]:
    lines = [line for line in log.read_text().splitlines() if '"level":"error"' in line]
    return lines[:5]


@pytest.mark.heavy
def test_requests_from_the_schema_find_no_server_error_and_no_growth(tmp_path: Path) -> None:
    with served(tmp_path) as (url, process, log), Client(url) as client:
        made = client.http.post("/api/v1/keys", json={"name": "root", "scopes": ["admin"]}).json()["key"]
        before = resident(process)
        # a deleted key would turn every later request into a 401
        done = fuzz(url, made, "--max-examples", "20", "--exclude-path-regex", "/api/v1/keys/.+")
        assert done.returncode == 0, done.stdout[-5000:]
        tested = re.search(r"(\d+) generated, (\d+) passed", done.stdout)
        assert tested, done.stdout[-2000:]
        assert int(tested[1]) > 500
        assert "Authentication failed" not in done.stdout, done.stdout[-3000:]
        assert resident(process) - before < GROWTH
        assert failures(log) == []
        bearer = {"authorization": f"Bearer {made}"}
        assert client.http.get("/api/v1/runs", headers=bearer).status_code == 200


@pytest.mark.heavy
def test_the_fuzzer_finds_a_planted_server_error(tmp_path: Path) -> None:
    with broken_server() as url:
        done = fuzz(url, None, "--max-examples", "5")
    assert done.returncode == 1
    assert "Server error" in done.stdout


@contextmanager
def broken_server() -> Iterator[str]:
    """Answers 500 to every number above 3."""
    number = {"name": "n", "in": "query", "required": True, "schema": {"type": "integer"}}
    operation = {"parameters": [number], "responses": {"200": {"description": "ok"}}}
    paths = {"/thing": {"get": operation}}
    schema = {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": paths}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            said = re.search(r"n=(\d+)", self.path)
            self.send_response(500 if said and int(said[1]) > 3 else 200)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(schema if "openapi" in self.path else {}).encode())

        def log_message(self, *_args: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def frame(number: int, content: bytes) -> bytes:
    size, head = len(content), bytearray([number << 3 | 2])
    while size > 0x7F:
        head.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([*head, size]) + content


def hostile_bodies() -> dict[str, tuple[bytes, dict[str, str]]]:
    """Bodies whose decoded form is far bigger than they are, of several MiB."""
    run = new_id()
    ids = frame(1, bytes.fromhex(run)) + frame(2, b"\x00" * 7 + b"\x01")
    empty = b"\x0a\x00"
    value = frame(9, frame(1, b"k") + frame(2, frame(5, empty * (4 * MIB))))  # 4 million empty elements
    spans = frame(1, frame(2, (frame(2, ids) * 40_000)))
    deep: Any = {"stringValue": "x"}
    for _ in range(300):
        deep = {"arrayValue": {"values": [deep]}}
    plain = {"traceId": run, "spanId": "1" * 16, "attributes": [{"key": "k", "value": deep}]}
    document = {"resourceSpans": [{"scopeSpans": [{"spans": [plain] * 400}]}]}
    return {
        "elements": (frame(1, frame(2, frame(2, ids + value))), PROTOBUF),
        "attributes": (frame(1, frame(2, frame(2, ids + b"\x4a\x00" * (4 * MIB)))), PROTOBUF),
        "resources": (b"\x0a\x00" * (4 * MIB), PROTOBUF),
        "spans": (spans, PROTOBUF),
        "deep": (json.dumps(document).encode(), JSON),
        "lists": (b'{"resourceSpans":[' + b"{}," * (3 * MIB) + b"{}]}", JSON),
        "empty spans": (
            b'{"resourceSpans":[{"scopeSpans":[{"spans":[' + b"{}," * (3 * MIB) + b"{}]}]}]}",
            JSON,
        ),
        "names": (
            b'{"resourceSpans":[{' + b",".join(b'"%d":0' % n for n in range(10**6)) + b"}]}",
            JSON,
        ),
    }


def answer_to(client: Client, body: bytes, headers: dict[str, str]) -> int:
    """The status of the last answer, as to a sender who comes again where a busy machine took long."""
    for _ in until(3 * PATIENCE):
        answer = client.send(body, headers)
        if answer.status_code != 503:
            break
        time.sleep(int(answer.headers["retry-after"]))
    return answer.status_code


@pytest.mark.heavy
def test_hostile_bodies_are_answered_within_bounded_memory(tmp_path: Path) -> None:
    bodies = hostile_bodies()
    peaks: dict[str, float] = {}
    with served(tmp_path) as (url, process, log), Client(url) as client:
        client.http.timeout = httpx.Timeout(PATIENCE)  # reading one takes 4 s of CPU time
        for name, (body, headers) in bodies.items():
            for _ in range(2):
                assert answer_to(client, body, headers) in (200, 400, 413), name
            peaks[name] = resident(process, "VmHWM")
        good = request({"trace": new_id(), "id": 1}).SerializeToString()
        assert client.send(good).status_code == 200
        assert max(peaks.values()) < 768, peaks
        assert resident(process) < 512, peaks
        assert failures(log) == []
