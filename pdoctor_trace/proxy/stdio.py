"""An MCP server over stdio: the client talks to our own pipes, and we to those of the server we started.

One thread for each direction. A side that does not read is waited for, as it would be without us; its
messages are not piled up here. When either side is gone the other one is told what it waits for in vain.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

from .lines import TooLong, lines, write
from .messages import INVALID_REQUEST, Malformed, error, id_of, is_answer, read, written
from .session import CALL, Session

GRACE = (1.5, 1.0)
"""Seconds that a server has after its input has ended, and then after SIGTERM."""
LAST = 1.0
"""Seconds to wait for what an ended server wrote last; a child of its own may keep the pipe open."""
STDIN, STDOUT = 0, 1


class Relay:
    """Between one client and the server that `command` starts; `asks`: the guard may wait for a person."""

    def __init__(self, command: Sequence[str], most: int, asks: bool, hides: bool = False) -> None:
        self.most, self.asks = most, asks
        self.session = Session(hides=hides)
        self.server = start(command)
        self._to_client, self._to_server = threading.Lock(), threading.Lock()
        self._held: dict[bytes, bool] = {}
        self._over = threading.Event()
        self.why = ""

    def run(self) -> int:
        """Until one side has ended; the exit code."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._stop("the proxy was told to end"))
        readers = [
            threading.Thread(target=one, daemon=True) for one in (self._from_client, self._from_server)
        ]
        for one in readers:
            one.start()
        self._over.wait()
        code = self._end(readers[1])
        self.session.close()
        return code

    def _stop(self, why: str) -> None:
        self.why = self.why or why
        self._over.set()

    def _end(self, reader: threading.Thread) -> int:
        """Leave no process behind, and nobody who waits for an answer."""
        for answer in self.session.gone("the MCP client went away before it answered"):
            self._tell_server(answer)
        with contextlib.suppress(OSError), self._to_server:
            self.pipe_in.close()
        code = end(self.server)
        reader.join(LAST)
        for answer in self.session.lost(f"the MCP server {ended(code)} before it answered"):
            self._tell_client(answer)
        return code if code >= 0 else 128 - code

    # ------------------------------------------------------------ both directions

    @property
    def pipe_in(self) -> Any:
        return self.server.stdin

    def _from_client(self) -> None:
        for line in lines(STDIN, self.most):
            if isinstance(line, TooLong):
                self._tell_client(error(id_of(line.head, line.tail), INVALID_REQUEST, self._too_long(line)))
            elif line.strip():
                self._client_said(line)
        self._stop("the client closed its end")

    def _client_said(self, line: bytes) -> None:
        try:
            messages = read(line)
        except Malformed as problem:
            self._tell_client(error(problem.id, problem.code, f"pdoctor mcp-proxy: {problem}"))
            return
        if self.asks and any(message.get("method") == CALL for message in messages):
            threading.Thread(target=self._pass, args=(line, messages), daemon=True).start()
        else:
            self._pass(line, messages)

    def _pass(self, line: bytes, messages: list[dict[str, Any]]) -> None:
        said = [(message, self.session.from_client(message)) for message in messages]
        for _, answer in said:
            if is_answer(answer) and "id" in answer:
                self._tell_client(answer)
        left = [other or message for message, other in said if not is_answer(other)]
        if not left:
            return
        whole = all(other is None for _, other in said)
        try:
            with self._to_server:
                if not whole:
                    line = written(left if line.lstrip()[:1] == b"[" else left[0])
                write(self.pipe_in.fileno(), whole_line(line))
        except (OSError, ValueError):
            self._stop("the server takes nothing any more")

    def _from_server(self) -> None:
        for line in lines(self.server.stdout.fileno(), self.most):  # type: ignore[union-attr]
            if isinstance(line, TooLong):
                self._server_said_too_much(line)
                continue
            if not line.strip():
                continue
            try:
                messages = read(line)
            except Malformed as problem:
                text = f"pdoctor mcp-proxy: the MCP server wrote what is no message: {problem}"
                sys.stderr.write(f"{text}\n")
                self._tell_client(error(problem.id, problem.code, text))
                continue
            others = [self.session.from_server(message) for message in messages]
            if any(others):
                said = [other or message for other, message in zip(others, messages, strict=True)]
                line = written(said if line.lstrip()[:1] == b"[" else said[0])
            self._write_client(whole_line(line))
        self._stop("the server ended")

    def _server_said_too_much(self, line: TooLong) -> None:
        id_, why = id_of(line.head, line.tail), f"the MCP server's answer is {self._too_long(line)}"
        answers = self.session.lost(why, INVALID_REQUEST, id_) if id_ is not None else []
        for answer in answers or [error(None, INVALID_REQUEST, why)]:
            self._tell_client(answer)

    def _too_long(self, line: TooLong) -> str:
        most = f"pdoctor mcp-proxy passes at most {self.most:,} (--max-message)"
        return f"a message of {line.size:,} bytes; {most}"

    def _tell_client(self, message: dict[str, Any]) -> None:
        self._write_client(written(message) + b"\n")

    def _write_client(self, line: bytes) -> None:
        try:
            with self._to_client:
                write(STDOUT, line)
        except OSError:
            self._stop("the client reads no more")

    def _tell_server(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(OSError, ValueError), self._to_server:
            write(self.pipe_in.fileno(), written(message) + b"\n")


def whole_line(line: bytes) -> bytes:
    return line if line.endswith(b"\n") else line + b"\n"


def start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    """The server, in a process group of its own, with our stderr. Raises OSError."""
    options: dict[str, Any] = {"process_group": 0, "preexec_fn": _with_parent()} if os.name == "posix" else {}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, **options)


def _with_parent() -> Callable[[], None] | None:
    """On Linux: what lets a process end with the one that started it, however that ends."""
    if sys.platform != "linux":
        return None
    import ctypes

    control = ctypes.CDLL(None).prctl
    death_signal = 1
    return lambda: control(death_signal, signal.SIGKILL)


def end(server: subprocess.Popen[bytes]) -> int:
    """Wait for a server whose input has ended; end it and whatever it started where that takes too long."""
    for seconds, number in zip(GRACE, (signal.SIGTERM, signal.SIGKILL), strict=True):
        with contextlib.suppress(subprocess.TimeoutExpired):
            return server.wait(seconds)
        _signal(server, number)
    return server.wait()


def _signal(server: subprocess.Popen[bytes], number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            os.killpg(server.pid, number)
        else:
            server.send_signal(number)


def ended(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    with contextlib.suppress(ValueError):
        return f"was ended by {signal.Signals(-code).name}"
    return f"was ended by signal {-code}"
