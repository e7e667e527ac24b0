"""A worker beside the first one, see `collector.workers`: started as `python -P -m collector.beside`."""

from __future__ import annotations

import os
import pickle
import signal
import socket
from collections.abc import Callable

from collector.workers import STOP, Crew, Order


def main() -> None:
    """Serve until the first worker says that this one is to stop, or is gone."""
    for number in (signal.SIGINT, signal.SIGTERM):  # meant for the first, which then says so
        signal.signal(number, signal.SIG_IGN)
    order: Order = pickle.loads(read(int.from_bytes(read(8), "big")))
    from collector.server import serve_beside  # what it loads takes long: the order comes first

    with socket.socket(fileno=order.listening) as listening:
        serve_beside(order, Crew.joined(order.number, order.descriptors), listening, listen)


def read(size: int) -> bytes:
    """So many bytes of standard input; what follows belongs to `listen`."""
    found = b""
    while len(found) < size:
        if not (part := os.read(0, size - len(found))):
            os._exit(0)
        found += part
    return found


def listen(stop: Callable[[], None]) -> None:
    """Wait for word of the first worker; its end is ours."""
    while os.read(0, 1) == STOP:
        stop()
    os._exit(0)


if __name__ == "__main__":
    main()
