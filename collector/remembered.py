"""What is not found twice: figures over many runs, kept for twenty times as long as they took to find, and
what is true as long as that which it depends on does not change."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sized
from typing import Generic, TypeVar

T = TypeVar("T")
TIMES, LONGEST = 20.0, 30.0
"""Where little is stored, all is as new as it can be; seconds at most."""
MOST, MOST_PARTS = 200, 10_000
"""Answers that are kept, and parts of them all together."""


class Remembered:
    """What was found, under what it was asked by; one thread at a time looks for the same.

    Long answers are kept while there is room for them: whoever asks may ask for something else each time.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, most: int = MOST, most_parts: int = MOST_PARTS
    ) -> None:
        self._clock, self._most, self._most_parts = clock, most, most_parts
        self._found: OrderedDict[Hashable, tuple[float, object]] = OrderedDict()
        self._locks: dict[Hashable, threading.Lock] = {}
        self._guard = threading.Lock()

    def get(self, key: Hashable, find: Callable[[], T]) -> T:
        """What `find` gives, or gave a short while ago; whatever it raises."""
        with self._guard:
            if len(self._locks) > self._most:
                self._locks.clear()
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            until, found = self._found.get(key, (0.0, None))
            began = self._clock()
            if began < until:
                return found  # type: ignore[return-value]
            fresh = find()
            now = self._clock()
            self._keep(key, now + min((now - began) * TIMES, LONGEST), fresh, now)
            return fresh

    def _keep(self, key: Hashable, until: float, found: object, now: float) -> None:
        with self._guard:
            self._found.pop(key, None)
            self._found[key] = until, found
            for old in [old for old, (end, _) in self._found.items() if end <= now]:
                del self._found[old]
            parts = sum(parts_of(one) for _, one in self._found.values())
            while self._found and (len(self._found) > self._most or parts > self._most_parts):
                parts -= parts_of(self._found.popitem(last=False)[1][1])


def parts_of(found: object) -> int:
    """How many parts an answer has, of which each may take kilobytes."""
    return len(found) if isinstance(found, Sized) else 1


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
