"""Hours of certain days in which an action may, or must not, begin."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import ClassVar

from synth.errors import BadInput
from synth.formal.constraints import clock, edges_of
from synth.formal.solver import PlanRule
from synth.judge.rules import Rules
from synth.policies.evidence import Evidence
from synth.policies.kinds.duty import Judged
from synth.policies.kinds.edits import Edit, without_the_last
from synth.policies.kinds.kind import HAPPEN, MUST, Form, Paths, Reads, Sentence, Traits
from synth.policies.kinds.plans import Slot
from synth.policies.kinds.starts import judge_starts, unseen_starts
from synth.policies.kinds.times import local_time, zone_of
from synth.policies.kinds.weekdays import DAYS, NAMES, days_in, listed
from synth.policies.kinds.window import instant_of
from synth.policies.names import Names, Tools

MIDNIGHT = 24 * 60
_T = r"\d\d?:[0-5]\d"
_HOURS = rf"(?:between (?P<since>{_T}) and (?P<until>{_T})|after (?P<after>{_T})|before (?P<before>{_T}))"


def _minutes(text: str | None, otherwise: int) -> int:
    if text is None:
        return otherwise
    hours, minutes = map(int, text.split(":"))
    if hours * 60 + minutes > MIDNIGHT:
        raise BadInput(f"no time of the day is {text!r}")
    return hours * 60 + minutes


def _read(m: re.Match[str], names: Names, same: Paths, banned: bool = False) -> Timetable:
    since, until = _minutes(m["since"] or m["after"], 0), _minutes(m["until"] or m["before"], MIDNIGHT)
    if since >= until:
        raise BadInput("hours over midnight are of two days; write a policy for each of them")
    return Timetable(names.list(m["a"]), days_in(m["days"]), since, until, banned)


def _never(m: re.Match[str], names: Names, same: Paths) -> Timetable:
    return _read(m, names, same, banned=True)


@dataclass(frozen=True, slots=True)
class Timetable:
    """Every attempt starts in these hours of these days, in the file's time zone; if banned, in none of them.

    The first minute belongs to the hours, the last does not; when a call ends does not matter.
    """

    kind: ClassVar[str] = "timetable"
    forms: ClassVar[tuple[Form, ...]] = (
        Sentence(rf"(?P<a>.+?) {MUST} {HAPPEN} (?:only )?on {DAYS} {_HOURS}", _read),
        Sentence(rf"(?P<a>.+?) {MUST} only {HAPPEN} on {DAYS} {_HOURS}", _read),
        Sentence(rf"(?P<a>.+?) {MUST} (?:never|not) {HAPPEN} on {DAYS} {_HOURS}", _never),
    )
    what: tuple[Tools, ...]
    days: frozenset[int]
    """Monday is 0."""
    since: int
    until: int
    """Minutes after midnight."""
    banned: bool = False

    @property
    def tools(self) -> tuple[Tools, ...]:
        return self.what

    @property
    def traits(self) -> Traits:
        return Traits(subjects=self.what, reads=Reads())

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        return judge_starts(
            self.what, seen, self._kept, self._said,
            left_open="on which side of these hours it was",
            fine="Every call was in hours in which it may be.",
        )  # fmt: skip

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        return unseen_starts(judged, self.what, seen)

    def edits(self, judged: Judged, seen: Evidence) -> Iterator[Edit]:
        """Another hour is no plan of this run: what is at the wrong one is left out."""
        return without_the_last(judged)

    def plan_rules(self, slots: Sequence[Slot]) -> tuple[PlanRule, ...]:
        return ()

    def flaws(self) -> tuple[str, ...]:
        return ()

    @property
    def hours(self) -> str:
        """`between 09:00 and 17:00 on Friday`."""
        if self.until == MIDNIGHT:
            hours = f"after {clock(self.since)}"
        else:
            hours = f"between {clock(self.since)} and {clock(self.until)}"
            hours = hours if self.since else f"before {clock(self.until)}"
        return f"{hours} on {listed(self.days)}"

    def _kept(self, call: int, seen: Evidence) -> set[bool]:
        """What may be said of a call: at its earliest start, and at each edge until its latest."""
        zone = zone_of(seen.timezone)
        lo, hi = (edge // seen.times.scale for edge in edges_of(seen.times.start(call)))
        return {self._allows(local_time(at, zone)) for at in (lo, *self._edges(lo, hi, zone))}

    def _edges(self, lo: int, hi: int, zone: tzinfo) -> Iterator[int]:
        first, last = local_time(lo, zone), local_time(hi, zone)
        for k in range(min((last.date() - first.date()).days, 8) + 1):
            for minutes in (0, self.since, self.until):
                if lo < (at := instant_of(first + timedelta(days=k), minutes, zone)) <= hi:
                    yield at

    def _allows(self, at: datetime) -> bool:
        within = at.weekday() in self.days and self.since <= at.hour * 60 + at.minute < self.until
        return within is not self.banned

    def _said(self, call: int, seen: Evidence) -> str:
        phrase = next(tools.phrase for tools in self.what if seen.is_of(call, tools))
        began = local_time(edges_of(seen.times.start(call))[0] // seen.times.scale, zone_of(seen.timezone))
        may = "must not happen" if self.banned else "must happen"
        when = f"{NAMES[began.weekday()]} at {began:%H:%M:%S}"
        return f"{phrase} (call {call}) {may} {self.hours} ({seen.timezone}); it started on {when}."
