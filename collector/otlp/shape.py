"""What traces have in common that differ in ids, in instants and in the values of their calls only."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope

from collector.dialects import langsmith
from collector.dialects.names import (
    OPERATION_NAME,
    SCOPE_NAME,
    TOOL_ARGUMENTS,
    TOOL_CALL_ID,
    TOOL_RESULT,
)
from collector.model import IS_REMOTE, LAST_NS
from collector.otlp.raw import WholeTraces
from collector.otlp.segments import NO_SPAN
from collector.rebuild.limits import LIMITS

MOST_SPANS = 12
"""Longer runs are rarely alike."""
MOST_BYTES = 8 * 1024
VALUES = frozenset((TOOL_ARGUMENTS, TOOL_RESULT))
"""Attributes of a call of which the shape says only that they are there."""


class Shape(NamedTuple):
    """Of a short trace of one sender that another vendor's tracer told of."""

    digest: bytes
    """Equal for equal shapes: spans with all that they say but ids, instants and `VALUES`; which is the
    parent of which; which calls have the same id; which instant comes before which, or is the same."""
    started_ns: int
    ended_ns: int


def shape_of(trace_id: str, payload: bytes) -> Shape | None:
    """The shape of the spans that a stored payload has, all of this trace; None where there is none."""
    if len(payload) > MOST_BYTES:
        return None
    try:
        traces = WholeTraces.FromString(payload)
    except DecodeError:
        return None
    if len(traces.parts) != 1 or len(traces.parts[0].parts) != 1:
        return None
    sent = traces.parts[0].parts[0]
    spans = sent.parts
    if len(spans) > MOST_SPANS or sent.shared or _scope(sent.content) in (SCOPE_NAME, langsmith.SCOPE):
        return None
    trace = bytes.fromhex(trace_id)
    ids: dict[bytes, int] = {}
    parents: list[bytes] = []
    instants: list[int] = []
    calls: dict[str, int] = {}
    for span in spans:
        start, end = span.start_time_unix_nano, span.end_time_unix_nano
        if span.trace_id != trace or not (0 < start <= LAST_NS and 0 < end <= LAST_NS):
            return None
        if span.flags & IS_REMOTE or span.dropped_attributes_count or not _is_plain(span, calls):
            return None
        ids[span.span_id] = len(ids)
        parents.append(span.parent_span_id)
        instants += (start, end)
        for name in IDS:
            span.ClearField(name)
    if len(ids) < len(spans):
        return None
    rank = {instant: place for place, instant in enumerate(sorted(set(instants)))}
    elsewhere: dict[bytes, int] = {b"": -1, NO_SPAN: -1}
    above = [ids.get(one, elsewhere.setdefault(one, -len(elsewhere))) for one in parents]
    digest = blake2b(traces.SerializeToString(), digest_size=16)
    digest.update(repr((above, [rank[instant] for instant in instants])).encode())
    return Shape(digest.digest(), min(instants[::2]), max(instants[1::2]))


IDS = ("trace_id", "span_id", "parent_span_id", "start_time_unix_nano", "end_time_unix_nano")


def _is_plain(span: Any, calls: dict[str, int]) -> bool:
    """Put places for the values of a call; False where they may matter. `calls` are the ids so far."""
    attributes = span.attributes
    if not attributes or attributes[0].key != OPERATION_NAME:
        return True
    if attributes[0].value.string_value != "execute_tool":
        return True
    for pair in attributes:
        said = pair.value.string_value
        if len(said) in LIMITS:  # it may be cut, which depends on all texts of the run
            return False
        if pair.key in VALUES:
            if not said:
                return False
            pair.value.string_value = "."
        elif pair.key == TOOL_CALL_ID:
            if not said:
                return False
            pair.value.string_value = str(calls.setdefault(said, len(calls)))
    return True


@lru_cache(maxsize=256)
def _scope(content: bytes) -> str | None:
    try:
        return str(InstrumentationScope.FromString(content).name)
    except DecodeError:
        return None
