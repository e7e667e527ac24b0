"""Counts: how often an action may, or must, be done."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

from synth.counted import counted
from synth.formal.solver import PlanRule
from synth.judge.rules import Rules
from synth.judge.wording import calls_in_words
from synth.policies.evidence import Evidence
from synth.policies.kinds.duty import NOT_APPLICABLE, Judged, despite_gaps
from synth.policies.kinds.edits import Edit, begin_of, call_of, without_the_last
from synth.policies.kinds.kind import HAPPEN, MUST, PER, Form, Paths, Reads, Sentence, Traits, scope_of
from synth.policies.kinds.plans import COPIES, Slot, never_both, slots_of
from synth.policies.names import Names, Scope, Tools

_WORDS = (
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
_TENS = {"thirty": 30, "forty": 40, "forty-five": 45, "fifty": 50, "sixty": 60, "ninety": 90}
NUMBERS = {"once": 1, "twice": 2, **{word: count for count, word in enumerate(_WORDS, 1)}, **_TENS}


Ended = Literal["failed", "succeeded"]
"""Which calls a limit is of: those that ended so."""
ENDS = r"(?P<ends>fail|succeed)"
"""In a sentence; `ended_as` reads the match."""


def ended_as(m: re.Match[str]) -> Ended:
    return "failed" if m["ends"].lower() == "fail" else "succeeded"


def counted_calls(tools: Tools, ended: Ended | None, seen: Evidence) -> list[int]:
    """The attempts, or those that ended so."""
    return seen.attempts(tools) if ended is None else seen.ended_so(tools, ended == "failed")


def number_of(word: str) -> int:
    """`3`, `three`, `once`."""
    return int(word) if word.isdigit() else NUMBERS[word.lower()]


def _read(m: re.Match[str], names: Names, same: Paths) -> Count:
    count = number_of(m["n"])
    how = m["how"].lower()
    return Count(
        names.list(m["a"]),
        least=count if how in ("at least", "exactly") else None,
        most=count if how in ("at most", "exactly", "no more than") else None,
        per=scope_of(m),
    )


def _ends(m: re.Match[str], names: Names, same: Paths) -> Count:
    return Count(names.list(m["a"]), most=number_of(m["n"]), per=scope_of(m), ended=ended_as(m))


def _never_fails(m: re.Match[str], names: Names, same: Paths) -> Count:
    return Count(names.list(m["a"]), most=0, ended="failed")


def _never(m: re.Match[str], names: Names, same: Paths) -> Count:
    return Count(names.list(m["a"]), most=0)


@dataclass(frozen=True, slots=True)
class Count:
    """How often an action may, or must, be done.

    At most counts attempts, or calls that have `ended` so; at least counts successes, and so does exactly, on
    both sides.
    """

    kind: ClassVar[str] = "count"
    forms: ClassVar[tuple[Form, ...]] = (
        Sentence(
            rf"(?P<a>.+?) {MUST} {HAPPEN} (?P<how>at most|at least|exactly|no more than) "
            rf"(?P<n>\d{{1,6}}|{'|'.join(NUMBERS)})(?: times?)?{PER}",
            _read,
        ),
        Sentence(rf"(?P<a>.+?) {MUST} (?:never|not) {HAPPEN}", _never),
        Sentence(rf"(?P<a>.+?) {MUST} (?:never|not) fail", _never_fails),
        Sentence(
            rf"(?P<a>.+?) {MUST} {ENDS} (?:at most|no more than) "
            rf"(?P<n>[1-9]\d{{0,5}}|{'|'.join(NUMBERS)})(?: times?)?{PER}",
            _ends,
        ),
    )
    what: tuple[Tools, ...]
    least: int | None = None
    most: int | None = None
    per: Scope | None = None
    """The scope that the sentence names; None = that of the file."""
    ended: Ended | None = None
    """Which calls `most` limits, where there is no `least`; None = all that were tried."""

    @property
    def failed(self) -> bool:
        """Is it failures that are limited?"""
        return self.ended == "failed"

    @property
    def tools(self) -> tuple[Tools, ...]:
        return self.what

    @property
    def traits(self) -> Traits:
        forbids = self.what if self.most == 0 and self.ended is None else ()
        return Traits(subjects=(), forbids=forbids, order_alone=True, reads=Reads(), scope=self.per)

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        too_many = [i for tools in self.what for i in self._surplus(tools, seen) if seen.owns(i)]
        if too_many:
            phrase = next(t.phrase for t in self.what if not set(too_many).isdisjoint(self._surplus(t, seen)))
            said = f"{phrase} {self._limit()}; {calls_in_words(sorted(too_many))} went beyond that."
            return Judged("violated", tuple(sorted(too_many)), said)
        for tools in self.what if seen.tells_end else ():
            done = len(seen.successes(tools))
            if self.least is not None and done < self.least:
                said = f"{tools.phrase} succeeded {counted(done, 'time')}, at least {self.least} are needed."
                return Judged("violated" if seen.run.closed else "undecided", (), said, awaits=True)
        if self.least is None and not any(seen.attempts(tools) for tools in self.what):
            return NOT_APPLICABLE
        return Judged("ok", (), "The count is kept.")

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        if judged.verdict == "violated" and not judged.violations:
            lacking = [tools for tools in self.what if len(seen.successes(tools)) < (self.least or 0)]
            mended = all(
                len(seen.successes(tools)) + seen.gaps.of(tools).most >= (self.least or 0)
                for tools in lacking
            )
            return Judged("undecided", (), judged.explanation) if mended else judged
        return despite_gaps(judged, opens=partial(self._opens, judged, seen), mends=lambda call: False)

    def _opens(self, judged: Judged, seen: Evidence) -> bool:
        possible = [tools for tools in self.what if seen.gaps.can_be(tools)]
        if judged.verdict == "not_applicable":
            return bool(possible)
        return self.most is not None and any(
            len(self._counted(tools, seen)) + seen.gaps.of(tools).most > self.most for tools in possible
        )

    def edits(self, judged: Judged, seen: Evidence) -> Iterator[Edit]:
        """What goes beyond is left out; what is lacking is added at the end, or before everything else."""
        if judged.violations:
            yield from without_the_last(judged)
            return
        for tools in self.what:
            if len(seen.successes(tools)) < (self.least or 0):
                yield from call_of(tools, len(seen.calls), seen)
                yield from call_of(tools, begin_of(seen), seen)

    def plan_rules(self, slots: Sequence[Slot]) -> Iterator[PlanRule]:
        if self.failed:
            return  # in a plan every call succeeds
        for tools in self.what:
            own = slots_of(tools, slots)
            if self.least is not None and self.most is not None and self.least > self.most:
                yield lambda w: w.any([])
            if self.least:
                some = own[:1] if self.least == 1 and len(tools.names) == 1 else own
                yield lambda w, some=some: w.any(w.made(i) for i in some)  # type: ignore[misc]
            if self.least and self.least >= COPIES and len(tools.names) == 1:
                yield lambda w, own=own: w.all(w.made(i) for i in own)  # type: ignore[misc]
            if self.most == 0:
                yield lambda w, own=own: w.all(w.no(w.made(i)) for i in own)  # type: ignore[misc]
            if self.most == 1:
                yield from (never_both(i, j, lambda w: w.any([])) for i in own for j in own if i < j)

    def flaws(self) -> tuple[str, ...]:
        return ()

    def _surplus(self, tools: Tools, seen: Evidence) -> list[int]:
        return [] if self.most is None else self._counted(tools, seen)[self.most :]

    def _counted(self, tools: Tools, seen: Evidence) -> list[int]:
        """The calls that `most` limits."""
        return counted_calls(tools, self.ended if self.least is None else "succeeded", seen)

    def _limit(self) -> str:
        """What `most` demands, in words."""
        if self.least is not None:
            return f"must succeed exactly {counted(self.least, 'time')}"
        if self.ended is not None:
            do = "fail" if self.failed else "succeed"
            return f"may {do} at most {counted(self.most or 0, 'time')}" if self.most else f"must never {do}"
        return f"may happen at most {counted(self.most, 'time')}" if self.most else "may happen never"
