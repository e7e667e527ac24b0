"""Runs from files of OTLP: JSON lines (as the OpenTelemetry Collector's file exporter writes) or protobuf.

Parts of one run may stand in several files: each process that went on with it has written its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import IO, Any

from collector.model import Batch, Piece, Rebuilt, Run, Segment, Span
from collector.otlp.errors import ExportError
from collector.otlp.json_in import from_json
from collector.otlp.raw import Head, Traces
from collector.otlp.segments import from_protobuf
from collector.otlp.spans import spans_of
from collector.rebuild import rebuild
from collector.rebuild.messages import certain_messages
from collector.rebuild.parts import groups
from collector.settings import Limits
from synth.errors import BadInput
from synth.observed import Status

FILE_LIMITS = Limits(spans=10_000_000)
"""What lies on the user's own disk may be bigger than what a network sends."""
REQUEST_BYTES = 4 << 20
"""Of an export request that is made of a file, and the spans of one more run."""


Held = tuple[list[bytes], Mapping[bytes, bytes]]
"""Payloads, and the resources and scopes that they only name."""
Parts = dict[str, list[Held]]
"""Run id -> the spans of a part of a run, of all files that were read so far."""


def runs_from_otlp(stream: IO[bytes], *, file: str, parts: Parts | None = None) -> Iterator[Run]:
    """Every agent run in the file, in order of first appearance; raises BadInput with file and line.

    A run from a file has ended: nothing more can come. Runs without a run span come last, after them those
    that waited or went on elsewhere; where `parts` are given, these are put there.
    """
    found: Parts = {} if parts is None else parts
    payloads: dict[str, list[bytes]] = {}
    shared: dict[bytes, bytes] = {}
    for line, batch in _batches(stream, file):
        if batch.rejections:
            raise _refused(batch, file, line)
        shared |= batch.shared
        for segment in batch.segments:
            payloads.setdefault(segment.run_id, []).append(segment.payload)
    for rebuilt in _joined(payloads, shared, found):
        if rebuilt.is_agent:
            yield _ended(rebuilt)
    if parts is None:
        yield from runs_of_parts(found)


def runs_of_parts(parts: Parts) -> Iterator[Run]:
    """The runs that parts make."""
    pieces = (rebuild(run_id, list(_spans(held))).piece for run_id, held in parts.items())
    for rebuilt in _put_together([piece for piece in pieces if piece is not None], parts):
        yield _ended(rebuilt)


def _ended(rebuilt: Rebuilt) -> Run:
    """What still waits will wait for ever."""
    said = certain_messages(rebuilt, complete=True, problems=rebuilt.run.problems)
    status: Status = "abandoned" if rebuilt.is_paused else "ok"
    return replace(rebuilt.run, status=status, extra={**rebuilt.run.extra, **said})


def _joined(
    payloads: Mapping[str, list[bytes]], shared: Mapping[bytes, bytes], parts: Parts
) -> Iterator[Rebuilt]:
    """One rebuilt run each; traces of one conversation, which have no run span, together at the end."""
    pieces: list[Piece] = []
    for run_id, own in payloads.items():
        rebuilt = rebuild(run_id, list(spans_of(own, shared)))
        if rebuilt.piece is None:
            yield rebuilt
        elif rebuilt.piece.is_part:
            parts.setdefault(run_id, []).append((own, shared))
        else:
            pieces.append(rebuilt.piece)
    yield from _put_together(pieces, {run_id: [(own, shared)] for run_id, own in payloads.items()})


def _put_together(pieces: Iterable[Piece], held: Mapping[str, list[Held]]) -> Iterator[Rebuilt]:
    for group in groups(pieces):
        spans = [span for piece in group for span in _spans(held[piece.trace_id])]
        yield rebuild(group[0].trace_id, spans)


def _spans(held: Iterable[Held]) -> Iterator[Span]:
    for payloads, shared in held:
        yield from spans_of(payloads, shared)


def requests_in(stream: IO[bytes], *, file: str) -> Iterator[tuple[bytes, int]]:
    """The spans of a file as export requests in protobuf of a few MB each, and how many spans each has.

    Raises BadInput with file and line.
    """
    for line, batch in _batches(stream, file):
        if batch.rejections:
            raise _refused(batch, file, line)
        request, spans = Traces(), 0
        for segment in batch.segments:
            request.MergeFrom(_whole(segment, batch.shared))
            spans += len(segment.keys)
            if request.ByteSize() > REQUEST_BYTES:
                yield request.SerializeToString(), spans
                request, spans = Traces(), 0
        if spans:
            yield request.SerializeToString(), spans


def _refused(batch: Batch, file: str, line: int | None) -> BadInput:
    first = batch.rejections[0]
    return BadInput(f"{first.span}: {first.reason}", file=file, line=line)


def _whole(segment: Segment, shared: Mapping[bytes, bytes]) -> Any:
    """What a segment has with the resources and scopes that it only names."""
    traces = Traces.FromString(segment.payload)
    for resource in traces.parts:
        for part in (resource, *resource.parts):
            if part.shared:
                head = Head.FromString(shared[part.shared])
                part.content, part.schema_url = head.content, head.schema_url
                part.ClearField("shared")
    return traces


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
