"""Files of runs in any of the forms we read: records, conversations, OTLP, exports of other products."""

from __future__ import annotations

import gzip
import os
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from typing import IO, TYPE_CHECKING, Any

from synth.errors import BadInput
from synth.files import MIB, too_big

if TYPE_CHECKING:
    from collector.otlp.exports import Refused
    from collector.otlp.files import Parts
    from synth.observed.run import Run


GZIP = b"\x1f\x8b"
MOST_UNPACKED = 1 << 30
"""Bytes of a file that was compressed."""
MOST_COPIED = 16 << 30
"""Bytes of what can be read only once."""


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

    def runs(self, parts: Parts | None = None) -> Iterator[Run]:
        """The runs; `BadInput` names file and line. One reading at a time.

        Parts of runs that others may go on with are put into `parts`, where given.
        """
        if self._source != "-" and not is_pipe(self._source):
            yield from runs_in(self._source, parts)
            return
        if self._copy is None:
            self._copy = copied(self._source)
        self._copy.seek(0)
        yield from runs_of(self._copy, "standard input" if self._source == "-" else self._source, parts)


def all_runs(files: Sequence[RunFile]) -> Iterator[Run]:
    """The runs of all files; those whose parts stand in several of them come last."""
    parts: Parts = {}
    for file in files:
        yield from file.runs(parts)
    if parts:
        from collector.otlp.files import runs_of_parts

        yield from runs_of_parts(parts)


def unpacked(stream: IO[bytes], name: str, most_bytes: int = MOST_UNPACKED) -> IO[bytes]:
    """The stream, or where it is compressed by gzip its content in a temporary file; it is closed then.

    BadInput for what is cut off, broken, or larger than `most_bytes`.
    """
    if not beginning(stream).startswith(GZIP):
        return stream
    copy = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    try:
        with stream, gzip.GzipFile(fileobj=stream) as inside:
            while block := inside.read(1 << 20):
                copy.write(block)
                if copy.tell() > most_bytes:
                    raise BadInput(f"over {most_bytes >> 20} MiB when it is unpacked: split it", file=name)
    except (EOFError, OSError, zlib.error) as problem:
        copy.close()
        raise BadInput(f"no gzip file that can be read: {problem}", file=name) from None
    except BaseException:
        copy.close()
        raise
    copy.seek(0)
    return copy


def is_pipe(path: str) -> bool:
    """Can a file be read only once? One that is not there is no pipe."""
    with suppress(OSError):
        return not stat.S_ISREG(os.stat(path).st_mode)
    return False


def copied(source: str) -> IO[bytes]:
    """All of a stream in a temporary file, which is gone when it is closed."""
    with nullcontext(sys.stdin.buffer) if source == "-" else open(source, "rb") as stream:
        copy = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as it may be read again
        while block := stream.read(MIB):
            copy.write(block)
            if copy.tell() > MOST_COPIED:
                copy.close()
                raise too_big(MOST_COPIED, "standard input" if source == "-" else source)
    copy.seek(0)
    return copy


def runs_in(source: str, parts: Parts | None = None) -> Iterator[Run]:
    """The runs of one file (`-` = standard input); `BadInput` names file and line."""
    if source == "-":
        yield from runs_of(sys.stdin.buffer, "standard input", parts)
        return
    with unpacked(open(source, "rb"), source) as stream:
        yield from runs_of(stream, source, parts)


def runs_of(stream: IO[bytes], name: str, parts: Parts | None = None) -> Iterator[Run]:
    """The runs of an open file, told apart by how it begins."""
    if is_otlp(beginning(stream)):
        from collector.otlp.files import runs_from_otlp

        return runs_from_otlp(stream, file=name, parts=parts)
    if stream.seekable():
        from synth.observed import inspect_logs

        if inspect_logs.is_log(stream):
            return inspect_logs.read(stream, name=name)
        from collector.otlp import exports

        if (form := exports.form_of(stream)) is not None:
            return exports.runs_from_export(stream, form, file=name, refused=_strictly(name))
    from synth.observed.transcripts import read_any

    return read_any(stream, name=name)


def _strictly(name: str) -> Refused:
    """What cannot be read ends the reading."""

    def refuse(place: str, why: str) -> None:
        raise BadInput(f"{place}: {why}", file=name)

    return refuse


def beginning(stream: Any) -> bytes:
    """The first bytes of a buffered stream, which stay there to be read."""
    return bytes(stream.peek(4096))


def is_otlp(head: bytes) -> bool:
    """OTLP JSON is an object with `resourceSpans`; OTLP protobuf starts with the tag of that field."""
    if head.lstrip()[:1] == b"{":
        return b'"resourceSpans"' in head or b'"resource_spans"' in head
    return head[:1] == b"\x0a" and head[1:2] not in (b"{", b"\n", b"")
