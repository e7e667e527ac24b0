"""After failures: what must follow once an action has failed so many times, or must not happen."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

from synth.counted import counted
from synth.errors import BadInput
from synth.formal.constraints import Fixed, Times, edges_of
from synth.formal.solver import PlanRule
from synth.judge.rules import Rules
from synth.policies.evidence import Evidence, Noun
from synth.policies.kinds.arguments import (
    Alike,
    Compared,
    Pool,
    Pools,
    Values,
    judge_compared,
    lacking_in_words,
    values_of,
    with_the_same,
)
from synth.policies.kinds.candidates import Ended, Following, owned, without_arguments
from synth.policies.kinds.count import NUMBERS, number_of
from synth.policies.kinds.duty import NO_TIMES, NOT_APPLICABLE, Duty, Judged, despite_gaps, unless_later
from synth.policies.kinds.edits import Drop, Edit, blamed, call_of, equal_arguments
from synth.policies.kinds.formulas import Late, NoneEndedBefore, SomeStartsAfter
from synth.policies.kinds.kind import FAILS, HAPPEN, IF, MUST, Form, Paths, Reads, Sentence, Traits
from synth.policies.kinds.plans import Slot
from synth.policies.kinds.sweeps import none_ended_before, some_starts_after
from synth.policies.kinds.times import TIME, duration_in_words, nanoseconds
from synth.policies.names import Names, Tools

_TIMES = rf"(?P<n>[1-9]\d{{0,5}}|{'|'.join(NUMBERS)})(?: times?)?"
_NEVER = rf"(?P<b>.+?) {MUST} (?:never|not) {HAPPEN}"


_FOR_ONE = r"(?: for (?:one|any one|a single|the same) (?P<own>[^\s,;]+(?: and [^\s,;]+)*))?"


def _of_one(m: re.Match[str], same: Paths) -> tuple[Paths, bool]:
    """What must be the same, and is that asked of the failures alone?"""
    if not m["own"]:
        return same, False
    if same:
        raise BadInput("'for one FIELD' and 'with the same FIELD' are not said of the same failures")
    paths = [(Noun(one),) if one.isalpha() else tuple(one.split(".")) for one in m["own"].split(" and ")]
    return tuple((path, path) for path in paths), True


def _demanded(m: re.Match[str], names: Names, same: Paths) -> AfterFailures:
    within = nanoseconds(m) if m["amount"] else None
    pairs, (paths, of_one) = names.pairs(m["a"], m["b"]), _of_one(m, same)
    return AfterFailures(pairs, number_of(m["n"]), bool(m["row"]), within=within, same=paths, of_one=of_one)


def _banned(m: re.Match[str], names: Names, same: Paths) -> AfterFailures:
    paths, of_one = _of_one(m, same)
    return AfterFailures(
        names.pairs(m["a"], m["b"]), number_of(m["n"]), in_a_row=True, banned=True, same=paths, of_one=of_one
    )


@dataclass(frozen=True, slots=True)
class AfterFailures:
    """Once `first` has failed so many times, a success of `then` must follow; or it must not be called.

    `in_a_row`: with no call of `first` between that did not fail, and each time that so many have come. With
    `same`, among the calls with equal arguments; `of_one`: a call of `then` that has no such argument is of
    any of them. More failures than so many ask for nothing more.
    """

    kind: ClassVar[str] = "after_failures"
    forms: ClassVar[tuple[Form, ...]] = (
        Sentence(
            rf"{IF} (?P<a>.+?) {FAILS} {_TIMES} in a row{_FOR_ONE}, {_NEVER}(?: afterwards?)?",
            _banned,
            same=True,
        ),
        Sentence(rf"{_NEVER} after (?P<a>.+?) {FAILS} {_TIMES} in a row{_FOR_ONE}", _banned, same=True),
        Sentence(
            rf"{IF} (?P<a>.+?) {FAILS} {_TIMES}(?P<row> in a row)?{_FOR_ONE}, "
            rf"(?P<b>(?:(?! {MUST} (?:not|never)).)+?) {MUST} (?:follow|{HAPPEN})(?: afterwards?)?"
            rf"(?:,? within {TIME})?",
            _demanded,
            same=True,
        ),
    )
    pairs: tuple[tuple[Tools, Tools], ...]
    """(first, then) each."""
    number: int
    in_a_row: bool = False
    banned: bool = False
    within: int | None = None
    """Nanoseconds."""
    same: Paths = ()
    of_one: bool = False

    @property
    def failed(self) -> bool:
        """It is failures that count."""
        return True

    @property
    def tools(self) -> tuple[Tools, ...]:
        return tuple(tools for pair in self.pairs for tools in pair)

    @property
    def traits(self) -> Traits:
        return Traits(
            subjects=tuple(first for first, _ in self.pairs),
            order_alone=self.within is None,
            reads=Reads(self.tools if self.same else ()),
        )

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        pairs = [pair for pair in self.pairs if len(seen.failures(pair[0])) >= self.number]
        if not pairs:
            return NOT_APPLICABLE
        if self.within is not None and not seen.has_times:
            return NO_TIMES
        if self.same and without_arguments(seen, [tools for pair in pairs for tools in pair]):
            return Judged("unsupported", (), "The arguments of the calls were not recorded.")
        duties: list[Compared] = []
        applies = False
        for first, then in pairs:
            last, open_ = self._last_failures(first, seen)
            if open_ is not None:
                return open_
            applies = applies or bool(last)
            duties += (
                self._bans(first, then, last, seen) if self.banned else self._demands(first, then, last, seen)
            )
        if not applies:
            return NOT_APPLICABLE
        if not duties:
            return Judged("ok", (), "Nothing that is forbidden was called.")
        judged = judge_compared(duties, self.same, seen, rules)
        return judged if self.banned else unless_later(judged, seen, partial(self._limit, seen))

    def _last_failures(self, first: Tools, seen: Evidence) -> tuple[list[int], Judged | None]:
        """The failures with which there were so many; or why it is open which those are."""
        failures = set(seen.failures(first))
        groups: dict[Any, list[int]] = {}
        for i in seen.attempts(first):
            values = values_of(i, 0, self.same, seen)
            if not _is_known(values):
                return [], lacking_in_words([(i, 0)], self.same, seen)
            groups.setdefault(values.key, []).append(i)
        found: list[int] = []
        for calls in groups.values():
            failed = [i for i in calls if i in failures]
            if len(failed) < self.number:
                continue
            if not self._are_ordered(calls if self.in_a_row else failed, seen):
                return [], Judged("undecided", (), "The recorded times leave open which failure came when.")
            found += self._in_rows(calls, failures) if self.in_a_row else self._in_all(failed, seen)
        return sorted(found, key=seen.rank.__getitem__), None

    @staticmethod
    def _are_ordered(calls: Sequence[int], seen: Evidence) -> bool:
        if not seen.unplaced.isdisjoint(calls):
            return False
        if isinstance(seen.times, Fixed):
            return True
        ends = sorted(edges_of(seen.times.end(i)) for i in calls)
        return all(first[1] <= then[0] for first, then in pairwise(ends))

    def _in_rows(self, calls: Sequence[int], failures: set[int]) -> Iterator[int]:
        length = 0
        for i in calls:
            length = length + 1 if i in failures else 0
            if length == self.number:
                yield i

    def _in_all(self, failed: Sequence[int], seen: Evidence) -> Iterator[int]:
        yield sorted(failed, key=lambda i: edges_of(seen.times.end(i)))[self.number - 1]

    def _demands(self, first: Tools, then: Tools, last: Sequence[int], seen: Evidence) -> Iterator[Compared]:
        def pool(calls: Sequence[int]) -> Pool:
            return Pool(
                Following(calls, seen).after, some_starts_after(calls, self.within, seen), bool(calls)
            )

        answers = Alike(seen.successes(then), 1, self.same, seen)
        if self.of_one:
            answers.let_the_bare_be_any()
        pools = Pools(answers, pool)
        limit = "" if self.within is None else f" within {duration_in_words(self.within)}"
        for i in owned(list(last), seen):
            values = values_of(i, 0, self.same, seen)
            said = f"{self._often(first)} (call {i}) and was not followed by {then.phrase}{limit}."
            yield pools.compared(i, 0, values, SomeStartsAfter, (self.within,), said)

    def _bans(self, first: Tools, then: Tools, last: Sequence[int], seen: Evidence) -> Iterator[Compared]:
        def pool(calls: Sequence[int]) -> Pool:
            return Pool(Ended(calls, seen).before, none_ended_before(calls, seen), bool(calls))

        if not last:
            return
        pools = Pools(Alike(last, 0, self.same, seen), pool)
        for j in owned(seen.attempts(then), seen):
            name = then.phrase if "*" not in then.names else seen.calls[j].tool
            said = f"{name} (call {j}) came after {self._often(first)}."
            values = values_of(j, 1, self.same, seen)
            if self.of_one and values.said is None and seen.calls[j].arguments is not None:
                duty = Duty(j, Late(NoneEndedBefore, j, pool(last).find), said)
                yield Compared(duty, duty)
            else:
                yield pools.barred(j, 1, values, NoneEndedBefore, (), said)

    def _often(self, first: Tools) -> str:
        row = " in a row" if self.in_a_row else ""
        return f"{first.phrase} failed {counted(self.number, 'time')}{row}{with_the_same(self.same)}"

    def _limit(self, seen: Evidence, call: int) -> int | None:
        """The last instant at which an answer may have come in time; None = any is."""
        times: Times = seen.times
        return None if self.within is None else edges_of(times.later(times.end(call), self.within))[1]

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        return despite_gaps(judged, opens=partial(self._opens, seen), mends=partial(self._mends, seen))

    def _opens(self, seen: Evidence) -> bool:
        for first, then in self.pairs:
            more = seen.gaps.of(first)
            many = len(seen.failures(first)) + more.most >= self.number
            if many and (more or (self.banned and seen.gaps.can_be(then))):
                return True
        return False

    def _mends(self, seen: Evidence, call: int) -> bool:
        """May an unseen answer have come, or an unseen call have ended the row or filled it before?"""
        return any(
            ((self.in_a_row or not self.banned) and seen.gaps.can_be(first))
            or (not self.banned and seen.gaps.of(then).can_follow(call))
            for first, then in self.pairs
        )

    def edits(self, judged: Judged, seen: Evidence) -> Iterator[Edit]:
        """What is forbidden is left out; there is an answer more."""
        for call, then in blamed(judged, seen, self.pairs, 1 if self.banned else 0):
            if self.banned:
                yield Drop(call)
                continue
            for place in dict.fromkeys((call + 1, len(seen.calls))):
                yield from call_of(then, place, seen, equal_arguments(call, self.same, 0, seen))

    def plan_rules(self, slots: Sequence[Slot]) -> tuple[PlanRule, ...]:
        return ()  # in a plan every call succeeds

    def flaws(self) -> tuple[str, ...]:
        return ()


def _is_known(values: Values) -> bool:
    return values.whole and values.said is not None
