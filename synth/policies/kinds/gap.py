"""Gaps: the time between the end of one action and the start of another."""

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
from synth.policies.kinds.candidates import Ended, besides, is_besides
from synth.policies.kinds.duty import NO_TIMES, NOT_APPLICABLE, Duty, Judged, despite_gaps, judge_duties
from synth.policies.kinds.formulas import StartsAtLeast, StartsWithin
from synth.policies.kinds.kind import HAPPEN, MUST, Form, Paths, Sentence, Traits
from synth.policies.kinds.plans import Slot, needs_one, never_both, slots_besides, slots_of
from synth.policies.kinds.times import MINUTE, TIME, duration_in_words, nanoseconds
from synth.policies.names import Names, Tools


def _read(m: re.Match[str], names: Names, same: Paths) -> Gap:
    time = nanoseconds(m)
    pairs = names.pairs(m["b"], m["a"])
    return Gap(pairs, within=time) if m["how"].lower() == "within" else Gap(pairs, least=time)


@dataclass(frozen=True, slots=True)
class Gap:
    """Every attempt at `then` starts within, or at least, a time after a success of `first` ended."""

    kind: ClassVar[str] = "gap"
    forms: ClassVar[tuple[Form, ...]] = (
        Sentence(
            rf"(?P<a>.+?) {MUST} (?:start|begin|{HAPPEN}) (?P<how>within|at least) {TIME} "
            r"(?:after|of) (?P<b>.+)",
            _read,
        ),
    )
    pairs: tuple[tuple[Tools, Tools], ...]
    """(first, then) each."""
    within: int | None = None
    least: int | None = None
    """Nanoseconds, one of the two."""

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
        return judge_duties(
            [d for first, then in self.pairs for d in self._duties(first, then, seen)], seen, rules
        )

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        return despite_gaps(judged, opens=partial(self._opens, seen), mends=partial(self._mends, seen))

    def _opens(self, seen: Evidence) -> bool:
        return any(
            seen.gaps.can_be(then, *([first] if is_besides(then, first) else []))
            or (
                self.least is not None
                and seen.gaps.can_be(first)
                and any(map(seen.gaps.can_precede, seen.attempts(then)))
            )
            for first, then in self.pairs
        )

    def _mends(self, seen: Evidence, call: int) -> bool:
        pairs = [(first, then) for first, then in self.pairs if seen.calls[call].tool in then]
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

    def plan_rules(self, slots: Sequence[Slot]) -> Iterator[PlanRule]:
        least = (self.least or 0) / MINUTE
        most = None if self.within is None else self.within / MINUTE
        for first, then in self.pairs:
            for j in slots_besides(then, first, slots):
                yield needs_one(j, slots_of(first, slots), lambda w, i, j=j: w.gap(i, j, least, most))  # type: ignore[misc]
                for i in slots_of(first, slots) if self.least is not None else ():
                    yield never_both(
                        i, j, lambda w, i=i, j=j: w.any((w.before(j, i), w.gap(i, j, least, None)))  # type: ignore[misc]
                    )  # fmt: skip

    def flaws(self) -> tuple[str, ...]:
        return ()

    def _duties(self, first: Tools, then: Tools, seen: Evidence) -> Iterator[Duty]:
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
