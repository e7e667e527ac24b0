"""Where calls stand in their run, those included of which no clock tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import lt

from collector.dialects import SeenCall
from collector.model import LAST_NS
from collector.rebuild.parts import run_id_of
from synth.observed import ANY_TIME


def in_order(calls: Sequence[SeenCall]) -> Sequence[SeenCall]:
    """The calls as they began; one of which nothing tells when comes last.

    Our own tracer numbers calls as they begin: of a call without a time, that tells between which others.
    """
    starts = [seen.call.start for seen in calls]
    if None not in starts and ANY_TIME not in starts:
        begun_at = [start[0] for start in starts if start]
        if all(map(lt, begun_at, begun_at[1:])):
            return calls
    told = [seen for seen in calls if seen.call.start != ANY_TIME]
    untold = [seen for seen in calls if seen.call.start == ANY_TIME]
    return sorted([*told, *(_placed(seen, told) for seen in untold)], key=_order)


def _placed(seen: SeenCall, told: Sequence[SeenCall]) -> SeenCall:
    own = seen.number
    if own is None:
        return seen
    beside = [other for other in told if run_id_of(other.span) == run_id_of(seen.span)]
    numbered = [(other.number, other.call.start) for other in beside if other.number is not None]
    lo = max((start[0] for number, start in numbered if number < own and start), default=ANY_TIME[0])
    hi = min((start[1] for number, start in numbered if number > own and start), default=ANY_TIME[1])
    return seen._replace(call=replace(seen.call, start=(lo, max(lo, hi)), end=(lo, LAST_NS)))


def begun(seen: SeenCall) -> int:
    """The earliest that a call can have begun, ns; the latest instant where nothing tells."""
    return LAST_NS if seen.call.start == ANY_TIME else (seen.call.start or (0, 0))[0]


def _order(seen: SeenCall) -> tuple[int, int, int]:
    return begun(seen), -1 if seen.number is None else seen.number, seen.span.end_ns
