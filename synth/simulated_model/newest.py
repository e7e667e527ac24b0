"""What the simulated model remembers: the newest, so that long campaigns do not fill the memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Generic, TypeVar

V = TypeVar("V")


class Newest(Generic[V]):
    """A mapping from names that forgets the oldest entries beyond `most`; for several threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._kept: dict[str, V] = {}

    def __setitem__(self, name: str, value: V) -> None:
        with self._lock:
            self._kept[name] = value
            if len(self._kept) > self._most:
                del self._kept[next(iter(self._kept))]

    def __getitem__(self, name: str) -> V:
        return self._kept[name]

    def __delitem__(self, name: str) -> None:
        with self._lock:
            del self._kept[name]

    def __iter__(self) -> Iterator[str]:
        with self._lock:
            return iter(tuple(self._kept))

    def __contains__(self, name: str) -> bool:
        return name in self._kept

    def get(self, name: str) -> V | None:
        return self._kept.get(name)

    def values(self) -> Iterator[V]:
        with self._lock:
            return iter(tuple(self._kept.values()))
