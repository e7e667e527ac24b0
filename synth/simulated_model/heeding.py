"""Planners that heed what a guard told them of a refused call, and go by it from then on."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from synth.observed.instants import START_TIME
from synth.simulated_model.dialogue import Asked
from synth.simulated_model.planning import Move, Next, minutes_of, minutes_told, start_at
from synth.simulated_model.task import Task

REFUSED = "Not run: "
"""How every refusal begins, whatever a framework writes around it."""
_PLAN = re.compile(r"A plan that works from here: (.*?)(?:\.(?!\w)|…|\Z)", re.DOTALL)
_ALLOWED = re.compile(r"Allowed now: (.*?)(?:\.(?!\w)|…|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Told:
    """What a refusal says of the calls to come."""

    plan: tuple[Move, ...]
    """The rest of a plan that works; () where it tells none."""
    allowed: tuple[str, ...]


def is_refused(call: Asked) -> bool:
    return REFUSED in (call.answer or "")


def told_by(refusal: str, task: Task) -> Told:
    """What can be read in the text; a name that was cut off is none."""
    plan = _PLAN.search(refusal)
    steps = [step.strip().partition(" at ") for step in plan[1].split(",")] if plan else []
    moves = (
        Move(tool, start_at(minutes_of(at)) if at else "{}") for tool, _, at in steps if tool in task.tools
    )
    allowed = _ALLOWED.search(refusal)
    names = [name.strip() for name in allowed[1].split(",")] if allowed else []
    return Told(tuple(moves), tuple(name for name in names if name in task.tools))


def heeding(own: Next, task: Task, heeds: Callable[[int], bool]) -> Next:
    """A plan that is given up for what a refusal tells, each time that `heeds(number of the refusal)`.

    Calls of its own that nothing was told of come afterwards, in its own order.
    """
    sequence = tuple(_sequence(own, task))

    def next_moves(asked: Sequence[Asked]) -> tuple[Move, ...]:
        refused = [at for at, call in enumerate(asked) if is_refused(call)]
        heeded = [at for number, at in enumerate(refused) if heeds(number)]
        if not heeded:
            return own(asked)
        told = told_by(asked[heeded[-1]].answer or "", task)
        done = {call.tool for call in asked if not is_refused(call)}
        left = [move for move in (*told.plan, *sequence) if move.tool not in done]
        if not told.plan and all(is_refused(call) for call in asked[heeded[-1] :]):
            left = [move for move in left if move.tool in told.allowed]
        return tuple(_not_before(move, task, asked) for move in left[:1])

    return next_moves


def _sequence(own: Next, task: Task) -> Iterator[Move]:
    """The calls that a plan asks for where none is refused, each tool once."""
    asked: list[Asked] = []
    seen = set[str]()
    while len(asked) <= 2 * len(task.tools) and (moves := own(asked)):
        for move in moves:
            if move.tool not in seen:
                yield move
            seen.add(move.tool)
            asked.append(Asked("", move.tool, move.arguments, ""))


def _not_before(move: Move, task: Task, asked: Sequence[Asked]) -> Move:
    """Timed: the call, started no earlier than the one before it has ended."""
    if task.horizon is None:
        return move
    ended = max((_end_of(call) for call in asked if not is_refused(call)), default=0)
    return Move(move.tool, start_at(max(_start_in(move.arguments), ended, task.horizon[0])))


def _end_of(call: Asked) -> int:
    return _start_in(call.arguments) + minutes_told(call)


def _start_in(arguments: str) -> int:
    """Minutes after midnight that a timed call is given; 0 where they cannot be read."""
    with suppress(ValueError, TypeError, KeyError):
        return minutes_of(json.loads(arguments)[START_TIME])
    return 0
