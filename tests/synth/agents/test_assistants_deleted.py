"""Nothing that a run of the assistants agent made is left with the service, however the run ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from synth.agents.assistants_loop import run
from synth.agents.mock_tools import ToolLog, mock_tools
from synth.agents.model import Job, OutOfIterations, Settings
from synth.cases.generate import generate
from synth.simulated_model import SimulatedModel

(CASE,) = generate(1, 3)


@pytest.fixture
def model() -> Iterator[SimulatedModel]:
    with SimulatedModel() as served:
        yield served


def job(model: SimulatedModel, name: str, iterations: int = 50) -> Job:
    settings = Settings(name, model.base_url, "any", max_iterations=iterations)
    return Job(CASE.query, mock_tools(CASE, ToolLog()), settings)


def test_assistant_and_thread_are_deleted_after_a_run(model: SimulatedModel) -> None:
    assert run(job(model, "simulated-perfect")).answer == "completed"
    assert model.assistants.held == ()
    with pytest.raises(OutOfIterations):
        run(job(model, "simulated-loops", 3))
    assert model.assistants.held == ()


def test_the_service_chooses_the_temperature(model: SimulatedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    create = model.assistants._create_assistant
    monkeypatch.setattr(
        model.assistants, "_create_assistant", lambda body: asked.append(body) or create(body)
    )
    run(job(model, "simulated-perfect"))
    assert [body.get("temperature") for body in asked] == [None]


HANGS = """
import sys
from synth.agents.assistants_loop import _left_clean
from synth.agents.model import Settings
from synth.agents.openai_client import client_of
import time
settings = Settings("simulated-perfect", sys.argv[1], "any")
with _left_clean(settings) as made:
    made.assistants.append(client_of(settings).beta.assistants.create(model=settings.model).id)
    made.threads.append(client_of(settings).beta.threads.create().id)
    print("made", flush=True)
    time.sleep(60)
"""


@pytest.mark.processes
def test_they_are_deleted_when_the_process_is_told_to_end(model: SimulatedModel) -> None:
    warnings = {**os.environ, "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-c", HANGS, model.base_url]
    with subprocess.Popen(command, env=warnings, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "made\n"
        assert len(model.assistants.held) == 2
        process.terminate()
        assert process.wait(30) == -signal.SIGTERM
    assert model.assistants.held == ()
