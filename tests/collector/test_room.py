"""Memory that many processes share: who needs much is not passed by others, and nobody waits for ever."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from collector.errors import Overloaded
from collector.memory import READ_BYTES, TooBig, resident
from collector.otlp import decoder
from collector.pipeline import asked, reading
from collector.room import UNIT_MIB, UNITS, Room
from collector.settings import MIB, Settings
from tests.support.traces import PATIENCE, eventually

ALL = UNIT_MIB * UNITS


@pytest.fixture
def room() -> Iterator[Room]:
    made = Room()
    yield made
    made.close()


def soon(seconds: float = 0.0) -> float:
    return time.monotonic() + seconds


def test_so_much_is_taken_at_once_and_no_more(room: Room) -> None:
    with ExitStack() as held:
        for _ in range(UNITS):
            held.enter_context(room.taken(1, soon()))
        with pytest.raises(Overloaded) as refused, room.taken(1, soon(0.05)):
            pass
        assert refused.value.retry_after
    with room.taken(10 * ALL, soon()):  # all there is
        pass


def test_what_one_process_may_take_is_there() -> None:
    """A bound beyond what is shared would be memory that nobody counts."""
    assert decoder.MEMORY_MIB - decoder.REST_MIB <= ALL
    assert asked.MEMORY_MIB - asked.REST_MIB <= ALL
    assert READ_BYTES <= ALL * MIB
    assert Settings().checker_mib - asked.REST_MIB - reading.OWN_MIB <= ALL


def test_a_block_that_fails_gives_it_back(room: Room) -> None:
    with pytest.raises(ZeroDivisionError), room.taken(ALL, soon()):
        raise ZeroDivisionError
    with room.taken(ALL, soon()):
        pass


def test_what_was_read_goes_back_where_it_was_too_much(room: Room) -> None:
    after: list[bytes] = []

    def reader() -> None:
        held = [bytes(600 + number % 2) for number in range(150_000)]
        after.append(bytes(600))  # the C library would keep what stands before it
        raise TooBig(f"{len(held)} values", "read less")

    before = resident()
    with pytest.raises(TooBig) as told, room.reading(soon()):  # who tells of it holds the failure
        reader()
    assert resident() - before < 20 * MIB, told.value
    with room.taken(ALL, soon()):
        pass


def test_processes_share_it_and_one_that_is_killed_gives_back(room: Room) -> None:
    hold = (
        "import sys, time; from collector.room import Room; "
        f"one = Room(int(sys.argv[1])).taken({ALL - UNIT_MIB}, time.monotonic() + 60); one.__enter__(); "
        "print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", hold, str(room.descriptor)]
    with subprocess.Popen(
        command, pass_fds=(room.descriptor,), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with room.taken(UNIT_MIB, soon()):
            pass
        with pytest.raises(Overloaded), room.taken(2 * UNIT_MIB, soon()):
            pass
        other.kill()
    with room.taken(ALL, soon(PATIENCE)):
        pass


def test_who_needs_all_is_not_passed_by_those_who_need_little(room: Room) -> None:
    served: list[str] = []

    def take(mib: int, name: str) -> None:
        with room.taken(mib, soon(PATIENCE)):
            served.append(name)
            time.sleep(0.02)

    with ThreadPoolExecutor(9) as pool, room.taken(UNIT_MIB, soon()):
        pool.submit(take, ALL, "all")
        eventually(room._front.locked)
        little = [pool.submit(take, UNIT_MIB, "little") for _ in range(8)]
        time.sleep(0.1)
        assert served == []
        assert not any(one.done() for one in little)
    assert served[0] == "all"
    assert len(served) == 9


def test_never_is_more_held_than_there_is(room: Room) -> None:
    held, most, guard = 0, 0, threading.Lock()

    def take(number: int) -> None:
        nonlocal held, most
        mib = UNIT_MIB * (1 + number % UNITS)
        with room.taken(mib, soon(PATIENCE)):
            with guard:
                held += mib
                most = max(most, held)
            time.sleep(0.001)
            with guard:
                held -= mib

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(take, range(60)))
    assert ALL // 2 < most <= ALL
