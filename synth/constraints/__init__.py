"""Constraint kinds: one file each, one line in `KINDS`; JSON, Z3 and the README read that tuple."""

from __future__ import annotations

from synth.constraints.before import Before
from synth.constraints.times import Times, Truth
from synth.constraints.windows import EndsBy, StartsFrom, clock

Constraint = Before | EndsBy | StartsFrom

KINDS: tuple[type[Constraint], ...] = (Before, EndsBy, StartsFrom)

__all__ = ["KINDS", "Before", "Constraint", "EndsBy", "StartsFrom", "Times", "Truth", "clock"]
