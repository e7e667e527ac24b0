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
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from test_command_line import pdoctor
from test_harness import ScriptedEndpoint

SMALL = ("--minutes-per-agent", "0.1", "--cap", "3", "--largest", "4", "--errors", "2")
PAPER_TABLES = {f"table{number}" for number in range(1, 8)}


def lines(folder: Path) -> list[bytes]:
    return [line for _, line in journals(folder)]


def journals(folder: Path) -> list[tuple[str, bytes]]:
    """(experiment, line) of each."""
    files = sorted(folder.glob("*.jsonl"))
    return [(file.name, line) for file in files for line in file.read_bytes().splitlines()]


def wait_for_more(folder: Path, count: int) -> None:
    end = time.monotonic() + 120
    while len(lines(folder)) < count:
        assert time.monotonic() < end, "the experiments do not move"
        time.sleep(0.05)


@pytest.mark.heavy
def test_experiments_that_are_killed_go_on_and_repeat_nothing(tmp_path: Path) -> None:
    folder, page = tmp_path / "runs", tmp_path / "report.html"
    options = ("report", "--paper", *SMALL, "--agent", "raw-loop", "--folder", str(folder), "-o", str(page))
    for _ in range(2):
        process = subprocess.Popen([sys.executable, "-m", "pdoctor_trace", *options])
        wait_for_more(folder, len(lines(folder)) + 12)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    done = pdoctor(*options, "--json")
    assert done.returncode == 0, done.stderr
    tables = {table["name"] for table in json.loads(done.stdout)["tables"]}
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
    assert pdoctor(*options).returncode == 0
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
        where = ("--base-url", url, "--model", "scripted-1", "--folder", str(tmp_path / "runs"))
        page = tmp_path / "report.html"
        agents = ("--agent", "openai-tools", "--agent", "raw-loop")
        done = pdoctor("report", "--quick", *SMALL, *agents, *where, "-o", page, "--json")
        server.shutdown()
    assert done.returncode == 0, done.stderr
    shown = {table["name"]: table["rows"] for table in json.loads(done.stdout)["tables"]}
    assert shown.keys() >= PAPER_TABLES
    assert {(row["agent"], row["model"]) for row in shown["table2"]} == {
        ("openai-tools", "scripted-1"),
        ("raw-loop", "scripted-1"),
    }
    assert all(int(row["generated"]) > 0 for row in shown["table2"])
