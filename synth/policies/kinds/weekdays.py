"""Days of the week on which an action may happen."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from synth.formal.constraints import edges_of
from synth.formal.solver import PlanRule
from synth.judge.rules import Rules
from synth.policies.evidence import Evidence
from synth.policies.kinds.duty import Judged
from synth.policies.kinds.edits import Edit, without_the_last
from synth.policies.kinds.kind import HAPPEN, MUST, Form, Paths, Reads, Sentence, Traits
from synth.policies.kinds.plans import Slot
from synth.policies.kinds.starts import judge_starts, unseen_starts
from synth.policies.kinds.times import local_days, zone_of
from synth.policies.names import Names, Tools

NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
WEEK = frozenset(range(7))
WORKING = frozenset(range(5))
_DAY = rf"(?:{'|'.join(f'{name}s?' for name in NAMES)}|weekdays?|weekends?|working days?)"
DAYS = rf"(?P<days>{_DAY}(?:(?:, |,? and |,? or ){_DAY})*|{_DAY} (?:to|through|until) {_DAY})"


def days_in(text: str) -> frozenset[int]:
    """`Fridays`, `Saturday and Sunday`, `Monday to Thursday`, `weekdays`."""
    said = [_one(word) for word in re.findall(_DAY, text, re.IGNORECASE)]
    if re.search(r" (?:to|through|until) ", text, re.IGNORECASE):
        first, last = min(said[0]), max(said[-1])
        return frozenset(day % 7 for day in range(first, last + (1 if first <= last else 8)))
    return frozenset().union(*said)


def _one(word: str) -> frozenset[int]:
    day = word.lower().removesuffix("s")
    if day in ("weekday", "working day"):
        return WORKING
    return WEEK - WORKING if day == "weekend" else frozenset([[*map(str.lower, NAMES)].index(day)])


def _only(m: re.Match[str], names: Names, same: Paths) -> Weekdays:
    return Weekdays(names.list(m["a"]), days_in(m["days"]))


def _never(m: re.Match[str], names: Names, same: Paths) -> Weekdays:
    return Weekdays(names.list(m["a"]), WEEK - days_in(m["days"]))


@dataclass(frozen=True, slots=True)
class Weekdays:
    """Every attempt starts on one of these days, in the file's time zone. When it ends does not matter."""

    kind: ClassVar[str] = "weekdays"
    forms: ClassVar[tuple[Form, ...]] = (
        Sentence(rf"(?P<a>.+?) {MUST} {HAPPEN} (?:only )?(?:on|during) {DAYS}(?: only)?", _only),
        Sentence(rf"(?P<a>.+?) {MUST} only {HAPPEN} (?:on|during) {DAYS}", _only),
        Sentence(rf"(?P<a>.+?) {MUST} (?:never|not) {HAPPEN} (?:on|during) {DAYS}", _never),
    )
    what: tuple[Tools, ...]
    days: frozenset[int]
    """Those on which it may happen; Monday is 0."""

    @property
    def tools(self) -> tuple[Tools, ...]:
        return self.what

    @property
    def traits(self) -> Traits:
        return Traits(subjects=self.what, forbids=() if self.days else self.what, reads=Reads())

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        return judge_starts(
            self.what, seen, self._kept, self._said,
            left_open="on which day it was", fine="Every call was on a day on which it may be.",
        )  # fmt: skip

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        return unseen_starts(judged, self.what, seen)

    def edits(self, judged: Judged, seen: Evidence) -> Iterator[Edit]:
        """Another day is no plan of this run: what is on the wrong one is left out."""
        return without_the_last(judged)

    def plan_rules(self, slots: Sequence[Slot]) -> tuple[PlanRule, ...]:
        return ()

    def flaws(self) -> Iterator[str]:
        if self.days == WEEK:
            yield "every day of the week is allowed"

    def _kept(self, call: int, seen: Evidence) -> set[bool]:
        return {day in self.days for day in _on(call, seen)}

    def _said(self, call: int, seen: Evidence) -> str:
        phrase = next(tools.phrase for tools in self.what if seen.is_of(call, tools))
        when = " or ".join(NAMES[day] for day in sorted(_on(call, seen)))
        may = f"on {listed(self.days)}" if self.days else "on no day"
        return f"{phrase} (call {call}) may happen {may} ({seen.timezone}); it started on {when}."


def listed(days: frozenset[int]) -> str:
    names = [NAMES[day] for day in sorted(days)]
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _on(call: int, seen: Evidence) -> frozenset[int]:
    """The days on which a call may have started."""
    lo, hi = (edge // seen.times.scale for edge in edges_of(seen.times.start(call)))
    first, last = local_days(lo, hi, zone_of(seen.timezone))
    return frozenset((day - 1) % 7 for day in range(first, min(last, first + 6) + 1))
