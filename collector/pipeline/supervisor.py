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
from collections.abc import Collection
from typing import IO

import orjson

from collector.clock import Clock
from collector.errors import CollectorError
from collector.pipeline.board import Board, Busy
from collector.pipeline.protocol import Order, to_json
from collector.room import Room
from collector.settings import Settings
from collector.store import Store, work
from synth.judge_process import STALL, cpu_seconds

log = logging.getLogger("collector.supervisor")

WATCH_SECONDS = 0.5
RESTART_SECONDS = 0.5
"""Pause before a checker that died at once is started again; doubles up to `RESTART_LIMIT`."""
RESTART_LIMIT = 10.0
SILENT_SECONDS = 10.0
"""An idle checker that gives no sign of life for so long is killed; it gives one every second."""
AWAY_SECONDS = 120.0
"""The same of one that starts or waits for the database, which lets nobody wait for so long."""
STOPPED_KEPT = 1_000


class Stillness:
    """How long a checker has been at one and the same, in time that this process saw pass.

    A machine that sleeps, or a container that is paused, is no checker that hangs.
    """

    def __init__(self, began: float) -> None:
        self._last, self._beat, self.seconds = began, -1.0, 0.0
        self._spent: float | None = None
        self.worked = 0.0
        """CPU time that it took meanwhile; where the system does not tell, the time that passed."""

    def look(self, beat: float, now: float, spent: float | None = None) -> float:
        """Seconds since this sign of life, at most; to be asked every `WATCH_SECONDS`.

        `spent` is the CPU time of the checker so far.
        """
        step, self._last = min(now - self._last, 2 * WATCH_SECONDS), now
        if beat == self._beat:
            self.seconds += step
        else:
            self.seconds, self._beat, self._spent = 0.0, beat, spent
        self.worked = self.seconds if spent is None or self._spent is None else spent - self._spent
        return self.seconds


def ring(bell: int) -> None:
    """Tell a checker that there is work; a full pipe means that it has been told already."""
    with contextlib.suppress(BlockingIOError):
        os.write(bell, b"w")


