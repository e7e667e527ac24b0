"""Sums: how much an argument of an action may come to over all calls, within a time, for equal arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import isfinite, lcm
from typing import Any, ClassVar

from synth.errors import BadInput
from synth.formal.budget import GaveUp
from synth.formal.partly import Unknown
from synth.formal.solver import PlanRule
from synth.judge.rules import Rules
from synth.judge.wording import calls_in_words
from synth.policies.evidence import MISSING, Evidence, made_by
from synth.policies.kinds.arguments import lacking_in_words, never_given, with_the_same
from synth.policies.kinds.crowds import alike, beyond, is_exact, most_together
from synth.policies.kinds.duty import NO_TIMES, NOT_APPLICABLE, NOT_ITS_OWN, Judged, despite_gaps, given_up
from synth.policies.kinds.edits import Edit, without_the_last
from synth.policies.kinds.kind import MUST, PER, Form, Paths, Reads, Sentence, Traits, scope_of
from synth.policies.kinds.plans import Slot
from synth.policies.kinds.times import CALENDAR_DAY, DAY, TIME, Stretch, nanoseconds, stretch_in_words
from synth.policies.names import Names, Scope, Tools
from synth.policies.nouns import Meant

_FIELD = r"[^\s,;.]+(?:\.[^\s,;.]+)*"
_SUM = rf"the (?:sum|total)(?: of)? (?P<exact>args\.)?(?P<path>{_FIELD}) (?:of|over) (?:all )?(?P<a>.+?)"
_ALIKE = rf"(?: (?:of|in|with) the same (?P<like>{_FIELD}))?"
_BELOW = r"(?:at most|no more than|(?P<below>below|less than))"
_MOST = rf"{MUST} (?:be {_BELOW}|(?:not|never) (?:exceed|be more than))"


def _read(m: re.Match[str], names: Names, same: Paths) -> Total:
    what = names.list(m["a"])
    if len(what) > 1:
        phrases = [tools.phrase for tools in what]
        raise BadInput(
            f"a sum is of one action: write a policy for each of {' and '.join(phrases)}, or name "
            "one action that stands for all these tools"
        )
    like = () if m["like"] is None else ((tuple(m["like"].split(".")),) * 2,)
    time = nanoseconds(m) if m["amount"] else CALENDAR_DAY if m["day"] else None
    below = m["below"] is not None
    plain = not m["exact"] and "." not in m["path"]
    path = (Meant(m["path"]),) if plain else tuple(m["path"].split("."))
    return Total(what[0], path, Fraction(m["most"]), time, (*like, *same), scope_of(m), below)


@dataclass(frozen=True, slots=True)
class Total:
    """Over the attempts at an action, an argument comes to at most so much.

    With a time, over those that start within less than it of one another: two that start exactly that time
    apart are not. With a day, over those that start on one local date in the file's time zone. With `same`,
    over those whose arguments are equal. Numbers are added exactly, as they are written. What is no number
    decides nothing, and a call that nobody saw is taken to add to the sum; whether a negative number takes
    away from it is left open, where that matters.
    """

    kind: ClassVar[str] = "total"
    forms: ClassVar[tuple[Form, ...]] = (
        Sentence(
            rf"{_SUM}{_ALIKE} {_MOST} (?P<most>\d{{1,30}}(?:\.\d{{1,30}})?){PER}"
            rf"(?: within (?:any )?(?=.*[1-9]){TIME}|(?P<day> {DAY}))?",
            _read,
            same=True,
        ),
    )
    what: Tools
    path: tuple[str, ...]
    most: Fraction
    time: Stretch = None
    """Nanoseconds, or a calendar day; None = however far apart."""
    same: Paths = ()
    per: Scope | None = None
    """The scope that the sentence names; None = that of the file."""
    below: bool = False
    """Must it stay below `most`?"""

    @property
    def tools(self) -> tuple[Tools, ...]:
        return (self.what,)

    @property
    def traits(self) -> Traits:
        return Traits(subjects=self.tools, reads=Reads(arguments=self.tools), scope=self.per)

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        calls = seen.attempts(self.what)
        if not calls:
            return NOT_APPLICABLE
        amounts = _Amounts({i: number_in(seen.argument(i, self.path)) for i in calls}, self.most, self.below)
        late: set[int] = set()
        open_: Judged | None = None
        try:
            for surely, perhaps in alike(calls, self.same, seen):
                late |= self._late(surely, perhaps, amounts, seen)
                open_ = open_ or self._open(surely, perhaps, amounts, seen)
        except GaveUp as spent:
            return self._violated(late, seen) or given_up(spent)
        kept = NOT_ITS_OWN if late else Judged("ok", (), "The sum is kept.")
        return self._violated(late, seen) or open_ or kept

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        return despite_gaps(judged, opens=partial(seen.gaps.can_be, self.what), mends=lambda call: False)

    def edits(self, judged: Judged, seen: Evidence) -> Iterator[Edit]:
        """What goes beyond is left out."""
        return without_the_last(judged)

    def plan_rules(self, slots: Sequence[Slot]) -> tuple[PlanRule, ...]:
        return ()

    def flaws(self) -> tuple[str, ...]:
        return ()

    def _late(
        self,
        surely: Sequence[int],
        perhaps: Sequence[int],
        amounts: _Amounts,
        seen: Evidence,
    ) -> set[int]:
        """Those that surely went beyond the limit, whatever negative amounts take away."""
        lowered = -sum(min(amounts.of[i] or 0, 0) for i in (*surely, *perhaps))
        return beyond(surely, amounts.added, amounts.most + lowered, self.time, seen)

    def _open(
        self,
        surely: Sequence[int],
        perhaps: Sequence[int],
        amounts: _Amounts,
        seen: Evidence,
    ) -> Judged | None:
        """Why it is not known whether these go beyond the limit, or which of them; None where it is."""
        every = [*surely, *perhaps]
        if not any(map(seen.owns, every)):
            return None
        if unread := [i for i in every if amounts.of[i] is None]:
            return self._unread(unread[0], seen)
        if most_together(every, amounts.added, self.time, seen) <= amounts.most:
            return None
        if most_together(surely, amounts.added, self.time, seen) <= amounts.most:
            return lacking_in_words([(call, 0) for call in perhaps], self.same, seen)
        if self.time is not None and not seen.has_times:
            return NO_TIMES
        if negative := [i for i in every if (amounts.of[i] or 0) < 0]:
            why = "is negative; whether it takes away from the sum is open"
            return Judged("undecided", (), f"{self._argument(negative[0], seen)} {why}.")
        if perhaps:
            return lacking_in_words([(call, 0) for call in perhaps], self.same, seen)
        if is_exact(surely, self.time, seen):
            return None
        came = f"on one day ({seen.timezone})" if self.time == CALENDAR_DAY else "together"
        return Judged("undecided", (), f"The recorded times leave open how much came {came}.")

    def _unread(self, call: int, seen: Evidence) -> Judged:
        value = seen.argument(call, self.path)
        if value is MISSING and (said := never_given(self.path, seen.attempts(self.what), seen)):
            return Judged("unsupported", (), said)
        if value is MISSING:
            return Judged("undecided", (), f"{made_by(call, seen)} has no argument {'.'.join(self.path)!r}.")
        why = value.what if isinstance(value, Unknown) else f"is {_said(value)}, not a number"
        return Judged("undecided", (), f"{self._argument(call, seen)} {why}.")

    def _argument(self, call: int, seen: Evidence) -> str:
        return f"The argument {'.'.join(self.path)!r} of {made_by(call, seen)}"

    def _violated(self, late: set[int], seen: Evidence) -> Judged | None:
        own = tuple(sorted(filter(seen.owns, late)))
        if not own:
            return None
        within = stretch_in_words(self.time, seen.timezone)
        sum_ = f"the sum of {'.'.join(self.path)} of {self.what.phrase}{with_the_same(self.same)}"
        most = f"{'below' if self.below else 'at most'} {written(self.most)}"
        said = f"{sum_} may be {most}{within}; {calls_in_words(own)} went beyond that."
        return Judged("violated", own, said[0].upper() + said[1:])


class _Amounts:
    """What each call comes to, and the limit: whole numbers of one unit that fits them all."""

    __slots__ = ("most", "of")

    def __init__(self, amounts: Mapping[int, Fraction | None], most: Fraction, below: bool) -> None:
        said = [amount for amount in amounts.values() if amount is not None]
        unit = lcm(*(number.denominator for number in (most, *said)))
        self.most = int(most * unit) - below
        self.of = {call: None if amount is None else int(amount * unit) for call, amount in amounts.items()}

    def added(self, call: int) -> int:
        """What a call surely adds; a negative amount adds nothing."""
        return max(self.of[call] or 0, 0)


def number_in(value: Any) -> Fraction | None:
    """A JSON number exactly as it was written; None where it is none."""
    if isinstance(value, int) and not isinstance(value, bool):
        return Fraction(value)
    return Fraction(repr(value)) if isinstance(value, float) and isfinite(value) else None


def _said(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else "a truth value"
    if isinstance(value, str):
        return "a text"
    return (
        "an object" if isinstance(value, dict) else "a list" if isinstance(value, list) else "no finite one"
    )


def written(number: Fraction) -> str:
    """With all of its decimal places, which a limit has in full."""
    places = next(n for n in range(31) if (number * 10**n).denominator == 1)
    whole, part = divmod(int(number * 10**places), 10**places)
    return f"{whole}.{part:0{places}d}" if places else str(whole)
