"""Log lines: machines read them, nobody outside forges them, and they hold no secret and no content."""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from collector import logs
from collector.logs import LogFormat
from collector.settings import READY
from tests.support.traces import PROTOBUF, Client, agent_request, new_id


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    root, ours = logging.getLogger(), logging.getLogger("collector")
    before = (root.handlers[:], root.level, ours.level)
    stream = io.StringIO()
    yield stream
    root.handlers[:], level, own = before
    root.setLevel(level)
    ours.setLevel(own)


def say(stream: io.StringIO, style: LogFormat, message: str, **extra: object) -> str:
    logs.configure(style, "debug", stream)
    logging.getLogger("collector.test").warning(message, extra=extra)
    return stream.getvalue()


def test_a_line_names_request_project_and_counts(lines: io.StringIO) -> None:
    token = logs.request_id.set("abc-1")
    try:
        said = json.loads(say(lines, "json", "stored", project="default", spans=3, unknown="left out"))
    finally:
        logs.request_id.reset(token)
    assert said.pop("time").endswith("Z")
    assert said == {
        "level": "warning", "logger": "collector.test", "message": "stored", "request_id": "abc-1",
        "project": "default", "spans": 3,
    }  # fmt: skip


def test_text_says_the_same_in_one_line(lines: io.StringIO) -> None:
    said = say(lines, "text", "stored", project="default", spans=3)
    assert said.endswith("WARNING collector.test: stored project=default spans=3\n")


@pytest.mark.parametrize("style", get_args(logs.LogFormat))
def test_nobody_can_forge_a_line_or_paint_a_terminal(lines: io.StringIO, style: LogFormat) -> None:
    said = say(lines, style, "run x\r\n2026 ERROR collector: owned \x1b[31m\x00\u2028", path="/a\nb")
    assert said.count("\n") == 1
    assert not set(said) & set("\r\x1b\x00\u2028")


@pytest.mark.parametrize("style", get_args(logs.LogFormat))
def test_an_exception_is_one_bounded_line_with_its_places(lines: io.StringIO, style: LogFormat) -> None:
    logs.configure(style, stream=lines)
    try:
        raise ValueError("no\n" * 5000)
    except ValueError:
        logging.getLogger("collector.test").exception("it failed")
    said = lines.getvalue()
    assert said.count("\n") == 1
    assert len(said) < 2000
    assert "ValueError" in said
    assert "test_logs.py" in said


@pytest.mark.parametrize(("terminal", "wanted"), [(True, "text"), (False, "json")])
def test_people_get_text_and_machines_json(terminal: bool, wanted: str) -> None:
    class Stream(io.StringIO):
        def isatty(self) -> bool:
            return terminal

    assert logs.default_format(Stream()) == wanted


def test_a_served_collector_logs_json_without_secrets_or_contents(tmp_path: Path) -> None:
    """Everything that can go wrong with a request is tried; then the log is searched."""
    program = [sys.executable, "-m", "pdoctor_trace", "serve", "--http-port", "0", "--grpc-port", "off"]
    store = f"sqlite:///{tmp_path / 's.db'}"
    collector = subprocess.Popen(
        [*program, "--store", store, "--log-level", "debug", "--webhook-host", "127.0.0.1"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert collector.stdout is not None
    url = collector.stdout.readline().removeprefix(READY).strip()
    with Client(url) as client:
        http = client.http
        made = http.post("/api/v1/keys", json={"name": "root", "scopes": ["admin"]})
        key = made.json()["key"]
        bearer = {"authorization": f"Bearer {key}"}
        hook = http.post("/api/v1/webhooks", json={"url": "http://127.0.0.1:1/hook-secret"}, headers=bearer)
        run = new_id()
        body = agent_request(run, [{"name": "search", "result": "CONTENT-result"}], query="CONTENT-query")
        assert client.send(body, {**PROTOBUF, **bearer}).status_code == 200
        statuses = [
            client.send(body, {**PROTOBUF, "authorization": "Bearer pdk_CONTENT"}).status_code,
            client.send(b"CONTENT", {**PROTOBUF, **bearer}).status_code,
            http.post("/api/v1/cases", content=b'{"id": "CONTENT"', headers=bearer).status_code,
            http.put("/api/v1/policies/p", content=b"CONTENT: [", headers=bearer).status_code,
            http.post("/login", data={"key": "pdk_CONTENT"}).status_code,
            http.get("/api/v1/runs?agent=CONTENT", headers={**bearer, "x-request-id": "mine-1"}).status_code,
        ]
        assert statuses == [401, 400, 400, 400, 401, 200]
        forged = http.get("/healthz", headers={"x-request-id": "a b"})
        assert forged.headers["x-request-id"] not in ("", "a b")
    collector.terminate()
    _, errors = collector.communicate(timeout=30)
    assert collector.returncode == 0, errors
    said = [json.loads(line) for line in errors.splitlines()]
    for secret in (key.split("_", 2)[2], hook.json()["secret"], "hook-secret", "CONTENT"):
        assert secret not in errors
    mine = next(entry for entry in said if entry.get("request_id") == "mine-1")
    assert (mine["project"], mine["status"], mine["path"]) == ("default", 200, "/api/v1/runs")
    assert said[0]["message"] == "started"
    assert said[-1]["message"] == "stopped"
    assert (said[-1]["spans"], said[-1]["requests"]) == (2, 1)
