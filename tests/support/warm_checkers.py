"""Checkers that need not load: each is forked from a process that has loaded what a checker needs.

A collector starts its checker as a program, which loads for half a second of CPU time before it judges, and
hundreds of tests start a collector. Here a test worker loads once. What is forked is a checker all the same:
a process of its own with the pipes, the descriptors, the environment and the folder that the program would
have, which runs the same `main`. Where modules may come from elsewhere (PYTHONPATH), and in a test with the
fixture `cold_checkers`, it is the program.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import IO, Any, NoReturn

import orjson

from collector.pipeline import supervisor

AT_MOST = 1 << 20
"""Bytes of an order: mostly the environment."""


class Forked:
    """What `subprocess.Popen` is to a supervisor; `status` tells the process and then its exit code."""

    def __init__(self, status: IO[bytes], stdin: IO[bytes], stdout: IO[bytes]) -> None:
        self.stdin, self.stdout = stdin, stdout
        self.returncode: int | None = None
        self._status, self._lock = status, threading.Lock()
        self.pid = int(status.readline())
        os.set_blocking(status.fileno(), False)

    def poll(self) -> int | None:
        with self._lock:
            if self.returncode is None and (line := self._status.readline()):
                self.returncode = int(line)
                self._status.close()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        end = time.monotonic() + (float("inf") if timeout is None else timeout)
        while (code := self.poll()) is None:
            if time.monotonic() >= end:
                raise subprocess.TimeoutExpired("checker", timeout or 0.0)
            time.sleep(0.01)
        return code

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


class Warm:
    """Starts checkers from one process that has loaded them; it is started by the first."""

    def __init__(self) -> None:
        self.cold = False
        self._path = os.environ.get("PYTHONPATH")
        self._ours: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._start_program = supervisor.start_checker

    def start(self, descriptors: Collection[int]) -> Forked | subprocess.Popen[bytes]:
        """As `supervisor.start_checker`."""
        if self.cold or os.environ.get("PYTHONPATH") != self._path:
            return self._start_program(descriptors)
        reads, stdin = os.pipe()
        stdout, writes = os.pipe()
        status, told = os.pipe()
        numbers = (0, 1, 2, *descriptors)
        order = {"numbers": numbers, "environment": dict(os.environ), "folder": os.getcwd()}
        with self._lock:
            socket.send_fds(self._loaded(), [orjson.dumps(order)], [told, reads, writes, 2, *descriptors])
        for given in (told, reads, writes):
            os.close(given)
        return Forked(open(status, "rb"), open(stdin, "wb"), open(stdout, "rb"))

    def _loaded(self) -> socket.socket:
        if self._ours is None:
            self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                command = [sys.executable, "-P", "-m", __name__, str(theirs.fileno())]
                self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
        return self._ours

    def close(self) -> None:
        if self._ours is not None and self._process is not None:
            self._ours.close()
            self._process.wait()


@contextlib.contextmanager
def warm_checkers() -> Iterator[Warm]:
    """Let every collector of this process start its checkers warm."""
    warm = Warm()
    program, supervisor.start_checker = supervisor.start_checker, warm.start  # type: ignore[assignment]
    try:
        yield warm
    finally:
        supervisor.start_checker = program
        warm.close()


def serve(asked: socket.socket) -> None:
    """Fork a checker for each order, until there is nobody to give one."""
    while True:
        said, passed, *_ = socket.recv_fds(asked, AT_MOST, 16)
        if not said:
            return
        if os.fork() == 0:
            stand_by(orjson.loads(said), *passed)
        for descriptor in passed:
            os.close(descriptor)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def stand_by(order: Mapping[str, Any], status: int, *given: int) -> NoReturn:
    """Tell which process the checker is, and how it ended."""
    checker = os.fork()
    if checker == 0:
        be_a_checker(order, given)
    for descriptor in given:
        os.close(descriptor)
    os.write(status, b"%d\n" % checker)
    _, code = os.waitpid(checker, 0)
    os.write(status, b"%d\n" % os.waitstatus_to_exitcode(code))
    os._exit(0)


def be_a_checker(order: Mapping[str, Any], given: Sequence[int]) -> NoReturn:
    code = 1
    try:
        numbers = order["numbers"]
        aside = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, max(numbers) + 1) for descriptor in given]
        for descriptor, number in zip(aside, numbers, strict=True):
            os.dup2(descriptor, number)
        for name in os.listdir("/proc/self/fd"):
            if int(name) not in numbers:
                with contextlib.suppress(OSError):
                    os.close(int(name))
        os.environ.clear()
        os.environ.update(order["environment"])
        os.chdir(order["folder"])
        checker.main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    os._exit(code)


if __name__ == "__main__":
    from collector.pipeline import checker
    from synth.formal import solver

    solver.z3()
    gc.freeze()
    serve(socket.socket(fileno=int(sys.argv[1])))
