"""Transcripts of runs with calls that nobody saw: what such calls may have shown, and where.

A call that was not seen may have had a text before it, the call itself, its result and the results of its
message. More is allowed here than one run can show (any number of these, in any order), so that what holds of
all these transcripts holds of the run, whatever it was: a run that left its specification before the first
such call left it, and so did one that no such call can mend.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from synth.formal.monitor import Monitor
from synth.formal.monitor_orders import Orders, follow_orders
from synth.observed.run import Unseen
from synth.policies.evidence import MISSING, Evidence
from synth.policies.kinds.transcript import Reading, Shown, by_instants, by_place, reading

ELSE = ""
"""Stands for every tool that a specification does not name."""


def orders_with_unseen(monitor: Monitor, seen: Evidence) -> Iterator[tuple[Reading, list[Shown], Orders]]:
    """Where the transcripts end, by messages and by instants: a call more may show that either is right."""
    for shown in (by_place(seen), by_instants(seen)):
        loosened = [_loosened(one, seen) for one in shown]
        unseen = _Unseen(monitor, loosened, seen)
        events = [one.event(key) for key, one in enumerate(loosened)]
        found = follow_orders(unseen.known.monitor, events, unseen.between, seen.budget)
        yield unseen.known, loosened, found


def _loosened(one: Shown, seen: Evidence) -> Shown:
    """What an unseen call of the same message may move or take away may not have been there."""
    if one.kind == "answer":
        return replace(one, sure=one.sure and all(gap.before is not None for gap in seen.gaps.known))
    if one.call is None or one.kind not in ("text", "results") or not one.sure:
        return one
    group = _message_of(one.call, seen)
    first, last = seen.rank[group[0]], seen.rank[group[-1]]
    begins = [_began_after(gap, seen) for gap in seen.gaps.known]
    ends = [_began_before(gap, seen) for gap in seen.gaps.known]
    if one.kind == "text":
        moved = any(lo < first <= hi for lo, hi in zip(begins, ends, strict=True))
    else:
        moved = any(lo <= last and first <= hi for lo, hi in zip(begins, ends, strict=True))
    return replace(one, sure=not moved)


def _message_of(call: int, seen: Evidence) -> list[int]:
    """The calls of one model message, in order, as far as it is known."""
    step = seen.call_field(call, "step")
    same = [i for i in seen.order if step is not MISSING and seen.call_field(i, "step") == step]
    return same or [call]


def _began_after(gap: Unseen, seen: Evidence) -> float:
    return -1.0 if gap.after is None else seen.rank[gap.after]


def _began_before(gap: Unseen, seen: Evidence) -> float:
    return float("inf") if gap.before is None else seen.rank[gap.before]


@dataclass(frozen=True, slots=True)
class _Place:
    """Keys of calls, by which it is known what may come now."""

    text_after: int | None
    after: int | None
    before: int | None
    tools: tuple[str, ...]


class _Unseen:
    """What unseen calls may show between the events of a run."""

    def __init__(self, monitor: Monitor, shown: Sequence[Shown], seen: Evidence) -> None:
        self._keys = {one.call: key for key, one in enumerate(shown) if one.kind == "call"}
        self._places = [self._place(gap, monitor, seen) for gap in seen.gaps.known if gap.calls != 0]
        tools = {tool for place in self._places for tool in place.tools}
        more = [Shown(kind, tool=tool) for kind in ("call", "result") for tool in sorted(tools)]
        others = [Shown(kind) for kind in ("text", "results", "answer")]
        self.known = reading(monitor, [*shown, *more, *others])

    def _place(self, gap: Unseen, monitor: Monitor, seen: Evidence) -> _Place:
        named = {tool for _, tool in monitor.specification.trace if tool is not None}
        tools = seen.gaps.tools([gap])
        possible = {ELSE, *named} if tools is None else {tool if tool in named else ELSE for tool in tools}
        before_message = None
        if gap.after is not None:
            first = seen.rank[_message_of(gap.after, seen)[0]]
            before_message = seen.order[first - 1] if first else None
        return _Place(
            self._key(before_message), self._key(gap.after), self._key(gap.before), tuple(sorted(possible))
        )

    def _key(self, call: int | None) -> int | None:
        return self._keys.get(call)

    def between(self, states: set[int], done: Callable[[int], bool]) -> tuple[set[int], bool]:
        """The states that unseen events may lead to here, and whether they may leave the specification."""
        names = {one.name for place in self._places for one in _possible(place, done)}
        found, queue, astray = set(states), list(states), False
        while queue:
            state = queue.pop()
            for name in names:
                after = self.known.monitor.after(state, name)
                astray |= after is None
                if after is not None and after not in found:
                    found.add(after)
                    queue.append(after)
        return found, astray


def _possible(place: _Place, done: Callable[[int], bool]) -> Iterable[Shown]:
    over = place.before is not None and done(place.before)
    if not over and (place.text_after is None or done(place.text_after)):
        yield Shown("text")
    if place.after is not None and not done(place.after):
        return
    yield Shown("results")
    for tool in place.tools:
        yield Shown("result", tool=tool)
        if not over:
            yield Shown("call", tool=tool)
    if place.before is None:
        yield Shown("answer")
