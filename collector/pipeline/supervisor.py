"""Checker processes: started, woken after commits, killed when a solver overruns, started again."""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
import threading
import time
import uuid
from typing import IO

import orjson

from collector.pipeline.board import Board
from collector.pipeline.protocol import settings_to_json
from collector.settings import Settings
from collector.store import Store, work

log = logging.getLogger("collector.supervisor")

WATCH_SECONDS = 0.5
RESTART_SECONDS = 0.5
"""Pause before a checker that died at once is started again; doubles up to `RESTART_LIMIT`."""
RESTART_LIMIT = 10.0


class Supervisor:
    """Keeps one checker process running; `wake` tells it that there is work."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store, self._settings = store, settings
        self._stop = threading.Event()
        self._ready = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._board = Board()
        self._pipe = threading.Lock()
        """Held around every use of the pipe to the checker: once closed, its number is somebody else's."""
        self._judged_before = 0
        """By checkers that have ended."""
        self.worker = uuid.uuid4().hex
        self.restarts = 0
        self._thread = threading.Thread(target=self._run, name="pdoctor-supervisor", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Tell the checker to look for work; a full pipe means that it has been told already."""
        with self._pipe:
            process = self._process
            if process is not None and process.stdin is not None and not process.stdin.closed:
                with contextlib.suppress(BlockingIOError, BrokenPipeError):
                    os.write(process.stdin.fileno(), b"w")

    def wait_ready(self, seconds: float) -> bool:
        """Whether the checker said within `seconds` that it runs."""
        return self._ready.wait(seconds)

    @property
    def judged(self) -> int:
        """Judgements begun since the start."""
        return self._judged_before + self._board.read()[0]

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def healthy(self) -> bool:
        """The checker runs and has said so; the first one gets a moment to start."""
        return self.alive and (self._ready.is_set() or self.restarts == 0)

    def close(self) -> None:
        """End the checker; what it holds stays due and is judged after the next start."""
        self._stop.set()
        self._hang_up()
        self._thread.join(10)  # it may have been starting a checker just now
        self._hang_up()
        if self._process is not None:
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._board.close()

    def _run(self) -> None:
        pause = RESTART_SECONDS
        while not self._stop.is_set():
            began = time.monotonic()
            self._ready.clear()
            try:
                self._start()
                self._watch()
            except OSError as failure:  # no process can be made, or it ended before it read its settings
                log.warning("a checker could not be started: %s", failure)
            if self._stop.is_set():
                break
            self.restarts += 1
            log.warning("the checker ended; starting another", extra={"code": self._code()})
            self._hang_up()
            begun, busy = self._board.read()
            self._judged_before += begun
            self._board.clear()
            with contextlib.suppress(Exception):
                work.release(self._store, self.worker, culprit=busy[0] if busy else None)
            pause = RESTART_SECONDS if time.monotonic() - began > 30 else min(pause * 2, RESTART_LIMIT)
            self._stop.wait(pause)

    def _hang_up(self) -> None:
        with self._pipe:
            if self._process is not None and self._process.stdin is not None:
                with contextlib.suppress(OSError):
                    self._process.stdin.close()

    def _code(self) -> int | None:
        return self._process.returncode if self._process else None

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "collector.pipeline.checker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            close_fds=True,
            pass_fds=(self._board.descriptor,),
        )
        assert self._process.stdin is not None
        os.set_blocking(self._process.stdin.fileno(), True)
        self._process.stdin.write(settings_to_json(self._settings, self.worker, self._board.descriptor))
        self._process.stdin.flush()
        os.set_blocking(self._process.stdin.fileno(), False)
        threading.Thread(target=self._listen, args=(self._process,), daemon=True).start()

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        with process.stdout as lines:
            self._follow(lines)

    def _follow(self, lines: IO[bytes]) -> None:
        for line in lines:
            if "ready" in orjson.loads(line):
                self._ready.set()

    def _watch(self) -> None:
        """Return when the checker has ended, by itself or because it overran."""
        process = self._process
        while process is not None and not self._stop.is_set():
            try:
                process.wait(WATCH_SECONDS)
                return
            except subprocess.TimeoutExpired:
                busy = self._board.read()[1]
            if busy and time.monotonic() - busy[1] > self._settings.check_seconds:
                log.error(
                    "judging run %s took over %g s; the checker is killed",
                    busy[0],
                    self._settings.check_seconds,
                )
                process.kill()
