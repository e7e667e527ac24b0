"""Numbers before an action: how often another one must, or may, have happened before it begins."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

from synth.formal.partly import is_whole
from synth.formal.solver import PlanRule
from synth.judge.rules import Rules
from synth.policies.evidence import MISSING, Evidence, key_of
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
    all_before,
    asked,
    ends_of,
    judge_weighed,
    open_in_time,
    so_far,
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
        if self.most == "begun":
            return judge_weighed(self._before_the_first(seen), seen)
        pairs = [pair for pair in self.pairs if self._applies(pair[0], seen)]
        if not pairs:
            return NOT_APPLICABLE
        judged = judge_weighed((one for pair in pairs for one in self._each(*pair, seen)), seen)
        if judged is NOT_APPLICABLE and self.most is not None:
            return Judged("ok", (), "Nothing that is forbidden was called.")
        return judged

    def _applies(self, first: Tools, seen: Evidence) -> bool:
        return self.most is None or len(so_far(self._counted(first, seen), seen)) > self.number

    def _counted(self, first: Tools, seen: Evidence) -> list[int]:
        return seen.ended_so(first, self.failed)

    def _each(self, first: Tools, then: Tools, seen: Evidence) -> Iterator[Weighed]:
        """Each attempt at `then`, and how many ended before it."""
        attempts = asked(besides(seen.attempts(then), then, first, seen), seen)
        calls = self._counted(first, seen)
        likewise, numbers = Likewise(Alike(calls, 0, self.same, seen)), _Numbers(self.different, seen)
        for j in attempts:
            values = values_of(j, 1, self.same, seen)
            surely, perhaps = likewise.of(values)
            lo, hi = numbers.of(surely, perhaps, start_of(j, seen))
            need = self.number
            kept: bool | None
            if self.most is None:
                kept = True if lo >= need else False if hi < need else None
                broken = f"{then.phrase} (call {j}) needs {self._needed(first)} before it."
            else:
                kept = False if lo > need else True if hi <= need else None
                ended = "failed" if self.failed else "succeeded"
                often = f"{ended} {times(need + 1)}{with_the_same(self.same)}"
                broken = f"{then.phrase} (call {j}) came after {first.phrase} had {often}."
            yield Weighed(
                j, kept, broken, partial(self._why_open, j, surely, perhaps, values.said is None, seen)
            )

    def _before_the_first(self, seen: Evidence) -> Iterator[Weighed]:
        """The first attempt at `then` with the same values, and how many had begun before it."""
        for first, then in self.pairs:
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
                soonest = min(start_of(k, seen)[0] for k in rivals)
                latest = min(start_of(k, seen)[1] for k in own)
                seen.budget.spend(len(rivals))
                surely, perhaps = others.of(values)
                lo = sum(start_of(i, seen)[1] < soonest for i in surely)
                hi = sum(start_of(i, seen)[0] <= latest for i in {*surely, *perhaps} - set(own))
                seen.budget.spend(len(surely) + len(perhaps))
                kept = False if lo > self.number else True if hi <= self.number else None
                often = f"at most {times(self.number)} before {then.phrase}{with_the_same(self.same)}"
                said = f"{first.phrase} may happen {often} (call {j})."
                yield Weighed(
                    j, kept, said, partial(self._why_open, j, surely, perhaps, values.said is None, seen)
                )

    def _needed(self, first: Tools) -> str:
        different = f" with different {named(self.different)}" if self.different else ""
        many = "1 success" if self.number == 1 else f"{self.number} successes"
        return f"{many} of {first.phrase}{different}{with_the_same(self.same)}"

    def _why_open(
        self, call: int, surely: Sequence[int], perhaps: Sequence[int], bare: bool, seen: Evidence
    ) -> Judged:
        """Arguments that are not known, or else times."""
        if bare:
            return lacking_in_words([(call, 1)], self.same, seen)
        if perhaps:
            return lacking_in_words([(i, 0) for i in perhaps], self.same, seen)
        if self.different:
            path: Paths = ((self.different, self.different),)
            if unread := [i for i in surely if not is_whole_value(i, self.different, seen)]:
                return lacking_in_words([(i, 0) for i in unread], path, seen)
        return open_in_time(call)

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        return despite_gaps(
            judged, opens=partial(self._opens, judged, seen), mends=partial(self._mends, seen)
        )

    def _opens(self, judged: Judged, seen: Evidence) -> bool:
        gaps = seen.gaps
        for first, then in self.pairs:
            possible = unseen_besides(then, first, seen)
            if self.most is not None:
                if gaps.can_be(first) or (possible and self._reached(first, seen)):
                    return True
            elif possible and (
                judged.verdict == "not_applicable" or self._may_lack(first, possible.spans, seen)
            ):
                return True
        return False

    def _reached(self, first: Tools, seen: Evidence) -> bool:
        calls = seen.attempts(first) if self.most == "begun" else self._counted(first, seen)
        return self.most == "begun" or len(calls) > self.number

    def _may_lack(self, first: Tools, spans: Iterable[Edges], seen: Evidence) -> bool:
        soonest = min(lo for lo, _ in spans)
        if self.same or self.different:
            return True
        return not all_before(seen.successes(first), soonest, self.number, seen)

    def _mends(self, seen: Evidence, call: int) -> bool:
        """More of `first` before it, or an earlier first attempt at `then`."""
        if self.most in ("failed", "succeeded"):
            return False
        return any(
            seen.gaps.of(first if self.most is None else then).can_precede(call)
            for first, then in self.pairs
            if seen.is_of(call, then)
        )

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
