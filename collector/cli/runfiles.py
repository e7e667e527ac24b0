"""Files of runs in any of the forms we read: neutral run records, OTLP JSON lines, OTLP protobuf."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from synth.observed.run import Run


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

    return read_runs(stream)


def beginning(stream: Any) -> bytes:
    """The first bytes of a buffered stream, which stay there to be read."""
    return bytes(stream.peek(4096))


def is_otlp(head: bytes) -> bool:
    """OTLP JSON is an object with `resourceSpans`; OTLP protobuf starts with the tag of that field."""
    if head.lstrip()[:1] == b"{":
        return b'"resourceSpans"' in head or b'"resource_spans"' in head
    return head[:1] == b"\x0a" and head[1:2] not in (b"{", b"\n", b"")
