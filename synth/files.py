"""Files that somebody names, read only as far as they may go: no device without end, no pipe that waits."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from synth.errors import BadInput

MIB = 1024 * 1024
TEXT_BYTES = 20 * MIB
"""Of one file of ours that somebody writes by hand."""
KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Also a pipe that takes the file's place in between is not waited for."""


def content_of(path: Path | str, most: int = TEXT_BYTES, *, what: str = "") -> bytes:
    """All of a regular file; BadInput where it is none, cannot be read, or has more than `most` bytes.

    `what` it should hold, for the message.
    """
    name = str(path)
    try:
        _look(os.stat(path), most, name)
        with os.fdopen(os.open(path, os.O_RDONLY | AT_ONCE), "rb") as stream:
            _look(os.fstat(stream.fileno()), most, name)
            content = stream.read(most + 1)
    except (OSError, ValueError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else None
        said = f"cannot read {what}" if what else "cannot be read"
        raise BadInput(f"{said}: {why or problem}", file=name) from None
    return within(content, most, name)


def text_of(path: Path | str, *, what: str = "") -> str:
    """As `content_of`, of a text."""
    try:
        return content_of(path, what=what).decode("utf-8")
    except UnicodeDecodeError as problem:
        raise BadInput(f"not UTF-8 text: {problem.reason}", file=str(path)) from None


def within(content: bytes, most: int, name: str) -> bytes:
    """What was read of a file, if that is all; BadInput where it has more than `most` bytes."""
    if len(content) > most:
        raise too_big(most, name)
    return content


def too_big(most: int, name: str) -> BadInput:
    return BadInput(f"over {most // MIB} MiB: this is no such file; name another, or split it", file=name)


def _look(found: os.stat_result, most: int, name: str) -> None:
    if (kind := KINDS.get(stat.S_IFMT(found.st_mode))) is not None:
        raise BadInput(f"this is {kind}, no regular file: name one, or copy what it gives to one", file=name)
    if found.st_size > most:
        raise too_big(most, name)
