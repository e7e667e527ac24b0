"""Searches for cycles, for which an event loop stands still."""

from __future__ import annotations

import subprocess
import sys

import pytest

LONGEST = """
import gc, sys
from collector.pipeline import garbage

def most_in_one_go():
    found = []
    gc.callbacks.append(lambda phase, info: phase == "stop" and found.append(info["collected"]))
    waiting = []
    for number in range(200_000):
        circle = []
        circle.append(circle)
        waiting.append(circle)
        if number % 5_000 == 4_999:  # what requests left lives for a search or two
            waiting.clear()
    return max(found)

rounds = [garbage.ANSWERING_ROUNDS] if sys.argv[1] == "answering" else []
garbage.calm_garbage_collection(garbage.ANSWERING, *rounds)
print(most_in_one_go())
"""


@pytest.mark.parametrize(("how", "few"), [("answering", True), ("by default", False)])
def test_an_event_loop_never_frees_very_much_in_one_go(how: str, few: bool) -> None:
    told = subprocess.run([sys.executable, "-c", LONGEST, how], capture_output=True, text=True, check=True)
    assert (int(told.stdout) < 40_000) is few
