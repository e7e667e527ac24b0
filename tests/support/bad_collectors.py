"""Collectors that misbehave, as raw sockets on loopback: they hang, reset, drip or never stop talking."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable

Behaviour = Callable[[socket.socket, threading.Event], None]


class BadCollector:
    """Accepts connections and treats each with `behaviour`, until it is closed."""

    def __init__(self, behaviour: Behaviour, port: int = 0) -> None:
        self._behaviour = behaviour
        self._over = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", port))
        self.port = int(self._listener.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self.connections = 0
        self._open: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.connections += 1
                self._open.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            self._behaviour(connection, self._over)

    def close(self) -> None:
        self._over.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(60)
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.close()

    def __enter__(self) -> BadCollector:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def never_answers(connection: socket.socket, over: threading.Event) -> None:
    """Takes everything and says nothing."""
    connection.settimeout(0.05)
    while not over.is_set():
        try:
            if not connection.recv(65_536):
                return
        except TimeoutError:
            continue


def resets_in_the_middle(connection: socket.socket, over: threading.Event) -> None:
    """Reads a little of the body, then resets."""
    connection.recv(200)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def drips_headers(connection: socket.socket, over: threading.Event) -> None:
    """An answer whose head comes byte by byte and never ends."""
    connection.recv(65_536)
    connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while not over.wait(0.05):
        connection.sendall(b"x")


def drips_a_body(connection: socket.socket, over: threading.Event) -> None:
    """A refusal whose text comes byte by byte."""
    connection.recv(65_536)
    connection.sendall(b"HTTP/1.1 503 Busy\r\nContent-Length: 100000\r\n\r\n")
    while not over.wait(0.05):
        connection.sendall(b"x")


def never_stops_talking(connection: socket.socket, over: threading.Event) -> None:
    """An answer without end, as fast as it is read."""
    connection.recv(65_536)
    connection.sendall(b"HTTP/1.1 503 Busy\r\n\r\n")
    deadline = time.monotonic() + 20
    while not over.is_set() and time.monotonic() < deadline:
        connection.sendall(b"x" * 65_536)


def talks_nonsense(connection: socket.socket, over: threading.Event) -> None:
    """Not HTTP at all."""
    connection.recv(65_536)
    connection.sendall(b"\x00\xff" * 500)


BEHAVIOURS: tuple[Behaviour, ...] = (
    never_answers,
    resets_in_the_middle,
    drips_headers,
    drips_a_body,
    never_stops_talking,
    talks_nonsense,
)
