"""Our failures are logged and counted; the host's exceptions are never touched here.

Only this module swallows exceptions, and only those of our own code: the functions it is given
never call the host's tool. KeyboardInterrupt and SystemExit pass, they are meant for the host.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

from .settings import LOG

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

FAILURES: Counter[str] = Counter()
"""How often our own code failed, by `function: exception class`."""


def guarded(function: Callable[[*Ts], T], *arguments: *Ts) -> T | None:
    """The function's value, or None where it raised (which is then our bug, told once in the log)."""
    try:
        return function(*arguments)
    except Exception as error:
        note(function, error)
        return None


def note(function: Callable[..., object], error: Exception) -> None:
    """Count a failure of ours and log its first occurrence; the error's text may be hostile, so not that."""
    where = f"{getattr(function, '__qualname__', 'function')}: {type(error).__name__}"
    FAILURES[where] += 1
    if FAILURES[where] == 1:
        LOG.warning("pdoctor_trace failed inside %s; the program goes on, a span may be missing", where)
        LOG.debug("failure inside pdoctor_trace", exc_info=error)
