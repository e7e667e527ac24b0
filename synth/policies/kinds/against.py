"""Arguments against arguments: a value of one call compared with that of the latest call of another."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from math import inf
from typing import Any, ClassVar, Literal

from synth.errors import BadInput
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
from synth.policies.kinds.latest import Asked, Latest, Side, answers
from synth.policies.kinds.plans import Slot
from synth.policies.kinds.sweeps import end_of, start_of
from synth.policies.kinds.tally import Likewise, Weighed, asked, judge_weighed
from synth.policies.kinds.total import number_in
from synth.policies.names import Names, Tools, TwoReadings
from synth.policies.nouns import Meant

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
    if m["f"].lower() == "number" and not m["exact"]:
        raise BadInput("`the number of` an action may be how many calls it has; write `args.number`")
    path = _path(m["f"], m["exact"])
    beside = _path(m["g"], m["exactly"]) if m["g"] else path
    return Against(own[0], path, how, other[0], beside, same)


def _path(said: str, exact: str | None) -> tuple[str, ...]:
    """`Dose` may be `dose_mg`, `args.dose` may not."""
    return tuple(said.split(".")) if exact or "." in said else (Meant(said),)


_COMPARED: dict[How, tuple[Side, bool]] = {
    "at most": ("below", False),
    "at least": ("up to", True),
    "less than": ("up to", False),
    "more than": ("below", True),
    "equal": ("equal", True),
    "differ from": ("equal", False),
}
"""Which values of the other action are asked for, beside the own one, and whether they keep the rule."""


@dataclass(frozen=True, slots=True)
class Against:
    """An argument of each attempt at an action against one of the latest success of another before it.

    With `same`, of the latest with equal arguments. Where there was none before, nothing is asked. Numbers
    are compared as they are written; what is more or less than another is a number.
    """

    kind: ClassVar[str] = "against"
    forms: ClassVar[tuple[Form, ...]] = (
        Sentence(
            rf"the (?P<exact>args\.)?(?P<f>{_FIELD}) of (?P<a>.+?) (?P<how>{ANY_HOW}) "
            rf"(?:the (?P<exactly>args\.)?(?P<g>{_FIELD})|that) of (?P<b>.+)",
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
        likewise = Likewise(Alike(seen.successes(self.other), 0, self.same, seen))
        others = {
            j: likewise.of(values_of(j, 1, self.same, seen)) for j in asked(seen.attempts(self.what), seen)
        }
        groups = {
            id(surely): Latest(surely, seen) for surely in _once(surely for surely, _ in others.values())
        }
        latest = {j: groups[id(surely)] for j, (surely, _) in others.items()}
        since = {j: latest[j].since(j) for j in others}
        certain = self._answers({j: surely for j, (surely, _) in others.items()}, since, seen)
        possible = self._answers({j: perhaps for j, (_, perhaps) in others.items()}, {}, seen)
        for j, (_, perhaps) in others.items():
            told = certain[j] | possible[j] | ({True} if since[j] == -inf else set())
            kept = None if len(told) > 1 else next(iter(told))
            wrong = self._wrong(latest[j].last(j), seen)
            said = f"The {named(self.path)} of {self.what.phrase} (call {j}) {wrong}."
            yield Weighed(j, kept, said, partial(self._why_open, j, latest[j], perhaps, seen))

    def _answers(
        self, others: Mapping[int, list[int]], since: Mapping[int, float], seen: Evidence
    ) -> dict[int, set[bool | None]]:
        """Attempt -> what it says to be compared with those of its others that may have been the latest."""
        side, holds = _COMPARED[self.how]
        value = partial(self._value, path=self.beside, seen=seen)
        groups: dict[int, list[Asked]] = {}
        for j, calls in others.items():
            one = Asked(j, self._value(j, self.path, seen), start_of(j, seen)[1], since.get(j, -inf))
            groups.setdefault(id(calls), []).append(one)
        found: dict[int, set[bool | None]] = {}
        for calls in _once(others.values()):
            found |= answers(groups[id(calls)], calls, value, side, holds, seen)
        return found

    def _value(self, call: int, path: tuple[str, ...], seen: Evidence) -> Any:
        """What is compared of an argument; None where it cannot be."""
        value = seen.argument(call, path)
        if value is MISSING or not is_whole(value):
            return None
        return number_in(value) if self._is_of_numbers else key_of(value)

    @property
    def _is_of_numbers(self) -> bool:
        return self.how not in ("equal", "differ from")

    def _wrong(self, other: int | None, seen: Evidence) -> str:
        where = "" if other is None else f" (call {other})"
        be = "be " if self._is_of_numbers else ""
        beside = f"the {named(self.beside)} of {self.other.phrase}{where}{with_the_same(self.same)}"
        return f"must {be}{self.how} {beside}"

    def _why_open(self, call: int, latest: Latest, perhaps: Sequence[int], seen: Evidence) -> Judged:
        if values_of(call, 1, self.same, seen).said is None:
            return lacking_in_words([(call, 1)], self.same, seen)
        starts = start_of(call, seen)[1]
        if maybe := [i for i in perhaps if i != call and end_of(i, seen)[0] <= starts]:
            return lacking_in_words([(i, 0) for i in maybe], self.same, seen)
        compared = ((i, self.beside, self.other) for i in latest.before(call))
        for i, path, tools in chain([(call, self.path, self.what)], compared):
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
        elif self._is_of_numbers and number_in(value) is None:
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


def _once(lists: Iterable[list[int]]) -> Iterable[list[int]]:
    """Each list that many calls share, by its identity."""
    return {id(one): one for one in lists}.values()
