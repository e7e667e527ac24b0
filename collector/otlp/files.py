"""Runs from files of OTLP: JSON lines (as the OpenTelemetry Collector's file exporter writes) or protobuf."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import IO

from collector.model import Batch, Piece, Rebuilt, Run
from collector.otlp.errors import ExportError
from collector.otlp.json_in import from_json
from collector.otlp.segments import from_protobuf
from collector.otlp.spans import spans_of
from collector.rebuild import rebuild
from collector.rebuild.conversations import conversations
from collector.settings import Limits
from synth.errors import BadInput

FILE_LIMITS = Limits(spans=10_000_000)
"""What lies on the user's own disk may be bigger than what a network sends."""


def runs_from_otlp(stream: IO[bytes], *, file: str) -> Iterator[Run]:
    """Every agent run in the file, in order of first appearance; raises BadInput with file and line.

    A run from a file has ended: nothing more can come. Runs without a run span come last.
    """
    payloads: dict[str, list[bytes]] = {}
    for line, batch in _batches(stream, file):
        if batch.rejections:
            first = batch.rejections[0]
            raise BadInput(f"{first.span}: {first.reason}", file=file, line=line)
        for segment in batch.segments:
            payloads.setdefault(segment.run_id, []).append(segment.payload)
    for rebuilt in _joined(payloads):
        if rebuilt.is_agent:
            yield replace(rebuilt.run, status="ok")


def _joined(payloads: dict[str, list[bytes]]) -> Iterator[Rebuilt]:
    """One rebuilt run each; traces of one conversation, which have no run span, together at the end."""
    pieces: list[Piece] = []
    for run_id, parts in payloads.items():
        rebuilt = rebuild(run_id, list(spans_of(parts)))
        if rebuilt.piece is None:
            yield rebuilt
        else:
            pieces.append(rebuilt.piece)
    for group in conversations(pieces):
        parts = [part for piece in group for part in payloads[piece.trace_id]]
        yield rebuild(group[0].trace_id, list(spans_of(parts)))


def _batches(stream: IO[bytes], file: str) -> Iterator[tuple[int | None, Batch]]:
    head = stream.read(64)
    rest = stream.read()
    try:
        if not head.lstrip().startswith(b"{"):
            yield None, from_protobuf(head + rest, FILE_LIMITS)
            return
        lines = (head + rest).splitlines()
    except ExportError as failure:
        raise BadInput(failure.message, file=file) from None
    yield from _json_batches(lines, file)


def _json_batches(lines: list[bytes], file: str) -> Iterator[tuple[int | None, Batch]]:
    """One request a line; a file that is one pretty-printed document counts as line 1."""
    if len(lines) > 1 and lines[0].strip() == b"{":
        lines = [b"\n".join(lines)]
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield number, from_json(line, FILE_LIMITS)
            except ExportError as failure:
                raise BadInput(failure.message, file=file, line=number) from None
