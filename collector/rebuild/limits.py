"""Texts that a length limit of somebody else's sender cut, without a mark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from collector.dialects import SeenCall
from collector.dialects.names import SCOPE_NAME
from collector.dialects.reading import loaded
from synth.observed import Why

LIMITS = frozenset(1 << power for power in range(7, 17))
"""Lengths that senders are told to cut at (`OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT`), characters."""
CUT: Why = "cut"


def with_limit(calls: Sequence[SeenCall]) -> Sequence[SeenCall]:
    """The calls; a result as long as the longest text of all is cut where that is a usual limit.

    JSON that ends in the middle tells of a cut by itself, and our own tracer says what it cuts.
    """
    foreign = [loaded(seen.span) for seen in calls if seen.span.scope != SCOPE_NAME]
    sizes = [len(said) for attributes in foreign for said in attributes.values() if isinstance(said, str)]
    longest = max(sizes, default=0)
    if longest not in LIMITS:
        return calls
    return [
        _cut(seen) if seen.span.scope != SCOPE_NAME and _is_long(seen, longest) else seen for seen in calls
    ]


def _is_long(seen: SeenCall, length: int) -> bool:
    result = seen.call.result
    return isinstance(result, str) and len(result) == length and "result" not in seen.call.partly


def _cut(seen: SeenCall) -> SeenCall:
    return seen._replace(call=replace(seen.call, partly={**seen.call.partly, "result": CUT}))
