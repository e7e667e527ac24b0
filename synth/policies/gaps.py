"""Calls that nobody saw: where they may have begun, and what they may have been.

A rule's answer on incomplete evidence stands only where no unseen call can change it. What is known of
such a call is which seen calls began before and after it, and the tools that the run offered; whatever
it was, it may have succeeded, failed, or still be running, with any arguments.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

from synth.formal.constraints import Bounded, Fixed, edges_of
from synth.observed.run import Run, Unseen
from synth.policies.names import Tools

MOST_APART = 200
"""More gaps than these are looked at as one from the first to the last."""


class Gaps:
    """The unseen calls of one run; true answers mean `possibly`, for at least one of them."""

    def __init__(self, run: Run, times: Fixed | Bounded, rank: Sequence[int]) -> None:
        self._times, self._rank, self._offered = times, rank, run.tools
        self.known = self._apart(run.gaps)

    def __bool__(self) -> bool:
        return bool(self.known)

    @cached_property
    def most(self) -> float:
        """How many calls there are at most."""
        return sum(math.inf if gap.calls is None else gap.calls for gap in self.known)

    def can_be(self, tools: Tools, but: Tools | None = None) -> bool:
        """May one of them be of these tools (and, if asked, none of others)?"""
        offered = self._offered
        if not self or self.most < 1:
            return False
        if offered is None:
            return but is None or any(name not in but for name in tools.names)
        return any(name in tools and (but is None or name not in but) for name in offered)

    def can_precede(self, call: int) -> bool:
        """May one have begun, and even ended, before this call began?"""
        return self._first <= self._began(call)[1]

    def can_follow(self, call: int) -> bool:
        """May one have begun after this call ended?"""
        return self._last >= self._ended(call)[0]

    def can_begin_by(self, instant: float) -> bool:
        """May one have begun at an instant (on the scale of the run's times) or before?"""
        return self._first <= instant

    def can_overlap(self, call: int) -> bool:
        """May one have run while this call did?"""
        return self._first < self._ended(call)[1]

    def all_follow(self, calls: Sequence[int]) -> bool:
        """Did one of these calls surely end before any of them began?"""
        return any(self._ended(i)[1] <= self._first for i in calls)

    def directly_before(self, call: int, others: Sequence[int]) -> bool:
        """May one have been the last to begin before this call, `others` being those that are seen to be?"""
        latest = self._began(call)[1]
        least = max((self._began(k)[0] for k in others if k != call), default=-math.inf)
        return any(lo <= latest and hi > least for lo, hi in self._spans)

    @cached_property
    def places(self) -> list[tuple[float, float]]:
        """(rank of the last call surely begun before, of the first surely begun after) of each gap."""
        rank = self._rank
        return [
            (
                -1 if gap.after is None else rank[gap.after],
                math.inf if gap.before is None else rank[gap.before],
            )
            for gap in self.known
        ]

    @cached_property
    def _spans(self) -> list[tuple[float, float]]:
        """The earliest and the latest instant at which the calls of each gap may have begun."""
        return [
            (
                -math.inf if gap.after is None else self._began(gap.after)[0] + 1,
                math.inf if gap.before is None else self._began(gap.before)[1],
            )
            for gap in self.known
        ]

    @cached_property
    def _first(self) -> float:
        return min((lo for lo, _ in self._spans), default=math.inf)

    @cached_property
    def _last(self) -> float:
        return max((hi for _, hi in self._spans), default=-math.inf)

    def _began(self, call: int) -> tuple[int, int]:
        return edges_of(self._times.start(call))

    def _ended(self, call: int) -> tuple[int, int]:
        return edges_of(self._times.end(call))

    def _apart(self, gaps: Sequence[Unseen]) -> tuple[Unseen, ...]:
        if len(gaps) <= MOST_APART:
            return tuple(gaps)
        rank = self._rank.__getitem__
        after = [gap.after for gap in gaps if gap.after is not None]
        before = [gap.before for gap in gaps if gap.before is not None]
        counts = [gap.calls for gap in gaps if gap.calls is not None]
        return (
            Unseen(
                gaps[0].problem,
                min(after, key=rank) if len(after) == len(gaps) else None,
                max(before, key=rank) if len(before) == len(gaps) else None,
                sum(counts) if len(counts) == len(gaps) else None,
            ),
        )
