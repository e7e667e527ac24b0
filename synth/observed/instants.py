"""From calls to the instants that constraints speak about: the one place where one clock becomes another.

Three units: `calls` (only the order counts: the k-th call is the step [k, k+1)), `ns` (wall clock) and
`minutes` (task time, declared in arguments and reported in results). A schedule says its unit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from operator import le
from typing import Any

import orjson

from synth.formal.constraints import Bounded, Bounds, Fixed
from synth.formal.model import Schedule
from synth.formal.partly import REST, Unknown, unknowns
from synth.observed.clocks import ANY_TIME, FIRST_CLOCK, LISTED, Clock, clocks_of
from synth.observed.run import Interval, ToolCall

NEVER = 1 << 90
"""End of a call that never finished, later than any clock reading (ns or minutes)."""
START_TIME = "start_time"
"""The only argument of a timed tool: when its task starts, as `HH:MM`."""


def observed_order(calls: Sequence[ToolCall]) -> list[int]:
    """Positions of the calls by (earliest start, position); as listed where a start is missing."""
    starts = [call.start[0] for call in calls if call.start is not None]
    listed = list(range(len(calls)))
    if len(starts) < len(calls) or all(map(le, starts, starts[1:])):
        return listed
    return sorted(listed, key=lambda i: (starts[i], i))


def schedule_of(
    first: Mapping[str, int],
    calls: Sequence[ToolCall],
    order: Sequence[int] | None = None,
    *,
    overlap_counts: bool = False,
    skew_ns: int = 0,
) -> Schedule:
    """The schedule of actions by the calls that fulfilled them (`first`: action -> position).

    Order-mode cases judge the order in which executions started (of requests, where times are
    inferred); with `overlap_counts` the ends count too, and inferred times are bounds. `order` is the
    observed order, where it is known already.
    """
    two_clocks = clocks_of(calls, skew_ns) is not None
    if not overlap_counts and not two_clocks:
        rank = {call: k for k, call in enumerate(observed_order(calls) if order is None else order)}
        ranks = {action: rank[call] for action, call in first.items()}
        if any(calls[i].start == ANY_TIME for i in first.values()):
            return Schedule(first, _in_places(ranks, first, calls), "calls")
        return Schedule(first, Fixed(ranks, {a: k + 1 for a, k in ranks.items()}), "calls")
    times = instants(calls, order, overlap_counts=overlap_counts, skew_ns=skew_ns)
    picked: dict[str, Any] = {a: times.starts[i] for a, i in first.items()}
    ends: dict[str, Any] = {a: times.ends[i] for a, i in first.items()}
    world = type(times)(picked, ends, times.scale)
    return Schedule(first, world, "ns" if has_times(calls) else "calls")


def _in_places(ranks: Mapping[str, int], first: Mapping[str, int], calls: Sequence[ToolCall]) -> Bounded:
    """Places of calls in the order; that of a call of which no clock tells may be any."""
    many = len(calls)
    starts = {a: (-1, many) if calls[first[a]].start == ANY_TIME else (k, k) for a, k in ranks.items()}
    return Bounded(
        {action: Bounds(lo, hi) for action, (lo, hi) in starts.items()},
        {action: Bounds(lo + 1, hi + 1) for action, (lo, hi) in starts.items()},
    )


def has_times(calls: Sequence[ToolCall]) -> bool:
    """Does every call say when it began and, if it finished, when it ended?"""
    for call in calls:
        if call.start is None or (call.end is None and call.finished):
            return False
    return bool(calls)


def tell_times(calls: Sequence[ToolCall]) -> bool:
    """Does every call say when, on some clock?"""
    return has_times(calls) and not any(LISTED in call.extra for call in calls)


def instants(
    calls: Sequence[ToolCall],
    order: Sequence[int] | None = None,
    *,
    overlap_counts: bool = True,
    skew_ns: int = 0,
) -> Fixed | Bounded:
    """Start and end of every call by position, in wall-clock ns, or by order where a time is missing.

    Equal clock readings are ordered by place in the observed order (`order`, where it is known already).
    Of several clocks (the field `clock` of the record: a host or process) the first call's is taken; the
    others are off by at most `skew_ns`, each by one amount for all its calls.
    """
    order = observed_order(calls) if order is None else order
    if not has_times(calls):
        return Fixed({i: k for k, i in enumerate(order)}, {i: k + 1 for k, i in enumerate(order)})
    scale = 2 * len(calls) + 2
    starts = [call.start or (0, 0) for call in calls]
    ends = [_end(call) for call in calls] if overlap_counts else starts
    clocks = clocks_of(calls, skew_ns)
    if clocks is None and _exact(starts) and _exact(ends):
        return Fixed(
            {i: starts[i][0] * scale + 2 * k for k, i in enumerate(order)},
            {i: ends[i][0] * scale + 2 * k + 1 for k, i in enumerate(order)},
            scale,
        )
    own = _rows(calls, clocks or [FIRST_CLOCK] * len(calls))
    return Bounded(
        {i: _bounds(starts[i], own[i], scale, 2 * k) for k, i in enumerate(order)},
        {i: _bounds(ends[i], _at_end(calls[i], own[i]), scale, 2 * k + 1) for k, i in enumerate(order)},
        scale,
    )


def _rows(calls: Sequence[ToolCall], clocks: Sequence[Clock]) -> list[Clock]:
    return [
        clock._replace(row=call.extra[LISTED]) if LISTED in call.extra else clock
        for call, clock in zip(calls, clocks, strict=True)
    ]


def _exact(instants: Sequence[Interval]) -> bool:
    return [lo for lo, _ in instants] == [hi for _, hi in instants]


def _end(call: ToolCall) -> Interval:
    return call.end if call.finished and call.end is not None else (NEVER, NEVER)


def _at_end(call: ToolCall, clock: Clock) -> Clock:
    """What never ended did not end before the next message."""
    return clock if call.finished else clock._replace(turn=None, row=None)


def _bounds(at: Interval, clock: Clock, scale: int, place: int) -> Bounds:
    least, most = clock.off
    lo, hi = (at[0] + least) * scale + place, (at[1] + most) * scale + place
    row = None if clock.row is None else (clock.row, place)
    return Bounds(lo, hi, clock.number, (least * scale, most * scale), clock.turn, row)


_CLOCK = re.compile(r"\s*(\d{1,2}):([0-5]\d)(?::00(?:\.0+)?)?\s*(am|pm)?\s*", re.IGNORECASE)
_HOURS = re.compile(
    r"\btook\s+(\d+(?:\.\d+)?)\s*hours?\b(?:\s*(?:and\s+)?(\d+(?:\.\d+)?)\s*min(?:ute)?s?\b)?", re.I
)
_OPEN_END = re.compile(r"\btook\s+[\d.]+\s*hours?\s*(?:a(?:nd?)?)?\s*[\d.]*\s*m?i?n?$|[\d.]+\s*\w*$", re.I)
_MINUTES = re.compile(r"\btook\s+(\d+(?:\.\d+)?)\s*min(?:ute)?s?\b", re.IGNORECASE)


def declared_start(call: ToolCall) -> int | str:
    """Minutes after midnight at which the call says its task starts, or in words why that is unknown.

    `HH:MM` (24 hours, or with am/pm) or a number of minutes.
    """
    if start_is_missing(call):
        return f"the argument {START_TIME} is missing"
    value = call.known_arguments[START_TIME]
    minutes = _clock_minutes(value) if isinstance(value, str) else _whole_minutes(value)
    return f"the argument {START_TIME} is not a time: {_brief(value)}" if minutes is None else minutes


def start_is_missing(call: ToolCall) -> bool:
    """Was no start declared at all? Else what was declared cannot be read."""
    arguments = call.known_arguments
    return not isinstance(arguments, Mapping) or arguments.get(START_TIME) is None


def hidden_start(call: ToolCall) -> Unknown | None:
    """What stands where the start may have been declared, if that was cut, hashed or left out."""
    arguments = call.known_arguments if call.partly else None
    if isinstance(arguments, Mapping):
        arguments = arguments.get(START_TIME, arguments.get(REST))
    return arguments if isinstance(arguments, Unknown) else None


def hidden_duration(call: ToolCall) -> Unknown | None:
    """What may have said how long the task took, if nothing that was kept of the result does."""
    result = call.known_result if call.partly else None
    return next(unknowns(result), None) if reported_duration(call) is None else None


def _clock_minutes(text: str) -> int | None:
    match = _CLOCK.fullmatch(text)
    if match is None:
        return _whole_minutes(int(text)) if text.isascii() and text.strip().isdigit() else None
    hours, minutes, half = int(match[1]), int(match[2]), (match[3] or "").lower()
    if half:
        return None if not 1 <= hours <= 12 else (hours % 12 + 12 * (half == "pm")) * 60 + minutes
    return None if hours > 24 or (hours == 24 and minutes) else hours * 60 + minutes


def _whole_minutes(value: Any) -> int | None:
    """A number as whole minutes, rounded up: a task never takes less than it said."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 10**9:
        return None
    return math.ceil(value)


