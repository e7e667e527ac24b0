"""How many calls there were by the time another one began, and rules about such numbers.

Instants that are bounds make two numbers: so many surely, and so many perhaps. Each call counts by itself,
and an earlier end of one never takes away from another, so that some world has the one number for every call
that is asked about, and some world the other one: what both say holds in all, what they leave open is open.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from synth.counted import counted
from synth.formal.budget import GaveUp
from synth.policies.evidence import Evidence
from synth.policies.kinds.arguments import Alike, Values
from synth.policies.kinds.duty import NOT_APPLICABLE, NOT_ITS_OWN, Judged, given_up, in_part
from synth.policies.kinds.sweeps import end_of, start_of

Edges = tuple[float, float]
"""The earliest and the latest that something can have happened."""


class Tally:
    """How many of some instants lay before another one."""

    __slots__ = ("_his", "_los")

    def __init__(self, instants: Iterable[Edges]) -> None:
        every = list(instants)
        self._los = sorted(lo for lo, _ in every)
        self._his = sorted(hi for _, hi in every)

    def surely(self, at: Edges) -> int:
        return bisect_right(self._his, at[0])

    def perhaps(self, at: Edges) -> int:
        return bisect_right(self._los, at[1])


def ends_of(calls: Iterable[int], seen: Evidence) -> Tally:
    return Tally(end_of(i, seen) for i in calls)


def starts_of(calls: Iterable[int], seen: Evidence) -> Tally:
    return Tally(start_of(i, seen) for i in calls)


class Likewise:
    """Of calls by their values: something made once of those that surely have the same, and those perhaps."""

    def __init__(self, alike: Alike) -> None:
        self._alike = alike
        self._of: dict[object, tuple[list[int], list[int]]] = {}

    def of(self, values: Values) -> tuple[list[int], list[int]]:
        if values.key not in self._of:
            known = values.said is not None
            surely, perhaps = (
                (self._alike.surely(values), self._alike.perhaps(values))
                if known
                else ([], self._alike.everyone)
            )
            self._of[values.key] = surely, perhaps
        return self._of[values.key]


@dataclass(frozen=True, slots=True)
class Weighed:
    """What is known of one call that a number is asked of."""

    call: int
    kept: bool | None
    broken: str
    """In words, what is wrong if it is not kept."""
    why_open: Callable[[], Judged]


def judge_weighed(weighed: Iterator[Weighed], seen: Evidence, kept: str = "The count is kept.") -> Judged:
    """Decide the calls one by one; what breaks a rule stays, whatever the rest would cost."""
    broken: list[Weighed] = []
    open_: Weighed | None = None
    any_, spent = False, None
    try:
        for one in weighed:
            seen.budget.spend()
            any_ = True
            if not seen.owns(one.call):
                continue
            if one.kept is False:
                broken.append(one)
            elif one.kept is None:
                open_ = open_ or one
    except GaveUp as gave_up:
        spent = gave_up
    if broken:
        broken.sort(key=lambda one: seen.rank[one.call])
        reasons = tuple({one.call: one.broken for one in broken}.items())
        more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
        calls = tuple(sorted(call for call, _ in reasons))
        return in_part(Judged("violated", calls, reasons[0][1] + more, reasons=reasons), spent)
    if spent is not None:
        return given_up(spent)
    if open_ is not None:
        return open_.why_open()
    if not any_:
        return NOT_APPLICABLE
    return Judged("ok", (), kept) if seen.part is None else NOT_ITS_OWN


def so_far(calls: Sequence[int], seen: Evidence) -> Sequence[int]:
    """Those that can bring a rule to bear: of a conversation none of a later run."""
    return calls if seen.part is None else [i for i in calls if i < seen.part.calls.stop]


def asked(calls: Sequence[int], seen: Evidence) -> Sequence[int]:
    """Those that are asked about; where none is, an earlier one, so that the rule is seen to apply."""
    return calls if seen.part is None else [i for i in calls if seen.owns(i)] or so_far(calls, seen)[:1]


def sure_of(calls: Iterator[int]) -> set[int]:
    """Those that are found before the budget is spent."""
    found: set[int] = set()
    try:
        for call in calls:
            found.add(call)
    except GaveUp:
        pass
    return found


def open_in_time(call: int) -> Judged:
    said = f"The recorded times leave open how many came before call {call}."
    return Judged("undecided", (), said)


def times(number: int) -> str:
    return counted(number, "time")
