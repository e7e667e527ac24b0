"""Memory that goes back."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from pathlib import Path

from collector.memory import give_back

SERVE = """
import gc, sys
from collector import server
from collector.settings import Settings

server.Server.run_here = lambda *_: print(gc.get_threshold()[0], gc.get_freeze_count() > 10_000)
server.serve(Settings(store_url=sys.argv[1], http_port=0, grpc_port=None))
"""


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


def test_a_process_with_an_event_loop_searches_for_cycles_in_small_portions(tmp_path: Path) -> None:
    """A search over 100,000 objects held up every answer for 160 ms."""
    store = f"sqlite:///{tmp_path / 'store.db'}"
    done = subprocess.run(
        [sys.executable, "-c", SERVE, store], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["8000", "True"]
