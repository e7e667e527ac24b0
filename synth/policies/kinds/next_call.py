"""What comes next: a success, or a failure, must be followed by a success of another action at once."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from synth.errors import BadInput
from synth.formal.solver import PlanRule
from synth.judge.rules import Rules
from synth.policies.evidence import Evidence
from synth.policies.gaps import Gaps
from synth.policies.kinds.arguments import Alike, Compared, Pool, Pools, judge_compared, values_of
from synth.policies.kinds.candidates import Onwards, besides, owned, unseen_besides, without_arguments
from synth.policies.kinds.duty import Judged, despite_gaps, unless_later
from synth.policies.kinds.edits import Edit, Move, beside, blamed, call_of, equal_arguments
from synth.policies.kinds.ends import ANY
from synth.policies.kinds.formulas import DirectlyAfter
from synth.policies.kinds.kind import FAILS, HAPPEN, IF, MUST, Form, Paths, Reads, Sentence, Traits
from synth.policies.kinds.plans import Slot, directly, needs_one, slots_besides, slots_of
from synth.policies.kinds.sweeps import directly_after, end_of, start_of
from synth.policies.names import Names, Tools


def _read(m: re.Match[str], names: Names, same: Paths, failed: bool = False) -> NextCall:
    if len(names.list(m["b"])) > 1:
        raise BadInput("only one call is the next one: name one action, or several with 'or'")
    return NextCall(names.pairs(m["a"], m["b"]), same, failed)


_read_failed = partial(_read, failed=True)
_NEXT = rf"the (?:very )?next call {MUST} be (?P<b>.+)"


@dataclass(frozen=True, slots=True)
class NextCall:
    """After every success of `trigger` a success of `answer` comes before any other call begins.

    Calls of `answer` that fail may come before it. Where a failure asks for it, every failure of `trigger`
    does. What began before the trigger was over does not come after it. If asked, with equal arguments:
    then calls of `answer` that have others are other calls.
    """

    kind: ClassVar[str] = "next_call"
    forms: ClassVar[tuple[Form, ...]] = (
        Sentence(
            rf"(?:every |each |a )?failed (?P<a>.+?) {MUST} be immediately followed by (?P<b>.+)",
            _read_failed,
            same=True,
        ),
        Sentence(
            rf"{IF} (?P<a>.+?) {FAILS}, (?P<b>.+?) {MUST} (?:follow|{HAPPEN}) immediately",
            _read_failed,
            same=True,
        ),
        Sentence(rf"{IF} (?P<a>.+?) {FAILS}, {_NEXT}", _read_failed, same=True),
        Sentence(rf"(?P<a>.+?) {MUST} be immediately followed by (?P<b>.+)", _read, same=True),
    )
    pairs: tuple[tuple[Tools, Tools], ...]
    """(trigger, answer) each."""
    same: Paths = ()
    failed: bool = False
    """Is it a failure of `trigger` that asks for an answer?"""

    @property
    def tools(self) -> tuple[Tools, ...]:
        return tuple(tools for pair in self.pairs for tools in pair)

    @property
    def traits(self) -> Traits:
        return Traits(
            subjects=tuple(trigger for trigger, _ in self.pairs),
            apart=True,
            reads=Reads(self.tools if self.same else (), others=True),
        )

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        if self.same and without_arguments(seen, self.tools):
            return Judged("unsupported", (), "The arguments of the calls were not recorded.")
        duties = [d for trigger, answer in self.pairs for d in self._duties(trigger, answer, seen)]
        judged = judge_compared(duties, self.same, seen, rules)
        return unless_later(judged, seen, partial(self._limit, seen))

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        return despite_gaps(judged, opens=partial(self._opens, seen), mends=partial(self._mends, seen))

    def _opens(self, seen: Evidence) -> bool:
        """May an unseen call be a trigger, or have come between a trigger and its answer?"""
        for trigger, answer in self.pairs:
            if unseen_besides(trigger, answer, seen):
                return True
            others = seen.gaps if self.same else seen.gaps.of(ANY, but=answer)
            triggers = besides(seen.ended_so(trigger, self.failed), trigger, answer, seen) if others else ()
            if any(_can_begin(others, i, self._after(i, answer, seen).answered - 1, seen) for i in triggers):
                return True
        return False

    def _mends(self, seen: Evidence, call: int) -> bool:
        return any(
            _can_begin(seen.gaps.of(answer), call, self._after(call, answer, seen).barred, seen)
            for trigger, answer in self.pairs
            if seen.is_of(call, trigger)
        )

    def edits(self, judged: Judged, seen: Evidence) -> Iterator[Edit]:
        """The nearest success before and after it is brought near, or it to them; or there is one more."""
        for call, answer in blamed(judged, seen, self.pairs, 0):
            key = values_of(call, 0, self.same, seen).key
            good = [j for j in seen.successes(answer) if values_of(j, 1, self.same, seen).key == key]
            before, after = beside(call, good, seen)
            for j in (*after, *before):
                yield Move(j, call + 1)
                yield Move(call, j)
            yield from call_of(answer, call + 1, seen, equal_arguments(call, self.same, 0, seen))

    def plan_rules(self, slots: Sequence[Slot]) -> Iterator[PlanRule]:
        if self.failed:
            return  # in a plan every call succeeds
        for trigger, answer in self.pairs:
            for i in slots_besides(trigger, answer, slots):
                yield needs_one(i, slots_of(answer, slots), lambda w, j, i=i: directly(i, j, slots, w))  # type: ignore[misc]

    def flaws(self) -> tuple[str, ...]:
        return ()

    def _limit(self, seen: Evidence, trigger: int) -> int | None:
        """An instant that is past once a call has taken the place of every answer; None = none has."""
        ends = [
            after.barred
            for tools, answer in self.pairs
            if seen.is_of(trigger, tools)
            for after in [self._after(trigger, answer, seen)]
            if after.barred < math.inf and not after.awaited
        ]
        return int(min(ends)) - 1 if ends else None

    def _after(self, trigger: int, answer: Tools, seen: Evidence) -> _After:
        """What came after a call, as far as it is sure."""
        values = values_of(trigger, 0, self.same, seen)
        attempts = frozenset(seen.attempts(answer))
        near = Onwards.of(answer, seen).near(trigger)
        other, alike, surely = [], [], []
        for k in near:
            own = values_of(k, 1, self.same, seen) if k in attempts else None
            if own is None or (_is_known(own) and _is_known(values) and own.key != values.key):
                other.append(k)
                continue
            alike.append(k)
            if seen.calls[k].succeeded and own.key == values.key and own.said is not None:
                surely.append(k)
        over = end_of(trigger, seen)[1]
        barred = min((start_of(k, seen)[1] for k in other if start_of(k, seen)[0] >= over), default=math.inf)
        answered = min(
            (start_of(k, seen)[1] for k in surely if start_of(k, seen)[0] >= over), default=math.inf
        )
        awaited = any(
            start_of(k, seen)[0] <= barred and (seen.calls[k].succeeded or not seen.calls[k].finished)
            for k in alike
        )
        return _After(barred, answered, awaited)

    def _duties(self, trigger: Tools, answer: Tools, seen: Evidence) -> Iterator[Compared]:
        triggers = owned(besides(seen.ended_so(trigger, self.failed), trigger, answer, seen), seen)
        if not triggers:
            return
        near = Onwards.of(answer, seen).near

        def pool(calls: Sequence[int]) -> Pool:
            among = frozenset(calls)
            sweep = None if self.same else directly_after(calls, seen)
            return Pool(lambda call: tuple(k for k in near(call) if k in among), sweep, bool(calls))

        pools = Pools(Alike(seen.attempts(answer), 1, self.same, seen), pool)
        failed = " failed and" if self.failed else ""
        for i in triggers:
            said = f"{trigger.phrase} (call {i}){failed} was not directly followed by {answer.phrase}."
            values = values_of(i, 0, self.same, seen)
            yield pools.compared(i, 0, values, _next_is, (near, seen), said)


@dataclass(frozen=True, slots=True)
class _After:
    """What is known of the calls after one."""

    barred: float
    """By then another call than an answer has surely begun."""
    answered: float
    """By then an answer that succeeds has surely begun."""
    awaited: bool
    """May one of those that have begun be the answer, or become it?"""


def _is_known(values: object) -> bool:
    return bool(getattr(values, "whole", False)) and getattr(values, "said", None) is not None


def _can_begin(unseen: Gaps, call: int, by: float, seen: Evidence) -> bool:
    """May one of them have begun after the end of the call, and by then?"""
    return unseen.most_within(end_of(call, seen)[0] - 1, by) > 0


def _next_is(
    call: int, answers: tuple[int, ...], near: Callable[[int], tuple[int, ...]], seen: Evidence
) -> DirectlyAfter:
    """The formula for a call, given the calls of the answer that come near after it."""
    own = frozenset(answers)
    others = tuple(k for k in near(call) if k not in own)
    good = tuple(j for j in answers if seen.calls[j].succeeded)
    seen.budget.spend(len(good) * len(others))
    return DirectlyAfter(call, good, others)
