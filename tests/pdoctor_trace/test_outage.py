"""The collector goes away under load and comes back: no call slows down, only what finds no room is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.real_collector import collector
from tests.support.sink import OtlpSink

HOST = """
import json, sys, threading, time
import pdoctor_trace

@pdoctor_trace.tool
def work(thread, number):
    return number

phase, made = "up", {}

def load(thread, pause):
    number = 0
    while phase != "end":
        for _ in range(10):
            before, wall = time.thread_time(), time.monotonic()
            with pdoctor_trace.run(query="q"):
                work(thread, number)
            seen = made.setdefault((phase, thread), [0, 0.0, 0.0])
            seen[0] += 1
            seen[1] += time.thread_time() - before
            seen[2] = max(seen[2], time.monotonic() - wall)
            number += 1
        time.sleep(pause)

threads = [threading.Thread(target=load, args=(n, float(sys.argv[1]))) for n in range(4)]
for thread in threads:
    thread.start()
for line in sys.stdin:
    phase = line.strip()
    if phase == "status":
        print(json.dumps(pdoctor_trace.status()["spans"]), flush=True)
    if phase == "end":
        break
for thread in threads:
    thread.join()
if sys.argv[2] == "flush":
    pdoctor_trace.flush(30)
phases = {}
for (name, _), (calls, cpu, longest) in made.items():
    seen = phases.setdefault(name, {"calls": 0, "cpu": 0.0, "longest": 0.0})
    seen["calls"] += calls
    seen["cpu"] += cpu
    seen["longest"] = max(seen["longest"], longest)
print(json.dumps({"phases": phases, "status": pdoctor_trace.status()}), flush=True)
"""


class Host:
    """A program of four threads that record runs of one call each, told over stdin how things stand."""

    def __init__(self, endpoint: str, pause: float, ending: str = "flush", **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOST, str(pause), ending],
            env={
                **os.environ,
                "PDOCTOR_ENDPOINT": endpoint,
                "PDOCTOR_ANNOUNCE_AFTER": "0",
                **environment,
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def say(self, phase: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(phase + "\n")
        self.process.stdin.flush()

    def end(self) -> tuple[dict[str, Any], float]:
        """(what it reports, seconds from its report to its end)."""
        self.say("end")
        assert self.process.stdout is not None
        report = json.loads(self.process.stdout.readline())
        start = time.monotonic()
        self.process.communicate(timeout=60)
        assert self.process.returncode == 0
        return report, time.monotonic() - start

    def __enter__(self) -> Host:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


def calls_do_not_slow_down(phases: dict[str, Any]) -> None:
    """CPU a call, in the host's own threads, against the same host while the collector was there."""
    up, down = phases["up"], phases["down"]
    assert down["calls"] > 100
    assert down["cpu"] / down["calls"] < 2.0 * up["cpu"] / up["calls"] + 50e-6
    assert down["longest"] < 1.0


def everything_is_accounted_for(report: dict[str, Any]) -> dict[str, int]:
    counted: dict[str, int] = report["status"]["spans"]
    made = sum(phase["calls"] for phase in report["phases"].values())
    assert counted["recorded"] == 2 * made, "a call and its run each"
    assert counted["exported"] + counted["dropped"] + counted["queued"] + counted["rejected"] == 2 * made
    assert report["status"]["internal_errors"] == {}
    return counted


def test_a_short_outage_within_the_queue_loses_nothing() -> None:
    sink = OtlpSink()
    with Host(sink.url, 0.05) as host:
        time.sleep(1.0)
        host.say("down")
        sink.close()
        time.sleep(1.5)
        with OtlpSink(sink.port) as again:
            host.say("up again")
            time.sleep(0.5)
            report, exit_seconds = host.end()
            counted = everything_is_accounted_for(report)
            arrived = [span.span_id for span in (*sink.spans, *again.spans)]
    assert (counted["dropped"], counted["rejected"], counted["queued"]) == (0, 0, 0)
    assert len(set(arrived)) == counted["exported"]
    assert len(arrived) - len(set(arrived)) <= 512, "only a batch whose answer was lost comes twice"
    calls_do_not_slow_down(report["phases"])
    assert exit_seconds < 3


@pytest.mark.heavy
def test_beyond_the_queue_the_loss_is_counted_and_the_collector_told() -> None:
    sink = OtlpSink()
    with Host(sink.url, 0.02, PDOCTOR_QUEUE_SIZE="200") as host:
        time.sleep(1.0)
        host.say("down")
        sink.close()
        time.sleep(1.5)
        with OtlpSink(sink.port) as again:
            host.say("up again")
            time.sleep(0.5)
            report, _ = host.end()
            counted = everything_is_accounted_for(report)
            arrived = {span.span_id for span in (*sink.spans, *again.spans)}
            told = max(span.resource["pdoctor.dropped_spans"] for span in again.spans)
    assert counted["dropped"] > 0
    assert told == counted["dropped"]
    assert len(arrived) == counted["exported"]


def test_an_exit_during_the_outage_is_bounded_and_says_what_is_missing() -> None:
    sink = OtlpSink()
    with Host(sink.url, 0.05, "exit at once", PDOCTOR_EXIT_TIMEOUT="1") as host:
        time.sleep(1.0)
        sink.close()
        host.say("down")
        time.sleep(0.5)
        report, exit_seconds = host.end()
    counted = everything_is_accounted_for(report)
    assert counted["queued"] > 0
    assert exit_seconds < 4


# -- half a minute, with the real collector


@pytest.mark.heavy
@pytest.mark.parametrize("queue_size", ["5000", "50000"], ids=["too_small", "large_enough"])
def test_thirty_seconds_without_the_collector(tmp_path: Path, queue_size: str) -> None:
    store = tmp_path / "store.db"
    with collector(store) as first, Host(first.url, 0.2, PDOCTOR_QUEUE_SIZE=queue_size) as host:
        time.sleep(5)
        host.say("down")
        first.kill()
        time.sleep(30)
        with collector(store, first.port) as second:
            host.say("up again")
            time.sleep(6)  # longer than the longest pause between two attempts
            report, exit_seconds = host.end()
            counted = everything_is_accounted_for(report)
            assert second.spans() == counted["exported"], "each once, whatever was sent again"
    assert (counted["queued"], counted["rejected"]) == (0, 0)
    assert (counted["dropped"] > 0) == (queue_size == "5000")
    assert report["phases"]["down"]["calls"] > 1_000
    calls_do_not_slow_down(report["phases"])
    assert exit_seconds < 3
