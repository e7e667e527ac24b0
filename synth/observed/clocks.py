"""How far the clocks of a run's calls may be from the first one's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from synth.observed.run import Interval, ToolCall

_Placed = tuple[int, int, int, int, int]
"""Number of its model message, earliest and latest start, earliest and latest end of a call."""
TIE = 1
"""ns: equal instants of two clocks are those of calls in either order."""


CLOCKS_DIFFER = "clocks_differ_ms"
"""Field of a run record: two clocks of its calls are known to differ by at least so much."""
UNORDERED = "messages_unordered"
"""Field of a call: model messages of its run need not follow each other, as runs that were joined overlap."""
LISTED = "listed_in"
"""Field of a call: the number of its run, of which only the order of its list is known."""
ANY_TIME: Interval = (0, (1 << 63) - 1)
"""When something was of which no clock tells."""
MOST_CLOCKS = 16
"""Among more clocks model messages order nothing."""


class Clock(NamedTuple):
    """Whose time a call's instants are."""

    number: int = 0
    """0 for the clock of the first call."""
    off: Interval = (0, 0)
    """The least and most ns to add to what it shows."""
    turn: int | None = None
    """The call's model message, where messages follow each other whatever the clocks show."""
    row: int | None = None
    """The run of which only the order of its calls is known."""


FIRST_CLOCK = Clock()


def clocks_of(calls: Sequence[ToolCall], skew_ns: int) -> list[Clock] | None:
    """The clock of every call; None where there is one only, or where none can differ."""
    if skew_ns <= 0 or not any("clock" in call.extra for call in calls):
        return None
    names = [str(call.extra.get("clock")) for call in calls]
    if len(set(names)) < 2:
        return None
    placed = {name: _of(calls, names, name) for name in dict.fromkeys(names)}
    first, *others = placed
    offs = {name: _off(placed[first], placed[name], skew_ns) for name in others}
    follow = (
        not any(UNORDERED in call.extra for call in calls)
        and all(least <= most for least, most in offs.values())
        and _follow(list(placed.values()), skew_ns)
    )
    allowed = (-skew_ns - TIE, skew_ns + TIE)
    known = {name: Clock(at, offs[name] if follow else allowed) for at, name in enumerate(others, 1)}
    known[first] = FIRST_CLOCK
    return [
        known[name]._replace(turn=call.step if follow else None)
        for name, call in zip(names, calls, strict=True)
    ]


def by_any_clock(calls: Sequence[ToolCall], skew_ns: int) -> Sequence[ToolCall]:
    """The calls with the times that they may have had by whichever of their clocks is right."""
    if clocks_of(calls, skew_ns) is None:
        return calls
    return [
        replace(call, start=_wider(call.start, skew_ns), end=_wider(call.end, skew_ns), extra=_no_clock(call))
        for call in calls
    ]


def _wider(at: Interval | None, by: int) -> Interval | None:
    return None if at is None else (at[0] - by, at[1] + by)


def _no_clock(call: ToolCall) -> dict[str, Any]:
    return {name: value for name, value in call.extra.items() if name != "clock"}


def _follow(placed: Sequence[Sequence[_Placed]], skew_ns: int) -> bool:
    """May the calls of each message have ended before those of the next began, by what all clocks show?"""
    return len(placed) <= MOST_CLOCKS and all(
        _lead(one, other, -skew_ns) <= (0 if one is other else skew_ns + TIE)
        for one in placed
        for other in placed
    )


def _of(calls: Sequence[ToolCall], names: Sequence[str], clock: str) -> list[_Placed]:
    """What one clock showed of the calls that belong to a model message, by message."""
    return sorted(
        (call.step, *call.start, *call.end)
        for call, name in zip(calls, names, strict=True)
        if name == clock and call.step is not None and call.start and call.end and call.finished
    )


def _off(one: Sequence[_Placed], other: Sequence[_Placed], skew_ns: int) -> Interval:
    """How much the other clock may be off: the order of model messages narrows what clocks may differ.

    The calls of one message end before those of the next begin. Where that would need more than clocks
    may differ, the least is more than the most: messages do not follow each other in this run.
    """
    return _lead(one, other, -skew_ns) - TIE, TIE - _lead(other, one, -skew_ns)


def _lead(before: Sequence[_Placed], after: Sequence[_Placed], least: int) -> int:
    """By how much calls of earlier messages seem to end after those of later ones began; at least `least`."""
    ended: int | None = None
    taken = 0
    for step, _, began, _, _ in after:
        while taken < len(before) and before[taken][0] < step:
            ended = before[taken][3] if ended is None else max(ended, before[taken][3])
            taken += 1
        if ended is not None:
            least = max(least, ended - began)
    return least
