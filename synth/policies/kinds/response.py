"""Answers: a success, or a failure, must be followed by a success of another action."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from synth.formal.constraints import Times, edges_of
from synth.formal.solver import PlanRule
from synth.judge.rules import Rules
from synth.policies.evidence import Evidence
from synth.policies.kinds.arguments import Alike, Compared, Pool, Pools, judge_compared, values_of
from synth.policies.kinds.candidates import (
    Following,
    besides,
    owned,
    unseen_besides,
    without_arguments,
)
from synth.policies.kinds.duty import NO_TIMES, Judged, despite_gaps, unless_later
from synth.policies.kinds.edits import Edit, Move, blamed, call_of, equal_arguments
from synth.policies.kinds.formulas import SomeStartsAfter
from synth.policies.kinds.kind import FAILS, HAPPEN, IF, MUST, Form, Paths, Reads, Sentence, Traits
from synth.policies.kinds.plans import Slot, needs_one, slots_besides, slots_of
from synth.policies.kinds.sweeps import some_starts_after
from synth.policies.kinds.times import MINUTE, TIME, duration_in_words, nanoseconds
from synth.policies.names import Names, Tools


def _read(m: re.Match[str], names: Names, same: Paths, failed: bool = False) -> Response:
    within = nanoseconds(m) if m["amount"] else None
    return Response(names.pairs(m["a"], m["b"]), within, same, failed)


_read_failed = partial(_read, failed=True)


def _again(m: re.Match[str], names: Names, same: Paths) -> Response:
    """Another attempt is enough, however it ends."""
    within = nanoseconds(m) if m["amount"] else None
    return Response(names.pairs(m["a"], m["b"] or m["a"]), within, same, failed=True, tried=True)


_WITHIN = rf"(?:,? within {TIME})?"


@dataclass(frozen=True, slots=True)
class Response:
    """Every success of `trigger` must be followed by a success of `answer`, within a time if asked.

    Where a failure asks for it, every failure of `trigger` must.
    """

    kind: ClassVar[str] = "response"
    forms: ClassVar[tuple[Form, ...]] = (
        Sentence(
            rf"(?:every |each |a )?failed (?P<a>.+?) {MUST} be followed by (?P<b>.+?){_WITHIN}",
            _read_failed,
            same=True,
        ),
        Sentence(
            rf"{IF} (?P<a>.+?) {FAILS}, (?P<b>.+?) {MUST} "
            rf"(?:follow|{HAPPEN})(?: afterwards?)?{_WITHIN}",
            _read_failed,
            same=True,
        ),
        Sentence(
            rf"{IF} (?P<a>.+?) {FAILS}, (?:it|(?P<b>.+?)) {MUST} be (?:tried|attempted) again{_WITHIN}",
            _again,
            same=True,
        ),
        Sentence(rf"(?P<a>.+?) {MUST} be followed by (?P<b>.+?){_WITHIN}", _read, same=True),
    )
    pairs: tuple[tuple[Tools, Tools], ...]
    """(trigger, answer) each."""
    within: int | None = None
    """Nanoseconds."""
    same: Paths = ()
    failed: bool = False
    """Is it a failure of `trigger` that asks for an answer?"""
    tried: bool = False
    """Is an answer enough that was tried, however it ended?"""

    @property
    def tools(self) -> tuple[Tools, ...]:
        return tuple(tools for pair in self.pairs for tools in pair)

    @property
    def traits(self) -> Traits:
        return Traits(
            subjects=tuple(trigger for trigger, _ in self.pairs),
            order_alone=self.within is None,
            reads=Reads(self.tools if self.same else ()),
        )

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        if self.within is not None and not seen.has_times and self._triggered(seen):
            return NO_TIMES
        if self.same and without_arguments(seen, [tools for pair in self.pairs for tools in pair]):
            return Judged("unsupported", (), "The arguments of the calls were not recorded.")
        duties = [d for trigger, answer in self.pairs for d in self._duties(trigger, answer, seen)]
        judged = judge_compared(duties, self.same, seen, rules)
        return unless_later(judged, seen, partial(self._limit, seen))

    def _triggered(self, seen: Evidence) -> bool:
        return any(seen.ended_so(trigger, self.failed) for trigger, _ in self.pairs)

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        return despite_gaps(judged, opens=partial(self._opens, seen), mends=partial(self._mends, seen))

    def _opens(self, seen: Evidence) -> bool:
        return any(bool(unseen_besides(trigger, answer, seen)) for trigger, answer in self.pairs)

    def _mends(self, seen: Evidence, call: int) -> bool:
        limit = self._limit(seen, call)
        answers = [seen.gaps.of(answer) for trigger, answer in self.pairs if seen.calls[call].tool in trigger]
        return any(gaps.can_follow(call) and (limit is None or gaps.can_begin_by(limit)) for gaps in answers)

    def edits(self, judged: Judged, seen: Evidence) -> Iterator[Edit]:
        """The last answer comes after it, or it before that; or there is one more."""
        for call, answer in blamed(judged, seen, self.pairs, 0):
            key = values_of(call, 0, self.same, seen).key
            good = [j for j in self._answers(answer, seen) if values_of(j, 1, self.same, seen).key == key]
            places = dict.fromkeys((call + 1, len(seen.calls)))
            for j in [j for j in good if j != call][-1:]:
                yield from (Move(j, place) for place in places)
                yield Move(call, j)
            arguments = equal_arguments(call, self.same, 0, seen)
            for place in places:
                yield from call_of(answer, place, seen, arguments)

    def plan_rules(self, slots: Sequence[Slot]) -> Iterator[PlanRule]:
        if self.failed:
            return  # in a plan every call succeeds
        most = None if self.within is None else self.within / MINUTE
        for trigger, answer in self.pairs:
            for i in slots_besides(trigger, answer, slots):
                yield needs_one(i, slots_of(answer, slots), lambda w, j, i=i: w.gap(i, j, 0, most))  # type: ignore[misc]

    def flaws(self) -> tuple[str, ...]:
        return ()

    def _answers(self, answer: Tools, seen: Evidence) -> list[int]:
        return seen.attempts(answer) if self.tried else seen.successes(answer)

    def _limit(self, seen: Evidence, trigger: int) -> int | None:
        """The last instant at which an answer may have come in time; None = any is."""
        times: Times = seen.times
        return None if self.within is None else edges_of(times.later(times.end(trigger), self.within))[1]

    def _duties(self, trigger: Tools, answer: Tools, seen: Evidence) -> Iterator[Compared]:
        def pool(calls: Sequence[int]) -> Pool:
            return Pool(
                Following(calls, seen).after, some_starts_after(calls, self.within, seen), bool(calls)
            )

        pools = Pools(Alike(self._answers(answer, seen), 1, self.same, seen), pool)
        limit = "" if self.within is None else f" within {duration_in_words(self.within)}"
        for i in owned(besides(seen.ended_so(trigger, self.failed), trigger, answer, seen), seen):
            values = values_of(i, 0, self.same, seen)
            failed = " failed and" if self.failed else ""
            another = "another attempt at " if self.tried else ""
            said = f"{trigger.phrase} (call {i}){failed} was not followed by {another}{answer.phrase}{limit}."
            yield pools.compared(i, 0, values, SomeStartsAfter, (self.within,), said)
