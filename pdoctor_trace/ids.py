"""Ids of traces and spans, from a generator of our own."""

from __future__ import annotations

import os
import random

numbers = random.Random(os.urandom(16))
"""Our own: the host's `random.seed(7)` must not make ids repeat, nor we disturb its numbers."""


def new_trace_id() -> int:
    return numbers.getrandbits(128) or 1


def new_span_id() -> int:
    return numbers.getrandbits(64) or 1


def reseed() -> None:
    """In a forked child: or both processes would draw the same ids."""
    numbers.seed(os.urandom(16))