def reported_duration(call: ToolCall) -> int | None:
    """Minutes the tool said its task took: `duration_minutes` in JSON, or `took 120 minutes` in words."""
    result = call.known_result
    if isinstance(result, Unknown):
        return None if result.begins is None else _duration_in_text(_without_end(result.begins))
    if isinstance(result, str):
        return _duration_in_text(result)
    if isinstance(result, Mapping):
        said = result.get("duration_minutes")
        minutes = _whole_minutes(said)
        if minutes is not None and minutes >= 0:
            return minutes
        if isinstance(said, Unknown) or (said is None and REST in result):
            return None
        return next((m for m in map(_duration_in_text, _texts_in(result)) if m is not None), None)
    if isinstance(result, list):
        return next((m for m in map(_duration_in_text, _texts_in(result)) if m is not None), None)
    return None


def _texts_in(value: Any) -> list[str]:
    """Texts on the first two levels: frameworks wrap a tool's text in content blocks."""
    children = list(value.values()) if isinstance(value, Mapping) else value
    inner = [list(child.values()) if isinstance(child, Mapping) else [child] for child in children]
    begun = [
        _without_end(child.begins) if isinstance(child, Unknown) and child.begins is not None else child
        for part in inner
        for child in part
    ]
    return [text for text in begun if isinstance(text, str)]


def _without_end(begins: str) -> str:
    """What is certain of a text that goes on: `took 2 hours` may be `took 2 hours and 30 minutes`."""
    return _OPEN_END.sub("", begins)


def _duration_in_text(text: str) -> int | None:
    if text.lstrip().startswith("{"):
        try:
            said = orjson.loads(text)
        except orjson.JSONDecodeError:
            said = None
        minutes = _whole_minutes(said.get("duration_minutes")) if isinstance(said, dict) else None
        if minutes is not None and minutes >= 0:
            return minutes
    hours, said = _HOURS.search(text), _MINUTES.search(text)
    if hours and not (said and said.start() < hours.start()):
        return math.ceil(float(hours[1]) * 60 + float(hours[2] or 0))
    return math.ceil(float(said[1])) if said else None


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
