"""Numbers before an action: how often another one must, or may, have happened before it begins."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple

from synth.formal.partly import is_whole
from synth.formal.solver import PlanRule
from synth.judge.rules import Rules
from synth.policies.evidence import MISSING, NO_GAPS, Evidence, key_of
from synth.policies.gaps import Gaps
from synth.policies.kinds.arguments import Alike, lacking_in_words, named, values_of, with_the_same
from synth.policies.kinds.candidates import besides, unseen_besides, without_arguments
from synth.policies.kinds.count import NUMBERS, number_of
from synth.policies.kinds.duty import NOT_APPLICABLE, Judged, despite_gaps
from synth.policies.kinds.edits import Drop, Edit, Move, begin_of, blamed, call_of, equal_arguments
from synth.policies.kinds.kind import FAILS, HAPPEN, IF, MUST, Form, Paths, Reads, Sentence, Traits
from synth.policies.kinds.plans import Slot
from synth.policies.kinds.precedence import Precedence
from synth.policies.kinds.sweeps import end_of, start_of
from synth.policies.kinds.tally import (
    Edges,
    Likewise,
    Tally,
    Weighed,
    asked,
    ends_of,
    judge_weighed,
    open_in_time,
    so_far,
    sure_of,
    times,
)
from synth.policies.names import Names, Tools, TwoReadings

_NUMBER = rf"(?P<n>[1-9]\d{{0,5}}|{'|'.join(NUMBERS)})"
_TIMES = rf"{_NUMBER}(?: times?)?"
_FIELD = r"[^\s,;.]+(?:\.[^\s,;.]+)*"
_DIFFERENT = rf"(?: with (?:the same (?P<like>{_FIELD}) and )?different (?P<different>{_FIELD}))?"
_NEVER = rf"(?P<b>.+?) {MUST} (?:never|not) {HAPPEN}"
_ENDS = rf"(?P<ends>{FAILS}|succeeds?|succeeded|has succeeded)"

Most = Literal["begun", "failed", "succeeded"]


def _least(m: re.Match[str], names: Names, same: Paths) -> TimesBefore | Precedence:
    """Once is plain order."""
    different = tuple(m["different"].split(".")) if m["different"] else ()
    like: Paths = ((tuple(m["like"].split(".")),) * 2,) if m["like"] else ()
    if different and any(first == different for first, _ in (*like, *same)):
        raise TwoReadings(f"{named(different)!r} cannot be the same and different")
    pairs, number = names.pairs(m["a"], m["b"]), number_of(m["n"])
    if number == 1:
        return Precedence(pairs, (*like, *same))
    return TimesBefore(pairs, number, same=(*like, *same), different=different)


def _most(m: re.Match[str], names: Names, same: Paths) -> TimesBefore:
    return TimesBefore(names.pairs(m["a"], m["b"]), number_of(m["n"]), "begun", same)


def _after(m: re.Match[str], names: Names, same: Paths) -> TimesBefore:
    """Once so many have ended so, not even one may begin: one less is the most."""
    how: Most = "failed" if "fail" in m["ends"].lower() else "succeeded"
    return TimesBefore(names.pairs(m["a"], m["b"]), number_of(m["n"]) - 1, how, same)


@dataclass(frozen=True, slots=True)
class TimesBefore:
    """Before each attempt at `then`, `first` has succeeded so many times; or has happened no more often.

    `most` says which calls of `first` are limited: those `begun` before the first attempt at `then`, or those
    that `failed` or `succeeded` before each. None = `number` successes are the least; with `different`, that
    many with different values of an argument.
    """

    kind: ClassVar[str] = "times_before"
    forms: ClassVar[tuple[Form, ...]] = (
        Sentence(
            rf"(?P<a>.+?) {MUST} {HAPPEN} at least {_TIMES} before (?P<b>.+?){_DIFFERENT}", _least, same=True
        ),
        Sentence(
            rf"(?P<a>.+?) {MUST} {HAPPEN} (?:at most|no more than) {_TIMES} before (?P<b>.+)",
            _most,
            same=True,
        ),
        Sentence(rf"{_NEVER} (?:any more )?(?:after|once) (?P<a>.+?) {_ENDS} {_TIMES}", _after, same=True),
        Sentence(rf"{IF} (?P<a>.+?) {_ENDS} {_TIMES}, {_NEVER}(?: afterwards?)?", _after, same=True),
    )
    pairs: tuple[tuple[Tools, Tools], ...]
    """(first, then) each."""
    number: int
    most: Most | None = None
    same: Paths = ()
    different: tuple[str, ...] = ()

    @property
    def tools(self) -> tuple[Tools, ...]:
        return tuple(tools for pair in self.pairs for tools in pair)

    @property
    def failed(self) -> bool:
        """Is it failures that count?"""
        return self.most == "failed"

    @property
    def traits(self) -> Traits:
        return Traits(
            subjects=tuple(then for _, then in self.pairs),
            needs=self.pairs if self.most is None else (),
            order_alone=True,
            reads=Reads(self.tools if self.same or self.different else ()),
        )

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        if self.same and without_arguments(seen, self.tools):
            return Judged("unsupported", (), "The arguments of the calls were not recorded.")
        pairs = [pair for pair in self.pairs if self._applies(pair[0], seen)]
        if not pairs:
            return NOT_APPLICABLE
        judged = judge_weighed((one for pair in pairs for one in self._weighed(*pair, seen)), seen)
        if judged is NOT_APPLICABLE and self._limits_ended:
            return Judged("ok", (), "Nothing that is forbidden was called.")
        return judged

    @property
    def _limits_ended(self) -> bool:
        return self.most in ("failed", "succeeded")

    def _applies(self, first: Tools, seen: Evidence, more: float = 0) -> bool:
        """Does the limit of a pair come to bear, with so many more calls of its first action?"""
        return not self._limits_ended or len(so_far(self._ended(first, seen), seen)) + more > self.number

    def _ended(self, first: Tools, seen: Evidence) -> list[int]:
        return seen.ended_so(first, self.failed)

    def _weighed(self, first: Tools, then: Tools, seen: Evidence) -> Iterator[Weighed]:
        for one in self._numbers(first, then, seen):
            said = self._broken(one.call, first, then)
            yield Weighed(one.call, self._kept(one), said, partial(self._why_open, one, seen))

    def _numbers(self, first: Tools, then: Tools, seen: Evidence) -> Iterator[_Before]:
        return (self._before_the_first if self.most == "begun" else self._before_each)(first, then, seen)

    def _kept(self, one: _Before) -> bool | None:
        if self.most is None:
            return True if one.least >= self.number else False if one.most < self.number else None
        return False if one.least > self.number else True if one.most <= self.number else None

    def _broken(self, call: int, first: Tools, then: Tools) -> str:
        like = with_the_same(self.same)
        if self.most is None:
            return f"{then.phrase} (call {call}) needs {self._needed(first)} before it."
        if self.most == "begun":
            often = f"at most {times(self.number)} before {then.phrase}{like}"
            return f"{first.phrase} may happen {often} (call {call})."
        often = f"{self.most} {times(self.number + 1)}{like}"
        return f"{then.phrase} (call {call}) came after {first.phrase} had {often}."

    def _before_each(self, first: Tools, then: Tools, seen: Evidence) -> Iterator[_Before]:
        """Each attempt at `then`, and how many ended before it."""
        attempts = asked(besides(seen.attempts(then), then, first, seen), seen)
        calls = self._ended(first, seen)
        likewise, numbers = Likewise(Alike(calls, 0, self.same, seen)), _Numbers(self.different, seen)
        for j in attempts:
            values = values_of(j, 1, self.same, seen)
            surely, perhaps = likewise.of(values)
            lo, hi = numbers.of(surely, perhaps, start_of(j, seen))
            yield _Before(j, values.said is None, surely, perhaps, lo, hi)

    def _before_the_first(
        self, first: Tools, then: Tools, seen: Evidence, sooner: Gaps = NO_GAPS
    ) -> Iterator[_Before]:
        """The first attempt at `then` with the same values, and how many had begun before it.

        Or before an unseen one that came `sooner`: those at least.
        """
        tried = besides(seen.attempts(then), then, first, seen)
        calls = besides(seen.attempts(first), first, then, seen)
        by_values, others = Alike(tried, 1, self.same, seen), Likewise(Alike(calls, 0, self.same, seen))
        done: set[Any] = set()
        for j in so_far(tried, seen):
            values = values_of(j, 1, self.same, seen)
            if values.key in done and values.said is not None:
                continue
            done.add(values.key)
            own = by_values.surely(values) or [j]
            rivals = [*own, *(by_values.everyone if values.said is None else by_values.perhaps(values))]
            soonest = min(sooner.first, *(start_of(k, seen)[0] for k in rivals))
            latest = min(start_of(k, seen)[1] for k in own)
            seen.budget.spend(len(rivals))
            surely, perhaps = others.of(values)
            lo = sum(start_of(i, seen)[1] < soonest for i in surely)
            hi = sum(start_of(i, seen)[0] <= latest for i in {*surely, *perhaps} - set(own))
            seen.budget.spend(len(surely) + len(perhaps))
            yield _Before(j, values.said is None, surely, perhaps, lo, hi)

    def _needed(self, first: Tools) -> str:
        different = f" with different {named(self.different)}" if self.different else ""
        many = "1 success" if self.number == 1 else f"{self.number} successes"
        return f"{many} of {first.phrase}{different}{with_the_same(self.same)}"

    def _why_open(self, one: _Before, seen: Evidence) -> Judged:
        """Arguments that are not known, or else times."""
        if one.bare:
            return lacking_in_words([(one.call, 1)], self.same, seen)
        if one.perhaps:
            return lacking_in_words([(i, 0) for i in one.perhaps], self.same, seen)
        if self.different:
            path: Paths = ((self.different, self.different),)
            if unread := [i for i in one.surely if not is_whole_value(i, self.different, seen)]:
                return lacking_in_words([(i, 0) for i in unread], path, seen)
        return open_in_time(one.call)

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        near = {call for call in judged.violations if self._may_mend(call, seen)}
        mended = near and near.difference(sure_of(self._certain(seen)))
        return despite_gaps(
            judged, opens=partial(self._opens, judged, seen), mends=lambda call: call in mended
        )

    def _may_mend(self, call: int, seen: Evidence) -> bool:
        """More of `first` before it, or an earlier first attempt at `then`."""
        if self._limits_ended:
            return False
        return any(
            seen.gaps.of(first if self.most is None else then).can_precede(call)
            for first, then in self.pairs
            if seen.is_of(call, then)
        )

    def _opens(self, judged: Judged, seen: Evidence) -> bool:
        may = self._may_lack if self.most is None else self._may_be_too_many
        for first, then in self.pairs:
            possible = unseen_besides(then, first, seen)
            if judged.verdict == "not_applicable" and (
                self._applies(first, seen, seen.gaps.of(first).most) if self._limits_ended else possible
            ):
                return True
            if may(first, then, possible, seen):
                return True
        return False

    def _may_lack(self, first: Tools, then: Tools, possible: Gaps, seen: Evidence) -> bool:
        """May an unseen attempt lack what it needs before it?"""
        if self.same or not possible:
            return bool(possible)
        least, _ = _Numbers(self.different, seen).of(seen.successes(first), [], (possible.first,) * 2)
        return least < self.number

    def _may_be_too_many(self, first: Tools, then: Tools, possible: Gaps, seen: Evidence) -> bool:
        """May there be too many before an attempt that was seen, or before one that was not?"""
        more = self._more(first, then, seen)
        tried = [*self._numbers(first, then, seen)]
        if any(one.most + more.most_before(one.call) > self.number for one in tried):
            return True
        if not possible or (self.most == "begun" and tried and not self.same):
            return False  # none, or the first attempt is no later than that which was seen
        many = self._most_by(possible.last, first, then, seen)
        return many + more.most_within(-math.inf, possible.last) > self.number

    def _more(self, first: Tools, then: Tools, seen: Evidence) -> Gaps:
        """The calls that were not seen and may be among those that are limited."""
        return unseen_besides(first, then, seen) if self.most == "begun" else seen.gaps.of(first)

    def _most_by(self, instant: float, first: Tools, then: Tools, seen: Evidence) -> int:
        """How many of those that are limited may have been by then: what is asked may lack an argument."""
        begun = self.most == "begun"
        calls = besides(seen.attempts(first), first, then, seen) if begun else self._ended(first, seen)
        at = start_of if begun else end_of
        return sum(at(i, seen)[0] <= instant for i in calls)

    def _certain(self, seen: Evidence) -> Iterator[int]:
        """Those that broke it whatever was not seen."""
        of = self._too_many_before if self.most == "begun" else self._too_few_before
        return (call for pair in self.pairs for call in of(*pair, seen))

    def _too_few_before(self, first: Tools, then: Tools, seen: Evidence) -> Iterator[int]:
        """Even with all that may have come before."""
        more = seen.gaps.of(first)
        for one in self._before_each(first, then, seen):
            if one.most + more.most_before(one.call) < self.number:
                yield one.call

    def _too_many_before(self, first: Tools, then: Tools, seen: Evidence) -> Iterator[int]:
        """Also where an unseen attempt was the first; of a conversation that may be another run's."""
        sooner = unseen_besides(then, first, seen)
        for one in self._before_the_first(first, then, seen, sooner):
            if one.least > self.number and (seen.part is None or not sooner.can_precede(one.call)):
                yield one.call

    def edits(self, judged: Judged, seen: Evidence) -> Iterator[Edit]:
        """It comes after what is late, or there is one more before it; or what is too much is left out."""
        for call, first in blamed(judged, seen, self.pairs, 1):
            if self.most is not None:
                yield Drop(call)
                continue
            for i in seen.successes(first):
                if seen.rank[i] > seen.rank[call]:
                    yield Move(call, i + 1)
            if not self.different:
                for place in dict.fromkeys((call, begin_of(seen))):
                    yield from call_of(first, place, seen, equal_arguments(call, self.same, 1, seen))

    def plan_rules(self, slots: Sequence[Slot]) -> tuple[PlanRule, ...]:
        return ()

    def flaws(self) -> tuple[str, ...]:
        return ()


