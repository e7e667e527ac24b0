"""Absence: what must not be called any more once an action has succeeded, or has failed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from synth.errors import BadInput
from synth.formal.solver import PlanRule
from synth.judge.rules import Rules
from synth.policies.evidence import Evidence
from synth.policies.kinds.arguments import (
    Alike,
    Compared,
    Pool,
    Pools,
    judge_compared,
    values_of,
    with_the_same,
)
from synth.policies.kinds.candidates import Ended, besides, owned, without_arguments
from synth.policies.kinds.duty import NO_TIMES, NOT_APPLICABLE, Judged, despite_gaps
from synth.policies.kinds.edits import Drop, Edit, Move, blamed
from synth.policies.kinds.formulas import NoneEndedBefore, NoneEndedWithin
from synth.policies.kinds.kind import FAILS, HAPPEN, IF, MUST, Form, Paths, Reads, Sentence, Traits
from synth.policies.kinds.plans import Slot, never_both, slots_besides, slots_of
from synth.policies.kinds.sweeps import none_ended_before, none_ended_within
from synth.policies.kinds.times import TIME, duration_in_words, nanoseconds
from synth.policies.names import Names, Tools

ANY = Tools("any tool", ("*",))
_NEVER = rf"(?P<a>.+?) {MUST} (?:never|not) {HAPPEN}"
_WITHIN = rf"(?: within (?=.*[1-9]){TIME})?"
_SO_OFTEN = rf".+ (?:{FAILS}|(?:has |have )?succeed(?:s|ed)?) \S+(?: times?)?(?: in a row)?$"


def _read(m: re.Match[str], names: Names, same: Paths, failed: bool = False) -> AbsenceAfter:
    time = max(nanoseconds(m), 1) if m["amount"] else None
    return AbsenceAfter(names.pairs(m["b"], m["a"]), failed, time, same)


_read_failed = partial(_read, failed=True)


def _read_but(m: re.Match[str], names: Names, same: Paths, failed: bool = False) -> AbsenceAfter:
    """What may still be called is named; any other call is forbidden."""
    kept = names.list(m["but"])
    if any(not tools.is_whole or "*" in tools.names for tools in kept):
        raise BadInput(
            "what may still be called is named as an action of the file, without arguments or agent"
        )
    but = Tools(
        " or ".join(tools.phrase for tools in kept), tuple(name for tools in kept for name in tools.names)
    )
    time = max(nanoseconds(m), 1) if m["amount"] else None
    return AbsenceAfter(tuple((trigger, ANY) for trigger in names.list(m["b"])), failed, time, but=but)


def _read_both(m: re.Match[str], names: Names, same: Paths) -> AbsenceAfter:
    """Whichever comes first forbids the other."""
    one, other = names.list(m["a"]), names.list(m["b"])
    if len(one) + len(other) > 2:
        raise BadInput("'never both' is of two actions; write a policy for each two of them")
    return AbsenceAfter(((one[0], other[0]), (other[0], one[0])), same=same)


@dataclass(frozen=True, slots=True)
class AbsenceAfter:
    """Once `trigger` has succeeded, `what` must not be called any more; with a time, for less than that.

    What starts exactly that time after the end of the trigger may start.
    """

    kind: ClassVar[str] = "absence_after"
    forms: ClassVar[tuple[Form, ...]] = (
        Sentence(
            rf"any tool (?:but|except|other than) (?P<but>.+?) {MUST} (?:never|not) {HAPPEN}{_WITHIN} "
            rf"after (?P<b>(?!.+ until )(?!.+ {FAILS}$)(?!{_SO_OFTEN}).+)",
            _read_but,
        ),
        Sentence(
            rf"{IF} (?P<b>.+?) {FAILS}, any tool (?:but|except|other than) (?P<but>.+?) {MUST} (?:never|not) "
            rf"{HAPPEN}(?: afterwards?)?{_WITHIN}",
            partial(_read_but, failed=True),
        ),
        Sentence(rf"{_NEVER}{_WITHIN} after (?P<b>.+?) {FAILS}", _read_failed, same=True),
        Sentence(rf"{_NEVER}{_WITHIN} after (?P<b>(?!.+ until )(?!{_SO_OFTEN}).+)", _read, same=True),
        Sentence(rf"(?P<a>.+?) and (?P<b>.+?) {MUST} (?:never|not) both {HAPPEN}", _read_both, same=True),
        Sentence(
            rf"{IF} (?P<b>.+?) {FAILS}, {_NEVER}(?: afterwards?)?{_WITHIN}(?: afterwards?)?",
            _read_failed,
            same=True,
        ),
    )
    pairs: tuple[tuple[Tools, Tools], ...]
    """(trigger, what) each."""
    failed: bool = False
    """Is it a failure of `trigger` that forbids?"""
    within: int | None = None
    """Nanoseconds; None = for ever."""
    same: Paths = ()
    but: Tools | None = None
    """Of any tool, what may still be called."""

    @property
    def tools(self) -> tuple[Tools, ...]:
        named = tuple(tools for pair in self.pairs for tools in pair)
        return named if self.but is None else (*named, self.but)

    @property
    def traits(self) -> Traits:
        return Traits(
            subjects=tuple(trigger for trigger, _ in self.pairs),
            order_alone=self.within is None,
            reads=Reads(self.tools if self.same else ()),
        )

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        triggered = [(trigger, what) for trigger, what in self.pairs if seen.ended_so(trigger, self.failed)]
        if not triggered:
            return NOT_APPLICABLE
        if self.within is not None and not seen.has_times:
            return NO_TIMES
        if self.same and without_arguments(seen, [tools for pair in triggered for tools in pair]):
            return Judged("unsupported", (), "The arguments of the calls were not recorded.")
        duties = [duty for trigger, what in triggered for duty in self._duties(trigger, what, seen)]
        if not duties:
            return Judged("ok", (), "Nothing that is forbidden was called.")
        return judge_compared(duties, self.same, seen, rules)

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        return despite_gaps(judged, opens=partial(self._opens, seen), mends=lambda call: False)

    def _opens(self, seen: Evidence) -> bool:
        gaps = seen.gaps
        for trigger, what in self.pairs:
            started, followed = gaps.of(trigger), gaps.of(what, self.but)
            if started and followed and gaps.most > 1:
                return True
            if started and any(map(started.can_precede, self._barred(what, seen))):
                return True
            if followed and any(map(followed.can_follow, seen.ended_so(trigger, self.failed))):
                return True
            if started and not any(seen.ended_so(one, self.failed) for one, _ in self.pairs):
                return True  # it would be ok instead of not applicable
        return False

    def edits(self, judged: Judged, seen: Evidence) -> Iterator[Edit]:
        """It comes before what forbids it, or that after it; or it is left out."""
        for call, trigger in blamed(judged, seen, self.pairs, 1):
            for i in seen.ended_so(trigger, self.failed)[:1]:
                yield Move(call, i)
                yield Move(i, call + 1)
            yield Drop(call)

    def plan_rules(self, slots: Sequence[Slot]) -> Iterator[PlanRule]:
        if self.failed or self.within is not None or self.same:
            return  # in a plan every call succeeds, and nothing is known of times between and of arguments
        for trigger, what in self.pairs:
            for i in slots_of(trigger, slots):
                for j in slots_of(what, slots) if self.but is None else slots_besides(what, self.but, slots):
                    if i != j:
                        yield never_both(i, j, lambda w, i=i, j=j: w.no(w.before(i, j)))  # type: ignore[misc]

    def flaws(self) -> tuple[str, ...]:
        return ()

    def _duties(self, trigger: Tools, what: Tools, seen: Evidence) -> Iterator[Compared]:
        kind: Callable[..., Any] = NoneEndedBefore
        more: tuple[int, ...] = ()
        if self.within is not None:
            kind, more = NoneEndedWithin, (self.within - 1,)
        ends = seen.ended_so(trigger, self.failed)
        ended = Ended(ends, seen)

        def pool(calls: Sequence[int]) -> Pool:
            own = Ended(calls, seen)
            if self.within is None:
                return Pool(own.before, none_ended_before(calls, seen), bool(calls))
            return Pool(own.last_before, none_ended_within(calls, self.within - 1, seen), bool(calls))

        pools = Pools(Alike(ends, 0, self.same, seen), pool)
        for j in owned(self._barred(what, seen), seen):
            name = what.phrase if "*" not in what.names else seen.calls[j].tool
            others = "" if self.same else ended.named(j)
            said = f"{name} (call {j}) came {self._when(trigger)}" + (f" ({others})." if others else ".")
            yield pools.barred(j, 1, values_of(j, 1, self.same, seen), kind, more, said)

    def _barred(self, what: Tools, seen: Evidence) -> list[int]:
        """The calls that are forbidden once it is so."""
        calls = seen.attempts(what)
        return calls if self.but is None else besides(calls, what, self.but, seen)

    def _when(self, trigger: Tools) -> str:
        after = f"after {trigger.phrase}" + (" had failed" if self.failed else "")
        within = "" if self.within is None else f"less than {duration_in_words(self.within)} "
        return f"{within}{after}{with_the_same(self.same)}"
