"""A recorded run as a transcript: the events that stand for states of a behaviour specification.

The transcript goes by model messages, as the model reads it: its text, all its calls, all their results.
Where it is not known which calls belong to one message, or one message's calls run while another's begin, it
goes by instants. What was not recorded (whether there was text beside a call, a last word) may have been or
not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from synth.formal.constraints import edges_of
from synth.formal.monitor import Monitor
from synth.formal.monitor_orders import Event
from synth.formal.specification import EVENTS, Choices, Specification, traced
from synth.observed.run import ToolCall
from synth.policies.evidence import MISSING, Evidence, made_by

FIRST, LAST = -(1 << 100), 1 << 100
"""Instants before and after all others."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Something that a run shows."""

    kind: str
    """One of `specification.EVENTS`."""
    call: int | None = None
    """The call that it is of, or that its message asks for first."""
    tool: str | None = None
    sure: bool = True
    """False: nobody recorded whether it happened."""
    at: tuple[int, int] = (0, 0)
    """Bounds of its instant, or of its place."""

    @property
    def name(self) -> str:
        """Equal for those that stand for the same states."""
        return f"{self.kind} {self.tool or ''}{'' if self.sure else '?'}"

    def event(self, key: int) -> Event:
        return Event(key, self.name, *self.at, sure=self.sure)

    def words(self, seen: Evidence) -> str:
        if self.call is None:
            return {"request": "A request", "text": "A text of the model"}.get(
                self.kind, "The model's last word"
            )
        who = made_by(self.call, seen)
        shown = {"text": "The text beside", "result": "The result of", "results": "The results with that of"}
        return f"{shown[self.kind]} {who}" if self.kind in shown else who


def transcript(seen: Evidence) -> list[Shown]:
    """What the run shows, in order, as far as that is known."""
    return by_place(seen) if _goes_by_messages(list(_groups(seen)), seen) else by_instants(seen)


def by_place(seen: Evidence) -> list[Shown]:
    """Message by message."""
    return [replace(one, at=(place, place)) for place, one in enumerate(by_instants(seen))]


def by_instants(seen: Evidence) -> list[Shown]:
    """Each event at the bounds of its instant."""
    messages = _Messages(seen)
    groups = list(_groups(seen))
    found: list[Shown] = []
    for group in groups:
        first = seen.rank[group[0]]
        found += messages.until(first, _start(seen, group)[0] - 1)
        found += _message(group, seen)
    found += messages.until(len(seen.calls) + 1, LAST - 1)
    found += messages.last_word()
    return found


def _groups(seen: Evidence) -> Iterator[list[int]]:
    """The calls of each model message; one by one where that is not known."""

    def message(i: int) -> Any:
        step = seen.call_field(i, "step")
        return ("alone", i) if step is MISSING else step

    for _, calls in groupby(seen.order, key=message):
        yield list(calls)


def _goes_by_messages(groups: Sequence[Sequence[int]], seen: Evidence) -> bool:
    """Is each message known, and did each have its results when the next one's calls began?"""
    steps = [seen.call_field(group[0], "step") for group in groups]
    if MISSING in steps or len(set(map(str, steps))) < len(steps):
        return False
    latest = FIRST
    for group in groups:
        if any(edges_of(seen.times.start(i))[1] < latest for i in group):
            return False
        ended = [edges_of(seen.times.end(i))[0] for i in group if seen.calls[i].finished]
        latest = max([latest, *ended])
    return True


def _message(group: Sequence[int], seen: Evidence) -> Iterator[Shown]:
    """What one model message and its calls show."""
    texts = [seen.call_field(i, "with_text") for i in group]
    if any(text is not False for text in texts):
        lo, hi = _start(seen, group)
        yield Shown("text", group[0], sure=True in texts, at=(lo + 1, hi + 1))
    for i in group:
        lo, hi = edges_of(seen.times.start(i))
        yield Shown("call", i, seen.calls[i].tool, at=(4 * lo + 2, 4 * hi + 2))
    for i in group:
        if (told := _is_answered(seen.calls[i])) is not False:
            lo, hi = edges_of(seen.times.end(i))
            yield Shown("result", i, seen.calls[i].tool, sure=told is True, at=(4 * lo, 4 * hi))
    told_all = [_is_answered(seen.calls[i]) for i in group]
    if False not in told_all:
        ends = [edges_of(seen.times.end(i)) for i in group]
        at = (4 * max(lo for lo, _ in ends), 4 * max(hi for _, hi in ends))
        yield Shown("results", group[-1], sure=all(told_all), at=at)