class _Before(NamedTuple):
    """How many came before a call."""

    call: int
    bare: bool
    """Does it lack a value that must be the same?"""
    surely: Sequence[int]
    """Calls that have the same values; not all came before."""
    perhaps: Sequence[int]
    least: int
    most: int


def is_whole_value(call: int, path: Sequence[str], seen: Evidence) -> bool:
    value = seen.argument(call, path)
    return value is not MISSING and is_whole(value)


class _Numbers:
    """How many of some calls, or of the different values that they have, came before another one."""

    def __init__(self, different: tuple[str, ...], seen: Evidence) -> None:
        self._different, self._seen = different, seen
        self._made: dict[tuple[int, ...], tuple[Tally, Tally]] = {}

    def of(self, surely: list[int], perhaps: list[int], start: Edges) -> tuple[int, int]:
        """At least, and at most."""
        key = (id(surely), id(perhaps))
        if key not in self._made:
            self._made[key] = self._tallies(surely, perhaps)
        least, most = self._made[key]
        return least.surely(start), most.perhaps(start)

    def _tallies(self, surely: list[int], perhaps: list[int]) -> tuple[Tally, Tally]:
        self._seen.budget.spend(len(surely) + len(perhaps))
        if not self._different:
            return ends_of(surely, self._seen), ends_of([*surely, *perhaps], self._seen)
        return Tally(self._values(surely)[0]), Tally(
            e for some in self._values([*surely, *perhaps]) for e in some
        )

    def _values(self, calls: Iterable[int]) -> tuple[list[Edges], list[Edges]]:
        """When each known value was there first; and what may be another one."""
        known: dict[Any, Edges] = {}
        unknown: list[Edges] = []
        for i in calls:
            end = end_of(i, self._seen)
            if not is_whole_value(i, self._different, self._seen):
                unknown.append(end)
                continue
            value = key_of(self._seen.argument(i, self._different))
            first = known.get(value, end)
            known[value] = min(first[0], end[0]), min(first[1], end[1])
        return [*known.values()], unknown
