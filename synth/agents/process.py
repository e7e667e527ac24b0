"""The harness's side of a worker process: start, hand over a job, wait with a limit, kill, start again."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from synth.errors import BadInput

GRACE = 2.0
"""Seconds that a worker gets to send its spans after SIGTERM."""
START_LIMIT = 120.0
"""Seconds that a worker gets to import its framework."""
TAIL = 2_000
"""Characters of standard error kept when a worker dies."""


def command(agent: str, endpoint: str | None) -> list[str]:
    """How a worker is started: through `pdoctor run` when its spans shall go to a collector."""
    worker = [sys.executable, "-m", "synth.agents.worker", agent]
    if endpoint is None:
        return worker
    return [*pdoctor_command(), "run", "--endpoint", endpoint, "--", *worker]


def pdoctor_command() -> Sequence[str]:
    beside = Path(sys.executable).with_name("pdoctor")
    found = str(beside) if beside.exists() else shutil.which("pdoctor")
    if found is None:
        raise BadInput(
            "the program `pdoctor` is not on the PATH: activate the environment it is installed in"
        )
    return [found]


class Worker:
    """One worker process at a time; a new one replaces one that died or was killed."""

    def __init__(
        self, agent: str, endpoint: str | None, environment: Mapping[str, str] | None = None
    ) -> None:
        self._command = command(agent, endpoint)
        self._environment = {"OTEL_SERVICE_NAME": agent, **os.environ, **(environment or {})}
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._stderr: IO[bytes] | None = None
        self._pump: threading.Thread | None = None

    def start(self) -> None:
        """Start the process unless it runs; raises BadInput when its agent cannot be loaded."""
        if self._process is not None:
            return
        self._lines = queue.Queue()
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=self._environment,
            text=True,
            encoding="utf-8",
        )
        assert self._process.stdout is not None
        self._pump = threading.Thread(target=_pump, args=(self._process.stdout, self._lines), daemon=True)
        self._pump.start()
        self._await_ready()

    def _await_ready(self) -> None:
        try:
            line = self._lines.get(timeout=START_LIMIT)
        except queue.Empty:
            line = None
        ready = {} if line is None else json.loads(line)
        if not ready.get("ready"):
            why = ready.get("error") or self._last_words()
            self.close()
            raise BadInput(f"the agent cannot be started: {why}", field="agent")

    def run(self, request: Mapping[str, Any], limit: float) -> dict[str, Any]:
        """The worker's answer; made here: `timeout` after `limit` seconds, `crash` if it died."""
        self.start()
        assert self._process is not None
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        try:
            line = self._lines.get(timeout=limit)
        except queue.Empty:
            self.close()
            return _made_here("timeout", f"stopped after {limit:g} s", limit)
        if line is None:
            words = self._last_words()
            self.close()
            return _made_here("crash", f"the agent's process died: {words}", None)
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """End the process: end of input if it is idle, SIGTERM so that spans get out, then SIGKILL."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if self._pump is not None:
            # A grandchild may hold the pipe open; then its reader outlives the worker.
            self._pump.join(GRACE)
        for pipe in (process.stdin, self._stderr):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def _last_words(self) -> str:
        """The end of what the process wrote to standard error."""
        if self._stderr is None:
            return ""
        self._stderr.seek(0)
        return self._stderr.read().decode("utf-8", "replace")[-TAIL:].strip()


def _pump(pipe: IO[str], lines: queue.Queue[str | None]) -> None:
    """Move lines into the queue; None says that there are no more."""
    with pipe:
        for line in pipe:
            lines.put(line)
    lines.put(None)


def _made_here(status: str, error: str, wall: float | None) -> dict[str, Any]:
    return {
        "status": status,
        "error": error,
        "answer": "",
        "iterations": 0,
        "tokens": 0,
        "wall_seconds": wall,
        "cpu_seconds": 0.0,
    }
