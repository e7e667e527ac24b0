"""Files of runs in any of the forms we read: neutral run records, OTLP JSON lines, OTLP protobuf."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from synth.observed.run import Run


class RunFile:
    """A source of runs that can be read more than once.

    What is no regular file (standard input, a pipe) is copied to a temporary file when it is first read.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._copy: IO[bytes] | None = None

    def __enter__(self) -> RunFile:
        return self

    def __exit__(self, *_: object) -> None:
        if self._copy is not None:
            self._copy.close()

    def runs(self) -> Iterator[Run]:
        """The runs; `BadInput` names file and line. One reading at a time."""
        if self._source != "-" and not is_pipe(self._source):
            yield from runs_in(self._source)
            return
        if self._copy is None:
            self._copy = copied(self._source)
        self._copy.seek(0)
        yield from runs_of(self._copy, "standard input" if self._source == "-" else self._source)


def is_pipe(path: str) -> bool:
    """Can a file be read only once? One that is not there is no pipe."""
    with suppress(OSError):
        return not stat.S_ISREG(os.stat(path).st_mode)
    return False


def copied(source: str) -> IO[bytes]:
    """All of a stream in a temporary file, which is gone when it is closed."""
    copy = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as it may be read again
    with nullcontext(sys.stdin.buffer) if source == "-" else open(source, "rb") as stream:
        shutil.copyfileobj(stream, copy)
    return copy


def runs_in(source: str) -> Iterator[Run]:
    """The runs of one file (`-` = standard input); `BadInput` names file and line."""
    if source == "-":
        yield from runs_of(sys.stdin.buffer, "standard input")
        return
    with open(source, "rb") as stream:
        yield from runs_of(stream, source)


def runs_of(stream: IO[bytes], name: str) -> Iterator[Run]:
    """The runs of an open file, told apart by how it begins."""
    if is_otlp(beginning(stream)):
        from collector.otlp.files import runs_from_otlp

        return runs_from_otlp(stream, file=name)
    from synth.observed.run import read_runs

    return read_runs(stream, name=name)


def beginning(stream: Any) -> bytes:
    """The first bytes of a buffered stream, which stay there to be read."""
    return bytes(stream.peek(4096))


def is_otlp(head: bytes) -> bool:
    """OTLP JSON is an object with `resourceSpans`; OTLP protobuf starts with the tag of that field."""
    if head.lstrip()[:1] == b"{":
        return b'"resourceSpans"' in head or b'"resource_spans"' in head
    return head[:1] == b"\x0a" and head[1:2] not in (b"{", b"\n", b"")
