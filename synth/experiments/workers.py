"""Worker processes by the kind of agent they run, and the lane in which one of them is kept busy."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

from synth.agents import AGENTS
from synth.agents.model import REPLAY, SPEC
from synth.agents.process import Ended, Worker
from synth.experiments.trial import Trial

SHARED = frozenset({REPLAY, *(agent.name for agent in AGENTS)})
"""Agents that take turns in one process, so that their libraries are loaded once."""


class Workers:
    """Idle worker processes; at most as many are busy as there are running threads."""

    def __init__(self, endpoint: str | None, environment: Mapping[str, str]) -> None:
        """Without an endpoint they are not traced."""
        self._endpoint, self._environment = endpoint, environment
        self._lock = threading.Lock()
        self._idle: dict[str, list[Worker]] = {}
        self._all: list[Worker] = []

    @contextmanager
    def borrow(self, agent: str) -> Iterator[Worker]:
        """A worker for the length of a block. One with which the block failed is not given back: it may hold
        a job whose end whoever takes it next would take for the end of theirs; `close` ends it."""
        worker = self.take(agent)
        yield worker
        self.give_back(agent, worker)

    def take(self, agent: str) -> Worker:
        with self._lock:
            idle = self._idle.get(_kind(agent))
            if idle:
                return idle.pop()
            worker = Worker(agent, self._endpoint, self._environment)
            self._all.append(worker)
            return worker

    def give_back(self, agent: str, worker: Worker) -> None:
        with self._lock:
            self._idle.setdefault(_kind(agent), []).append(worker)

    def close(self) -> None:
        for worker in self._all:
            worker.close()


@dataclass(frozen=True, slots=True)
class Given:
    """A trial on its way."""

    trial: Trial
    trace_id: str
    request: Mapping[str, Any]
    announced: Future[None] | None = None
    """When the collector knows which case the trace is about."""


SHORT = 2.0
"""Seconds; where runs are shorter, a worker gets its next trial before the one at hand has ended, since
handing over would take a good part of its time. Of longer runs none waits for a worker that is busy.

What that is worth, in turns on a busy machine (`bench_harness`, added to the agents' own time, medians): runs
of half a second 2.4 to 4.8 % instead of 4.8 to 7.6 %, on one worker as on two; runs of 1.3 s the same."""


class Lane:
    """One worker at a time and what it has been given; use with `with`, which gives the worker back unless
    the block failed (see `Workers.borrow`)."""

    def __init__(self, workers: Workers, timeout: float) -> None:
        self._workers, self._timeout = workers, timeout
        self._given: deque[Given] = deque()
        self._worker: Worker | None = None
        self._agent = ""
        self._short = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._worker is not None and exception == (None, None, None):
            self._workers.give_back(self._agent, self._worker)

    def give(self, given: Given) -> Iterator[tuple[Given, Ended]]:
        """Hand a trial over; gives the trials that ended meanwhile."""
        if self._worker is None or _kind(given.trial.agent) != _kind(self._agent):
            yield from self.rest()
            self._change(given.trial.agent)
        assert self._worker is not None
        self._worker.give(given.request)
        self._given.append(given)
        while len(self._given) > (1 if self._short else 0):
            yield self._next_end()

    def rest(self) -> Iterator[tuple[Given, Ended]]:
        while self._given:
            yield self._next_end()

    def _change(self, agent: str) -> None:
        if self._worker is not None:
            self._workers.give_back(self._agent, self._worker)
        self._agent, self._worker = agent, self._workers.take(agent)

    def _next_end(self) -> tuple[Given, Ended]:
        assert self._worker is not None
        ended = self._worker.next_end(self._timeout)
        self._short = (ended.answer["wall_seconds"] or SHORT) < SHORT
        return self._given.popleft(), ended


def _kind(agent: str) -> str:
    """What kind of process an agent runs in: agents of the user, which bring code, have one each."""
    return "shipped" if agent in SHARED or agent.startswith(SPEC) else agent
