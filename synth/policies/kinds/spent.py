"""Limits of what a run takes, which no call may begin beyond: time, and what its models used.

Only `limits:` at the head of a file states them. What models used stands in the field `usage` of a run
record, one entry for each reply: `model`, `input_tokens`, `output_tokens` (null where nobody told) and
`end_ns`, when the reply had come. Unknown usage breaks nothing, and keeps nothing either.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from operator import itemgetter
from typing import Any, ClassVar

from synth.formal.constraints import edges_of
from synth.formal.solver import PlanRule
from synth.judge.rules import Rules
from synth.judge.wording import calls_in_words
from synth.observed.run import USAGE
from synth.policies.evidence import Evidence, made_by
from synth.policies.kinds.duty import NO_TIMES, NOT_APPLICABLE, Judged, despite_gaps
from synth.policies.kinds.edits import Edit, without_the_last
from synth.policies.kinds.kind import Form, Reads, Traits
from synth.policies.kinds.plans import Slot
from synth.policies.kinds.times import duration_in_words
from synth.policies.names import Tools

ANY = Tools("any tool", ("*",))
_DATED = re.compile(r"-\d{4}-\d{2}-\d{2}\Z")
Rates = Mapping[str, tuple[int, int]]
"""Model -> what a token given to it, and one that it writes, count."""


class _Beyond:
    """What both have in common: a rule about every call."""

    forms: ClassVar[tuple[Form, ...]] = ()

    @property
    def tools(self) -> tuple[Tools, ...]:
        return (ANY,)

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        return despite_gaps(judged, opens=partial(seen.gaps.can_be, ANY), mends=lambda call: False)

    def edits(self, judged: Judged, seen: Evidence) -> Iterator[Edit]:
        """What goes beyond is left out."""
        return without_the_last(judged)

    def plan_rules(self, slots: Sequence[Slot]) -> tuple[PlanRule, ...]:
        return ()

    def flaws(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class Lasting(_Beyond):
    """No call begins more than a time after the first one began."""

    kind: ClassVar[str] = "lasting"
    most: int
    """Nanoseconds."""

    @property
    def traits(self) -> Traits:
        return Traits(subjects=(ANY,), reads=Reads(others=True))

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        calls = seen.attempts(ANY)
        if not calls:
            return NOT_APPLICABLE
        if not seen.has_times:
            return NO_TIMES
        scale = seen.times.scale
        edges = {i: edges_of(seen.times.start(i)) for i in calls}
        soonest, latest = (min(edge[side] // scale for edge in edges.values()) for side in (0, 1))
        if late := tuple(i for i in sorted(calls) if edges[i][0] // scale > latest + self.most):
            limit = duration_in_words(self.most)
            said = f"Calls may begin within {limit} of the first one; {calls_in_words(late)} began later."
            return Judged("violated", late, said)
        if perhaps := [i for i in calls if edges[i][1] // scale > soonest + self.most]:
            said = f"The recorded times leave open whether {made_by(perhaps[0], seen)} began in time."
            return Judged("undecided", (), said)
        return Judged("ok", (), "All calls began in time.")


@dataclass(frozen=True, slots=True)
class Spent(_Beyond):
    """No call begins once the models have used more than so much, as far as their replies told."""

    kind: ClassVar[str] = "spent"
    most: int
    limit: str
    """The same in words."""
    rates: Rates | None = None
    """None: each token counts one."""

    @property
    def traits(self) -> Traits:
        return Traits(subjects=(ANY,), messages=True, reads=Reads(), scope="run")

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        calls = seen.attempts(ANY)
        if not calls:
            return NOT_APPLICABLE
        said = seen.run.extra.get(USAGE)
        if not isinstance(said, list) or not said:
            return Judged("unsupported", (), "The run does not say what its models used.")
        if not seen.has_times:
            return NO_TIMES
        seen.budget.spend(len(said))
        replies = sorted(map(self._reply, said), key=itemgetter(0))
        ends, used = [end for end, _, _ in replies], [0, *accumulate(counted for _, counted, _ in replies)]
        unknown = next(((place, why) for place, (_, _, why) in enumerate(replies) if why), (len(replies), ""))
        late: list[int] = []
        open_: Judged | None = None
        for i in calls:
            lo, hi = (edge // seen.times.scale for edge in edges_of(seen.times.start(i)))
            slack = seen.skew_ns if "clock" in seen.calls[i].extra else 0
            come = bisect_right(ends, hi + slack)
            if used[bisect_right(ends, lo - slack)] > self.most:
                late.append(i)
            elif open_ is None and (unknown[0] < come or used[come] > self.most):
                why = unknown[1] if unknown[0] < come else "the recorded times leave it open"
                told = f"It is not known what was used before {made_by(i, seen)}: {why}."
                open_ = Judged("undecided", (), told)
        if late:
            broken = tuple(sorted(late))
            began = calls_in_words(broken)
            return Judged("violated", broken, f"No call may begin beyond {self.limit}; {began} did.")
        return open_ or Judged("ok", (), f"All calls began within {self.limit}.")

    def _reply(self, said: Any) -> tuple[int, int, str]:
        """(when it had come, what it counts at least, why that need not be all) of an entry of a record."""
        entry = said if isinstance(said, Mapping) else {}
        end = _whole(entry.get("end_ns"))
        counted, why = self.of(entry.get("model"), entry.get("input_tokens"), entry.get("output_tokens"))
        return (0, 0, "a reply has no time") if end is None else (end, counted, why)

    def of(self, model: Any, given: Any, written: Any) -> tuple[int, str]:
        """What a reply counts at least, and why that need not be all; empty where it is."""
        rate = (1, 1) if self.rates is None else rate_of(model, self.rates)
        if rate is None:
            named = isinstance(model, str)
            return 0, f"the file has no price of {model[:80]!r}" if named else "a reply names no model"
        tokens = _whole(given), _whole(written)
        counted = sum((number or 0) * each for number, each in zip(tokens, rate, strict=True))
        return counted, "" if None not in tokens else "a reply does not tell its tokens"


def rate_of(model: Any, rates: Rates) -> tuple[int, int] | None:
    """That of a model; `gpt-4o-2024-08-06` counts what `gpt-4o` does unless it has a rate of its own."""
    if not isinstance(model, str):
        return None
    found = rates.get(model)
    return rates.get(_DATED.sub("", model)) if found is None else found


def _whole(value: Any) -> int | None:
    known = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if known else None
