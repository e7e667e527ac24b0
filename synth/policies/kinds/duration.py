"""Durations: how long a call of an action may take."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from synth.formal.constraints import Bounds
from synth.formal.solver import PlanRule
from synth.judge.rules import Rules
from synth.policies.evidence import Evidence, made_by
from synth.policies.kinds.duty import NO_TIMES, Judged, despite_gaps
from synth.policies.kinds.kind import MUST, Form, Paths, Reads, Sentence, Traits
from synth.policies.kinds.plans import Slot
from synth.policies.kinds.tally import Weighed, asked, judge_weighed
from synth.policies.kinds.times import TIME, duration_in_words, nanoseconds
from synth.policies.names import Names, Tools


def _read(m: re.Match[str], names: Names, same: Paths) -> Duration:
    return Duration(names.list(m["a"]), nanoseconds(m), bool(m["less"]))


@dataclass(frozen=True, slots=True)
class Duration:
    """Each call of an action, failed ones too, has ended at most so long after it began; or less than that.

    Of a call that was not seen to end nothing is known.
    """

    kind: ClassVar[str] = "duration"
    forms: ClassVar[tuple[Form, ...]] = (
        Sentence(
            rf"(?P<a>.+?) {MUST} take (?:at most|no more than|(?P<less>less than)) (?=.*[1-9]){TIME}", _read
        ),
    )
    what: tuple[Tools, ...]
    time: int
    """Nanoseconds."""
    less: bool = False
    """Is what takes exactly so long too long?"""

    @property
    def tools(self) -> tuple[Tools, ...]:
        return self.what

    @property
    def traits(self) -> Traits:
        return Traits(subjects=self.what, reads=Reads())

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        if any(seen.attempts(tools) for tools in self.what) and not seen.has_times:
            return NO_TIMES
        return judge_weighed(self._each(seen), seen, "Each call ended in time.")

    def _each(self, seen: Evidence) -> Iterator[Weighed]:
        for tools in self.what:
            for i in asked(seen.attempts(tools), seen):
                if not seen.calls[i].finished:
                    yield Weighed(i, None, "", partial(_not_ended, i, seen))
                    continue
                least, most = _lasted(i, seen)
                kept = True if self._is_short(most) else None if self._is_short(least) else False
                said = f"{tools.phrase} (call {i}) took {self._too_long}."
                yield Weighed(i, kept, said, partial(_not_known, i, seen))

    def _is_short(self, time: int) -> bool:
        return time < self.time if self.less else time <= self.time

    @property
    def _too_long(self) -> str:
        said = duration_in_words(self.time)
        return f"{said} or longer" if self.less else f"longer than {said}"

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        return despite_gaps(judged, opens=partial(self._opens, seen), mends=lambda call: False)

    def _opens(self, seen: Evidence) -> bool:
        return any(seen.gaps.can_be(tools) for tools in self.what)

    def plan_rules(self, slots: Sequence[Slot]) -> tuple[PlanRule, ...]:
        return ()

    def flaws(self) -> tuple[str, ...]:
        return ()


def _lasted(call: int, seen: Evidence) -> tuple[int, int]:
    """The least and the most that it took, by its own clock."""
    scale = seen.times.scale
    (first, last), (least, most) = (_by_its_clock(at(call)) for at in (seen.times.start, seen.times.end))
    return max(least // scale - last // scale, 0), most // scale - first // scale


def _by_its_clock(instant: Any) -> tuple[int, int]:
    if not isinstance(instant, Bounds):
        return instant, instant
    own = instant.by_its_clock if instant.clock else instant
    return own.lo, own.hi


def _not_ended(call: int, seen: Evidence) -> Judged:
    said = f"{made_by(call, seen)} was not seen to end."
    return Judged("undecided", (), said, awaits=not seen.run.closed)


def _not_known(call: int, seen: Evidence) -> Judged:
    return Judged("undecided", (), f"The recorded times leave open how long {made_by(call, seen)} took.")
