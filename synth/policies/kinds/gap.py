"""Gaps: the time between the end of one action and the start of another."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

from synth.formal.constraints import Times, Truth, edges_of
from synth.formal.solver import PlanRule, Slots
from synth.judge.rules import Rules
from synth.policies.evidence import Evidence
from synth.policies.kinds.candidates import Around, Ended, besides, unseen_besides
from synth.policies.kinds.duty import NO_TIMES, NOT_APPLICABLE, Duty, Judged, despite_gaps, judge_duties
from synth.policies.kinds.formulas import StartsAtLeast, StartsNear, StartsWithin
from synth.policies.kinds.kind import HAPPEN, MUST, Form, Paths, Sentence, Traits
from synth.policies.kinds.plans import Slot, needs_one, never_both, slots_besides, slots_of
from synth.policies.kinds.times import MINUTE, TIME, duration_in_words, nanoseconds
from synth.policies.names import Names, Tools


def _read(m: re.Match[str], names: Names, same: Paths) -> Gap:
    time = nanoseconds(m)
    pairs = names.pairs(m["b"], m["a"])
    if m["how"].lower() != "within":
        return Gap(pairs, least=time)
    return Gap(pairs, within=time, side=_SIDES[m["side"].lower()])


Side = Literal["after", "before", "around"]
_SIDES: dict[str, Side] = {"after": "after", "before": "before", "of": "around"}


@dataclass(frozen=True, slots=True)
class Gap:
    """Every attempt at `then` starts within, or at least, a time after a success of `first` ended.

    Or within a time before it started, or `around` it: on either side, or while it ran.
    """

    kind: ClassVar[str] = "gap"
    forms: ClassVar[tuple[Form, ...]] = (
        Sentence(
            rf"(?P<a>.+?) {MUST} (?:start|begin|{HAPPEN}) (?P<how>within) {TIME} "
            r"(?P<side>after|before|of) (?P<b>.+)",
            _read,
        ),
        Sentence(
            rf"(?P<a>.+?) {MUST} (?:start|begin|{HAPPEN}) (?P<how>at least) {TIME} (?:after|of) (?P<b>.+)",
            _read,
        ),
    )
    pairs: tuple[tuple[Tools, Tools], ...]
    """(first, then) each."""
    within: int | None = None
    least: int | None = None
    """Nanoseconds, one of the two."""
    side: Side = "after"
    """Only `after` with `least`."""

    @property
    def tools(self) -> tuple[Tools, ...]:
        return tuple(tools for pair in self.pairs for tools in pair)

    @property
    def traits(self) -> Traits:
        return Traits(subjects=tuple(then for _, then in self.pairs))

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        if not any(seen.attempts(then) for _, then in self.pairs):
            return NOT_APPLICABLE
        if not seen.has_times:
            return NO_TIMES
        duties = [d for first, then in self.pairs for d in self._duties(first, then, seen)]
        judged = judge_duties(duties, seen, rules)
        if judged.verdict != "violated" or self.side == "after" or seen.run.ended:
            return judged
        expired = tuple(i for i in judged.violations if self._expired(i, seen))
        if not expired:
            return Judged("undecided", (), f"Pending: {judged.explanation}")
        reasons = tuple((i, said) for i, said in judged.reasons if i in expired)
        return Judged("violated", expired, reasons[0][1], reasons=reasons)

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        return despite_gaps(judged, opens=partial(self._opens, seen), mends=partial(self._mends, seen))

    def _opens(self, seen: Evidence) -> bool:
        return any(
            unseen_besides(then, first, seen)
            or (
                self.least is not None
                and seen.gaps.can_be(first)
                and any(map(seen.gaps.can_precede, seen.attempts(then)))
            )
            for first, then in self.pairs
        )

    def _mends(self, seen: Evidence, call: int) -> bool:
        pairs = [(first, then) for first, then in self.pairs if seen.calls[call].tool in then]
        if self.side != "after":
            soon = seen.gaps.can_begin_by(self._last_start(call, seen))
            return soon and any(seen.gaps.can_be(first) for first, _ in pairs)
        if not seen.gaps.can_precede(call) or not any(seen.gaps.can_be(first) for first, _ in pairs):
            return False
        return not any(self._too_near(i, call, seen) for first, _ in pairs for i in seen.successes(first))

    def _too_near(self, first: int, then: int, seen: Evidence) -> bool:
        """Did `then` surely start too early after `first` had surely ended?"""
        times: Times = seen.times
        ended, start = times.end(first), times.start(then)
        return (
            self.least is not None
            and edges_of(ended)[1] <= edges_of(start)[0]
            and edges_of(start)[1] <= edges_of(times.later(ended, self.least - 1))[0]
        )

    def _expired(self, call: int, seen: Evidence) -> bool:
        """Has the time for what must come soon run out, as later calls of the open run show?"""
        limit = self._last_start(call, seen)
        return any(edges_of(start)[0] > limit for start in seen.times.starts.values())

    def _last_start(self, call: int, seen: Evidence) -> int:
        """The last instant at which a success that `call` needs may have started."""
        times: Times = seen.times
        return edges_of(times.later(times.start(call), self.within or 0))[1]

    def plan_rules(self, slots: Sequence[Slot]) -> Iterator[PlanRule]:
        least = (self.least or 0) / MINUTE
        most = None if self.within is None else self.within / MINUTE
        for first, then in self.pairs:
            for j in slots_besides(then, first, slots):
                if self.side != "after":
                    yield needs_one(j, slots_of(first, slots), partial(self._may_be_near, j))
                    continue
                yield needs_one(j, slots_of(first, slots), lambda w, i, j=j: w.gap(i, j, least, most))  # type: ignore[misc]
                for i in slots_of(first, slots) if self.least is not None else ():
                    yield never_both(
                        i, j, lambda w, i=i, j=j: w.any((w.before(j, i), w.gap(i, j, least, None)))  # type: ignore[misc]
                    )  # fmt: skip

    def _may_be_near(self, then: Slot, w: Slots, first: Slot) -> Truth:
        """Less than the rule says, which is enough to prove a contradiction."""
        return w.no(w.before(first, then)) if self.side == "before" else w.all([])

    def flaws(self) -> tuple[str, ...]:
        return ()

    def _duties(self, first: Tools, then: Tools, seen: Evidence) -> Iterator[Duty]:
        if self.side != "after":
            yield from self._near(first, then, seen)
            return
        ended = Ended(seen.successes(first), seen)
        for j in besides(seen.attempts(then), then, first, seen):
            options = ended.last_before(j)
            if self.within is not None:
                said = (
                    f"{then.phrase} (call {j}) did not start within {duration_in_words(self.within)} after "
                )
                yield Duty(j, StartsWithin(j, options, self.within), f"{said}{first.phrase}.")
            else:
                least = self.least or 0
                said = f"{then.phrase} (call {j}) did not start at least {duration_in_words(least)} after "
                yield Duty(j, StartsAtLeast(j, options, least), f"{said}{first.phrase}.")

    def _near(self, first: Tools, then: Tools, seen: Evidence) -> Iterator[Duty]:
        around, within = Around(seen.successes(first), seen), self.within or 0
        word = "before" if self.side == "before" else "of"
        for j in besides(seen.attempts(then), then, first, seen):
            kept = StartsNear(j, around.near(j), within, self.side == "around")
            said = f"{then.phrase} (call {j}) did not start within {duration_in_words(within)} {word} "
            yield Duty(j, kept, f"{said}{first.phrase}.")
