"""Windows of the day in which an action may happen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, time, timedelta, tzinfo
from functools import partial
from typing import ClassVar

from synth.formal.constraints import Constraint, EndsBy, StartsFrom, clock, edges_of, outline_of
from synth.formal.solver import PlanRule
from synth.judge.rules import Rules
from synth.policies.evidence import Evidence
from synth.policies.kinds.candidates import owned
from synth.policies.kinds.duty import NO_TIMES, NOT_APPLICABLE, Duty, Judged, despite_gaps, judge_duties
from synth.policies.kinds.formulas import InSomeWindow, InWindow
from synth.policies.kinds.kind import Form, Paths, Reads, Relation, Traits, clauses_of
from synth.policies.kinds.plans import Slot, slots_of
from synth.policies.kinds.times import NANOSECONDS, local_time, zone_of
from synth.policies.names import Names, Span, Tools

MAX_DAYS = 31
"""Days at either end of a longer interval whose windows are tried: those between add nothing new."""


def _read(said: Sequence[Constraint], names: Names, same: Paths) -> Window:
    outline = outline_of(tuple(dict.fromkeys(phrase for c in said for phrase in c.actions)), said)
    since = {at: outline.earliest[at] for at in outline.since}
    until = {at: outline.latest[at] for at in outline.until}
    limits = ((names.actions[p], since.get(at), until.get(at)) for at, p in enumerate(outline.actions))
    own = [{c.span for c in said if phrase in c.actions} for phrase in outline.actions]
    clauses = tuple(spans.pop() if len(spans) == 1 else None for spans in own)
    return Window(tuple(limits), clauses if clauses_of(said) else ())


@dataclass(frozen=True, slots=True)
class Window:
    """Every attempt lies in a window of the day, in the file's time zone."""

    kind: ClassVar[str] = "window"
    forms: ClassVar[tuple[Form, ...]] = (Relation((EndsBy, StartsFrom), _read),)
    limits: tuple[tuple[Tools, int | None, int | None], ...]
    """(action, not before, ended by) each; minutes after midnight. The first later: over midnight."""
    clauses: tuple[Span | None, ...] = field(default=(), compare=False)
    """The words of each limit, where they are not the whole sentence; None where two clauses make it."""

    @property
    def tools(self) -> tuple[Tools, ...]:
        return tuple(tools for tools, _, _ in self.limits)

    @property
    def traits(self) -> Traits:
        return Traits(subjects=self.tools, reads=Reads())

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        if not any(seen.attempts(tools) for tools, _, _ in self.limits):
            return NOT_APPLICABLE
        if not seen.has_times:
            return NO_TIMES
        day = seen.by_the_time_of_day()
        duties = [d for limit in self.limits for d in self._duties(*limit, day)]
        return self._with_clauses(judge_duties(duties, day, rules), seen)

    def _with_clauses(self, judged: Judged, seen: Evidence) -> Judged:
        return replace(
            judged,
            clauses=tuple(
                (call, clause)
                for call in judged.violations
                for (tools, _, _), clause in zip(self.limits, self.clauses, strict=False)
                if seen.is_of(call, tools)
            ),
        )

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        return despite_gaps(judged, opens=partial(self._opens, seen), mends=lambda call: False)

    def _opens(self, seen: Evidence) -> bool:
        return any(map(seen.gaps.can_be, self.tools))

    def plan_rules(self, slots: Sequence[Slot]) -> Iterator[PlanRule]:
        for tools, since, until in self.limits:
            if since is not None and until is not None and until < since:
                continue  # a window over midnight leaves room on every day
            for i in slots_of(tools, slots):
                yield lambda w, i=i, s=since, u=until: w.any((w.no(w.made(i)), w.in_day(i, s, u)))  # type: ignore[misc]

    def flaws(self) -> tuple[str, ...]:
        return ()

    def _duties(self, tools: Tools, since: int | None, until: int | None, seen: Evidence) -> Iterator[Duty]:
        zone = zone_of(seen.timezone)
        for i in owned(seen.attempts(tools), seen):
            start, latest = (edge // seen.times.scale for edge in edges_of(seen.times.start(i)))
            kept: InWindow | InSomeWindow = (
                InWindow(i, *_window_around(start, since, until, zone))
                if start == latest
                else InSomeWindow(i, tuple(_windows_between(start, latest, since, until, zone)))
            )
            edges = (("after", since), ("before", until))
            limits = " and ".join(f"{word} {clock(edge)}" for word, edge in edges if edge is not None)
            began = f"{local_time(start, zone):%H:%M:%S}"
            said = f"{tools.phrase} (call {i}) must happen {limits} ({seen.timezone}); it started at {began}."
            yield Duty(i, kept, said)


def _window_around(
    start: int, since: int | None, until: int | None, zone: tzinfo
) -> tuple[int | None, int | None]:
    """The window of the day on which `start` lies, as instants; one over midnight may have begun before."""
    day = local_time(start, zone)
    if since is not None and until is not None and until < since:
        opened = day if day.hour * 60 + day.minute >= since else day - timedelta(days=1)
        return instant_of(opened, since, zone), instant_of(opened + timedelta(days=1), until, zone)
    return (
        None if since is None else instant_of(day, since, zone),
        None if until is None else instant_of(day, until, zone),
    )


def _windows_between(
    lo: int, hi: int, since: int | None, until: int | None, zone: tzinfo
) -> Iterator[tuple[int, int, int | None]]:
    """(first start, last start, last end) of every window in which a start between `lo` and `hi` can lie."""
    first, count = local_time(lo, zone), (local_time(hi, zone).date() - local_time(lo, zone).date()).days + 1
    for k in range(-1, count):
        if MAX_DAYS <= k < count - MAX_DAYS:
            continue
        day = first + timedelta(days=k)
        if since is not None and until is not None and until < since:
            closed = instant_of(day + timedelta(days=1), until, zone)
            yield instant_of(day, since, zone), closed, closed
        elif k >= 0:
            midnight = instant_of(day, 24 * 60, zone)
            yield (
                instant_of(day, since or 0, zone),
                midnight - 1,
                None if until is None else instant_of(day, until, zone),
            )


def instant_of(day: datetime, minutes: int, zone: tzinfo) -> int:
    extra, minutes = divmod(minutes, 24 * 60)
    date = day.date() + timedelta(days=extra)
    return round(datetime.combine(date, time(minutes // 60, minutes % 60), zone).timestamp()) * NANOSECONDS
