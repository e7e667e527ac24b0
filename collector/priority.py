"""Who goes first where there are fewer cores than work: who receives, before who decodes and judges."""

from __future__ import annotations

import contextlib
import os

NICE = 5


def give_way() -> None:
    """This process lets those that receive and answer go first."""
    with contextlib.suppress(AttributeError, OSError):  # not on Windows
        os.nice(NICE)
