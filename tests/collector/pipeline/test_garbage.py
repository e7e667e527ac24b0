"""Searches for cycles, for which an event loop stands still."""

from __future__ import annotations

import subprocess
import sys

import pytest

SEARCHES = """
import gc, sys
from collector.pipeline import garbage

rounds = [garbage.ANSWERING_ROUNDS] if sys.argv[1] == "answering" else []
garbage.calm_garbage_collection(garbage.ANSWERING, *rounds)
found = []
gc.callbacks.append(lambda phase, info: phase == "stop" and info["generation"] and found.append(info))
kept = [[] for _ in range(100_000)]
print(len(found))
"""


@pytest.mark.parametrize(("how", "least", "most"), [("answering", 5, 9), ("by default", 1, 3)])
def test_an_event_loop_searches_what_outlives_a_search_in_small_portions(
    how: str, least: int, most: int
) -> None:
    """47,000 objects that cancelled requests left were freed at once, which held answers up for 108 ms."""
    told = subprocess.run([sys.executable, "-c", SEARCHES, how], capture_output=True, text=True, check=True)
    assert least <= int(told.stdout) <= most
