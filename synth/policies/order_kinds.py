"""Rules about order and time between calls: the kinds that have a formula.

Every list of candidates is cut to those that can matter, so that a run of 10,000 calls stays linear:
at exact instants "some earlier success" is decided by the success that ended first.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo
from itertools import accumulate
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from synth.constraints import Bounds, Fixed, Times, Truth, clock
from synth.explain import calls_in_words
from synth.policies.evidence import MISSING, Evidence, key_of
from synth.policies.kinds import NOT_APPLICABLE, Duty, Judged, judge_duties
from synth.policies.model import Tools
from synth.rules import Rules

Paths = tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
"""Pairs of argument paths (of the earlier call, of the later call) that must hold equal values."""
NANOSECONDS = 10**9
MINUTE = 60 * NANOSECONDS
MAX_DAYS = 31
"""Days at either end of a longer interval whose windows are tried: those between add nothing new."""


# ---------------------------------------------------------------- formulas over calls


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
class Apart:
    """`call` overlaps none of `others`."""

    call: int
    others: tuple[int, ...]

    def formula(self, t: Times) -> Truth:
        return t.all(
            t.any((t.end(i) <= t.start(self.call), t.end(self.call) <= t.start(i))) for i in self.others
        )


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


# ---------------------------------------------------------------- candidates


def _edges(instant: Any) -> tuple[int, int]:
    return (instant.lo, instant.hi) if isinstance(instant, Bounds) else (instant, instant)


class Ended:
    """Calls by the instant they ended, to find those that can have ended before another call."""

    __slots__ = ("_calls", "_first", "_his", "_los", "_seen")

    def __init__(self, calls: Sequence[int], seen: Evidence) -> None:
        self._seen = seen
        self._calls = sorted(calls, key=lambda i: _edges(seen.times.end(i)))
        self._los = [_edges(seen.times.end(i))[0] for i in self._calls]
        self._first = min(self._calls, key=lambda i: _edges(seen.times.end(i))[1], default=None)

    def before(self, call: int) -> tuple[int, ...]:
        """Enough of them to decide whether one ended before `call` started."""
        lo, hi = _edges(self._seen.times.start(call))
        first = self._first
        if first is not None and first != call and _edges(self._seen.times.end(first))[1] <= lo:
            return (first,)
        return tuple(i for i in self._calls[: bisect_right(self._los, hi)] if i != call)

    def last_before(self, call: int) -> tuple[int, ...]:
        """Those that can have been the last to end before `call` started (at exact instants, one)."""
        times = self._seen.times
        lo, hi = _edges(times.start(call))
        found: list[int] = []
        best: int | None = None
        for i in reversed(self._calls[: bisect_right(self._los, hi)]):
            earliest, latest = _edges(times.end(i))
            if best is not None and earliest < best and isinstance(times, Fixed):
                break
            if i != call and (best is None or latest >= best):
                found.append(i)
                if latest <= lo:
                    best = max(best or earliest, earliest)
        return tuple(found)


class Started:
    """Calls that ran by the instant they started, to find the last to start before another call."""

    __slots__ = ("_calls", "_los", "_reach", "_seen")

    def __init__(self, seen: Evidence) -> None:
        self._seen = seen
        ran = [i for i in seen.order if seen.calls[i].executed]
        self._calls = sorted(ran, key=lambda i: _edges(seen.times.start(i))[0])
        edges = [_edges(seen.times.start(i)) for i in self._calls]
        self._los = [lo for lo, _ in edges]
        self._reach = list(accumulate((hi for _, hi in edges), max))
        """The latest start that is possible up to each place."""

    def last_before(self, call: int) -> tuple[int, ...]:
        """Those that can have been the last to start before `call` did (at exact instants, one)."""
        times = self._seen.times
        lo, hi = _edges(times.start(call))
        found: list[int] = []
        latest: int | None = None
        for place in range(bisect_left(self._los, hi) - 1, -1, -1):
            if latest is not None and self._reach[place] < latest:
                break
            k = self._calls[place]
            earliest, last = _edges(times.start(k))
            if k != call and (latest is None or last >= latest):
                found.append(k)
                if last <= lo:
                    latest = max(latest or earliest, earliest)
        return tuple(found)


def _followers(calls: Sequence[int], seen: Evidence, after: int) -> tuple[int, ...]:
    """Those of `calls` (by earliest start) that can be the first to start after the call `after` ended."""
    lo, hi = _edges(seen.times.end(after))
    if isinstance(seen.times, Fixed):
        surely = bisect_left(calls, hi, key=seen.times.start)
        return tuple(calls[surely : surely + 1])
    found: list[int] = []
    latest: int | None = None
    for j in calls:
        earliest, last = _edges(seen.times.start(j))
        if latest is not None and earliest > latest:
            break  # one that surely came after started before this one
        if last >= lo and j != after:
            found.append(j)
            if earliest >= hi:
                latest = last if latest is None else min(latest, last)
    return tuple(found)


# ---------------------------------------------------------------- the kinds


@dataclass(frozen=True, slots=True)
class Precedence:
    """Every attempt at `then` needs an earlier success of `first`, with equal arguments if asked."""

    kind: ClassVar[str] = "precedence"
    pairs: tuple[tuple[Tools, Tools], ...]
    """(first, then) each: a sentence may speak of several."""
    same: Paths = ()

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        if self.same and _without_arguments(seen, [tools for pair in self.pairs for tools in pair]):
            return Judged("unsupported", (), "The arguments of the calls were not recorded.")
        return judge_duties(
            [d for first, then in self.pairs for d in self._duties(first, then, seen)], seen, rules
        )

    def _duties(self, first: Tools, then: Tools, seen: Evidence) -> Iterator[Duty]:
        attempts = _besides(seen.attempts(then), then, first, seen)
        if not attempts:
            return
        groups: dict[Any, list[int]] = {}
        for i in seen.successes(first):
            groups.setdefault(self._key(seen, i, 0), []).append(i)
        ended = {key: Ended(calls, seen) for key, calls in groups.items()}
        for j in attempts:
            key = self._key(seen, j, 1)
            options = ended[key].before(j) if key in ended and key is not None else ()
            said = f"{then.phrase} (call {j}) needs an earlier success of {first.phrase}{self._with()}."
            yield Duty(j, SomeEndedBefore(j, options), said, by_absence=True)

    def _key(self, seen: Evidence, call: int, side: int) -> Any:
        """What must be equal; None where the call does not have it."""
        values = [seen.argument(call, pair[side]) for pair in self.same]
        return None if MISSING in values else tuple(map(key_of, values))

    def _with(self) -> str:
        return " with the same " + " and ".join(".".join(b) for _, b in self.same) if self.same else ""


@dataclass(frozen=True, slots=True)
class Response:
    """Every success of `trigger` must be followed by a success of `answer`, within a time if asked."""

    kind: ClassVar[str] = "response"
    pairs: tuple[tuple[Tools, Tools], ...]
    """(trigger, answer) each."""
    within: int | None = None
    """Nanoseconds."""
    same: Paths = ()

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        if self.within is not None and not seen.has_times and _any_calls(seen, self.pairs):
            return NO_TIMES
        if self.same and _without_arguments(seen, [tools for pair in self.pairs for tools in pair]):
            return Judged("unsupported", (), "The arguments of the calls were not recorded.")
        duties = [d for trigger, answer in self.pairs for d in self._duties(trigger, answer, seen)]
        judged = judge_duties(duties, seen, rules)
        if judged.verdict == "violated" and not seen.run.ended:
            expired = tuple(i for i in judged.violations if self._expired(i, seen))
            if not expired:
                return Judged("undecided", (), f"Pending: {judged.explanation}")
            return Judged("violated", expired, judged.explanation)
        return judged

    def _expired(self, trigger: int, seen: Evidence) -> bool:
        """Has the time for an answer run out, as later calls of the open run show?"""
        if self.within is None:
            return False
        times: Times = seen.times
        _, limit = _edges(times.later(times.end(trigger), self.within))
        return any(_edges(start)[0] > limit for start in seen.times.starts.values())

    def _duties(self, trigger: Tools, answer: Tools, seen: Evidence) -> Iterator[Duty]:
        answers: dict[Any, list[int]] = {}
        for j in seen.successes(answer):
            answers.setdefault(self._key(seen, j, 1), []).append(j)
        for calls in answers.values():
            calls.sort(key=lambda j: _edges(seen.times.start(j))[0])
        for i in _besides(seen.successes(trigger), trigger, answer, seen):
            key = self._key(seen, i, 0)
            options = _followers(answers.get(key, ()) if key is not None else (), seen, i)
            limit = "" if self.within is None else f" within {duration_in_words(self.within)}"
            said = f"{trigger.phrase} (call {i}) was not followed by {answer.phrase}{limit}."
            yield Duty(i, SomeStartsAfter(i, options, self.within), said, by_absence=True)

    def _key(self, seen: Evidence, call: int, side: int) -> Any:
        values = [seen.argument(call, pair[side]) for pair in self.same]
        return None if MISSING in values else tuple(map(key_of, values))


@dataclass(frozen=True, slots=True)
class AbsenceAfter:
    """Once `trigger` has succeeded, `what` must not be called any more."""

    kind: ClassVar[str] = "absence_after"
    pairs: tuple[tuple[Tools, Tools], ...]
    """(trigger, what) each."""

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        triggered = [(trigger, what) for trigger, what in self.pairs if seen.successes(trigger)]
        if not triggered:
            return NOT_APPLICABLE
        duties = [duty for trigger, what in triggered for duty in self._duties(trigger, what, seen)]
        if not duties:
            return Judged("ok", (), "Nothing that is forbidden was called.")
        return judge_duties(duties, seen, rules)

    def _duties(self, trigger: Tools, what: Tools, seen: Evidence) -> Iterator[Duty]:
        ended = Ended(seen.successes(trigger), seen)
        for j in seen.attempts(what):
            others = ended.before(j)
            name = what.phrase if "*" not in what.names else seen.calls[j].tool
            said = f"{name} (call {j}) came after {trigger.phrase}"
            said += f" ({calls_in_words(others)})." if others else "."
            yield Duty(j, NoneEndedBefore(j, others), said)


@dataclass(frozen=True, slots=True)
class Count:
    """How often an action may, or must, be done. At most counts attempts, at least counts successes."""

    kind: ClassVar[str] = "count"
    what: tuple[Tools, ...]
    least: int | None = None
    most: int | None = None

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        too_many = [i for tools in self.what for i in self._surplus(tools, seen)]
        if too_many:
            limit = "never" if self.most == 0 else f"at most {times_in_words(self.most or 0)}"
            phrase = next(t.phrase for t in self.what if self._surplus(t, seen))
            said = f"{phrase} may happen {limit}; {calls_in_words(sorted(too_many))} went beyond that."
            return Judged("violated", tuple(sorted(too_many)), said)
        for tools in self.what:
            done = len(seen.successes(tools))
            if self.least is not None and done < self.least:
                said = f"{tools.phrase} succeeded {times_in_words(done)}, at least {self.least} are needed."
                pending = not seen.run.ended or bool(seen.run.problems)
                return Judged("undecided" if pending else "violated", (), said)
        if self.least is None and not any(seen.attempts(tools) for tools in self.what):
            return NOT_APPLICABLE
        if seen.run.problems and self.most is not None:
            return Judged("undecided", (), "The evidence is incomplete: there may have been more calls.")
        return Judged("ok", (), "The count is kept.")

    def _surplus(self, tools: Tools, seen: Evidence) -> list[int]:
        return [] if self.most is None else seen.attempts(tools)[self.most :]


@dataclass(frozen=True, slots=True)
class Adjacency:
    """Directly before every attempt at `then`, `first` must have succeeded: no call in between."""

    kind: ClassVar[str] = "adjacency"
    pairs: tuple[tuple[Tools, Tools], ...]

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        return judge_duties(
            [d for first, then in self.pairs for d in self._duties(first, then, seen)], seen, rules
        )

    def _duties(self, first: Tools, then: Tools, seen: Evidence) -> Iterator[Duty]:
        good, started = set(seen.successes(first)), Started(seen)
        for j in _besides(seen.attempts(then), then, first, seen):
            near = started.last_before(j)
            options = tuple(i for i in near if i in good)
            said = f"{then.phrase} (call {j}) was not directly preceded by a success of {first.phrase}."
            yield Duty(j, DirectlyBefore(j, options, near), said, by_absence=True)


@dataclass(frozen=True, slots=True)
class Window:
    """Every attempt lies in a window of the day, in the file's time zone."""

    kind: ClassVar[str] = "window"
    limits: tuple[tuple[Tools, int | None, int | None], ...]
    """(action, not before, ended by) each; minutes after midnight. The first later: over midnight."""

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        if not any(seen.attempts(tools) for tools, _, _ in self.limits):
            return NOT_APPLICABLE
        if not seen.has_times:
            return NO_TIMES
        return judge_duties([d for limit in self.limits for d in self._duties(*limit, seen)], seen, rules)

    def _duties(self, tools: Tools, since: int | None, until: int | None, seen: Evidence) -> Iterator[Duty]:
        zone = zone_of(seen.timezone)
        for i in seen.attempts(tools):
            start, latest = (edge // seen.times.scale for edge in _edges(seen.times.start(i)))
            kept: InWindow | InSomeWindow = (
                InWindow(i, *_window_around(start, since, until, zone))
                if start == latest
                else InSomeWindow(i, tuple(_windows_between(start, latest, since, until, zone)))
            )
            edges = (("after", since), ("before", until))
            limits = " and ".join(f"{word} {clock(edge)}" for word, edge in edges if edge is not None)
            began = f"{_local(start, zone):%H:%M:%S}"
            said = f"{tools.phrase} (call {i}) must happen {limits} ({seen.timezone}); it started at {began}."
            yield Duty(i, kept, said)


@dataclass(frozen=True, slots=True)
class Gap:
    """Every attempt at `then` starts within, or at least, a time after a success of `first` ended."""

    kind: ClassVar[str] = "gap"
    pairs: tuple[tuple[Tools, Tools], ...]
    """(first, then) each."""
    within: int | None = None
    least: int | None = None
    """Nanoseconds, one of the two."""

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        if not any(seen.attempts(then) for _, then in self.pairs):
            return NOT_APPLICABLE
        if not seen.has_times:
            return NO_TIMES
        return judge_duties(
            [d for first, then in self.pairs for d in self._duties(first, then, seen)], seen, rules
        )

    def _duties(self, first: Tools, then: Tools, seen: Evidence) -> Iterator[Duty]:
        ended = Ended(seen.successes(first), seen)
        for j in _besides(seen.attempts(then), then, first, seen):
            options = ended.last_before(j)
            if self.within is not None:
                said = (
                    f"{then.phrase} (call {j}) did not start within {duration_in_words(self.within)} after "
                )
                yield Duty(
                    j, StartsWithin(j, options, self.within), f"{said}{first.phrase}.", by_absence=True
                )
            else:
                least = self.least or 0
                said = f"{then.phrase} (call {j}) did not start at least {duration_in_words(least)} after "
                yield Duty(j, StartsAtLeast(j, options, least), f"{said}{first.phrase}.", by_absence=True)


@dataclass(frozen=True, slots=True)
class NoOverlap:
    """No call of one action runs while a call of the other does; the one that starts later is named."""

    kind: ClassVar[str] = "overlap"
    pairs: tuple[tuple[Tools, Tools], ...]

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        both = [(a, b) for a, b in self.pairs if self._relevant(a, b, seen)]
        if not both:
            return NOT_APPLICABLE
        if not seen.has_times:
            return NO_TIMES
        duties = [duty for a, b in both for duty in self._duties(a, b, seen)]
        return judge_duties(duties, seen, rules)

    @staticmethod
    def _relevant(a: Tools, b: Tools, seen: Evidence) -> bool:
        return len({*seen.attempts(a), *seen.attempts(b)}) > 1 and bool(seen.attempts(a) and seen.attempts(b))

    def _duties(self, a: Tools, b: Tools, seen: Evidence) -> Iterator[Duty]:
        yield from self._one_side(a, b, seen)
        if a.names != b.names:
            yield from self._one_side(b, a, seen)

    @staticmethod
    def _one_side(later: Tools, earlier: Tools, seen: Evidence) -> Iterator[Duty]:
        """Each call of `later` against the calls of `earlier` that started before it and can still run."""
        times, rank = seen.times, seen.rank
        others = seen.attempts(earlier)
        running: list[int] = []
        taken = 0
        for j in seen.attempts(later):
            while taken < len(others) and rank[others[taken]] < rank[j]:
                running.append(others[taken])
                taken += 1
            lo, _ = _edges(times.start(j))
            running = [i for i in running if _edges(times.end(i))[1] > lo]
            said = f"{later.phrase} (call {j}) overlaps {earlier.phrase}"
            said += f" ({calls_in_words(running)})." if running else "."
            yield Duty(j, Apart(j, tuple(i for i in running if i != j)), said)


NO_TIMES = Judged("unsupported", (), "The policy speaks of times, and the run has none.")


def is_besides(tools: Tools, other: Tools) -> bool:
    """Does `tools` say `any tool` beside a named action? It means any other: none can need itself."""
    return "*" in tools.names and "*" not in other.names


def _besides(calls: list[int], tools: Tools, other: Tools, seen: Evidence) -> list[int]:
    if not is_besides(tools, other):
        return calls
    own = set(seen.attempts(other))
    return [i for i in calls if i not in own]


def _any_calls(seen: Evidence, pairs: Sequence[tuple[Tools, Tools]]) -> bool:
    return any(seen.successes(trigger) for trigger, _ in pairs)


def _without_arguments(seen: Evidence, tools: Sequence[Tools]) -> bool:
    return any(seen.calls[i].arguments is None for group in tools for i in seen.attempts(group))


def zone_of(name: str) -> tzinfo:
    """A time zone by name; UTC needs no time zone database."""
    return UTC if name == "UTC" else ZoneInfo(name)


def _local(ns: int, zone: tzinfo) -> datetime:
    return datetime.fromtimestamp(ns // NANOSECONDS, zone)


def _window_around(
    start: int, since: int | None, until: int | None, zone: tzinfo
) -> tuple[int | None, int | None]:
    """The window of the day on which `start` lies, as instants; one over midnight may have begun before."""
    day = _local(start, zone)
    if since is not None and until is not None and until < since:
        opened = day if day.hour * 60 + day.minute >= since else day - timedelta(days=1)
        return _instant(opened, since, zone), _instant(opened + timedelta(days=1), until, zone)
    return (
        None if since is None else _instant(day, since, zone),
        None if until is None else _instant(day, until, zone),
    )


def _windows_between(
    lo: int, hi: int, since: int | None, until: int | None, zone: tzinfo
) -> Iterator[tuple[int, int, int | None]]:
    """(first start, last start, last end) of every window in which a start between `lo` and `hi` can lie."""
    first, count = _local(lo, zone), (_local(hi, zone).date() - _local(lo, zone).date()).days + 1
    for k in range(-1, count):
        if MAX_DAYS <= k < count - MAX_DAYS:
            continue
        day = first + timedelta(days=k)
        if since is not None and until is not None and until < since:
            closed = _instant(day + timedelta(days=1), until, zone)
            yield _instant(day, since, zone), closed, closed
        elif k >= 0:
            midnight = _instant(day, 24 * 60, zone)
            yield (
                _instant(day, since or 0, zone),
                midnight - 1,
                None if until is None else _instant(day, until, zone),
            )


def _instant(day: datetime, minutes: int, zone: tzinfo) -> int:
    extra, minutes = divmod(minutes, 24 * 60)
    date = day.date() + timedelta(days=extra)
    return round(datetime.combine(date, time(minutes // 60, minutes % 60), zone).timestamp()) * NANOSECONDS


def duration_in_words(ns: int) -> str:
    for size, name in ((3600 * NANOSECONDS, "hour"), (MINUTE, "minute"), (NANOSECONDS, "second")):
        if ns % size == 0 and ns >= size:
            return f"{ns // size} {name}" + ("s" if ns != size else "")
    return f"{ns / 1e6:g} ms"


def times_in_words(count: int) -> str:
    return f"{count} time" if count == 1 else f"{count} times"
