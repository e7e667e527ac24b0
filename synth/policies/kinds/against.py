"""Arguments against arguments: a value of one call compared with that of the latest call of another."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar, Literal

from synth.formal.partly import Unknown, is_whole
from synth.formal.solver import PlanRule
from synth.judge.rules import Rules
from synth.policies.evidence import MISSING, Evidence, key_of, made_by
from synth.policies.kinds.arguments import (
    Alike,
    lacking_in_words,
    named,
    never_given,
    values_of,
    with_the_same,
)
from synth.policies.kinds.candidates import without_arguments
from synth.policies.kinds.duty import Judged, despite_gaps
from synth.policies.kinds.kind import MUST, Form, Paths, Reads, Sentence, Traits
from synth.policies.kinds.plans import Slot
from synth.policies.kinds.sweeps import end_of, start_of
from synth.policies.kinds.tally import Likewise, Weighed, asked, judge_weighed
from synth.policies.kinds.total import number_in
from synth.policies.names import Names, Tools, TwoReadings

How = Literal["at most", "at least", "less than", "more than", "equal", "differ from"]

_FIELD = r"[^\s,;.]+(?:\.[^\s,;.]+)*"
_HOW: tuple[tuple[str, How], ...] = (
    (rf"{MUST} be (?:at most|no more than)", "at most"),
    (rf"{MUST} (?:not|never) (?:exceed|be (?:more|higher|larger|greater) than|be above)", "at most"),
    (rf"{MUST} be (?:at least|no less than)", "at least"),
    (rf"{MUST} (?:not|never) be (?:less|lower|smaller) than", "at least"),
    (rf"{MUST} be (?:less|lower|smaller) than", "less than"),
    (rf"{MUST} be (?:more|higher|larger|greater) than", "more than"),
    (rf"{MUST} (?:equal|be equal to|be the same as|match)", "equal"),
    (rf"{MUST} (?:differ from|be different from|not equal|not be (?:the same as|equal to))", "differ from"),
)
ANY_HOW = "|".join(pattern for pattern, _ in _HOW)


def _read(m: re.Match[str], names: Names, same: Paths) -> Against:
    own, other = names.list(m["a"]), names.list(m["b"])
    if len(own) > 1 or len(other) > 1:
        raise TwoReadings("values of one action are compared with those of one; write a policy for each")
    how = next(name for pattern, name in _HOW if re.fullmatch(pattern, m["how"], re.IGNORECASE))
    return Against(
        own[0], tuple(m["f"].split(".")), how, other[0], tuple((m["g"] or m["f"]).split(".")), same
    )


_COMPARED: dict[How, Callable[[Fraction, Fraction], bool]] = {
    "at most": lambda a, b: a <= b,
    "at least": lambda a, b: a >= b,
    "less than": lambda a, b: a < b,
    "more than": lambda a, b: a > b,
}


@dataclass(frozen=True, slots=True)
class Against:
    """An argument of each attempt at an action against one of the latest success of another before it.

    With `same`, of the latest with equal arguments. Where there was none before, nothing is asked. Numbers
    are compared as they are written; what is more or less than another is a number.
    """

    kind: ClassVar[str] = "against"
    forms: ClassVar[tuple[Form, ...]] = (
        Sentence(
            rf"the (?:args\.)?(?P<f>{_FIELD}) of (?P<a>.+?) (?P<how>{ANY_HOW}) "
            rf"(?:the (?:args\.)?(?P<g>{_FIELD})|that) of (?P<b>.+)",
            _read,
            same=True,
        ),
    )
    what: Tools
    path: tuple[str, ...]
    how: How
    other: Tools
    beside: tuple[str, ...]
    """The argument of the other action."""
    same: Paths = ()

    @property
    def tools(self) -> tuple[Tools, ...]:
        return (self.what, self.other)

    @property
    def traits(self) -> Traits:
        return Traits(subjects=(self.what,), order_alone=True, reads=Reads(arguments=self.tools))

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        if without_arguments(seen, self.tools):
            return Judged("unsupported", (), "The arguments of the calls were not recorded.")
        return judge_weighed(self._each(seen), seen, "Each value is as it must be.")

    def _each(self, seen: Evidence) -> Iterator[Weighed]:
        """Each attempt, compared with every success that may have been the latest before it."""
        calls = seen.successes(self.other)
        likewise = Likewise(Alike(calls, 0, self.same, seen))
        made: dict[int, _Latest] = {}
        for j in asked(seen.attempts(self.what), seen):
            values = values_of(j, 1, self.same, seen)
            surely, perhaps = likewise.of(values)
            latest = made.setdefault(id(surely), _Latest(surely, seen))
            found, must = latest.before(j)
            maybe = [i for i in perhaps if i != j and end_of(i, seen)[0] <= start_of(j, seen)[1]]
            seen.budget.spend(len(found) + len(perhaps))
            answers = {self._compared(j, i, seen) for i in (*found, *maybe)} | ({True} if not must else set())
            kept = True if answers == {True} else None
            if answers == {False}:
                kept = False
            shown = found[-1] if found else None
            said = f"The {named(self.path)} of {self.what.phrase} (call {j}) {self._wrong(shown, seen)}."
            yield Weighed(j, kept, said, partial(self._why_open, j, found, maybe, values.said is None, seen))

    def _compared(self, own: int, other: int, seen: Evidence) -> bool | None:
        a, b = seen.argument(own, self.path), seen.argument(other, self.beside)
        if any(value is MISSING or not is_whole(value) for value in (a, b)):
            return None
        if self.how in ("equal", "differ from"):
            return (key_of(a) == key_of(b)) is (self.how == "equal")
        one, two = number_in(a), number_in(b)
        return None if one is None or two is None else _COMPARED[self.how](one, two)

    def _wrong(self, other: int | None, seen: Evidence) -> str:
        where = "" if other is None else f" (call {other})"
        be = "be " if self.how in _COMPARED else ""
        beside = f"the {named(self.beside)} of {self.other.phrase}{where}{with_the_same(self.same)}"
        return f"must {be}{self.how} {beside}"

    def _why_open(
        self, call: int, found: Sequence[int], maybe: Sequence[int], bare: bool, seen: Evidence
    ) -> Judged:
        if bare:
            return lacking_in_words([(call, 1)], self.same, seen)
        if maybe:
            return lacking_in_words([(i, 0) for i in maybe], self.same, seen)
        for i, path, tools in [(call, self.path, self.what), *((i, self.beside, self.other) for i in found)]:
            if (unread := self._unread(i, path, tools, seen)) is not None:
                return unread
        said = f"The recorded times leave open which call {made_by(call, seen)} follows."
        return Judged("undecided", (), said)

    def _unread(self, call: int, path: Sequence[str], tools: Tools, seen: Evidence) -> Judged | None:
        """Why the value of a call cannot be compared; None where it can."""
        value = seen.argument(call, path)
        if value is MISSING and (said := never_given(path, seen.attempts(tools), seen)):
            return Judged("unsupported", (), said)
        if value is MISSING:
            return Judged("undecided", (), f"{made_by(call, seen)} has no argument {named(path)!r}.")
        if isinstance(value, Unknown):
            why = value.what
        elif not is_whole(value):
            why = "is not known in full"
        elif self.how in _COMPARED and number_in(value) is None:
            why = "is not a number"
        else:
            return None
        return Judged("undecided", (), f"The argument {named(path)!r} of {made_by(call, seen)} {why}.")

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        return despite_gaps(judged, opens=partial(self._opens, seen), mends=partial(self._mends, seen))

    def _opens(self, seen: Evidence) -> bool:
        own, other = (seen.gaps.of(tools) for tools in self.tools)
        if own and not seen.attempts(self.what):
            return True
        if own and (seen.successes(self.other) or (other and seen.gaps.most > 1)):
            return True
        return bool(other) and any(map(other.can_precede, seen.attempts(self.what)))

    def _mends(self, seen: Evidence, call: int) -> bool:
        return seen.gaps.of(self.other).can_precede(call)

    def plan_rules(self, slots: Sequence[Slot]) -> tuple[PlanRule, ...]:
        return ()

    def flaws(self) -> tuple[str, ...]:
        return ()


class _Latest:
    """Calls by the instant they ended, to find those that can have been the last to end before another."""

    def __init__(self, calls: Sequence[int], seen: Evidence) -> None:
        self._seen = seen
        self._calls = sorted(calls, key=lambda i: end_of(i, seen)[0])
        self._los: list[float] = [end_of(i, seen)[0] for i in self._calls]
        self._reach: list[float] = []
        for i in self._calls:
            hi = end_of(i, seen)[1]
            self._reach.append(max(hi, self._reach[-1]) if self._reach else hi)

    def before(self, call: int) -> tuple[list[int], bool]:
        """They, in the order of their ends, and whether one of them surely ended before."""
        lo, hi = start_of(call, self._seen)
        found: list[int] = []
        best = float("-inf")
        for place in range(bisect_right(self._los, hi) - 1, -1, -1):
            if self._reach[place] < best:
                break
            i = self._calls[place]
            earliest, latest = end_of(i, self._seen)
            if i != call and latest >= best:
                found.append(i)
                if latest <= lo:
                    best = max(best, earliest)
        return found[::-1], best > float("-inf")
