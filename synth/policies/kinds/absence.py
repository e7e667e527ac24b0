"""Absence: what must not be called any more once an action has succeeded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from synth.formal.solver import PlanRule
from synth.judge.rules import Rules
from synth.policies.evidence import Evidence
from synth.policies.kinds.candidates import Ended, owned
from synth.policies.kinds.duty import NOT_APPLICABLE, Duty, Judged, despite_gaps, judge_duties
from synth.policies.kinds.edits import Drop, Edit, Move, blamed
from synth.policies.kinds.formulas import Late, NoneEndedBefore
from synth.policies.kinds.kind import HAPPEN, MUST, Form, Paths, Reads, Sentence, Traits
from synth.policies.kinds.plans import Slot, never_both, slots_of
from synth.policies.kinds.sweeps import none_ended_before
from synth.policies.names import Names, Tools


def _read(m: re.Match[str], names: Names, same: Paths) -> AbsenceAfter:
    return AbsenceAfter(names.pairs(m["b"], m["a"]))


@dataclass(frozen=True, slots=True)
class AbsenceAfter:
    """Once `trigger` has succeeded, `what` must not be called any more."""

    kind: ClassVar[str] = "absence_after"
    forms: ClassVar[tuple[Form, ...]] = (
        Sentence(rf"(?P<a>.+?) {MUST} (?:never|not) {HAPPEN} after (?P<b>.+)", _read),
    )
    pairs: tuple[tuple[Tools, Tools], ...]
    """(trigger, what) each."""

    @property
    def tools(self) -> tuple[Tools, ...]:
        return tuple(tools for pair in self.pairs for tools in pair)

    @property
    def traits(self) -> Traits:
        return Traits(subjects=tuple(trigger for trigger, _ in self.pairs), reads=Reads())

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        triggered = [(trigger, what) for trigger, what in self.pairs if seen.successes(trigger)]
        if not triggered:
            return NOT_APPLICABLE
        duties = [duty for trigger, what in triggered for duty in self._duties(trigger, what, seen)]
        if not duties:
            return Judged("ok", (), "Nothing that is forbidden was called.")
        return judge_duties(duties, seen, rules)

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        return despite_gaps(judged, opens=partial(self._opens, seen), mends=lambda call: False)

    def _opens(self, seen: Evidence) -> bool:
        gaps = seen.gaps
        for trigger, what in self.pairs:
            started, followed = gaps.of(trigger), gaps.of(what)
            if started and followed and gaps.most > 1:
                return True
            if started and any(map(started.can_precede, seen.attempts(what))):
                return True
            if followed and any(map(followed.can_follow, seen.successes(trigger))):
                return True
            if started and not any(seen.successes(one) for one, _ in self.pairs):
                return True  # it would be ok instead of not applicable
        return False

    def edits(self, judged: Judged, seen: Evidence) -> Iterator[Edit]:
        """It comes before what forbids it, or that after it; or it is left out."""
        for call, trigger in blamed(judged, seen, self.pairs, 1):
            for i in seen.successes(trigger)[:1]:
                yield Move(call, i)
                yield Move(i, call + 1)
            yield Drop(call)

    def plan_rules(self, slots: Sequence[Slot]) -> Iterator[PlanRule]:
        for trigger, what in self.pairs:
            for i in slots_of(trigger, slots):
                for j in slots_of(what, slots):
                    if i != j:
                        yield never_both(i, j, lambda w, i=i, j=j: w.no(w.before(i, j)))  # type: ignore[misc]

    def flaws(self) -> tuple[str, ...]:
        return ()

    def _duties(self, trigger: Tools, what: Tools, seen: Evidence) -> Iterator[Duty]:
        ended = Ended(seen.successes(trigger), seen)
        sweep = none_ended_before(seen.successes(trigger), seen)
        for j in owned(seen.attempts(what), seen):
            name = what.phrase if "*" not in what.names else seen.calls[j].tool
            others = ended.named(j)
            said = f"{name} (call {j}) came after {trigger.phrase}" + (f" ({others})." if others else ".")
            yield Duty(j, Late(NoneEndedBefore, j, ended.before), said, sweep=sweep)
