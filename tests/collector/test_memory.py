"""Memory that goes back."""

from __future__ import annotations

import gc
import weakref

from collector.memory import give_back


class Circle:
    def __init__(self) -> None:
        self.itself = self


def test_what_only_a_search_for_cycles_finds_is_given_back() -> None:
    gc.disable()
    try:
        circle = Circle()
        held = weakref.ref(circle)
        del circle
        assert held() is not None
        give_back()
        assert held() is None
    finally:
        gc.enable()
