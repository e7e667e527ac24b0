"""The harness's side of a worker process: start, hand over a job, wait with a limit, kill, start again."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from synth.agents.model import EXEC
from synth.errors import BadInput
from synth.formal.trouble import Trouble

GRACE = 2.0
"""Seconds that a worker gets to send its spans after SIGTERM."""
START_LIMIT = 120.0
"""Seconds that a worker gets to import its framework."""
TAIL = 2_000
"""Bytes of standard error kept when a worker dies."""
MOST_WORDS = 1 << 20
"""Bytes of standard error that are let lie between two jobs."""


def command(agent: str, endpoint: str | None) -> list[str]:
    """How a worker is started: through `pdoctor run` when its spans shall go to a collector."""
    # -P: a folder named `synth` where the user stands is not ours; the worker adds that place later.
    worker = [sys.executable, "-P", "-m", "synth.agents.worker", agent]
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


class AgentRefused(BadInput):
    """The agent cannot be loaded."""


@dataclass(frozen=True, slots=True)
class Ended:
    """An agent's run that is over."""

    answer: Mapping[str, Any]
    """As the worker gave it; made here: `timeout` after the limit, `crash` if the process died. `trouble` is
    `Trouble` as JSON where the agent could not be loaded or reached, or our own process failed."""
    flushed: Future[bool]
    """Done when the run's spans were sent; False when the process died before it could tell."""


class Worker:
    """One worker process at a time; a new one replaces one that died or was killed."""

    def __init__(
        self, agent: str, endpoint: str | None, environment: Mapping[str, str] | None = None
    ) -> None:
        self._agent = agent
        self._command = command(agent, endpoint)
        self._environment = {"OTEL_SERVICE_NAME": agent, **os.environ, **(environment or {})}
        self._process: subprocess.Popen[str] | None = None
        self._messages: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._given: deque[dict[str, Any]] = deque()
        """Jobs that have not ended, the oldest first; it alone may have begun."""
        self._flushing: dict[str, Future[bool]] = {}
        self._refused: AgentRefused | None = None
        """Why there is no process although there are jobs."""
        self._stderr: IO[bytes] | None = None
        self._pump: threading.Thread | None = None

    @property
    def pid(self) -> int | None:
        """Of the process, None while there is none."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start the process unless it runs; raises AgentRefused when its agent cannot be loaded."""
        if self._process is not None and not self._given and self._process.poll() is not None:
            self.close()  # it died after its last job, by something that job left running
        if self._process is not None:
            return
        self._messages, self._flushing = queue.SimpleQueue(), {}
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=self._environment,
            text=True,
            encoding="utf-8",
            # A group of its own: an interrupt at the terminal is for us, and what it starts ends with it.
            start_new_session=True,
        )
        assert self._process.stdout is not None
        pumped = (self._process.stdout, self._messages, self._flushing)
        self._pump = threading.Thread(target=_pump, args=pumped, daemon=True)
        self._pump.start()
        ready = self._next(START_LIMIT) or {}
        if not ready.get("ready"):
            self._refuse(ready.get("error") or self._last_words())

    def run(self, request: Mapping[str, Any], limit: float) -> Ended:
        """Run one job until its agent has ended; its spans may still be on their way to the collector."""
        self.give(request)
        return self.next_end(limit)

    def give(self, request: Mapping[str, Any]) -> None:
        """Hand over a job; it runs when those given before it have ended."""
        before = self._process
        self._start_for_jobs()
        for told in [name for name, flushed in self._flushing.items() if flushed.done()]:
            if all(told != waiting["trace_id"] for waiting in self._given):
                del self._flushing[told]
        self._given.append({"agent": self._agent, **request})
        if self._refused is None:
            self._send(self._given[-1]) if self._process is before else self._send_all()

    def next_end(self, limit: float) -> Ended:
        """The end of the oldest job given, made here where it takes longer than `limit` seconds or dies."""
        if not self._has_begun():
            return self._never_begun()
        try:
            answer = self._messages.get(timeout=limit)
        except queue.Empty:
            return self._ended(_made_here("timeout", f"stopped after {limit:g} s", limit))
        if answer is None:
            return self._ended(_made_here("crash", f"the agent's process died: {self._last_words()}", None))
        self._given.popleft()
        self._forget_old_words()
        return Ended(answer, self._flushing[answer["trace_id"]])

    def _never_begun(self) -> Ended:
        """The end of a job that no process took: its agent cannot be loaded, or our own process fails."""
        if self._refused is None:
            died = f"the agent's process died: {self._last_words()}"
            return self._ended(_made_here("crash", died, None, Trouble("worker", message=died)))
        self._given.popleft()
        why = str(self._refused).removeprefix("field agent: ")
        return _over(_made_here("crash", why, None, Trouble("unreachable", message=why)))

    def _has_begun(self) -> bool:
        """Wait for the oldest job to begin; a process that dies before gets a successor, once."""
        for last_try in (False, True):
            if self._refused is not None:
                return False
            begun = self._next(START_LIMIT)
            if begun is not None and "refused" in begun:
                self._refuse(begun["refused"])
            if begun is not None or last_try:
                break
            self._again()
        return begun is not None

    def _ended(self, answer: Mapping[str, Any]) -> Ended:
        """The oldest job ended with its process; those given after it go to a new one."""
        self._given.popleft()
        self._again()
        return _over(answer)

    def _again(self) -> None:
        """End the process, and give what it has not begun to a new one."""
        self.close()
        if self._given:
            self._start_for_jobs()
            self._send_all()

    def _start_for_jobs(self) -> None:
        """Start; where the agent of a user cannot be loaded, that is how its jobs end."""
        self._refused = None
        try:
            self.start()
        except AgentRefused as error:
            if ":" not in self._agent:
                raise  # one of ours, or no agent at all
            self._refused = error

    def _send_all(self) -> None:
        for request in self._given if self._refused is None else ():
            self._send(request)

    def _send(self, request: Mapping[str, Any]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._flushing[request["trace_id"]] = Future()
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()

    def close(self) -> None:
        """End the process: SIGTERM so that spans get out, then SIGKILL for it and all that it started."""
        process, self._process = self._process, None
        if process is None:
            return
        end = time.monotonic() + GRACE
        _tell(process.pid, signal.SIGTERM)
        try:
            process.wait(GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        # An agent that is a program sends its spans itself.
        while self._agent.startswith(EXEC) and time.monotonic() < end and _tell(process.pid, 0):
            time.sleep(0.02)
        _tell(process.pid, signal.SIGKILL)
        if self._pump is not None:
            # A grandchild that left the group may hold the pipe open; then its reader outlives the worker.
            self._pump.join(GRACE)
        for flushed in self._flushing.values():
            _settle(flushed, False)
        for pipe in (process.stdin, self._stderr):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def _next(self, limit: float) -> dict[str, Any] | None:
        """The next message, None when the process is gone or silent for too long."""
        try:
            return self._messages.get(timeout=limit)
        except queue.Empty:
            return None

    def _refuse(self, why: str) -> None:
        self.close()
        said = why.removeprefix("field agent: ")
        raise AgentRefused(f"the agent cannot be started: {said}", field="agent")

    def _last_words(self) -> str:
        """The end of what the process wrote to standard error."""
        if self._stderr is None:
            return ""
        size = self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, size - TAIL))
        return self._stderr.read().decode("utf-8", "replace").strip("\0 \n")

    def _forget_old_words(self) -> None:
        """Keep what chatty agents print from filling the disk."""
        if self._stderr is not None and self._stderr.seek(0, os.SEEK_END) > MOST_WORDS:
            self._stderr.truncate(0)


