"""Run records that somebody hands in, each as one span that has the whole record.

What a record says is not said again in the words of a vocabulary: bounds, gaps, messages and fields of its
own would be lost on the way. The run's id is the record's where that is 32 hex digits, else a digest of it,
so that a record that comes again is the same run; another record of the same id takes its place.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import orjson
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.dialects.names import RUN_ID, SERVICE_NAME
from collector.model import LAST_NS, RECORD_SCOPE, RUN_RECORD, Batch, Rejection
from collector.otlp.errors import for_want_of_memory, malformed, too_large
from collector.otlp.raw import Traces
from collector.otlp.segments import HEX32, batch_of, bounded
from collector.settings import Limits
from synth.errors import BadInput
from synth.observed import Run, run_from_json

Record = tuple[str, dict[str, Any]]
"""Where it stands (`line 3`, `record 3`), and what it says."""


def run_key(run_id: str) -> str:
    """The id that a collector gives the run of a record: 32 hex digits."""
    return run_id if HEX32.fullmatch(run_id) else blake2b(run_id.encode(), digest_size=16).hexdigest()


def from_records(body: bytes, limits: Limits) -> Batch:
    """Run records (one, a list, or JSON lines) as spans; raises ExportError where nothing can be read."""
    if body.count(b"{") + body.count(b"[") > limits.containers:
        raise too_large("the number of objects and lists in one request", limits.containers, "send less")
    request = ExportTraceServiceRequest()
    rejections: list[Rejection] = []
    now = time.time_ns()
    records = list(_values(body))
    bounded(len(records), "run records", limits)
    for number, (place, said) in enumerate(records):
        try:
            _add(request, said, run_from_json(said), now + number)
        except BadInput as flaw:
            rejections.append(Rejection(place, str(flaw)))
    return batch_of(Traces.FromString(request.SerializeToString()), limits, rejections)


def _values(body: bytes) -> Iterator[tuple[str, Any]]:
    """Every JSON value of a body, with its place."""
    try:
        whole = orjson.loads(body)
    except orjson.JSONDecodeError as flaw:
        if for_want_of_memory(flaw):
            raise MemoryError from None
        if b"\n" not in body.strip():
            raise malformed(f"the body is not JSON: {flaw}") from None
        yield from _lines(body)
        return
    if isinstance(whole, list):
        yield from ((f"record {number}", value) for number, value in enumerate(whole, 1))
    else:
        yield "record 1", whole


def _lines(body: bytes) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(body.splitlines(), 1):
        if line.strip():
            try:
                yield f"line {number}", orjson.loads(line)
            except orjson.JSONDecodeError as flaw:
                raise malformed(f"line {number} is not JSON: {flaw}") from None


def _add(request: Any, said: dict[str, Any], run: Run, now: int) -> None:
    text = orjson.dumps(said)
    source = request.resource_spans.add()
    service = run.extra.get("service")
    if isinstance(service, str):
        source.resource.attributes.add(key=SERVICE_NAME).value.string_value = service
    scope = source.scope_spans.add()
    scope.scope.name = RECORD_SCOPE
    span = scope.spans.add(name="run record")
    span.trace_id = bytes.fromhex(run_key(run.id))
    span.span_id = blake2b(text, digest_size=8).digest()
    span.start_time_unix_nano, span.end_time_unix_nano = _time_of(run, now)
    span.attributes.add(key=RUN_ID).value.string_value = run_key(run.id)
    span.attributes.add(key=RUN_RECORD).value.string_value = text.decode()


def _time_of(run: Run, now: int) -> tuple[int, int]:
    """From the first call to the last, as far as that is known; else when the record came."""
    starts = [call.start[0] for call in run.calls if call.start is not None and call.start[0] > 0]
    if not starts:
        return now, now
    ends = [call.end[1] for call in run.calls if call.end is not None and call.end[1] < LAST_NS]
    return min(starts), max([*starts, *ends])