def start_checker(descriptors: Collection[int]) -> subprocess.Popen[bytes]:
    """A checker that waits for its order on standard input; it has these descriptors and no other."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "collector.pipeline.checker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        close_fds=True,
        pass_fds=descriptors,
    )


class Supervisor:
    """Keeps one checker process running; `wake` tells it that there is work."""

    def __init__(
        self, store: Store, settings: Settings, clock: Clock | None = None, room: Room | None = None
    ) -> None:
        self._room = room or Room()
        self._store, self._settings, self._clock = store, settings, clock or Clock()
        self._stop = threading.Event()
        self._ready = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._board = Board()
        self._ears, self.bell = os.pipe()
        """Whoever has work for the checker writes to the bell: also after the checker was started again."""
        os.set_blocking(self.bell, False)
        self._pipe = threading.Lock()
        """Held around every use of the pipe to the checker: once closed, its number is somebody else's."""
        self._judged_before = 0
        """By checkers that have ended."""
        self._stopped: dict[str, list[str]] = {}
        """Where checkers ended while they judged: the newest `STOPPED_KEPT` runs."""
        self._still = Stillness(time.monotonic())
        self._renewed = time.monotonic()
        self.worker = uuid.uuid4().hex
        self.restarts = 0
        self._renewing = False
        """One ended by itself, as it kept too much memory, and the next is starting."""
        self._thread = threading.Thread(target=self._run, name="pdoctor-supervisor", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Tell the checker to look for work."""
        ring(self.bell)

    @property
    def judged(self) -> int:
        """Judgements begun since the start."""
        return self._judged_before + self._board.read()[0]

    @property
    def busy(self) -> bool:
        """The checker judges, or waits for the database while it does."""
        return self._board.read().state != "idle"

    @property
    def still_for(self) -> float:
        """Seconds since the last sign of life of the checker, whatever it is at."""
        return self._still.seconds

    @property
    def silence(self) -> float:
        """Seconds since the last sign of life of a checker that judges nothing."""
        return 0.0 if self._board.read().state == "busy" else self._still.seconds

    def kill(self, why: str) -> None:
        """End the checker, whatever it is at; another one is started."""
        process = self._process
        if process is not None and process.poll() is None:
            log.error("the checker is killed: %s", why)
            process.kill()

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def healthy(self) -> bool:
        """The checker runs and has said so; the first one, and one after a worn one, may be starting."""
        if self._renewing or self._is_worn:
            return True
        return self.alive and (self._ready.is_set() or self.restarts == 0)

    @property
    def _is_worn(self) -> bool:
        """The checker ended by itself, in good order."""
        return self._ready.is_set() and self._process is not None and self._process.poll() == 0

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
        os.close(self.bell)
        os.close(self._ears)

    def _run(self) -> None:
        pause = RESTART_SECONDS
        while not self._stop.is_set():
            began = time.monotonic()
            self._still = Stillness(began)
            self._ready.clear()
            try:
                self._start()
                self._watch()
            except OSError as failure:  # no process can be made, or it ended before it read its settings
                log.warning("a checker could not be started: %s", failure)
            if self._stop.is_set():
                break
            self._hang_up()
            self._renewing = self._is_worn
            if self._renewing:
                log.info("the checker kept much memory; starting another")
            else:
                self.restarts += 1
                log.warning("the checker ended; starting another", extra={"code": self._code()})
            begun, busy, *_ = self._board.read()
            self._judged_before += begun
            self._board.clear()
            self._blame(busy)
            with contextlib.suppress(Exception):
                work.release(self._store, self.worker, culprit=busy[0] if busy else None)
            pause = RESTART_SECONDS if time.monotonic() - began > 30 else min(pause * 2, RESTART_LIMIT)
            self._stop.wait(0.0 if self._renewing else pause)

    def _blame(self, busy: Busy | None) -> None:
        """Remember the policy at which a checker ended: the next one passes over it."""
        if busy is None or not busy[2]:
            return
        key, _, policy = busy
        self._stopped.setdefault(key, []).append(policy)
        while len(self._stopped) > STOPPED_KEPT:
            del self._stopped[next(iter(self._stopped))]

    def _hang_up(self) -> None:
        with self._pipe:
            if self._process is not None and self._process.stdin is not None:
                with contextlib.suppress(OSError):
                    self._process.stdin.close()

    def _code(self) -> int | None:
        return self._process.returncode if self._process else None

    def _start(self) -> None:
        self._process = start_checker((self._board.descriptor, self._ears, self._room.descriptor))
        assert self._process.stdin is not None
        order = Order(
            self._settings, self.worker, self._board.descriptor, self._ears, self._room.descriptor,
            self._clock.offset, self._stopped,
        )  # fmt: skip
        self._process.stdin.write(to_json(order))
        self._process.stdin.flush()
        threading.Thread(target=self._listen, args=(self._process,), daemon=True).start()

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        with process.stdout as lines:
            self._follow(lines)

    def _follow(self, lines: IO[bytes]) -> None:
        for line in lines:
            if "ready" in orjson.loads(line):
                self._ready.set()
                self._renewing = False

    def _watch(self) -> None:
        """Return when the checker has ended, by itself or because it overran."""
        process = self._process
        while process is not None and not self._stop.is_set():
            try:
                process.wait(WATCH_SECONDS)
                return
            except subprocess.TimeoutExpired:
                self._look(process.pid)

    def _look(self, process: int) -> None:
        """Kill a checker that has been at one thing for longer than that may take.

        What it judges may take so much CPU time: that a machine has much else to do is no fault of a run.
        """
        said, still, limit = self._board.read(), self._still, self._settings.check_seconds
        seconds = still.look(said.beat, time.monotonic(), cpu_seconds(process))
        if said.busy is None:
            if seconds > (SILENT_SECONDS if said.state == "idle" else AWAY_SECONDS):
                self.kill(f"no sign of life for {seconds:.0f} s")
        elif still.worked > limit or seconds > STALL * limit:
            run, _, policy = said.busy
            by = f" by policy {policy}" if policy else ""
            self.kill(f"judging run {run}{by} took {seconds:.1f} s, of which it worked {still.worked:.1f} s")
        elif time.monotonic() - self._renewed > limit:
            self._renew()

    def _renew(self) -> None:
        """A checker that judges keeps what it holds, however long the machine lets it wait."""
        with contextlib.suppress(CollectorError):  # the store is away: the next look tries again
            work.renew(self._store, self.worker, until=self._clock() + 2 * self._settings.check_seconds)
            self._renewed = time.monotonic()
