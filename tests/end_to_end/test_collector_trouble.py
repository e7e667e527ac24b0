"""A collector that ends, never judges or is behind while runs wait for their verdicts."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from collector.server import running
from synth.cases.generate import Options as CaseOptions
from synth.cases.generate import generate
from synth.experiments.harness import Harness, Options
from synth.experiments.trial import Trial
from synth.simulated_model import SimulatedModel
from tests.support.provider import Provider
from tests.support.traces import settings

(CASE,) = generate(1, 11, CaseOptions(actions=(3, 3)))
TRIAL = Trial("raw-loop", "simulated-perfect", case=CASE)


@pytest.fixture(scope="module")
def model() -> Iterator[SimulatedModel]:
    with SimulatedModel() as started:
        yield started


def children() -> set[int]:
    command = ["ps", "-o", "pid=,comm=", "--ppid", str(os.getpid())]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {int(pid) for pid, name in map(str.split, lines) if name != "ps"}


def test_a_collector_that_is_gone_before_the_verdict_tests_no_agent(tmp_path: Path) -> None:
    with ExitStack() as collector, Provider() as provider:
        url = collector.enter_context(running(settings(tmp_path)))
        provider.fails = lambda body: collector.close()  # type: ignore[func-returns-value]
        with Harness(url, Options(base_url=provider.base_url, api_key="any")) as harness:
            found = harness.run_one(TRIAL)
    assert found.outcome == "error"
    assert found.trouble is not None
    assert found.trouble.kind == "collector"
    assert found.trouble.message.startswith(f"no collector answers at {url}")


def test_a_verdict_that_does_not_come_is_an_error_and_no_missed_fault(
    model: SimulatedModel, tmp_path: Path
) -> None:
    said: list[str] = []
    with running(settings(tmp_path, checkers=0)) as url:
        options = Options(verdict_limit=0.2)
        with Harness(url, options, model, say=said.append) as harness:
            found = harness.run_one(Trial("raw-loop", "simulated-swaps", case=CASE))
    assert found.outcome == "error"
    assert found.trouble is not None
    assert found.trouble.kind == "no_verdict"
    assert found.trouble.message.endswith("at the collector, which judges none of them")
    assert len(said) == 1
    assert said[0].startswith("waiting for verdicts: 1 to judge")


@pytest.mark.heavy
def test_a_collector_that_is_behind_is_waited_for(
    model: SimulatedModel, tmp_path: Path, cold_checkers: None
) -> None:
    """Its checker stands still until the harness says that it waits."""
    before = children()
    with running(settings(tmp_path)) as url:
        (checker,) = children() - before
        os.kill(checker, signal.SIGSTOP)
        options = Options(verdict_limit=3.0)
        with Harness(url, options, model, lambda text: os.kill(checker, signal.SIGCONT)) as harness:
            assert harness.run_one(TRIAL).outcome == "pass"