def _start(seen: Evidence, group: Sequence[int]) -> tuple[int, int]:
    starts = [edges_of(seen.times.start(i)) for i in group]
    return 4 * min(lo for lo, _ in starts), 4 * min(hi for _, hi in starts)


def _is_answered(call: ToolCall) -> bool | None:
    """Was the model told what came of it? None = not known."""
    if call.result is not None or call.error is not None:
        return True
    if call.executed is None or not call.executed:
        return None
    return call.finished


class _Messages:
    """What the user and the model said beside calls, in the order of the run."""

    def __init__(self, seen: Evidence) -> None:
        said = seen.run_field(seen.aliases.get("messages", "messages"))
        entries = [one for one in said if isinstance(one, Mapping)] if isinstance(said, list) else []
        begins = max((k for k, one in enumerate(entries) if _is_first(one)), default=-1)
        own = entries[begins + 1 :]  # what came before the last request before all calls is an older run's
        self._calls = len(seen.calls)
        self._left = [one for one in own if one.get("role") in ("user", "assistant") and not one.get("asks")]
        self._ended = seen.run.ended
        self._begun = False

    def until(self, call: int, at: int) -> Iterator[Shown]:
        """What was said before so many calls had begun, the request first; not the last word."""
        if not self._begun:
            self._begun = True
            yield Shown("request", at=(FIRST, FIRST))
        while self._left and _place(self._left[0]) <= call and not self._is_last():
            one = self._left.pop(0)
            kind = "request" if one.get("role") == "user" else "text"
            yield Shown(kind, sure=not one.get("partly"), at=(at, at))

    def last_word(self) -> Iterator[Shown]:
        """What the model said when it asked for no more calls."""
        if self._left:
            yield Shown("answer", at=(LAST, LAST))
        elif self._ended:
            yield Shown("answer", sure=False, at=(LAST, LAST))

    def _is_last(self) -> bool:
        one = self._left[0]
        return len(self._left) == 1 and one.get("role") == "assistant" and _place(one) >= self._calls


def _is_first(message: Mapping[str, Any]) -> bool:
    return message.get("role") == "user" and _place(message) == 0


def _place(message: Mapping[str, Any]) -> int:
    place = message.get("before_call")
    return place if isinstance(place, int) else 0


@dataclass(frozen=True, slots=True)
class Reading:
    """An automaton over what runs show, made of one over states."""

    monitor: Monitor
    sets: tuple[frozenset[int], ...]
    """By its state: those of the specification's automaton."""

    def allowed(self, state: int, of: Monitor) -> list[str]:
        """The states of the specification that could come next."""
        return sorted({name for one in self.sets[state] for name in of.allowed(one)})


def reading(monitor: Monitor, shown: Sequence[Shown]) -> Reading:
    """For these events: one that stands for one of several sequences of states may be any of them."""
    said = monitor.specification
    choices = {one.name: traced(said, one.kind, one.tool) for one in shown}
    start = frozenset({0})
    numbers, queue, rows = {start: 0}, [start], []
    for states in queue:
        row = {}
        for name, ways in choices.items():
            after = _after(monitor, states, ways)
            if after:
                if after not in numbers:
                    numbers[after] = len(numbers)
                    queue.append(after)
                row[name] = numbers[after]
        rows.append(row)
    accepting = tuple(any(monitor.accepting[one] for one in states) for states in queue)
    return Reading(Monitor("", tuple(rows), accepting), tuple(queue))


def unreached(monitor: Monitor) -> list[str]:
    """The states that no event stands for, where no word does without them; of a bare formula none."""
    said = monitor.specification
    keys = [*said.trace, *((kind, None) for kind in EVENTS)]
    shown = {name for key in keys for way in traced(said, *key) for name in way}
    missing = [state.name for state in said.states if state.name not in shown]
    found, queue = {0}, [0]
    while missing and queue:
        row = monitor.transitions[queue.pop()]
        fresh = {target for name, target in row.items() if name in shown} - found
        found |= fresh
        queue += fresh
    return [] if any(monitor.accepting[state] for state in found) else missing


def _after(monitor: Monitor, states: frozenset[int], ways: Choices) -> frozenset[int]:
    found = set()
    for start in states:
        for way in ways:
            state: int | None = start
            for name in way:
                state = monitor.after(state, name)
            if state is not None:
                found.add(state)
    return frozenset(found)


def states_of(said: Specification, shown: Shown) -> str:
    """The states that an event stands for, in words; empty for none."""
    ways = traced(said, shown.kind, shown.tool)
    return " or ".join(" ".join(way) for way in ways if way)
