"""Calls that nobody saw run: where they may have begun, and what they may have been.

A rule's answer on incomplete evidence stands only where no unseen call can change it. What is known of
such a call is which seen calls began before and after it, and the tools that the run offered, or the tool
of a call that was asked for and never heard of again; whatever it was, it may have succeeded, failed, or
still be running, with any arguments.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property

from synth.formal.constraints import Bounded, Fixed, edges_of
from synth.observed.run import Run, Unseen
from synth.policies.names import Tools

MOST_APART = 200
"""More gaps than these are looked at as one from the first to the last."""


class Gaps:
    """The unseen calls of one run; true answers mean `possibly`, for at least one of them."""

    def __init__(
        self,
        run: Run,
        times: Fixed | Bounded,
        rank: Sequence[int],
        known: Iterable[Unseen] | None = None,
    ) -> None:
        """Those of the run, or these of them."""
        self._run, self._times, self._rank = run, times, rank
        self.known = tuple(self._apart(run.gaps) if known is None else known)
        self._parts: dict[object, Gaps] = {}

    def __bool__(self) -> bool:
        return bool(self.known)

    @cached_property
    def most(self) -> float:
        """How many calls there are at most."""
        return _most(self.known)

    def of(self, tools: Tools, but: Tools | None = None) -> Gaps:
        """Those that may be of these tools (and, if asked, of none of others)."""
        key = (tools.key, but and but.key)
        if key not in self._parts:
            fitting = [gap for gap in self.known if gap.calls != 0 and self._fits(gap, tools, but)]
            whole = len(fitting) == len(self.known)
            self._parts[key] = self if whole else Gaps(self._run, self._times, self._rank, fitting)
        return self._parts[key]

    def can_be(self, tools: Tools, but: Tools | None = None) -> bool:
        """May one of them be of these tools (and, if asked, none of others)?"""
        return bool(self.of(tools, but))

    @property
    def unasked(self) -> Gaps:
        """Those that not even a request was seen of."""
        known = [gap for gap in self.known if gap.tool is None]
        return Gaps(self._run, self._times, self._rank, known)

    def _fits(self, gap: Unseen, tools: Tools, but: Tools | None) -> bool:
        names = self._run.tools if gap.tool is None else (gap.tool,)
        if but is None or not but.is_whole:
            return names is None or any(name in tools for name in names)
        if names is None:
            return any(name not in but for name in tools.names)
        return any(name in tools and name not in but for name in names)

    def tools(self, gaps: Iterable[Unseen] | None = None) -> frozenset[str] | None:
        """What they (all, or these of them) may be of; None = any tool."""
        found: set[str] = set()
        for gap in self.known if gaps is None else gaps:
            names = self._run.tools if gap.tool is None else (gap.tool,)
            if names is None:
                return None
            found.update(names)
        return frozenset(found)

    def can_precede(self, call: int) -> bool:
        """May one have begun, and even ended, before this call began?"""
        return self.first <= self._began(call)[1]

    def can_follow(self, call: int) -> bool:
        """May one have begun after this call ended?"""
        return self.last >= self._ended(call)[0]

    def can_begin_by(self, instant: float) -> bool:
        """May one have begun at an instant (on the scale of the run's times) or before?"""
        return self.first <= instant

    def most_within(self, after: float, by: float) -> float:
        """How many at most began after the one instant (on the scale of the run's times) and by the other."""
        if by < self.first or after >= self.last:
            return 0
        near = (gap for gap, (lo, hi) in zip(self.known, self.spans, strict=True) if lo <= by and hi > after)
        return _most(near)

    def most_before(self, call: int) -> float:
        """How many at most began, and even ended, before this call began."""
        return self.most_within(-math.inf, self._began(call)[1])

    def can_overlap(self, call: int) -> bool:
        """May one have run while this call did?"""
        return self.first < self._ended(call)[1]

    def all_follow(self, calls: Sequence[int]) -> bool:
        """Did one of these calls surely end before any of them began?"""
        return any(self._ended(i)[1] <= self.first for i in calls)

    def directly_before(self, call: int, others: Sequence[int]) -> bool:
        """May one have been the last to begin before this call, `others` being those that are seen to be?"""
        latest = self._began(call)[1]
        least = max((self._began(k)[0] for k in others if k != call), default=-math.inf)
        return any(lo <= latest and hi > least for lo, hi in self.spans)

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
    def spans(self) -> list[tuple[float, float]]:
        """The earliest and the latest instant at which the calls of each gap may have begun."""
        return [
            (
                -math.inf if gap.after is None else self._began(gap.after)[0] + 1,
                math.inf if gap.before is None else self._began(gap.before)[1],
            )
            for gap in self.known
        ]

    @cached_property
    def first(self) -> float:
        """The earliest instant at which one of them may have begun."""
        return min((lo for lo, _ in self.spans), default=math.inf)

    @cached_property
    def last(self) -> float:
        """The latest one."""
        return max((hi for _, hi in self.spans), default=-math.inf)

    def _began(self, call: int) -> tuple[int, int]:
        return edges_of(self._times.start(call))

    def _ended(self, call: int) -> tuple[int, int]:
        return edges_of(self._times.end(call))

    def _apart(self, gaps: Sequence[Unseen]) -> Iterable[Unseen]:
        """The gaps; of too many, those of one tool as one."""
        if len(gaps) <= MOST_APART:
            return gaps
        by_tool: dict[str | None, list[Unseen]] = {}
        for gap in gaps:
            by_tool.setdefault(gap.tool, []).append(gap)
        return map(self._as_one, by_tool.values())

    def _as_one(self, gaps: Sequence[Unseen]) -> Unseen:
        rank = self._rank.__getitem__
        after = [gap.after for gap in gaps if gap.after is not None]
        before = [gap.before for gap in gaps if gap.before is not None]
        counts = [gap.calls for gap in gaps if gap.calls is not None]
        return replace(
            gaps[0],
            after=min(after, key=rank) if len(after) == len(gaps) else None,
            before=max(before, key=rank) if len(before) == len(gaps) else None,
            calls=sum(counts) if len(counts) == len(gaps) else None,
        )


def _most(gaps: Iterable[Unseen]) -> float:
    return sum(math.inf if gap.calls is None else gap.calls for gap in gaps)
