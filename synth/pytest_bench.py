"""What the tests of a pytest session share: a collector, a simulated model, agents' processes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from synth.kept import look, new_store

if TYPE_CHECKING:
    from synth.experiments.harness import Harness
    from synth.experiments.posting import Posting
    from synth.experiments.trial import Result
    from synth.judge_process import SolverProcess
    from synth.simulated_model import SimulatedModel

READY = "pdoctor collector ready at "
DEFAULT_MODEL = "simulated-perfect"
UNSAID: Any = "as the session has it"


@dataclass(frozen=True)
class How:
    """What a marker says of the runs of its cases; what it leaves open the session's options say."""

    model: str | None = None
    temperature: float | None = UNSAID
    """None: not sent."""
    repeat: int | None = None
    """Runs of each case."""
    at_least: float | None = None
    """The share of all runs that must pass; None: every one, and each case is a test of its own."""


HOW = tuple(field.name for field in fields(How))


class Bench:
    """What all tests of a session share: collector, simulated model, worker processes."""

    def __init__(self, config: pytest.Config) -> None:
        from synth.experiments.harness import Harness, Options
        from synth.pytest_tasks import session_of
        from synth.simulated_model import SimulatedModel

        self.model_name: str = config.getoption("--pdoctor-model") or DEFAULT_MODEL
        self.is_verbose = config.get_verbosity() > 0
        self.repeat: int = config.getoption("--pdoctor-repeat")
        self.shrinks = not config.getoption("--pdoctor-no-shrink")
        self._folder = tempfile.TemporaryDirectory(prefix="pdoctor-pytest-")
        self._store: Path | None = None
        self._solver: SolverProcess | None = None
        self._collector, self._url = self._judge(config.getoption("--pdoctor-collector"))
        self.simulated: SimulatedModel = SimulatedModel()
        self.simulated.__enter__()
        options = Options(
            timeout=config.getoption("--pdoctor-timeout"),
            base_url=config.getoption("--pdoctor-base-url"),
            temperature=config.getoption("--pdoctor-temperature"),
            environment={"PDOCTOR_AGENT_PATH": os.pathsep.join(filter(None, sys.path))},
        )
        self.harness: Harness = Harness(self._url, options, self.simulated, say=complain)
        self._harnesses: dict[float | None, Harness] = {options.temperature: self.harness}
        together = os.environ.get("PYTEST_XDIST_TESTRUNUID") if self._store is None else None
        self.posting: Posting = session_of(self._url, self.model_name, config, together, complain)

    def _judge(self, url: str | None) -> tuple[subprocess.Popen[str] | None, str]:
        """The collector that was named, or one of our own on a free port."""
        if url is not None:
            return None, url
        self._store = new_store()
        # -P: a folder named `collector` in the project under test is not ours.
        serve = ("-P", "-m", "collector.cli.embedded", "--http-port", "0", "--grpc-port", "off")
        said = Path(self._folder.name) / "collector.log"  # its log is no part of a test's output
        with said.open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, *serve, "--store", f"sqlite:///{self._store}"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True,
            )  # fmt: skip
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith(READY):
                return process, line.removeprefix(READY).strip()
        why = said.read_text(errors="replace")[-2_000:].strip()
        raise pytest.UsageError(
            f"the collector did not start (exit code {process.wait()}): {why}\n"
            "Is it installed? pip install 'pdoctor-trace[all]'"
        )

    def harness_at(self, temperature: float | None) -> Harness:
        """The session's harness, or one that sends this temperature."""
        from synth.experiments.harness import Harness

        at = self.harness.options.temperature if temperature == UNSAID else temperature
        if at not in self._harnesses:
            options = replace(self.harness.options, temperature=at)
            self._harnesses[at] = Harness(self._url, options, self.simulated, say=complain)
        return self._harnesses[at]

    @property
    def solver(self) -> SolverProcess:
        """Judges what no collector does."""
        if self._solver is None:
            from synth.judge_process import SolverProcess

            self._solver = SolverProcess()
        return self._solver

    def look(self, run_id: str) -> str:
        """Where a run is to be seen."""
        return look(self._url, self._store, run_id)

    def told(self, result: Result, outcome: str | None = None, findings: tuple[str, ...] = ()) -> None:
        """A run of the test that is running was judged."""
        test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
        self.posting.add(result, outcome, findings, test)

    @property
    def seen(self) -> str | None:
        """Where the session is to be seen, once it was told."""
        told = self.posting.told
        return look(self._url, self._store, f"campaigns/{self.posting.id}") if told else None

    def close(self) -> None:
        self.posting.close("done")
        if self._solver is not None:
            self._solver.close()
        for harness in self._harnesses.values():
            harness.__exit__(None, None, None)
        self.simulated.__exit__(None, None, None)
        if self._collector is not None:
            self._collector.terminate()
            self._collector.communicate()
        self._folder.cleanup()


def complain(text: str) -> None:
    sys.stderr.write(f"pdoctor: {text}\n")
