"""The first call of a run, and the last one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from synth.formal.constraints import Bounded
from synth.formal.solver import PlanRule
from synth.judge.rules import Rules
from synth.policies.evidence import Evidence, made_by
from synth.policies.kinds.duty import NOT_APPLICABLE, NOT_ITS_OWN, Judged, despite_gaps, first_to_break
from synth.policies.kinds.edits import Edit, Move, begin_of, call_of
from synth.policies.kinds.kind import IF, MUST, Form, Paths, Reads, Sentence, Traits
from synth.policies.kinds.plans import Slot
from synth.policies.kinds.sweeps import Span, start_of
from synth.policies.names import Names, Tools, TwoReadings

ANY = Tools("any tool", ("*",))


def _one(m: re.Match[str], names: Names) -> Tools:
    found = names.list(m["a"])
    if len(found) > 1:
        phrases = [tools.phrase for tools in found]
        raise TwoReadings(f"one call is of one action; join them with or: {' or '.join(phrases)!r}")
    return found[0]


def _first(m: re.Match[str], names: Names, same: Paths) -> FirstCall:
    return FirstCall(_one(m, names))


def _last(m: re.Match[str], names: Names, same: Paths) -> LastCall:
    return LastCall(_one(m, names))


def _last_if(m: re.Match[str], names: Names, same: Paths) -> LastCall:
    asks = names.list(m["w"])
    if len(asks) > 1:
        phrases = [tools.phrase for tools in asks]
        raise TwoReadings(
            "whether one of them asks for it or all together is open; join them with or: "
            f"{' or '.join(phrases)!r}"
        )
    return LastCall(_one(m, names), asks[0])


class _End:
    """What both have in common: rules about one call among all."""

    what: Tools

    @property
    def tools(self) -> tuple[Tools, ...]:
        return (self.what,)

    @property
    def traits(self) -> Traits:
        return Traits(subjects=(), order_alone=True, reads=Reads(others=True))

    def plan_rules(self, slots: Sequence[Slot]) -> tuple[PlanRule, ...]:
        return ()

    def flaws(self) -> tuple[str, ...]:
        return ()

    def _sides(self, own: list[int], seen: Evidence) -> tuple[list[int], list[int]]:
        """These calls, and all others that ran."""
        mine = set(own)
        return own, [i for i in seen.attempts(ANY) if i not in mine]


@dataclass(frozen=True, slots=True)
class FirstCall(_End):
    """The first call that is tried is one of `what`, however it ends."""

    kind: ClassVar[str] = "first_call"
    forms: ClassVar[tuple[Form, ...]] = (Sentence(rf"the first call {MUST} be (?P<a>.+)", _first),)
    what: Tools

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        own, others = self._sides(seen.attempts(self.what), seen)
        if not own and not others:
            return NOT_APPLICABLE
        mine, theirs = _soonest(own, seen), _soonest(others, seen)
        if mine[1] < theirs[0]:
            return Judged("ok", (), "The first call is the one that must be.")
        first = min(others, key=seen.rank.__getitem__)
        said = f"{made_by(first, seen)} was the first call, not {self.what.phrase}."
        if theirs[1] < mine[0]:
            rivals = [i for i in others if start_of(i, seen)[0] <= theirs[1]]
            return first_to_break(Judged("violated", (first,), said), rivals, seen)
        return Judged("undecided", (), "The recorded times leave open which call was the first.")

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        instant = _soonest(seen.attempts(ANY), seen)[1]
        if isinstance(seen.times, Bounded) and seen.calls:
            instant += (
                seen.times.scale
            )  # which is first of what began at one reading of the clock is not told

        def may_be_first(call: int | None = None) -> bool:
            return judged.verdict == "not_applicable" or seen.gaps.can_begin_by(instant)

        return despite_gaps(judged, opens=may_be_first, mends=may_be_first)

    def edits(self, judged: Judged, seen: Evidence) -> Iterator[Edit]:
        """One that comes later comes first, or there is one more."""
        begin = begin_of(seen)
        yield from (Move(i, begin) for i in seen.attempts(self.what)[:1] if i > begin)
        yield from call_of(self.what, begin, seen)


@dataclass(frozen=True, slots=True)
class LastCall(_End):
    """Of a run that has ended, the last call that was tried is a success of `what`.

    With `when`, only of a run in which that has succeeded.
    """

    kind: ClassVar[str] = "last_call"
    forms: ClassVar[tuple[Form, ...]] = (
        Sentence(
            rf"{IF} (?P<w>.+?) (?:happens|has happened|happened), the last call {MUST} be (?P<a>.+)", _last_if
        ),
        Sentence(rf"the last call {MUST} be (?P<a>.+)", _last),
    )
    what: Tools
    when: Tools | None = None

    @property
    def tools(self) -> tuple[Tools, ...]:
        return (self.what,) if self.when is None else (self.what, self.when)

    @property
    def traits(self) -> Traits:
        subjects = () if self.when is None else (self.when,)
        return Traits(subjects=subjects, order_alone=True, reads=Reads(others=True))

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        own, others = self._sides(seen.successes(self.what), seen)
        if not own and not others:
            return NOT_APPLICABLE
        if self.when is not None and not seen.successes(self.when):
            return NOT_APPLICABLE
        if not seen.tells_end:
            return NOT_ITS_OWN
        mine, theirs = _latest(own, seen), _latest(others, seen)
        if mine[0] > theirs[1]:
            return Judged("ok", (), "The last call is the one that must be.", awaits=not seen.run.closed)
        last = max(others, key=seen.rank.__getitem__)
        said = f"{made_by(last, seen)} was the last call, not a success of {self.what.phrase}."
        if not seen.run.closed:
            return Judged("undecided", (), f"So far {said}", awaits=True)
        if theirs[0] > mine[1]:
            return Judged("violated", (last,), said)
        return Judged("undecided", (), "The recorded times leave open which call was the last.")

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        instant = _latest(seen.attempts(ANY), seen)[0]
        if isinstance(seen.times, Bounded) and seen.calls:
            instant -= seen.times.scale

        def may_be_last(call: int | None = None) -> bool:
            return any(hi >= instant for _, hi in seen.gaps.spans)

        def opens() -> bool:
            if judged.verdict != "not_applicable":
                return may_be_last()
            return self.when is None or bool(seen.gaps.of(self.when))

        return despite_gaps(judged, opens=opens, mends=may_be_last)

    def edits(self, judged: Judged, seen: Evidence) -> Iterator[Edit]:
        """One that came before comes last, or there is one more."""
        end = len(seen.calls)
        yield from (Move(i, end) for i in seen.attempts(self.what)[-1:])
        yield from call_of(self.what, end, seen)


def _soonest(calls: Iterable[int], seen: Evidence) -> Span:
    """When the first of these began."""
    starts = [start_of(i, seen) for i in calls]
    never = (float("inf"), float("inf"))
    return min((lo for lo, _ in starts), default=never[0]), min((hi for _, hi in starts), default=never[1])


def _latest(calls: Iterable[int], seen: Evidence) -> Span:
    """When the last of these began."""
    starts = [start_of(i, seen) for i in calls]
    return max((lo for lo, _ in starts), default=float("-inf")), max(
        (hi for _, hi in starts), default=float("-inf")
    )
