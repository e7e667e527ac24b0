"""Plans that rules are proved over: up to two calls of every tool, any of which may be left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from synth.formal.constraints import Truth
from synth.formal.solver import PlanRule, Slots
from synth.policies.kinds.candidates import is_besides
from synth.policies.names import Tools

COPIES = 2
"""Calls of each tool in the plans that Z3 looks for."""

Slot = tuple[str, int]
"""A tool and the number of its call."""


def slots_for(tools: Sequence[str]) -> list[Slot]:
    """The calls that plans over these tools may make."""
    return [(tool, copy) for tool in tools for copy in range(COPIES)]


def slots_of(tools: Tools, slots: Sequence[Slot]) -> list[Slot]:
    return [slot for slot in slots if slot[0] in tools]


def slots_besides(tools: Tools, other: Tools, slots: Sequence[Slot]) -> list[Slot]:
    """The slots of `tools`; of `any tool` beside a named action, those of the others."""
    own = slots_of(tools, slots)
    return [slot for slot in own if slot[0] not in other] if is_besides(tools, other) else own


def needs_one(j: Slot, options: Sequence[Slot], related: Callable[[Slots, Slot], Any]) -> PlanRule:
    """If `j` is made, so is one of `options`, and it is `related` to `j`."""
    return lambda w: w.any([w.no(w.made(j)), *(w.all((w.made(i), related(w, i))) for i in options if i != j)])


def directly(i: Slot, j: Slot, slots: Sequence[Slot], w: Slots) -> Truth:
    """`i` ends before `j` starts, and every other call that is made lies outside."""
    others = (w.any((w.no(w.made(k)), w.before(k, i), w.before(j, k))) for k in slots if k not in (i, j))
    return w.all([w.before(i, j), *others])


def never_both(i: Slot, j: Slot, unless: PlanRule) -> PlanRule:
    return lambda w: w.any((w.no(w.made(i)), w.no(w.made(j)), unless(w)))
