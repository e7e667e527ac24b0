"""Trials for several threads, and the gate that lets none begin while an endpoint is waited for."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from synth.experiments.trial import Trial


class Gate:
    """Closed while somebody holds it closed."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        """Told of whatever a waiting thread may wait for."""
        self._closed_by = 0

    @property
    def is_open(self) -> bool:
        return not self._closed_by

    @contextmanager
    def closed(self) -> Iterator[None]:
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    def _count(self, change: int) -> None:
        with self.changed:
            self._closed_by += change
            self.changed.notify_all()


class Source:
    """Each trial is handed out once, until `stop`; at most `ahead` are out and have no result yet."""

    def __init__(self, trials: Iterable[Trial], gate: Gate, ahead: int) -> None:
        self._trials, self._gate, self._ahead = iter(trials), gate, ahead
        self._next = threading.Lock()
        self._out = 0
        self._stopped = False

    def __iter__(self) -> Iterator[Trial]:
        while True:
            with self._gate.changed:
                self._gate.changed.wait_for(self._may_go_on)
                self._out += 1
            with self._next:
                trial = None if self._stopped else next(self._trials, None)
            if trial is None:
                self.done()
                return
            yield trial

    def _may_go_on(self) -> bool:
        return self._stopped or (self._gate.is_open and self._out < self._ahead)

    def done(self) -> None:
        """A trial that was handed out has its result."""
        with self._gate.changed:
            self._out -= 1
            self._gate.changed.notify_all()

    def stop(self) -> None:
        with self._gate.changed:
            self._stopped = True
            self._gate.changed.notify_all()

    def pause(self, seconds: float) -> bool:
        """Wait for so long; False at once when stopped."""
        with self._gate.changed:
            return not self._gate.changed.wait_for(lambda: self._stopped, seconds)