def _pump(
    pipe: IO[str],
    messages: queue.SimpleQueue[dict[str, Any] | None],
    flushing: dict[str, Future[bool]],
) -> None:
    """Move messages into the queue until there are no more, which None says; reports of flushes go apart."""
    with pipe:
        for line in pipe:
            message = json.loads(line)
            if "flushed" in message:
                _settle(flushing[message["trace_id"]], True)
            else:
                messages.put(message)
    messages.put(None)
    for flushed in list(flushing.values()):
        _settle(flushed, False)


def _tell(group: int, what: int) -> bool:
    """Send a signal to a group of processes; whether there was any."""
    try:
        os.killpg(group, what)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _settle(flushed: Future[bool], value: bool) -> None:
    """The first who knows has said it."""
    with contextlib.suppress(InvalidStateError):
        flushed.set_result(value)


def _over(answer: Mapping[str, Any]) -> Ended:
    """No report will follow: what could get out has got out."""
    told: Future[bool] = Future()
    told.set_result(True)
    return Ended(answer, told)


def _made_here(status: str, error: str, wall: float | None, trouble: Trouble | None = None) -> dict[str, Any]:
    return {
        "status": status,
        "error": error,
        "answer": "",
        "iterations": 0,
        "usage": None,
        "trouble": None if trouble is None else trouble.to_json(),
        "retry_after": None,
        "wall_seconds": wall,
        "cpu_seconds": 0.0,
    }
