"""Formulas over the calls of a run: what rules about order and time demand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from synth.formal.constraints import Times, Truth
from synth.frozen import quick


@quick
@dataclass(frozen=True, slots=True)
class Late:
    """A formula whose candidates are looked for when it is read: many calls are decided without it."""

    kind: Callable[..., Any]
    call: int
    options: Callable[[int], tuple[int, ...]]
    more: tuple[Any, ...] = ()
    """What else the formula is made of."""

    def formula(self, t: Times) -> Truth:
        made: Truth = self.kind(self.call, self.options(self.call), *self.more).formula(t)
        return made


@quick
@dataclass(frozen=True, slots=True)
class SomeEndedBefore:
    """One of `options` ended before `call` started."""

    call: int
    options: tuple[int, ...]

    def formula(self, t: Times) -> Truth:
        return t.any(t.end(i) <= t.start(self.call) for i in self.options)


@dataclass(frozen=True, slots=True)
class NoneEndedBefore:
    """None of `others` had ended when `call` started."""

    call: int
    others: tuple[int, ...]

    def formula(self, t: Times) -> Truth:
        return t.no(t.any(t.end(i) <= t.start(self.call) for i in self.others))


@dataclass(frozen=True, slots=True)
class NoneEndedWithin:
    """None of `others` had ended at most `within` ns before `call` started."""

    call: int
    others: tuple[int, ...]
    within: int

    def formula(self, t: Times) -> Truth:
        return t.no(StartsWithin(self.call, self.others, self.within).formula(t))


@dataclass(frozen=True, slots=True)
class SomeStartsAfter:
    """One of `options` started after `call` ended, at most `within` ns later."""

    call: int
    options: tuple[int, ...]
    within: int | None

    def formula(self, t: Times) -> Truth:
        ended = t.end(self.call)
        if self.within is None:
            return t.any(ended <= t.start(j) for j in self.options)
        limit = t.later(ended, self.within)
        return t.any(t.all((ended <= t.start(j), t.start(j) <= limit)) for j in self.options)


@dataclass(frozen=True, slots=True)
class StartsWithin:
    """`call` started after one of `options` had ended, at most `within` ns later."""

    call: int
    options: tuple[int, ...]
    within: int

    def formula(self, t: Times) -> Truth:
        start = t.start(self.call)
        return t.any(
            t.all((t.end(i) <= start, start <= t.later(t.end(i), self.within))) for i in self.options
        )


@dataclass(frozen=True, slots=True)
class StartsNear:
    """`call` started at most `within` ns before the start of one of `options`.

    And not after that start; with `after`, or at most `within` ns after its end.
    """

    call: int
    options: tuple[int, ...]
    within: int
    after: bool

    def formula(self, t: Times) -> Truth:
        start = t.start(self.call)
        limit = t.later(start, self.within)
        return t.any(
            t.all(
                (
                    t.start(i) <= limit,
                    start <= t.later(t.end(i), self.within) if self.after else start <= t.start(i),
                )
            )
            for i in self.options
        )


@dataclass(frozen=True, slots=True)
class StartsAtLeast:
    """`call` started `least` ns or more after each of `options` that had ended, and one had."""

    call: int
    options: tuple[int, ...]
    least: int

    def formula(self, t: Times) -> Truth:
        start = t.start(self.call)
        far = [t.no(start <= t.later(t.end(i), self.least - 1)) for i in self.options]
        ended = [t.end(i) <= start for i in self.options]
        return t.all(
            [t.any(ended), *(t.any((t.no(before), gap)) for before, gap in zip(ended, far, strict=True))]
        )


@dataclass(frozen=True, slots=True)
class DirectlyBefore:
    """One of `options` ended before `call` started, and no call of `others` started between the two."""

    call: int
    options: tuple[int, ...]
    others: tuple[int, ...]

    def formula(self, t: Times) -> Truth:
        start = t.start(self.call)
        return t.any(
            t.all(
                [
                    t.end(i) <= start,
                    *(t.any((t.start(k) <= t.start(i), start <= t.start(k))) for k in self.others if k != i),
                ]
            )
            for i in self.options
        )


@dataclass(frozen=True, slots=True)
class DirectlyAfter:
    """One of `options` started after `call` had ended, and no call of `others` started between the two."""

    call: int
    options: tuple[int, ...]
    others: tuple[int, ...]

    def formula(self, t: Times) -> Truth:
        end = t.end(self.call)
        return t.any(
            t.all(
                [
                    end <= t.start(j),
                    *(t.any((t.no(end <= t.start(k)), t.start(j) <= t.start(k))) for k in self.others),
                ]
            )
            for j in self.options
        )


@dataclass(frozen=True, slots=True)
class Apart:
    """`call` overlaps none of `others`."""

    call: int
    others: tuple[int, ...]

    def formula(self, t: Times) -> Truth:
        return t.all(
            t.any((t.end(i) <= t.start(self.call), t.end(self.call) <= t.start(i))) for i in self.others
        )


@dataclass(frozen=True, slots=True)
class NoneRunsAtStart:
    """None of `others` had started before `call` started and was still running then."""

    call: int
    others: tuple[int, ...]

    def formula(self, t: Times) -> Truth:
        start = t.start(self.call)
        return t.all(t.any((t.end(i) <= start, start <= t.start(i))) for i in self.others)


@dataclass(frozen=True, slots=True)
class InWindow:
    """`call` started at `since` or later and ended at `until` or earlier (ns; None = no limit)."""

    call: int
    since: int | None
    until: int | None

    def formula(self, t: Times) -> Truth:
        parts = []
        if self.since is not None:
            parts.append(t.start(self.call) >= t.since(self.since))
        if self.until is not None:
            parts.append(t.end(self.call) <= t.until(self.until))
        return t.all(parts)


@dataclass(frozen=True, slots=True)
class InSomeWindow:
    """`call` started inside one of `windows` and ended in time: for starts known only within bounds."""

    call: int
    windows: tuple[tuple[int, int, int | None], ...]
    """(first start, last start, last end) each, ns; None = no limit."""

    def formula(self, t: Times) -> Truth:
        start, end = t.start(self.call), t.end(self.call)
        return t.any(
            t.all(
                [
                    start >= t.since(first),
                    start <= t.until(last),
                    *([] if until is None else [end <= t.until(until)]),
                ]
            )
            for first, last, until in self.windows
        )
