"""The paper's experiments, scaled down by their options: killed again and again, and on another server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from fnmatch import fnmatch
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from test_harness import ScriptedEndpoint

SMALL = ("--minutes-per-agent", "0.05", "--cap", "2", "--largest", "4", "--errors", "1")
STILL = 120.0
"""Seconds without a new result after which experiments do not move; how long they take is the machine's."""
PAPER_TABLES = {f"table{number}" for number in range(1, 8)}


def lines(folder: Path) -> list[bytes]:
    return [line for _, line in journals(folder)]


def journals(folder: Path) -> list[tuple[str, bytes]]:
    """(experiment, line) of each."""
    files = sorted(folder.glob("*.jsonl"))
    return [(file.name, line) for file in files for line in file.read_bytes().splitlines()]


def started(*options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "pdoctor_trace", *options]
    return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def followed(process: subprocess.Popen[str], folder: Path, enough: int | None = None, of: str = "*") -> str:
    """What it wrote, once it has ended or as many more results as are enough stand in these journals."""
    seen, since, first = -1, time.monotonic(), count(folder, of)
    while True:
        try:
            written, trouble = process.communicate(timeout=0.2)
        except subprocess.TimeoutExpired:
            if enough is not None and count(folder, of) - first >= enough:
                os.kill(process.pid, signal.SIGKILL)
                process.communicate()
                return ""
            if (now := len(lines(folder))) != seen:
                seen, since = now, time.monotonic()
            assert time.monotonic() < since + STILL, "the experiments do not move"
        else:
            assert (process.returncode, enough) == (0, None), trouble
            return written


def count(folder: Path, of: str) -> int:
    return sum(fnmatch(name, of) for name, _ in journals(folder))


@pytest.mark.heavy
def test_experiments_that_are_killed_go_on_and_repeat_nothing(tmp_path: Path) -> None:
    folder, page = tmp_path / "runs", tmp_path / "report.html"
    subject = ("--agent", "raw-loop", "--model", "simulated-mixed")
    options = ("report", "--paper", *SMALL, *subject, "--folder", str(folder), "-o", str(page), "--json")
    followed(started(*options), folder, enough=12)
    for _ in range(2):
        followed(started(*options), folder, enough=8, of="mutants-*")
    written = followed(started(*options), folder)
    tables = {table["name"] for table in json.loads(written)["tables"]}
    assert tables >= PAPER_TABLES | {"figure8-data", "figure9-data"}
    assert {file.name for file in tmp_path.glob("*.png")} == {"report-figure8.png", "report-figure9.png"}
    before = lines(folder)
    records = [(file, json.loads(line)) for file, line in journals(folder)]
    keys = Counter(
        (file, r.get("trial") or (r["agent"], r["model"], r["case_id"]))
        for file, r in records
        if "kind" not in r
    )
    assert set(keys.values()) == {1}
    assert json.loads(followed(started(*options), folder))["tables"] == json.loads(written)["tables"]
    assert lines(folder) == before


@pytest.mark.heavy
def test_the_same_command_measures_a_model_of_another_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One on loopback that asks for no key, as local model servers do."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), ScriptedEndpoint) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        folder, page = tmp_path / "runs", tmp_path / "report.html"
        where = ("--base-url", url, "--model", "scripted-1", "--folder", str(folder), "-o", str(page))
        agents = ("--agent", "openai-tools", "--agent", "raw-loop")
        written = followed(started("report", "--quick", *SMALL, *agents, *where, "--json"), folder)
        server.shutdown()
    shown = {table["name"]: table["rows"] for table in json.loads(written)["tables"]}
    assert shown.keys() >= PAPER_TABLES
    assert {(row["agent"], row["model"]) for row in shown["table2"]} == {
        ("openai-tools", "scripted-1"),
        ("raw-loop", "scripted-1"),
    }
    assert all(int(row["generated"]) > 0 for row in shown["table2"])
