"""What is not found twice: figures over many runs, kept for twenty times as long as they took to find, and
what is true as long as that which it depends on does not change."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")
TIMES, LONGEST = 20.0, 30.0
"""Where little is stored, all is as new as it can be; seconds at most."""
MOST = 200


class Remembered:
    """What was found, under what it was asked by; one thread at a time looks for the same."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, most: int = MOST) -> None:
        self._clock, self._most = clock, most
        self._found: dict[Hashable, tuple[float, object]] = {}
        self._locks: dict[Hashable, threading.Lock] = {}
        self._guard = threading.Lock()

    def get(self, key: Hashable, find: Callable[[], T]) -> T:
        """What `find` gives, or gave a short while ago; whatever it raises."""
        with self._guard:
            if len(self._found) > self._most:
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


class Briefly(Generic[T]):
    """A few values for some seconds after they were put here, under keys that name all they depend on."""

    def __init__(self, most: int, seconds: float) -> None:
        self._most, self._seconds = most, seconds
        self._kept: OrderedDict[Hashable, T] = OrderedDict()
        self._guard = threading.Lock()

    def get(self, key: Hashable) -> T | None:
        with self._guard:
            return self._kept.get(key)

    def put(self, key: Hashable, value: T) -> None:
        with self._guard:
            self._kept[key] = value
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        forget = threading.Timer(self._seconds, self._forget, (key,))
        forget.daemon = True
        forget.start()

    def _forget(self, key: Hashable) -> None:
        with self._guard:
            self._kept.pop(key, None)


class Newest(Generic[T]):
    """The values that were asked for last, under keys that name all they depend on."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, T] = OrderedDict()
        self._guard = threading.Lock()

    def get(self, key: Hashable) -> T | None:
        with self._guard:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def put(self, key: Hashable, value: T) -> None:
        with self._guard:
            self._kept[key] = value
            self._kept.move_to_end(key)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
