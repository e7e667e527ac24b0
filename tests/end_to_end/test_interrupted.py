"""A campaign that is interrupted or killed: what it leaves behind, and that it goes on where it was."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from test_command_line import pdoctor

CASES = 36


def campaign(journal: Path) -> list[str]:
    cases = ("--cases", str(CASES), "--actions", "3", "--model", "simulated-forgets", "--parallel", "2")
    return ["test", "raw-loop", *cases, "--journal", str(journal)]


def comes(true: Callable[[], bool], limit: float = 60.0) -> bool:
    """Whether it becomes true."""
    end = time.monotonic() + limit
    while not true() and time.monotonic() < end:
        time.sleep(0.02)
    return true()


def children_of(pid: int) -> set[int]:
    """Those that run: one that has ended may wait to be asked for its exit code."""
    ps = ["ps", "-eo", "pid=,ppid=,stat="]
    listed = subprocess.run(ps, capture_output=True, text=True, check=True).stdout
    found = [line.split() for line in listed.splitlines()]
    return {int(child) for child, parent, state in found if int(parent) == pid and state[0] != "Z"}


def lines_of(journal: Path) -> int:
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


def running(pids: set[int]) -> set[int]:
    return {pid for pid in pids if Path(f"/proc/{pid}").exists()}


@pytest.mark.heavy
@pytest.mark.parametrize("signals", [(signal.SIGINT,), (signal.SIGKILL, signal.SIGKILL)])
def test_a_campaign_that_was_stopped_goes_on_where_it_was(
    signals: tuple[signal.Signals, ...], tmp_path: Path
) -> None:
    journal = tmp_path / "journal.jsonl"
    for how in signals:
        wanted = lines_of(journal) + 4  # a killed campaign may have come further than was waited for
        process = subprocess.Popen(
            [sys.executable, "-m", "pdoctor_trace", *campaign(journal)],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert comes(lambda: lines_of(journal) > wanted)  # noqa: B023
        assert comes(lambda: len(children_of(process.pid)) == 3), "two agents and a collector"  # noqa: B023
        children = children_of(process.pid)
        os.kill(process.pid, how)
        _, said = process.communicate(timeout=60)
        assert comes(lambda: not running(children)), running(children)  # noqa: B023
        if how is signal.SIGINT:
            assert process.returncode == 130
            assert "the same command goes on where it stopped" in said
    done = journal.read_bytes()
    assert pdoctor(*campaign(journal)).returncode == 1
    lines = journal.read_bytes().splitlines()
    whole = done[: done.rfind(b"\n") + 1].splitlines()
    assert lines[: len(whole)] == whole
    trials = [json.loads(line)["trial"] for line in lines[1:]]
    assert len(trials) == len(set(trials)) == CASES
