"""Mode `ask` at the program's terminal: a program of its own, on a pseudo-terminal of the test's."""

from __future__ import annotations

import fcntl
import os
import select
import subprocess
import sys
import termios
from pathlib import Path

import pytest

PROGRAM = """
import os
import pdoctor_trace

@pdoctor_trace.tool
def refund(order: str) -> str:
    return "ran"

with pdoctor_trace.run():
    for order in ("7", "8\\x9b2J", "9"):
        print("said", refund(order), flush=True)
"""
RULE = "{id: R, rule: Verify must happen before refund.}"
RULES = f"actions: {{verify: verify, refund: refund}}\npolicies:\n  - {RULE}\n"


BACKGROUND = """
import os

if child := os.fork():
    os.waitpid(child, 0)
    os._exit(0)
os.setpgid(0, 0)
"""


def started(
    tmp_path: Path, terminal: int | None, seconds: float, program: str = PROGRAM
) -> subprocess.Popen[str]:
    """The program, in a session of its own on that terminal; its output is a pipe."""
    (tmp_path / "rules.yaml").write_text(RULES)
    environment = {
        **os.environ,
        "PDOCTOR_ENDPOINT": "http://127.0.0.1:9",
        "PDOCTOR_GUARD": str(tmp_path / "rules.yaml"),
        "PDOCTOR_GUARD_MODE": "ask",
        "PDOCTOR_GUARD_ASK": "terminal",
        "PDOCTOR_APPROVAL_TIMEOUT": str(seconds),
        "PDOCTOR_EXIT_TIMEOUT": "0.1",
    }
    own = None if terminal is None else lambda: fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
    return subprocess.Popen(
        [sys.executable, "-c", program],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        pass_fds=() if terminal is None else (terminal,),
        preexec_fn=own,
    )


def shown(terminal: int, end: str) -> str:
    """What the terminal shows up to that text."""
    text = ""
    while end not in text:
        ready, _, _ = select.select([terminal], [], [], 120)
        assert ready, text
        text += os.read(terminal, 4096).decode()
    return text


def test_somebody_at_the_terminal_decides(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    os.write(ours, b"y\n")  # typed before anything was asked
    with started(tmp_path, theirs, 2.0) as program:
        first = shown(ours, "] ")
        os.write(ours, b"Yes\n")
        second = shown(ours, "] ")
        os.write(ours, b"\n")
        third = shown(ours, "does not run")
        out, err = program.communicate(timeout=60)
    os.close(theirs)
    os.close(ours)
    said = [line.removeprefix("said ")[:8] for line in out.splitlines()]
    assert said == ["ran", "Not run:", "Not run:"], err
    assert "Not run: Verify must happen before refund." in first
    assert 'with {"order":"7"}' in first
    assert 'with {"order":"8?2J"}' in second
    assert "Nobody answered in time" in third


def test_somebody_at_the_terminal_gives_other_arguments(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    with started(tmp_path, theirs, 300.0, PROGRAM.replace('return "ran"', "return order")) as program:
        assert "[y/N, or a JSON object to run it with]" in shown(ours, "with] ")
        os.write(ours, b'{"order": 7\n')
        assert "That is no JSON object (" in shown(ours, "with] ").replace("\r", "")
        os.write(ours, b'{"order": "A-18"}\n')
        shown(ours, "with] ")
        os.write(ours, b'{"sum": 3}\n')
        shown(ours, "with] ")
        os.write(ours, b"n\n")
        out, err = program.communicate(timeout=60)
    os.close(theirs)
    os.close(ours)
    first, second, third = out.splitlines()
    assert first == "said A-18", err
    assert "the tool does not take them: missing a required argument: 'order'" in second
    assert third.startswith("said Not run: Verify must happen")


def test_without_a_terminal_the_call_is_refused_and_the_log_says_why(tmp_path: Path) -> None:
    with started(tmp_path, None, 30.0) as program:
        out, err = program.communicate(timeout=60)
    assert out.count("said Not run: Verify must happen before refund.") == 3
    assert "there is no terminal" in err


def test_a_program_in_the_background_of_its_terminal_is_not_stopped_by_a_question(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    with started(tmp_path, theirs, 30.0, BACKGROUND + PROGRAM) as program:
        try:
            out, err = program.communicate(timeout=60)
        finally:
            os.close(theirs)
            os.close(ours)  # which ends whoever waits there
    assert out.count("said Not run: Verify must happen before refund.") == 3
    assert "the program runs in the background" in err


def test_another_word_than_terminal_is_told_at_once() -> None:
    import pdoctor_trace

    with pytest.raises(ValueError, match="'tty' is no place to ask"):
        pdoctor_trace.guard(RULES, mode="ask", on_ask="tty")
