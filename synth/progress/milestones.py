"""Progress rate: the share of a task's milestones that a run has reached after each step (AgentQuest, 3.2).

Milestones are the actions of a case, a list of one's own, or a function of the environment's state.
"""

from __future__ import annotations

import graphlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from synth.cases.case import Case
from synth.errors import BadInput
from synth.formal.constraints import outline_of
from synth.observed.run import Run, ToolCall


@dataclass(frozen=True, slots=True)
class Step:
    """What metrics see of one step: the paper's four attributes."""

    number: int
    """From 1 on."""
    action: str
    observation: Any = None
    """What the environment answered; of a failed call its error."""
    state: Any = None
    """Of the environment, hidden from the agent; None where nothing tells it."""


@dataclass(frozen=True, slots=True)
class Milestone:
    """Reached by a successful call of `tool` with these arguments, once all of `after` are reached."""

    name: str
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Arguments that the call must have, among any others."""
    after: tuple[str, ...] = ()
    """Names of milestones that come first."""


def action_text(call: ToolCall) -> str:
    """A call as one text: the tool, one space, the arguments as compact JSON with sorted keys."""
    return f"{call.tool} {_compact(call.arguments)}"


def steps_of(run: Run) -> tuple[Step, ...]:
    """The calls of a run as steps; a call's `state` is the field of that name in its record."""
    return tuple(
        Step(
            number,
            action_text(call),
            call.result if call.error is None else call.error,
            call.extra.get("state"),
        )
        for number, call in enumerate(run.calls, 1)
    )


def case_milestones(case: Case) -> tuple[Milestone, ...]:
    """The actions of a case, each after those that must precede it. Limits of the clock are not looked at."""
    ids = [action.id for action in case.actions]
    before = outline_of(ids, case.constraints).order.before
    return tuple(
        Milestone(action.id, action.tool, after=tuple(ids[i] for i in range(len(ids)) if before[at] >> i & 1))
        for at, action in enumerate(case.actions)
    )


def milestones_from_json(said: Any) -> tuple[Milestone, ...]:
    """Milestones from a list of `{"name"?, "tool", "arguments"?, "after"?}`; without a name it is the tool's.

    BadInput for what is not that, names given twice, and `after` that is unknown or runs in a circle.
    """
    if not isinstance(said, list):
        raise BadInput(f"milestones are a list of objects, not {type(said).__name__}", field="milestones")
    milestones = tuple(_milestone(one, f"milestones[{at}]") for at, one in enumerate(said))
    check_milestones(milestones)
    return milestones


def check_milestones(milestones: Sequence[Milestone]) -> None:
    """BadInput for names given twice, and `after` that is unknown or runs in a circle."""
    names = {milestone.name for milestone in milestones}
    if len(names) < len(milestones):
        raise BadInput("each milestone needs a name of its own", field="milestones")
    for milestone in milestones:
        if unknown := set(milestone.after) - names:
            raise BadInput(
                f"{milestone.name!r} comes after {min(unknown)!r}, which is no milestone", field="milestones"
            )
    try:
        graphlib.TopologicalSorter({m.name: m.after for m in milestones}).prepare()
    except graphlib.CycleError as circle:
        raise BadInput(
            f"these milestones wait for each other: {circle.args[1]}", field="milestones"
        ) from None


def progress(run: Run, milestones: Sequence[Milestone]) -> tuple[float, ...] | None:
    """PR_t = reached milestones / milestones after each call, of what was seen; None without milestones."""
    if not milestones:
        return None
    return tuple(len(reached) / len(milestones) for reached in _after_each(run, milestones))


def reached_by(run: Run, milestones: Sequence[Milestone]) -> frozenset[str]:
    """Names of the milestones that the calls that were seen have reached."""
    *_, last = (set[str](), *_after_each(run, milestones))
    return frozenset(last)


def _after_each(run: Run, milestones: Sequence[Milestone]) -> Iterator[set[str]]:
    """The names of the milestones that are reached, after each call: one set, which grows."""
    waiting = list(milestones)
    reached: set[str] = set()
    for call in run.calls:
        if call.succeeded:
            now = [one for one in waiting if _is_reached(one, call, reached)]
            reached.update(one.name for one in now)
            waiting = [one for one in waiting if one.name not in reached]
        yield reached


def state_progress(states: Iterable[Any], share: Callable[[Any], float]) -> tuple[float, ...]:
    """PR_t by a function of the state after each step. BadInput where it gives no number from 0 to 1."""
    rates = []
    for number, state in enumerate(states, 1):
        rate = share(state)
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate <= 1:
            raise BadInput(f"the progress after step {number} is a number from 0 to 1, not {rate!r}")
        rates.append(float(rate))
    return tuple(rates)


def _compact(value: Any) -> str:
    try:
        options = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS
        return orjson.dumps(value, default=repr, option=options).decode()
    except orjson.JSONEncodeError:  # half surrogates, integers beyond 64 bits
        try:
            return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=repr)
        except (TypeError, ValueError, RecursionError):
            return repr(value)


def _is_reached(milestone: Milestone, call: ToolCall, reached: set[str]) -> bool:
    if call.tool != milestone.tool or not reached.issuperset(milestone.after):
        return False
    if not milestone.arguments:
        return True
    had = call.arguments
    return isinstance(had, Mapping) and all(
        name in had and _equal(had[name], value) for name, value in milestone.arguments.items()
    )


def _equal(a: Any, b: Any) -> bool:
    """As JSON values: True is not 1, and NaN equals itself."""
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a):
        return math.isnan(b)
    return isinstance(a, bool) == isinstance(b, bool) and bool(a == b)


def _milestone(said: Any, where: str) -> Milestone:
    if not isinstance(said, dict):
        raise BadInput(f"a milestone is an object, not {type(said).__name__}", field=where)
    if unknown := set(said) - {"name", "tool", "arguments", "after"}:
        raise BadInput(f"a milestone has no field {min(map(str, unknown))!r}", field=where)
    tool, arguments, after = said.get("tool"), said.get("arguments", {}), said.get("after", [])
    name = said.get("name", tool)
    if not isinstance(tool, str) or not isinstance(name, str):
        raise BadInput("a milestone names a tool: a text", field=f"{where}.tool")
    if not isinstance(arguments, dict):
        raise BadInput("the arguments of a milestone are an object", field=f"{where}.arguments")
    if not isinstance(after, list) or not all(isinstance(one, str) for one in after):
        raise BadInput("after is a list of names of milestones", field=f"{where}.after")
    return Milestone(name, tool, arguments, tuple(after))
