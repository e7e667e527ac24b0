"""Gaps: the time between the end of one action and the start of another."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

from synth.errors import BadInput
from synth.formal.constraints import Times, Truth, edges_of
from synth.formal.solver import PlanRule, Slots
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
from synth.policies.kinds.candidates import (
    Around,
    Ended,
    besides,
    owned,
    unseen_besides,
    without_arguments,
)
from synth.policies.kinds.duty import (
    NO_TIMES,
    NOT_APPLICABLE,
    Duty,
    Judged,
    despite_gaps,
    judge_duties,
    unless_later,
)
from synth.policies.kinds.formulas import Late, StartsAtLeast, StartsNear, StartsWithin
from synth.policies.kinds.kind import HAPPEN, MUST, Form, Paths, Reads, Sentence, Traits
from synth.policies.kinds.plans import Slot, needs_one, never_both, slots_besides, slots_of
from synth.policies.kinds.sweeps import (
    Some,
    start_of,
    starting_soon,
    starts_at_least,
    starts_near,
    starts_within,
)
from synth.policies.kinds.times import MINUTE, TIME, duration_in_words, nanoseconds
from synth.policies.names import Names, Tools, TwoReadings


def _read(m: re.Match[str], names: Names, same: Paths) -> Gap:
    time = nanoseconds(m)
    pairs = names.pairs(m["b"], m["a"])
    if m["how"].lower() != "within":
        if any(first.either for first, _ in pairs):
            raise TwoReadings("a time after one `or` the other may count from either; write two policies")
        return Gap(pairs, least=time)
    side = _SIDES[m["side"].lower()]
    if same and side != "after":
        raise BadInput("a time before or around another call compares no arguments")
    return Gap(pairs, within=time, side=side, same=same)


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
            same=True,
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
    same: Paths = ()
    """Of a time within after a success: it counts only with equal arguments."""

    @property
    def tools(self) -> tuple[Tools, ...]:
        return tuple(tools for pair in self.pairs for tools in pair)

    @property
    def traits(self) -> Traits:
        return Traits(
            subjects=tuple(then for _, then in self.pairs), reads=Reads(self.tools if self.same else ())
        )

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        if not any(seen.attempts(then) for _, then in self.pairs):
            return NOT_APPLICABLE
        if not seen.has_times:
            return NO_TIMES
        if self.same and without_arguments(seen, self.tools):
            return Judged("unsupported", (), "The arguments of the calls were not recorded.")
        if self.same:
            compared = [d for first, then in self.pairs for d in self._compared(first, then, seen)]
            return judge_compared(compared, self.same, seen, rules)
        duties = [d for first, then in self.pairs for d in self._duties(first, then, seen)]
        judged = judge_duties(duties, seen, rules)
        return judged if self.side == "after" else unless_later(judged, seen, partial(self._last_start, seen))

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        near = [starting_soon(seen.successes(first), (self.least or 1) - 1, seen) for first, _ in self.pairs]
        return despite_gaps(judged, opens=partial(self._opens, seen), mends=partial(self._mends, seen, near))

    def _opens(self, seen: Evidence) -> bool:
        return any(
            bool(unseen_besides(then, first, seen))
            or (self.least is not None and any(map(seen.gaps.of(first).can_precede, seen.attempts(then))))
            for first, then in self.pairs
        )

    def _mends(self, seen: Evidence, near: Sequence[Some], call: int) -> bool:
        """`near`: of each pair, the successes and how long after them is too early."""
        at = [k for k, (_, then) in enumerate(self.pairs) if seen.calls[call].tool in then]
        firsts = [seen.gaps.of(self.pairs[k][0]) for k in at]
        if self.side != "after":
            latest = self._last_start(seen, call)
            return any(gaps.can_begin_by(latest) for gaps in firsts)
        if not any(gaps.can_precede(call) for gaps in firsts):
            return False
        start = start_of(call, seen)
        return self.least is None or not any(near[k].holds(call, start, start) for k in at)

    def _last_start(self, seen: Evidence, call: int) -> int:
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
        options = seen.successes(first)
        ended = Ended(options, seen)
        if self.within is not None:
            kind: type[StartsWithin | StartsAtLeast] = StartsWithin
            time, word = self.within, "within"
            sweep = starts_within(options, time, seen)
        else:
            kind, time, word = StartsAtLeast, self.least or 0, "at least"
            sweep = starts_at_least(options, time, seen)
        limit = f"{word} {duration_in_words(time)} after {first.phrase}."
        for j in owned(besides(seen.attempts(then), then, first, seen), seen):
            kept = Late(kind, j, ended.last_before, (time,))
            yield Duty(j, kept, f"{then.phrase} (call {j}) did not start {limit}", sweep=sweep)

    def _compared(self, first: Tools, then: Tools, seen: Evidence) -> Iterator[Compared]:
        """Those that a success with the same arguments must lie shortly before."""
        time = self.within or 0

        def pool(calls: Sequence[int]) -> Pool:
            return Pool(Ended(calls, seen).last_before, starts_within(calls, time, seen), bool(calls))

        pools = Pools(Alike(seen.successes(first), 0, self.same, seen), pool)
        limit = f"within {duration_in_words(time)} after {first.phrase}{with_the_same(self.same)}."
        for j in owned(besides(seen.attempts(then), then, first, seen), seen):
            said = f"{then.phrase} (call {j}) did not start {limit}"
            yield pools.compared(j, 1, values_of(j, 1, self.same, seen), StartsWithin, (time,), said)

    def _near(self, first: Tools, then: Tools, seen: Evidence) -> Iterator[Duty]:
        options, within, after = seen.successes(first), self.within or 0, self.side == "around"
        around, sweep = Around(options, within, after, seen), starts_near(options, within, after, seen)
        word = "before" if self.side == "before" else "of"
        limit = f"within {duration_in_words(within)} {word} {first.phrase}."
        for j in owned(besides(seen.attempts(then), then, first, seen), seen):
            kept = Late(StartsNear, j, around.near, (within, after))
            yield Duty(j, kept, f"{then.phrase} (call {j}) did not start {limit}", sweep=sweep)
