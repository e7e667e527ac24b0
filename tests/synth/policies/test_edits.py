"""Which calls a repair moves."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from synth.policies.kinds.edits import beside


def test_the_nearest_before_and_after_a_call_are_moved() -> None:
    seen: Any = SimpleNamespace(rank=range(7))
    assert beside(3, [0, 2, 3, 5, 6], seen) == ([2], [5])
    assert beside(0, [0, 4, 5], seen) == ([], [4])
    assert beside(6, [1, 4], seen) == ([4], [])
