"""Garbage collection for processes that make many short-lived objects and next to no cycles."""

from __future__ import annotations

import gc

THRESHOLD = 100_000
"""Objects more than before until new ones are searched for cycles; a batch of runs has fewer."""
ANSWERING = 4_000
"""The same of a process with an event loop, which stands still meanwhile: for 1 or 2 us an object."""
ROUNDS, ANSWERING_ROUNDS = 10, 2
"""So many searches of what is newest until what outlived them is searched as well, all in one go."""


def calm_garbage_collection(threshold: int = THRESHOLD, rounds: int = ROUNDS) -> None:
    """What is loaded now stays, and what is new is searched for cycles less often.

    With the defaults every tenth part of the CPU time went into walking over our own modules again.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(threshold, rounds, ROUNDS)
