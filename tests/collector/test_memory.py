"""Memory that goes back."""

from __future__ import annotations

import gc
import socket
import subprocess
import sys
import time
import weakref
from pathlib import Path

import pytest
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from collector import memory
from collector.memory import Trimmer, give_back, resident
from collector.server import running
from collector.settings import Settings
from tests.support.traces import eventually

SERVE = """
import gc, sys, threading
from collector import memory, server
from collector.settings import Settings

def tell(*_):
    threads = {thread.name for thread in threading.enumerate()}
    print(*gc.get_threshold()[:2], gc.get_freeze_count() > 10_000, *kept, "pdoctor-trimmer" in threads)

kept = []
memory.keep_little = lambda: kept.append("little")
server.Server.run_here = tell
server.serve(Settings(store_url=sys.argv[1], http_port=0, grpc_port=None))
"""

KEPT = """
import sys, threading
from collector.memory import give_back, keep_little, resident

if sys.argv[1] == "little":
    keep_little()

def work():
    for size in (3_000_000, 20_000_000, 31_000_000):
        body = b"x" * size
        del body
    pieces = [b"x" * 60_000 for _ in range(800)]

before = resident()
thread = threading.Thread(target=work)
thread.start()
thread.join()
give_back()
print((resident() - before) // 2**20)
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


def test_a_process_with_an_event_loop_keeps_little_and_searches_for_cycles_in_small_portions(
    tmp_path: Path,
) -> None:
    """A search over 100,000 objects held up every answer for 160 ms."""
    store = f"sqlite:///{tmp_path / 'store.db'}"
    done = subprocess.run(
        [sys.executable, "-c", SERVE, store], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["4000", "2", "True", "little", "True"]


def test_what_is_free_goes_back_soon_where_the_process_has_grown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many small pieces that are freed stay with the C library, until it is told to return them."""
    monkeypatch.setattr(memory, "SEARCH_ROUNDS", 10**9)
    trimmer = Trimmer(pause=0.02)
    try:
        before = resident()
        pieces = [bytes(4_000) for _ in range(20_000)]
        kept = pieces[::200]
        grown = resident()
        del pieces
        deadline = time.monotonic() + 10
        while resident() - before > (grown - before) / 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert resident() - before < (grown - before) / 2
        assert len(kept) == 100
    finally:
        trimmer.close()


def test_what_only_a_search_finds_goes_back_now_and_then() -> None:
    gc.disable()
    trimmer = Trimmer(pause=0.001)
    try:
        circle = Circle()
        held = weakref.ref(circle)
        del circle
        deadline = time.monotonic() + 10
        while held() is not None and time.monotonic() < deadline:
            time.sleep(0.01)
        assert held() is None
    finally:
        trimmer.close()
        gc.enable()


@pytest.mark.parametrize(("how", "least", "most"), [("as it is", 20, 100), ("little", 0, 8)])
def test_what_threads_have_freed_does_not_stay_with_their_arenas(how: str, least: int, most: int) -> None:
    """The C library raises its bounds with each big block: 40 MB of freed ones stayed, trimmed or not."""
    done = subprocess.run(
        [sys.executable, "-c", KEPT, how], capture_output=True, text=True, timeout=60, check=True
    )
    assert least <= int(done.stdout) <= most


def test_requests_that_are_cut_off_need_no_search_for_cycles(tmp_path: Path) -> None:
    """Those of one attack were 200,000 objects, and finding them held all answers up for 300 ms."""
    settings = Settings(store_url=f"sqlite:///{tmp_path / 'store.db'}", http_port=0, grpc_port=None)
    gc.collect()
    gc.disable()
    try:
        with running(settings) as address:
            port = int(address.rpartition(":")[2])
            for _ in range(5):
                with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
                    client.sendall(b"GET /runs HTTP/1.1\r\nhost: localhost\r\n\r\n" * 10 + b"{}")
                    assert client.recv(64)
            eventually(lambda: not any(isinstance(one, RequestResponseCycle) for one in gc.get_objects()), 20)
    finally:
        gc.enable()
