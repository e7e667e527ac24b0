"""A checker that the tests fork is what the program would be."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.traces import eventually
from tests.support.warm_checkers import Forked, Warm


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


@pytest.fixture
def checker(warm: Warm, pipe: tuple[int, int]) -> Iterator[Forked | subprocess.Popen[bytes]]:
    """Waits for its order."""
    started = warm.start(pipe)
    yield started
    started.kill()
    started.wait(30)
    for end in (started.stdin, started.stdout):
        assert end is not None
        end.close()


def descriptors(pid: int) -> dict[str, int]:
    """What each descriptor of a process is; one that it closes meanwhile is left out."""
    found = {}
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found[file.name] = file.stat().st_ino
    return found


def test_it_has_the_descriptors_that_it_was_given_and_no_other(
    checker: Forked, pipe: tuple[int, int]
) -> None:
    assert isinstance(checker, Forked)
    own = {"0": checker.stdin.fileno(), "1": checker.stdout.fileno(), "2": 2}
    expected = {name: os.fstat(number).st_ino for name, number in own.items()}
    expected |= {str(number): os.fstat(number).st_ino for number in pipe}
    eventually(lambda: descriptors(checker.pid) == expected)


def test_its_end_and_its_exit_code_are_told(checker: Forked) -> None:
    assert checker.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        checker.wait(0.01)
    os.kill(checker.pid, signal.SIGKILL)
    assert checker.wait(30) == checker.poll() == checker.returncode == -signal.SIGKILL


def test_an_order_that_is_none_ends_it_as_it_would_the_program(
    checker: Forked, capfd: pytest.CaptureFixture[str]
) -> None:
    checker.stdin.write(b"no order\n")
    checker.stdin.flush()
    assert checker.wait(30) == 1


def test_where_modules_may_come_from_elsewhere_it_is_the_program(
    warm: Warm, pipe: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with warm.start(pipe) as started:  # type: ignore[union-attr]
        assert isinstance(started, subprocess.Popen)
        started.kill()
