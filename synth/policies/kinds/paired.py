"""Two actions, call for call: one for each other, and as many in the end."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from synth.counted import counted
from synth.formal.solver import PlanRule
from synth.judge.rules import Rules
from synth.policies.evidence import Evidence
from synth.policies.kinds.arguments import Alike, lacking_in_words, values_of, with_the_same
from synth.policies.kinds.candidates import without_arguments
from synth.policies.kinds.duty import NOT_APPLICABLE, NOT_ITS_OWN, Judged, despite_gaps
from synth.policies.kinds.edits import Drop, Edit, Move, blamed, call_of, equal_arguments
from synth.policies.kinds.kind import HAPPEN, MUST, Form, Paths, Reads, Sentence, Traits
from synth.policies.kinds.plans import Slot
from synth.policies.kinds.sweeps import start_of
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
    starts_of,
)
from synth.policies.names import Names, Tools


def _one_for_one(m: re.Match[str], names: Names, same: Paths) -> Paired:
    return Paired(names.pairs(m["b"], m["a"]), same)


def _as_many(m: re.Match[str], names: Names, same: Paths) -> AsOften:
    return AsOften(names.pairs(m["a"], m["b"]), same)


class _Both:
    """What both have in common."""

    pairs: tuple[tuple[Tools, Tools], ...]
    same: Paths

    @property
    def tools(self) -> tuple[Tools, ...]:
        return tuple(tools for pair in self.pairs for tools in pair)

    def plan_rules(self, slots: Sequence[Slot]) -> tuple[PlanRule, ...]:
        return ()

    def flaws(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class Paired(_Both):
    """At no time have more calls of `then` begun than calls of `first` have succeeded before.

    So each has one of its own. With `same`, among calls with equal arguments.
    """

    kind: ClassVar[str] = "paired"
    forms: ClassVar[tuple[Form, ...]] = (
        Sentence(
            rf"(?P<a>.+?) {MUST} (?:never|not) {HAPPEN} more often than (?P<b>.+)", _one_for_one, same=True
        ),
    )
    pairs: tuple[tuple[Tools, Tools], ...]
    """(first, then) each."""
    same: Paths = ()

    @property
    def traits(self) -> Traits:
        return Traits(
            subjects=tuple(then for _, then in self.pairs),
            needs=self.pairs,
            order_alone=True,
            reads=Reads(self.tools if self.same else ()),
        )

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        if self.same and without_arguments(seen, self.tools):
            return Judged("unsupported", (), "The arguments of the calls were not recorded.")
        found = (one for first, then in self.pairs for one in self._each(first, then, seen))
        return judge_weighed(found, seen, "Each has one of its own.")

    def _each(self, first: Tools, then: Tools, seen: Evidence) -> Iterator[Weighed]:
        """Each attempt at `then`: how many had begun with it, and how many of `first` had succeeded."""
        attempts = seen.attempts(then)
        given = Likewise(Alike(seen.successes(first), 0, self.same, seen))
        taken = Likewise(Alike(attempts, 1, self.same, seen))
        tallies = _Tallies(seen)
        for j in asked(attempts, seen):
            values, start = values_of(j, 1, self.same, seen), start_of(j, seen)
            (sure, maybe), (own, others) = given.of(values), taken.of(values)
            bare = values.said is None
            mine = [] if bare else [*map(tallies.starts, (own or [j],))]
            all_ = [*mine, tallies.starts(others)]
            some = [tallies.ends(sure), tallies.ends(maybe)]
            least, most = some[0].surely(start), sum(one.perhaps(start) for one in some)
            fewest = max(1, *(self._begun(one, start, seen) for one in mine), 1)
            kept = (
                True if least >= sum(one.perhaps(start) for one in all_) else False if most < fewest else None
            )
            needed = f"{first.phrase}{with_the_same(self.same)}"
            said = f"{then.phrase} (call {j}) has no success of {needed} of its own."
            why = partial(self._why_open, j, maybe, others, bare, seen)
            yield Weighed(j, kept, said, why)

    def _begun(self, tally: Tally, start: Edges, seen: Evidence) -> int:
        """How many had surely begun when the last of them began, itself among them.

        Of a conversation only the call itself is asked about: how many had surely begun when it did.
        """
        lo, hi = start
        return tally.surely((hi, hi)) if seen.part is None else tally.surely((lo, lo)) + (lo != hi)

    def _why_open(
        self, call: int, maybe: Sequence[int], others: Sequence[int], bare: bool, seen: Evidence
    ) -> Judged:
        if bare:
            return lacking_in_words([(call, 1)], self.same, seen)
        lacking = [*((i, 0) for i in maybe), *((i, 1) for i in others)]
        return lacking_in_words(lacking, self.same, seen) if lacking else open_in_time(call)

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        return despite_gaps(judged, opens=partial(self._opens, seen), mends=partial(self._mends, seen))

    def _opens(self, seen: Evidence) -> bool:
        return any(seen.gaps.can_be(then) for _, then in self.pairs)

    def _mends(self, seen: Evidence, call: int) -> bool:
        return any(
            seen.gaps.of(first).can_precede(call) for first, then in self.pairs if seen.is_of(call, then)
        )

    def edits(self, judged: Judged, seen: Evidence) -> Iterator[Edit]:
        """It comes after what is late; or there is one more before it; or it is left out."""
        for call, first in blamed(judged, seen, self.pairs, 1):
            for i in seen.successes(first):
                if seen.rank[i] > seen.rank[call]:
                    yield Move(call, i + 1)
                    yield Move(i, call)
                    break
            yield from call_of(first, call, seen, equal_arguments(call, self.same, 1, seen))
            yield Drop(call)


class _Tallies:
    """Of each list of calls, made once."""

    def __init__(self, seen: Evidence) -> None:
        self._seen = seen
        self._ends: dict[int, Tally] = {}
        self._starts: dict[int, Tally] = {}
        self._kept: list[list[int]] = []

    def ends(self, calls: list[int]) -> Tally:
        return self._of(self._ends, calls, ends_of)

    def starts(self, calls: list[int]) -> Tally:
        return self._of(self._starts, calls, starts_of)

    def _of(self, made: dict[int, Tally], calls: list[int], make: object) -> Tally:
        if id(calls) not in made:
            self._kept.append(calls)
            self._seen.budget.spend(len(calls))
            made[id(calls)] = make(calls, self._seen)  # type: ignore[operator]
        return made[id(calls)]


@dataclass(frozen=True, slots=True)
class AsOften(_Both):
    """In the end one has succeeded as often as the other; with `same`, for each value by itself."""

    kind: ClassVar[str] = "as_often"
    forms: ClassVar[tuple[Form, ...]] = (
        Sentence(
            rf"(?P<a>.+?) {MUST} {HAPPEN} (?:exactly |just )?as often as (?P<b>.+)", _as_many, same=True
        ),
    )
    pairs: tuple[tuple[Tools, Tools], ...]
    same: Paths = ()

    @property
    def traits(self) -> Traits:
        return Traits(subjects=self.tools, order_alone=True, reads=Reads(self.tools if self.same else ()))

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        if not any(so_far(seen.attempts(tools), seen) for tools in self.tools):
            return NOT_APPLICABLE
        if self.same and without_arguments(seen, self.tools):
            return Judged("unsupported", (), "The arguments of the calls were not recorded.")
        if not seen.tells_end:
            return NOT_ITS_OWN
        open_: Judged | None = None
        for one, other in self.pairs:
            found = self._uneven(one, other, seen)
            if found is not None and found.verdict == "violated":
                return found if seen.run.closed else Judged("undecided", (), found.explanation, awaits=True)
            open_ = open_ or found
        if open_ is not None and not seen.run.closed:
            return Judged("undecided", (), open_.explanation, awaits=True)
        return open_ or Judged("ok", (), "Both succeeded as often.")

    def _uneven(
        self, one: Tools, other: Tools, seen: Evidence, more: Sequence[float] = (0, 0)
    ) -> Judged | None:
        """What is wrong or open about two actions, with so many `more` of each; None where they are even."""
        counts, lacking = self._counts(one, other, seen)
        few = _too_few(counts, [more[side] + [at for _, at in lacking].count(side) for side in (0, 1)])
        if few is not None:
            a, b = few
            said = (
                f"{one.phrase} succeeded {counted(a, 'time')}, {other.phrase} {counted(b, 'time')}"
                f"{with_the_same(self.same)}."
            )
            return Judged("violated", (), said)
        return lacking_in_words(lacking, self.same, seen) if lacking else None

    def _counts(
        self, one: Tools, other: Tools, seen: Evidence
    ) -> tuple[list[list[int]], list[tuple[int, int]]]:
        """How often each succeeded with each value, and (call, side) of those whose value is not known."""
        counts: dict[object, list[int]] = {}
        lacking: list[tuple[int, int]] = []
        for side, tools in enumerate((one, other)):
            for i in seen.successes(tools):
                values = values_of(i, side, self.same, seen)
                if values.said is None or not values.whole:
                    lacking.append((i, side))
                else:
                    counts.setdefault(values.key, [0, 0])[side] += 1
        return [*counts.values()], lacking

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        possible = [pair for pair in self.pairs if any(map(seen.gaps.can_be, pair))]
        if not possible or judged.verdict == "unsupported" or judged is NOT_ITS_OWN:
            return judged
        if judged.verdict == "violated":
            for one, other in self.pairs:
                found = self._uneven(one, other, seen, (seen.gaps.of(one).most, seen.gaps.of(other).most))
                if found is not None and found.verdict == "violated":
                    return found
        said = "The evidence is incomplete: a call that matters may not have been seen."
        return Judged("undecided", (), said)

    def edits(self, judged: Judged, seen: Evidence) -> Iterator[Edit]:
        """One more at the end of what is too few."""
        for one, other in self.pairs:
            a, b = len(seen.successes(one)), len(seen.successes(other))
            if a != b and not self.same:
                yield from call_of(one if a < b else other, len(seen.calls), seen)


def _too_few(counts: Sequence[Sequence[int]], more: Sequence[float]) -> Sequence[int] | None:
    """The first numbers of a side that so many more of it cannot make even."""
    for side in (0, 1):
        uneven = [pair for pair in counts if pair[side] < pair[1 - side]]
        if sum(pair[1 - side] - pair[side] for pair in uneven) > more[side]:
            return uneven[0]
    return None
