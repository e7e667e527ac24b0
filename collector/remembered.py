"""Figures over many runs, kept for a short while: as long as it takes twenty times to find them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from typing import TypeVar

T = TypeVar("T")
TIMES, LONGEST = 20.0, 30.0
"""Where little is stored, all is as new as it can be; seconds at most."""
MOST = 200


class Remembered:
    """What was found, under what it was asked by; one thread at a time looks for the same."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._found: dict[Hashable, tuple[float, object]] = {}
        self._locks: dict[Hashable, threading.Lock] = {}
        self._guard = threading.Lock()

    def get(self, key: Hashable, find: Callable[[], T]) -> T:
        """What `find` gives, or gave a short while ago; whatever it raises."""
        with self._guard:
            if len(self._found) > MOST:
                self._found.clear()
                self._locks.clear()
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            until, found = self._found.get(key, (0.0, None))
            began = self._clock()
            if began < until:
                return found  # type: ignore[return-value]
            fresh = find()
            now = self._clock()
            self._found[key] = (now + min((now - began) * TIMES, LONGEST), fresh)
            return fresh
