"""Mode `ask` at the program's own terminal: somebody there types `y`, or the call is refused.

The controlling terminal is asked, whatever standard input and output are. Nothing that was typed before the
question counts, and what a model wrote cannot steer the terminal: only printable characters go there.
"""

from __future__ import annotations

import os
import select
import threading
import time
from typing import Any

import orjson

from .settings import LOG

TERMINAL = "/dev/tty"
YES = ("y", "yes")
_one_question = threading.Lock()


def approved(text: str, arguments: bytes | None, seconds: float, changeable: bool = False) -> Any:
    """Whether somebody at the terminal said yes within `seconds`, which other questions may use up.

    Where they are `changeable`, somebody may type other arguments, which are then given.
    """
    until = time.monotonic() + seconds
    if not _one_question.acquire(timeout=max(seconds, 0)):
        return False
    try:
        return _asked(text, arguments, until, changeable)
    except (OSError, ImportError) as error:
        LOG.warning("guard: nobody can be asked, there is no terminal (%s); the call is refused", error)
        return False
    finally:
        _one_question.release()


def _asked(text: str, arguments: bytes | None, until: float, changeable: bool) -> Any:
    import termios

    terminal = os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY)
    try:
        if os.tcgetpgrp(terminal) != os.getpgrp():
            raise OSError("the program runs in the background")
        given = (
            "" if arguments is None else f"\n  with {_printable(bytes(arguments).decode(errors='replace'))}"
        )
        termios.tcflush(terminal, termios.TCIFLUSH)
        choice = "[y/N, or a JSON object to run it with]" if changeable else "[y/N]"
        os.write(terminal, f"\n{_printable(text)}{given}\nLet it run all the same? {choice} ".encode())
        while (answer := _line(terminal, until)) is not None:
            if not changeable or not answer.lstrip().startswith("{"):
                return answer.strip().lower() in YES
            try:
                return orjson.loads(answer)
            except ValueError as error:
                os.write(terminal, f"That is no JSON object ({_printable(str(error))}). {choice} ".encode())
        os.write(terminal, b"\nNobody answered in time; it does not run.\n")
        return False
    finally:
        os.close(terminal)


def _line(terminal: int, until: float) -> str | None:
    """What was typed up to the end of a line or of all input; None where the time was up before."""
    typed = b""
    while not typed.endswith((b"\n", b"\r")):
        ready, _, _ = select.select([terminal], [], [], max(until - time.monotonic(), 0))
        if not ready:
            return None
        more = os.read(terminal, 1024)
        if not more:
            break
        typed += more
    return typed.decode(errors="replace")


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in text)
