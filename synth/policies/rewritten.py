"""A run as it would have been with some calls elsewhere, more of them, or fewer.

What stays keeps its times as long as nothing in front of it takes longer; what is put elsewhere, and what
must wait for it, keeps the longest time that it can have taken. A call that was never made takes no time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Any

from synth.formal.partly import Why
from synth.frozen import quick
from synth.observed.instants import has_times
from synth.observed.marks import ELLIPSIS
from synth.observed.run import Interval, Run, ToolCall
from synth.policies.kinds.edits import Drop, Edit, Insert, Move

OPEN: Mapping[str, Why] = {"arguments": "cut", "result": "absent"}
"""Of a call that was not made: it may have further arguments, and nobody knows what it would answer."""


@quick
@dataclass(frozen=True, slots=True)
class Step:
    """One call of a plan."""

    tool: str
    call: int | None
    """Its position in the run that was observed; None = it was not made."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Of a call that was not made."""
    whole: bool = False
    """Can that call have no others?"""
    moved: bool = False

    @property
    def key(self) -> Any:
        """Which call it is, and whether it waits for those before it."""
        return (self.tool, repr(self.arguments), self.whole) if self.call is None else (self.call, self.moved)


@quick
@dataclass(frozen=True, slots=True)
class Plan:
    """The calls of a run in the order in which they begin."""

    steps: tuple[Step, ...]
    edits: int = 0

    @classmethod
    def of(cls, run: Run, order: Sequence[int]) -> Plan:
        """The run as it was observed; `order` are the positions of its calls."""
        return cls(tuple(Step(run.calls[i].tool, i) for i in order))

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for plans of the same steps, however they came there."""
        return tuple(step.key for step in self.steps)

    def edited(self, edit: Edit) -> Plan:
        """The plan after one more change."""
        steps = list(self.steps)
        if isinstance(edit, Drop):
            del steps[edit.at]
        elif isinstance(edit, Insert):
            steps.insert(edit.to, Step(edit.tool, None, edit.arguments, edit.whole))
        else:
            step = replace(steps.pop(edit.at), moved=True)
            steps.insert(edit.to - (edit.at < edit.to), step)
        more = 0 if isinstance(edit, Move) and self.steps[edit.at].moved else 1
        return Plan(tuple(steps), self.edits + more)

    def changed(self, run: Run) -> Run:
        """The run with these calls, one after the other where they are not as they were."""
        calls = [_made(step, run) for step in self.steps]
        times = _times(self.steps, calls) if has_times(run.calls) else repeat((None, None))
        made = zip(calls, _messages(self.steps, run), times, strict=False)
        return replace(run, calls=tuple(_put(call, step, *at) for call, step, at in made))


def _made(step: Step, run: Run) -> ToolCall:
    if step.call is not None:
        return run.calls[step.call]
    if step.whole:
        return ToolCall(None, step.tool, dict(step.arguments), partly={"result": "absent"})
    return ToolCall(None, step.tool, {**step.arguments, ELLIPSIS: ELLIPSIS}, partly=OPEN)


def _put(call: ToolCall, step: int | None, start: Interval | None, end: Interval | None) -> ToolCall:
    """The call in this model message and at these instants, which are of one clock."""
    if call.step == step and call.start == start and call.end == end and "clock" not in call.extra:
        return call
    extra = {name: value for name, value in call.extra.items() if name != "clock"}
    return call.moved(step, start, end, extra)


def _messages(steps: Sequence[Step], run: Run) -> Iterator[int | None]:
    """Numbers of model messages: what stays beside its sibling stays in its message."""
    known = all(call.step is not None for call in run.calls)
    number, last = -1, None
    for step in steps:
        own = None if step.call is None or step.moved else run.calls[step.call].step
        number += own is None or own != last
        last = own
        yield number if known else None


def _times(
    steps: Sequence[Step], calls: Sequence[ToolCall]
) -> Iterator[tuple[Interval | None, Interval | None]]:
    """When each begins and ends: `free` is when those before have ended, `floor` when the late ones have."""
    floor = free = min((call.start[0] for call in calls if call.start is not None), default=0)
    for step, call in zip(steps, calls, strict=True):
        stays = step.call is not None and not step.moved and call.start is not None and call.start[0] >= floor
        start, end = call.start, call.end
        if not stays:
            start, end = _at(call, free if step.call is None or step.moved else max(free, floor))
        free = max(free, (end or start or (free, free))[1])
        floor = floor if stays else free
        yield start, end


def _at(call: ToolCall, instant: int) -> tuple[Interval, Interval | None]:
    """The call from an instant on, for as long as it can have taken."""
    took = call.end[1] - call.start[0] if call.start is not None and call.end is not None else 0
    ended = instant + took
    return (instant, instant), (ended, ended) if call.finished else None
