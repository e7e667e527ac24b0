"""Arguments that a rule asks for and calls do not have: a slip of the pen, or calls that lack one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from synth.formal.partly import HIDDEN, Unknown, equal, is_whole, unknowns
from synth.frozen import quick
from synth.judge.rules import Rules
from synth.policies.evidence import MISSING, Evidence, key_of, made_by
from synth.policies.kinds.candidates import Finder, together
from synth.policies.kinds.duty import Duty, Judged, judge_duties
from synth.policies.kinds.formulas import Late
from synth.policies.kinds.kind import Paths
from synth.policies.kinds.sweeps import Sweep, any_of, every_of
from synth.policies.names import Span, Tools, some_of
from synth.policies.near import near

MOST_COMPARED = 250_000
"""Values of one rule and run that are compared where not all of them is known; others may be equal."""


def never_given(path: Sequence[str], calls: Iterable[int], seen: Evidence) -> str | None:
    """Why a rule that asks these calls for an argument cannot be judged; None where one of them has it."""
    calls = list(calls)
    if any(seen.argument(i, path) is not MISSING for i in calls):
        return None
    beside = {key: None for i in calls for key in _keys(seen.argument(i, path[:-1]))}
    meant = near(path[-1], beside)
    tools = some_of(sorted({seen.calls[i].tool for i in calls}))
    said = f"No call of {tools} has the argument {'.'.join(path)!r}"
    if meant is not None:
        return f"{said}; did you mean {'.'.join([*path[:-1], meant])!r}?"
    return f"{said}; there are: {some_of(list(beside))}." if beside else f"{said}."


def _keys(value: Any) -> Iterable[str]:
    return (
        (str(key) for key in value if not str(key).startswith(HIDDEN)) if isinstance(value, Mapping) else ()
    )


# ---------------------------------------------------------------- with the same FIELD


def with_the_same(same: Paths) -> str:
    """` with the same id and user.name`; empty where nothing must be the same."""
    return " with the same " + " and ".join(named(path) for _, path in same) if same else ""


def named(path: Sequence[str]) -> str:
    """A path of arguments in words; the empty one is of all of them."""
    return ".".join(path) or "arguments"


@quick
@dataclass(frozen=True, slots=True)
class Compared:
    """A duty of one call towards calls with equal arguments."""

    surely: Duty
    """Only calls that certainly have them count."""
    perhaps: Duty | None
    """So do calls that may have them; None where the call itself lacks one."""
    lacking: Callable[[], Iterable[tuple[int, int]]] | None = None
    """(call, side) of those that lack one, or of which one is not known; side 0 is the earlier of a pair.

    None: no call does.
    """


@dataclass(frozen=True, slots=True)
class Values:
    """What must be equal of one call."""

    key: Any
    """The same for calls whose values are certainly equal."""
    said: tuple[Any, ...] | None
    """None where the call lacks an argument, or may lack it."""
    whole: bool = True


ANY_VALUES = Values((), ())
ALL_ARGUMENTS: Paths = (((), ()),)
"""Calls with equal arguments, whatever those are."""


def values_of(call: int, side: int, same: Paths, seen: Evidence) -> Values:
    if not same:
        return ANY_VALUES
    said = tuple(seen.argument(call, pair[side]) for pair in same)
    if any(value is MISSING or (isinstance(value, Unknown) and value.rest) for value in said):
        return Values(None, None)
    if (not seen.calls[call].partly and same != ALL_ARGUMENTS) or all(map(is_whole, said)):
        return Values(tuple(map(key_of, said)), said)
    return Values(tuple(map(_known_key, said)), said, whole=False)


def _known_key(value: Any) -> Any:
    if isinstance(value, Unknown):
        return ("hash", value.key, value.digest) if value.digest and value.key else object()
    return key_of(value) if is_whole(value) else object()


class Alike:
    """Calls by the values of their arguments, to find those that have, or may have, the same as another."""

    __slots__ = ("_any", "_compared", "_groups", "_lack", "_open", "bare", "everyone")

    def __init__(self, calls: Iterable[int], side: int, same: Paths, seen: Evidence) -> None:
        self._groups: dict[Any, tuple[Values, list[int]]] = {}
        self._compared = 0
        self.everyone = list(calls)
        for i in self.everyone:
            values = values_of(i, side, same, seen)
            self._groups.setdefault(values.key, (values, []))[1].append(i)
        self.bare = self._groups.pop(None, (None, []))[1]
        self._lack = set(self.bare)
        self._any: list[int] = []
        self._open = [group for group in self._groups.values() if not group[0].whole]

    def let_the_bare_be_any(self) -> None:
        """What lacks an argument has surely the values that are asked for, and is not open."""
        self._groups = {
            key: (values, sorted([*calls, *self.bare])) for key, (values, calls) in self._groups.items()
        }
        self._any, self.bare, self._lack = self.bare, [], set()

    def surely(self, values: Values) -> list[int]:
        return self._groups[values.key][1] if values.key in self._groups else self._any

    def perhaps(self, values: Values) -> list[int]:
        """Those, in the order given, that lack an argument or of which what is known leaves it open."""
        if values.said is None or (values.whole and not self._open):
            return self.bare
        if self._compared > MOST_COMPARED:
            return self.everyone
        others = self._open if values.whole else self._groups.values()
        open_ = {i for group, calls in others if self._may_equal(group, values) for i in calls}
        return [i for i in self.everyone if i in open_ or i in self._lack]

    def _may_equal(self, a: Values, b: Values) -> bool:
        if a.key == b.key or a.said is None or b.said is None:
            return False
        self._compared += 1
        answers = [equal(x, y) for x, y in zip(a.said, b.said, strict=True)]
        return False not in answers


@quick
@dataclass(frozen=True, slots=True)
class Pool:
    """Calls that may be what another one needs."""

    find: Finder
    sweep: Sweep | None
    """What bounds say about the formula over all of them."""
    some: bool
    """Are there any?"""


NOBODY = Pool(lambda call: (), None, some=False)
"""No calls at all: a formula over them is decided as it stands."""


class Pools:
    """Of calls that have certain values, those that surely have the same, and those that perhaps have."""

    def __init__(self, alike: Alike, make: Callable[[Sequence[int]], Pool]) -> None:
        self._alike, self._make = alike, make
        self._of: dict[Any, tuple[Pool, Pool]] = {}
        self._shared: dict[int, Pool] = {}
        """Of the two lists that many values share, by their identity."""

    def compared(
        self,
        call: int,
        side: int,
        values: Values,
        kind: Callable[..., Any],
        more: tuple[Any, ...],
        said: str,
        clause: Span | None = None,
    ) -> Compared:
        """The duty of a call (`side` 1 is the later of a pair): a formula of this kind, made with `more`."""
        surely, perhaps = self._pools(values)
        duty = Duty(call, Late(kind, call, surely.find, more), said, clause, sweep=surely.sweep)
        own = () if values.whole and values.said is not None else ((call, side),)
        if values.said is None:
            return Compared(duty, None, lambda: own)
        if not perhaps.some:
            return Compared(duty, duty)
        both = Late(kind, call, together(surely.find, perhaps.find), more)
        wider = replace(duty, obligation=both, sweep=any_of((surely.sweep, perhaps.sweep)))
        return Compared(duty, wider, lambda: (*own, *((i, 1 - side) for i in perhaps.find(call))))

    def barred(
        self,
        call: int,
        side: int,
        values: Values,
        kind: Callable[..., Any],
        more: tuple[Any, ...],
        said: str,
    ) -> Compared:
        """The same where the formula forbids: what only perhaps has the same values breaks it perhaps."""
        if values.said is None:
            every = self._pool(self._alike.everyone)
            duty = Duty(call, Late(kind, call, every.find, more), said, sweep=every.sweep)
            return Compared(duty, None, lambda: ((call, side),)) if every.some else Compared(duty, duty)
        surely, perhaps = self._pools(values)
        least = Duty(call, Late(kind, call, surely.find, more), said, sweep=surely.sweep)
        if not perhaps.some:
            return Compared(least, least)
        both = Late(kind, call, together(surely.find, perhaps.find), more)
        duty = replace(least, obligation=both, sweep=every_of((surely.sweep, perhaps.sweep)))
        own = () if values.whole else ((call, side),)
        return Compared(duty, least, lambda: (*own, *((i, 1 - side) for i in perhaps.find(call))))

    def _pools(self, values: Values) -> tuple[Pool, Pool]:
        if values.key not in self._of:
            surely, perhaps = self._alike.surely(values), self._alike.perhaps(values)
            self._of[values.key] = self._pool(surely), self._pool(perhaps)
        return self._of[values.key]

    def _pool(self, calls: Sequence[int]) -> Pool:
        if not calls:
            return NOBODY
        if calls is not self._alike.bare and calls is not self._alike.everyone:
            return self._make(calls)
        if id(calls) not in self._shared:
            self._shared[id(calls)] = self._make(calls)
        return self._shared[id(calls)]


def judge_compared(duties: Sequence[Compared], same: Paths, seen: Evidence, rules: Rules) -> Judged:
    """Decide what holds whatever the missing arguments were; the rest is open."""
    surely = [duty.surely for duty in duties]
    if all(duty.lacking is None for duty in duties):
        return judge_duties(surely, seen, rules)
    possible = judge_duties([duty.perhaps for duty in duties if duty.perhaps], seen, rules)
    if possible.verdict == "violated":
        return possible
    certain = judge_duties(surely, seen, rules)
    if certain.verdict != "violated":
        return certain
    open_ = set(certain.violations)
    without = [one for duty in duties if duty.lacking and duty.surely.call in open_ for one in duty.lacking()]
    return lacking_in_words(without, same, seen)


def lacking_in_words(lacking: Sequence[tuple[int, int]], same: Paths, seen: Evidence) -> Judged:
    """Why these (call, side) leave open whether arguments are equal: they lack some, or not all is known."""
    asked = [(call, pair[side]) for call, side in lacking for pair in same]
    missing = [(call, path) for call, path in asked if seen.argument(call, path) is MISSING]
    for tool, path in sorted({(seen.calls[call].tool, path) for call, path in missing}):
        if said := never_given(path, seen.attempts(Tools(tool, (tool,))), seen):
            return Judged("unsupported", (), said)
    if missing:
        call, path = missing[0]
        said = f"{made_by(call, seen)} has no argument {'.'.join(path)!r} to compare."
        return Judged("undecided", (), said)
    for call, path in asked:
        for unknown in unknowns(seen.argument(call, path)):
            what = f"The argument {'.'.join(path)!r}" if path else "An argument"
            said = f"{what} of {made_by(call, seen)} {unknown.what}."
            return Judged("undecided", (), said)
    return Judged("undecided", (), f"More than {MOST_COMPARED} values of which not all is known.")
