"""Changes of a run after which a rule may be kept: what a kind proposes where it was broken.

Places count through the run as it is at that point. A kind proposes, for the first of its violations, each
change that could be part of the nearest run that keeps it; whether one does is found by judging.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from synth.formal.partly import is_whole
from synth.frozen import quick
from synth.policies.evidence import MISSING, Evidence, Noun
from synth.policies.kinds.duty import Judged
from synth.policies.kinds.kind import Paths
from synth.policies.names import Tools


@quick
@dataclass(frozen=True, slots=True)
class Move:
    """A call is made at another place."""

    at: int
    to: int
    """Directly before the call that is there; the number of calls means the end."""


@quick
@dataclass(frozen=True, slots=True)
class Insert:
    """A call more."""

    to: int
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Those that the rule asks for."""
    whole: bool = False
    """Can it have no others?"""


@quick
@dataclass(frozen=True, slots=True)
class Drop:
    """A call less, of what is forbidden."""

    at: int


Edit = Move | Insert | Drop


def without_the_last(judged: Judged) -> Iterator[Edit]:
    """The last of the calls that should not have been is left out."""
    if judged.violations:
        yield Drop(judged.violations[-1])


class Mendable(Protocol):
    """A rule that knows what could have been done instead."""

    def edits(self, judged: Judged, seen: Evidence) -> Iterator[Edit]:
        """For its first violation in `judged`; the likeliest first, where several are as short."""


def first_broken(judged: Judged, seen: Evidence) -> int | None:
    """The violating call that began first."""
    return min(judged.violations, key=seen.rank.__getitem__, default=None)


def blamed(
    judged: Judged, seen: Evidence, pairs: Sequence[tuple[Tools, Tools]], side: int
) -> Iterator[tuple[int, Tools]]:
    """The first violating call with the other action of each pair that it may have broken.

    `side` of a pair is the action whose calls violations name.
    """
    call = first_broken(judged, seen)
    if call is not None:
        yield from ((call, pair[1 - side]) for pair in pairs if seen.is_of(call, pair[side]))


def beside(call: int, calls: Sequence[int], seen: Evidence) -> tuple[Sequence[int], Sequence[int]]:
    """The nearest of some calls, in their order, before and after one of the run; each at most one."""
    others = [i for i in calls if i != call]
    before = [i for i in others if seen.rank[i] < seen.rank[call]]
    return before[-1:], others[len(before) :][:1]


def begin_of(seen: Evidence) -> int:
    """The first place that may be changed."""
    return 0 if seen.part is None else seen.part.calls.start


def call_of(
    tools: Tools, to: int, seen: Evidence, arguments: Mapping[str, Any] | None = None
) -> Iterator[Insert]:
    """A new call of one of the tools: one that the run made or offered, else the first that has a name."""
    named = [name for name in tools.names if "*" not in name]
    given = dict(arguments or {})
    if tools.where is not None:
        for path, value in (tools.where.values or {}).items():
            _put(given, path, value)
        if tools.where.met(given) != given:
            return  # what it is to be given is for somebody else to say
    for name in sorted(named, key=lambda name: not seen.offers(name))[:1]:
        yield Insert(to, name, given)


def equal_arguments(call: int, same: Paths, own: int, seen: Evidence) -> dict[str, Any]:
    """The arguments that a call at the other side of `same` must have (`own`: the side of `call`)."""
    found: dict[str, Any] = {}
    for pair in same:
        value = seen.argument(call, pair[own])
        if value is not MISSING and is_whole(value):
            _put(found, _as_in(pair[1 - own], seen.arguments(call)), value)
    return found


def _as_in(path: tuple[str, ...], arguments: Any) -> tuple[str, ...]:
    """A path that names a thing, by the name that the arguments of a call have for it."""
    of = arguments if isinstance(arguments, Mapping) else {}
    return tuple(key.key_in(of) if isinstance(key, Noun) else key for key in path)


def _put(into: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for key in path[:-1]:
        into = into.setdefault(key, {})
    into[path[-1]] = value
