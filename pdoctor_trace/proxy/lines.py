"""Lines of a pipe, read without ever holding more than was agreed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

CHUNK = 65_536
KEPT = 4_096
"""Bytes kept of either end of a line that is too long."""


class TooLong(NamedTuple):
    """A line that was read and thrown away."""

    size: int
    head: bytes
    tail: bytes


def lines(fd: int, most: int) -> Iterator[bytes | TooLong]:
    """Each line with its end, until the pipe is closed; the last one may have none."""
    held = bytearray()
    looked = 0
    while True:
        chunk = _read(fd)
        if not chunk:
            break
        held += chunk
        while (end := held.find(b"\n", looked)) >= 0:
            yield (
                bytes(held[: end + 1])
                if end <= most
                else TooLong(end, bytes(held[:KEPT]), bytes(held[end - KEPT : end]))
            )
            del held[: end + 1]
            looked = 0
        looked = len(held)
        if looked > most:
            rest, left = _skipped(fd, held)
            yield rest
            held, looked = left, 0
    if held:
        yield bytes(held)


def _skipped(fd: int, held: bytearray) -> tuple[TooLong, bytearray]:
    """The line that goes on beyond all bounds, and what was read after its end."""
    size, head, tail = len(held), bytes(held[:KEPT]), held[-KEPT:]
    held.clear()
    while chunk := _read(fd):
        end = chunk.find(b"\n")
        tail += chunk if end < 0 else chunk[:end]
        del tail[:-KEPT]
        size += len(chunk) if end < 0 else end
        if end >= 0:
            return TooLong(size, head, bytes(tail)), bytearray(chunk[end + 1 :])
    return TooLong(size, head, bytes(tail)), bytearray()


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, CHUNK)
    except OSError:
        return b""


def write(fd: int, data: bytes) -> None:
    """All of it; raises OSError where nobody reads any more."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
