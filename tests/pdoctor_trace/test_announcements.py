"""A run that lasts is announced, so that one whose program is killed is known of."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import pdoctor_trace
from pdoctor_trace import announce
from tests.support.real_collector import collector
from tests.support.sink import OtlpSink

HOST = """
import pdoctor_trace, sys, time
@pdoctor_trace.tool
def slow(seconds):
    print("inside", flush=True)
    time.sleep(seconds)
with pdoctor_trace.run(query="the query", agent="me"):
    slow(float(sys.argv[1]))
"""


def killed(sink: OtlpSink, number: int, patience: float, **environment: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOST, "30"],
        env={**os.environ, "PDOCTOR_ENDPOINT": sink.url, **environment},
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        deadline = time.monotonic() + patience
        while not sink.announcements and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(number)
        process.wait(20)


def test_a_program_that_is_killed_in_its_first_call_leaves_its_run() -> None:
    with OtlpSink() as sink:
        killed(sink, signal.SIGKILL, 20, PDOCTOR_ANNOUNCE_AFTER="0.2")
        (announced,) = sink.announcements
        assert announced["gen_ai.operation.name"] == "invoke_agent"
        assert announced["gen_ai.agent.name"] == "me"
        assert json.loads(announced["gen_ai.input.messages"])[0]["parts"][0]["content"] == "the query"
        assert announced["pdoctor.run.calls"] is None, "it has not ended"
        assert announced.parent_id
        assert sink.spans == []


def test_the_collector_shows_the_run_of_a_program_that_was_killed(tmp_path: Path) -> None:
    with collector(tmp_path / "store.db") as real:
        environment = {"PDOCTOR_ENDPOINT": real.url, "PDOCTOR_ANNOUNCE_AFTER": "0.2"}
        with subprocess.Popen(
            [sys.executable, "-c", HOST, "30"], env={**os.environ, **environment}, stdout=subprocess.PIPE
        ) as process:
            deadline = time.monotonic() + 60
            while not real.get("runs")["items"] and time.monotonic() < deadline:
                time.sleep(0.1)
            process.kill()
        (listed,) = real.get("runs")["items"]
        run = real.get(f"runs/{listed['id']}")
    assert (run["query"], run["calls"]) == ("the query", [])


def test_a_signal_that_can_be_seen_announces_at_once() -> None:
    with OtlpSink() as sink:
        killed(sink, signal.SIGTERM, 0.1, PDOCTOR_ANNOUNCE_AFTER="60")
        assert len(sink.announcements) == 1


def test_a_run_is_announced_once_and_then_ends_as_ever(sink: OtlpSink) -> None:
    pdoctor_trace.install(announce_after=0.1)
    with pdoctor_trace.run(query="long"):
        pdoctor_trace.tool(lambda: 1)()
        deadline = time.monotonic() + 60
        while not sink.announcements and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.3)
    pdoctor_trace.flush()
    (announced,) = sink.announcements
    (run,) = sink.runs
    assert announced.parent_id == run.span_id != announced.span_id
    assert (announced.run_id, announced.trace_id) == (run.run_id, run.trace_id)
    assert run["pdoctor.run.calls"] == 1
    assert announce._open == {}


@pytest.mark.parametrize("after", [30.0, 0.0])
def test_short_runs_and_those_of_who_wants_none_are_not_announced(sink: OtlpSink, after: float) -> None:
    pdoctor_trace.install(announce_after=after)
    with pdoctor_trace.run(query="outer"), pdoctor_trace.run(query="nested"):
        time.sleep(0.3)
    pdoctor_trace.install(announce_after=2.0)
    pdoctor_trace.flush()
    assert (sink.announcements, len(sink.runs)) == ([], 2)


def test_runs_that_never_end_do_not_pile_up(sink: OtlpSink, monkeypatch: pytest.MonkeyPatch) -> None:
    from pdoctor_trace.runs import OpenRun

    monkeypatch.setattr(announce, "MOST", 10)
    announce.forget_all()
    runs = [OpenRun("test") for _ in range(30)]
    assert len(announce._open) <= 10
    announce.forget_all()
    for run in runs:
        run.close()
