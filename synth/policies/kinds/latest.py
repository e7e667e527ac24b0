"""The values of the calls that can have been the last to end before another one began: counted, not visited.

Where instants are bounds, those calls may be many. They are all that can have ended by then, without those
that surely ended before some other did that surely had ended by then. The second are all among the first:
two sorted lists of ends say how many are left, of all calls as of those with certain values.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal

from synth.policies.evidence import Evidence
from synth.policies.kinds.sweeps import Span, best_two, end_of, start_of

Value = Callable[[int], Any]
"""Call -> its value; None where that cannot be compared."""
Side = Literal["below", "up to", "equal"]
"""Which values of others are counted, beside one's own."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A call that others may have ended before."""

    call: int
    value: Any
    by: float
    """The latest instant at which it can have begun."""
    since: float = -math.inf
    """What surely ended sooner was not the last."""


class Latest:
    """Calls by the instant they ended, to find those that can have been the last to end before another."""

    __slots__ = ("_best", "_calls", "_his", "_los", "_seen")

    def __init__(self, calls: Iterable[int], seen: Evidence) -> None:
        self._seen = seen
        ends = sorted(((end_of(i, seen), i) for i in calls), key=lambda end: end[0][0])
        self._calls = [i for _, i in ends]
        self._los = [lo for (lo, _), _ in ends]
        by_latest = sorted((hi, lo, i) for (lo, hi), i in ends)
        self._his = [hi for hi, _, _ in by_latest]
        self._best = list(accumulate(((lo, i, -math.inf) for _, lo, i in by_latest), best_two))
        """Of those that ended by each of `_his`: the greatest earliest end, whose, and that of the others."""

    def since(self, call: int) -> float:
        """The instant since which the last of them surely ended; minus infinite if perhaps none had."""
        place = bisect_right(self._his, start_of(call, self._seen)[0])
        best, whose, others = self._best[place - 1] if place else (-math.inf, call, -math.inf)
        return others if whose == call else best

    def last(self, call: int) -> int | None:
        """The one of `before` whose bounds end begin last."""
        place = bisect_right(self._los, start_of(call, self._seen)[1])
        return next((i for i in reversed(self._calls[max(0, place - 2) : place]) if i != call), None)

    def before(self, call: int) -> list[int]:
        """They, in the order of their ends."""
        since = self.since(call)
        place = bisect_right(self._los, start_of(call, self._seen)[1])
        return [i for i in self._calls[:place] if i != call and end_of(i, self._seen)[1] >= since]


def answers(
    asked: Sequence[Asked], calls: Sequence[int], value: Value, side: Side, holds: bool, seen: Evidence
) -> Mapping[int, set[bool | None]]:
    """Asked call -> what comparing it with those of `calls` says that can have been the last before it.

    `holds` is what is said of the values on that side; of all others it is the opposite.
    """
    seen.budget.spend(len(asked) + len(calls))
    every = [(i, value(i), end_of(i, seen)) for i in calls]
    read = [(other, end) for _, other, end in every if other is not None]
    all_, unread = _Ends(end for *_, end in every), _Ends(end for _, other, end in every if other is None)
    own = {i: (other, end) for i, other, end in every}
    on_side = _on_side([one for one in asked if one.value is not None], read, side)
    found: dict[int, set[bool | None]] = {}
    for one in asked:
        left, of_none, of_side = all_.number(one), unread.number(one), on_side.get(one.call, 0)
        if one.call in own:  # no call is before itself
            other, end = own[one.call]
            itself = _Ends([end]).number(one)
            left -= itself
            of_none -= itself * (other is None)
            of_side -= itself * _is_on(side, other, one.value)
        if one.value is None:
            of_none, of_side = left, 0
        numbers = {None: of_none, holds: of_side, not holds: left - of_none - of_side}
        found[one.call] = {said for said, number in numbers.items() if number}
    return found


def _is_on(side: Side, other: Any, value: Any) -> bool:
    if other is None or value is None:
        return False
    return bool(other == value if side == "equal" else other < value or (side == "up to" and other == value))


def _on_side(asked: Sequence[Asked], others: Sequence[tuple[Any, Span]], side: Side) -> dict[int, int]:
    """Asked call -> how many on that side of its value can have been the last before it."""
    by_value: dict[Any, list[Span]] = {}
    for other, end in others:
        by_value.setdefault(other, []).append(end)
    if side == "equal":
        ends = {other: _Ends(some) for other, some in by_value.items()}
        return {one.call: ends[one.value].number(one) for one in asked if one.value in ends}
    within = _Ends()
    found: dict[int, int] = {}
    waiting = sorted(by_value, reverse=True)
    for one in sorted(asked, key=lambda one: one.value):
        while waiting and _is_on(side, waiting[-1], one.value):
            within.add(by_value[waiting.pop()])
        found[one.call] = within.number(one)
    return found


class _Ends:
    """When some calls ended."""

    __slots__ = ("_his", "_los")

    def __init__(self, ends: Iterable[Span] = ()) -> None:
        every = list(ends)
        self._los = sorted(lo for lo, _ in every)
        self._his = sorted(hi for _, hi in every)

    def add(self, ends: Iterable[Span]) -> None:
        for lo, hi in ends:
            insort(self._los, lo)
            insort(self._his, hi)

    def number(self, asked: Asked) -> int:
        """How many of the calls can have been the last before the one that is asked about."""
        return bisect_right(self._los, asked.by) - bisect_left(self._his, asked.since)
