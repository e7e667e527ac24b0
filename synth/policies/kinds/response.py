"""Answers: a success must be followed by a success of another action."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from synth.formal.constraints import Times, edges_of
from synth.formal.solver import PlanRule
from synth.judge.rules import Rules
from synth.policies.evidence import Evidence
from synth.policies.kinds.arguments import Compared, judge_compared, values_of
from synth.policies.kinds.candidates import (
    any_calls,
    besides,
    followers,
    unseen_besides,
    without_arguments,
)
from synth.policies.kinds.duty import NO_TIMES, Duty, Judged, despite_gaps
from synth.policies.kinds.formulas import SomeStartsAfter
from synth.policies.kinds.kind import MUST, Form, Paths, Sentence, Traits
from synth.policies.kinds.plans import Slot, needs_one, slots_besides, slots_of
from synth.policies.kinds.times import MINUTE, TIME, duration_in_words, nanoseconds
from synth.policies.names import Names, Tools


def _read(m: re.Match[str], names: Names, same: Paths) -> Response:
    return Response(names.pairs(m["a"], m["b"]), nanoseconds(m) if m["amount"] else None, same)


@dataclass(frozen=True, slots=True)
class Response:
    """Every success of `trigger` must be followed by a success of `answer`, within a time if asked."""

    kind: ClassVar[str] = "response"
    forms: ClassVar[tuple[Form, ...]] = (
        Sentence(rf"(?P<a>.+?) {MUST} be followed by (?P<b>.+?)(?:,? within {TIME})?", _read, same=True),
    )
    pairs: tuple[tuple[Tools, Tools], ...]
    """(trigger, answer) each."""
    within: int | None = None
    """Nanoseconds."""
    same: Paths = ()

    @property
    def tools(self) -> tuple[Tools, ...]:
        return tuple(tools for pair in self.pairs for tools in pair)

    @property
    def traits(self) -> Traits:
        return Traits(subjects=tuple(trigger for trigger, _ in self.pairs))

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        if self.within is not None and not seen.has_times and any_calls(seen, self.pairs):
            return NO_TIMES
        if self.same and without_arguments(seen, [tools for pair in self.pairs for tools in pair]):
            return Judged("unsupported", (), "The arguments of the calls were not recorded.")
        duties = [d for trigger, answer in self.pairs for d in self._duties(trigger, answer, seen)]
        judged = judge_compared(duties, self.same, seen, rules)
        if judged.verdict == "violated" and not seen.run.ended:
            expired = tuple(i for i in judged.violations if self._expired(i, seen))
            if not expired:
                return Judged("undecided", (), f"Pending: {judged.explanation}")
            return Judged("violated", expired, judged.explanation)
        return judged

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        return despite_gaps(judged, opens=partial(self._opens, seen), mends=partial(self._mends, seen))

    def _opens(self, seen: Evidence) -> bool:
        return any(unseen_besides(trigger, answer, seen) for trigger, answer in self.pairs)

    def _mends(self, seen: Evidence, call: int) -> bool:
        if not seen.gaps.can_follow(call):
            return False
        if self.within is not None and not seen.gaps.can_begin_by(self._limit(call, seen)):
            return False
        return any(
            seen.gaps.can_be(answer) for trigger, answer in self.pairs if seen.calls[call].tool in trigger
        )

    def plan_rules(self, slots: Sequence[Slot]) -> Iterator[PlanRule]:
        most = None if self.within is None else self.within / MINUTE
        for trigger, answer in self.pairs:
            for i in slots_besides(trigger, answer, slots):
                yield needs_one(i, slots_of(answer, slots), lambda w, j, i=i: w.gap(i, j, 0, most))  # type: ignore[misc]

    def flaws(self) -> tuple[str, ...]:
        return ()

    def _expired(self, trigger: int, seen: Evidence) -> bool:
        """Has the time for an answer run out, as later calls of the open run show?"""
        if self.within is None:
            return False
        limit = self._limit(trigger, seen)
        return any(edges_of(start)[0] > limit for start in seen.times.starts.values())

    def _limit(self, trigger: int, seen: Evidence) -> int:
        """The last instant at which an answer may have come in time."""
        times: Times = seen.times
        return edges_of(times.later(times.end(trigger), self.within or 0))[1]

    def _duties(self, trigger: Tools, answer: Tools, seen: Evidence) -> Iterator[Compared]:
        answers: dict[Any, list[int]] = {}
        for j in seen.successes(answer):
            answers.setdefault(values_of(j, 1, self.same, seen), []).append(j)
        for calls in answers.values():
            calls.sort(key=lambda j: edges_of(seen.times.start(j))[0])
        bare = answers.pop(None, [])
        limit = "" if self.within is None else f" within {duration_in_words(self.within)}"
        for i in besides(seen.successes(trigger), trigger, answer, seen):
            values = values_of(i, 0, self.same, seen)
            options = followers(answers.get(values, ()), seen, i)
            more = followers(bare, seen, i)
            said = f"{trigger.phrase} (call {i}) was not followed by {answer.phrase}{limit}."
            duty = Duty(i, SomeStartsAfter(i, options, self.within), said)
            if values is None:
                yield Compared(duty, None, ((i, 0),))
            else:
                wider = SomeStartsAfter(i, (*options, *more), self.within)
                yield Compared(duty, Duty(i, wider, said) if more else duty, tuple((j, 1) for j in more))
