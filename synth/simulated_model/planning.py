"""Plans of the simulated model: which calls to ask for next, given what was asked and answered so far."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from synth.formal.constraints import clock
from synth.formal.day import ReferencePlanner
from synth.formal.model import ErrorType
from synth.observed.instants import START_TIME
from synth.simulated_model.dialogue import Asked
from synth.simulated_model.task import Task, some_order

MINUTES = re.compile(r"\btook (\d+) minutes?\b")


@dataclass(frozen=True, slots=True)
class Move:
    """One call to ask for; `arguments` is raw text, so that it can be malformed."""

    tool: str
    arguments: str = "{}"


@dataclass(frozen=True, slots=True)
class Fault:
    """A mistake made on purpose, recorded so that its detection can be scored."""

    type: ErrorType
    """The error type a judge must report."""
    what: str
    """Plain words."""
    first: str | None = None
    """`swaps`: the tool that the broken sentence wants first."""
    then: str | None = None
    """`swaps`: the tool that the broken sentence wants later; elsewhere the tool concerned."""

    def to_json(self) -> dict[str, Any]:
        return {"type": self.type, "what": self.what, "first": self.first, "then": self.then}


Next = Callable[[Sequence[Asked]], tuple[Move, ...]]
"""Earlier calls -> the calls of the next message; nothing = the plan is done."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What the model is going to do in one conversation."""

    next: Next
    fault: Fault | None = None
    delay: float = 0.0
    """Seconds that each answer takes."""
    slips_at: int | None = None
    """The call that is asked for in words which no agent can read, however often it is asked again."""


# ---------------------------------------------------------------- what earlier calls say


def minutes_told(call: Asked) -> int:
    """The duration that the tool's answer told; 0 where it told none, as after an error."""
    told = MINUTES.search(call.answer or "")
    return int(told[1]) if told else 0


def start_at(minutes: int) -> str:
    """The arguments of a timed call."""
    return json.dumps({START_TIME: clock(minutes)})


def minutes_of(time: str) -> int:
    """Minutes after midnight of HH:MM; ValueError for anything else."""
    hours, _, minutes = time.partition(":")
    return 60 * int(hours) + int(minutes)


# ---------------------------------------------------------------- ways to go on


def listed(moves: Sequence[Move]) -> Next:
    """One call a message, as listed."""

    def next_moves(asked: Sequence[Asked]) -> tuple[Move, ...]:
        return tuple(moves[len(asked) : len(asked) + 1])

    return next_moves


def layered(layers: Sequence[Sequence[Move]]) -> Next:
    """What is left of a layer, all in one message."""

    def next_moves(asked: Sequence[Asked]) -> tuple[Move, ...]:
        left = len(asked)
        for layer in layers:
            if left < len(layer):
                return tuple(layer[left:])
            left -= len(layer)
        return ()

    return next_moves


def after(first: Move, rest: Next) -> Next:
    """One call, then another plan, which never hears of it."""

    def next_moves(asked: Sequence[Asked]) -> tuple[Move, ...]:
        return rest(asked[1:]) if asked else (first,)

    return next_moves


def packed(order: Sequence[str], begin: int) -> Next:
    """Timed: in this order, each task as soon as the one before has ended, windows or not."""

    def next_moves(asked: Sequence[Asked]) -> tuple[Move, ...]:
        if len(asked) >= len(order):
            return ()
        now = begin + sum(minutes_told(call) for call in asked)
        return (Move(order[len(asked)], start_at(now)),)

    return next_moves


def in_order(task: Task, order: Sequence[str]) -> Next:
    """An order of tools as a plan: bare calls, or packed into the day in timed mode."""
    if task.horizon is not None:
        return packed(order, task.horizon[0])
    if task.parallel:
        return layered([[Move(tool) for tool in bundle] for bundle in bundles(task, order)])
    return listed([Move(tool) for tool in order])


def bundles(task: Task, order: Sequence[str]) -> list[list[str]]:
    """An order of tools cut into messages, so that none holds two tools between which an order is stated."""
    at, closure = {tool: place for place, tool in enumerate(task.tools)}, task.order
    made: list[list[str]] = []
    for tool in order:
        tied = closure.before[at[tool]] | closure.after[at[tool]] if tool in at else 0
        if not made or any(tied >> at[other] & 1 for other in made[-1]):
            made.append([])
        made[-1].append(tool)
    return made


def perfect(task: Task, rng: Random) -> Next:
    """A plan that keeps every sentence; in timed mode it learns durations and re-plans when it must."""
    if task.horizon is None:
        return in_order(task, some_order(task, rng))
    return scheduled(task, task.horizon)


def scheduled(task: Task, horizon: tuple[int, int]) -> Next:
    """The reference planner, brought to where the conversation stands."""

    def next_moves(asked: Sequence[Asked]) -> tuple[Move, ...]:
        planner = ReferencePlanner(task.tools, task.constraints, horizon)
        for call in asked:
            if planner.next_call() is None:
                return ()
            planner.learn(minutes_told(call))
        planned = planner.next_call()
        return () if planned is None else (Move(planned[0], start_at(planned[1])),)

    return next_moves


def forever(move: Move, times: int = 1) -> Next:
    """The same call again and again, so many `times` in a message."""
    return lambda asked: (move,) * times


def changed(rest: Next, change: Callable[[int, Move], Move]) -> Next:
    """Another plan with each move passed through `change(index, move)`."""

    def next_moves(asked: Sequence[Asked]) -> tuple[Move, ...]:
        at = len(asked)
        return tuple(change(at + k, move) for k, move in enumerate(rest(asked)))

    return next_moves


def replaced(tool: str, by: Mapping[str, Any] | str) -> Callable[[int, Move], Move]:
    """A change that gives one tool other arguments."""
    text = by if isinstance(by, str) else json.dumps(by)
    return lambda _, move: Move(tool, text) if move.tool == tool else move
