"""Files of runs in any of the forms we read: neutral run records, OTLP JSON lines, OTLP protobuf."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from synth.run import Run


def runs_in(source: str) -> Iterator[Run]:
    """The runs of one file (`-` = standard input); `BadInput` names file and line."""
    if source == "-":
        yield from runs_of(io.BufferedReader(sys.stdin.buffer), "<stdin>")  # type: ignore[type-var]
        return
    with open(source, "rb") as stream:
        yield from runs_of(stream, source)


def runs_of(stream: io.BufferedReader, name: str) -> Iterator[Run]:
    """The runs of an open file, told apart by how it begins."""
    if is_otlp(stream.peek(4096)):
        from collector.otlp.files import runs_from_otlp

        return runs_from_otlp(stream, file=name)
    from synth.run import read_runs

    return read_runs(stream, file=name)


def is_otlp(head: bytes) -> bool:
    """OTLP JSON is an object with `resourceSpans`; OTLP protobuf starts with the tag of that field."""
    if head.lstrip()[:1] == b"{":
        return b'"resourceSpans"' in head or b'"resource_spans"' in head
    return head[:1] == b"\x0a" and head[1:2] not in (b"{", b"\n", b"")
