"""Rates: how often an action may be done within a time, or with equal arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from synth.counted import counted
from synth.formal.budget import GaveUp
from synth.formal.solver import PlanRule
from synth.judge.rules import Rules
from synth.judge.wording import calls_in_words
from synth.policies.evidence import Evidence
from synth.policies.kinds.arguments import lacking_in_words, with_the_same
from synth.policies.kinds.count import ENDS, NUMBERS, Ended, counted_calls, ended_as, number_of
from synth.policies.kinds.crowds import alike, beyond, is_exact, most_together
from synth.policies.kinds.duty import NO_TIMES, NOT_APPLICABLE, NOT_ITS_OWN, Judged, despite_gaps, given_up
from synth.policies.kinds.edits import Edit, without_the_last
from synth.policies.kinds.kind import HAPPEN, MUST, PER, Form, Paths, Reads, Sentence, Traits, scope_of
from synth.policies.kinds.plans import Slot
from synth.policies.kinds.times import CALENDAR_DAY, DAY, TIME, Stretch, nanoseconds, stretch_in_words
from synth.policies.names import Names, Scope, Tools

_NUMBER = rf"(?P<n>[1-9]\d{{0,5}}|{'|'.join(NUMBERS)})(?: times?)?"
_OFTEN = rf"(?P<a>.+?) {MUST} {HAPPEN} (?:at most|no more than) {_NUMBER}{PER}"
_ENDING = rf"(?P<a>.+?) {MUST} {ENDS} (?:at most|no more than) {_NUMBER}{PER}"
_IN_TIME = rf"(?: within (?:any )?(?=.*[1-9]){TIME}| {DAY})"


def _within(m: re.Match[str], names: Names, same: Paths) -> Rate:
    time = max(nanoseconds(m), 1) if m["amount"] else CALENDAR_DAY
    return Rate(names.list(m["a"]), number_of(m["n"]), time, same, scope_of(m))


def _with_same(m: re.Match[str], names: Names, same: Paths) -> Rate:
    return Rate(names.list(m["a"]), number_of(m["n"]), None, same, scope_of(m))


def _ends(m: re.Match[str], names: Names, same: Paths) -> Rate:
    return replace(_within(m, names, same), ended=ended_as(m))


def _ends_same(m: re.Match[str], names: Names, same: Paths) -> Rate:
    return replace(_with_same(m, names, same), ended=ended_as(m))


@dataclass(frozen=True, slots=True)
class Rate:
    """Of the attempts at an action, at most so many start within less than a time of one another.

    Two that start exactly that time apart are not within it. Or on one day of the calendar: the local date in
    the file's time zone. With `ended`, of those that ended so. With `same`, only those whose arguments are
    equal count together; without a time, all of those.
    """

    kind: ClassVar[str] = "rate"
    forms: ClassVar[tuple[Form, ...]] = (
        Sentence(rf"{_OFTEN}{_IN_TIME}", _within, same=True),
        Sentence(_OFTEN, _with_same, same=True, only_same=True),
        Sentence(rf"{_ENDING}{_IN_TIME}", _ends, same=True),
        Sentence(_ENDING, _ends_same, same=True, only_same=True),
    )
    what: tuple[Tools, ...]
    most: int
    time: Stretch = None
    """Nanoseconds, or a calendar day; None = however far apart."""
    same: Paths = ()
    per: Scope | None = None
    """The scope that the sentence names; None = that of the file."""
    each: bool = False
    """Does each of the tools count by itself?"""
    ended: Ended | None = None
    """Which calls are limited; None = all that were tried."""

    @property
    def failed(self) -> bool:
        """Is it failures that are limited?"""
        return self.ended == "failed"

    @property
    def tools(self) -> tuple[Tools, ...]:
        return self.what

    @property
    def traits(self) -> Traits:
        arguments = self.what if self.same else ()
        return Traits(subjects=self.what, reads=Reads(arguments=arguments), scope=self.per)

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        tried = [crowd for tools in self.what for crowd in self._apart(tools, seen)]
        if not any(seen.attempts(tools) for tools in self.what):
            return NOT_APPLICABLE
        open_: Judged | None = None
        found: dict[str, set[int]] = {}
        try:
            for phrase, calls in tried:
                for surely, perhaps in alike(calls, self.same, seen):
                    late = beyond(surely, _one, self.most, self.time, seen)
                    found.setdefault(phrase, set()).update(late)
                    if open_ is None:
                        open_ = self._open(surely, perhaps, seen)
        except GaveUp as spent:
            return self._violated(found, seen) or given_up(spent)
        broken = NOT_ITS_OWN if any(found.values()) else Judged("ok", (), "The rate is kept.")
        return self._violated(found, seen) or open_ or broken

    def _apart(self, tools: Tools, seen: Evidence) -> Iterator[tuple[str, Sequence[int]]]:
        """What counts together, with its name."""
        calls = counted_calls(tools, self.ended, seen)
        if not self.each:
            yield tools.phrase, calls
            return
        for tool in dict.fromkeys(seen.calls[i].tool for i in calls):
            yield tool, [i for i in calls if seen.calls[i].tool == tool]

    def _violated(self, found: Mapping[str, set[int]], seen: Evidence) -> Judged | None:
        late = sorted(i for calls in found.values() for i in calls)
        if not late:
            return None
        own = tuple(filter(seen.owns, late))
        if not own:
            return None
        phrase = next(phrase for phrase, calls in found.items() if own[0] in calls)
        said = f"{phrase} {self._limit(seen)}; {calls_in_words(own)} went beyond that."
        return Judged("violated", own, said)

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        return despite_gaps(judged, opens=partial(self._opens, seen), mends=lambda call: False)

    def edits(self, judged: Judged, seen: Evidence) -> Iterator[Edit]:
        """What goes beyond is left out."""
        return without_the_last(judged)

    def plan_rules(self, slots: Sequence[Slot]) -> tuple[PlanRule, ...]:
        return ()

    def flaws(self) -> tuple[str, ...]:
        return ()

    def _limit(self, seen: Evidence) -> str:
        within = stretch_in_words(self.time, seen.timezone)
        do = {None: "happen", "failed": "fail", "succeeded": "succeed"}[self.ended]
        return f"may {do} at most {counted(self.most, 'time')}{within}{with_the_same(self.same)}"

    def _open(self, surely: Sequence[int], perhaps: Sequence[int], seen: Evidence) -> Judged | None:
        """Why it is not known whether too many came together, or which; None where it is."""
        every = [*surely, *perhaps]
        if self._most_together(every, seen) <= self.most or not any(map(seen.owns, every)):
            return None
        if not perhaps and is_exact(surely, self.time, seen):
            return None
        if self._most_together(surely, seen) <= self.most:
            return lacking_in_words([(call, 0) for call in perhaps], self.same, seen)
        if not seen.has_times:
            return NO_TIMES
        came = f"on one day ({seen.timezone})" if self.time == CALENDAR_DAY else "together"
        said = f"The recorded times leave open whether more than {counted(self.most, 'call')} came {came}."
        return Judged("undecided", (), said)

    def _most_together(self, calls: Sequence[int], seen: Evidence) -> int:
        """How many of these calls may have started within less than the time."""
        return most_together(calls, _one, self.time, seen)

    def _opens(self, seen: Evidence) -> bool:
        return any(
            not seen.attempts(tools)
            or self._most_together(counted_calls(tools, self.ended, seen), seen) + seen.gaps.of(tools).most
            > self.most
            for tools in self.what
            if seen.gaps.can_be(tools)
        )


def _one(call: int) -> int:
    return 1
