"""A process for small questions that an agent waits for: it has its memory whatever else is worked at.

A question that is too much for it is asked where all others are (`asked`), and so are the next ones of its
project for a while: the other projects do not wait for them.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Protocol

from collector.errors import Overloaded
from collector.pipeline.asked import Asked, Question, TooMuchMemory, Turn, within
from collector.room import Room
from collector.settings import Settings
from synth.judge_process import JudgeFailed, SolverProcess

SMALL_BYTES = 512 * 1024
"""Of a question; Python takes up to sixty times its JSON."""
MIB = 96
"""Of the process, of which it has 60 at rest."""
SECONDS = 2.0
"""Of CPU time a question, and four times as many by the clock."""
WAITING = 64
"""Questions, with the one that is answered; of one project half as many."""
PATIENCE = 30.0
"""Seconds that a question waits for its turn: with no answer an agent can only ask again."""
IDLE_SECONDS = 600.0
"""Without a question, until the process is ended: to start it takes a second."""
HEAVY_SECONDS = 30.0
"""So long after a question that was too much those of its project are asked elsewhere."""


class OfProject(Question, Protocol):
    """A question of somebody in a project."""

    @property
    def project(self) -> int: ...


class Quick(Asked):
    """The process and the line before it."""

    def __init__(self, settings: Settings, room: Room, others: Asked, *, share: int = 1) -> None:
        """`others` is asked what is too much for this process."""
        super().__init__(settings, room)
        self._others = others
        self._most, self._idle_seconds = max(2, WAITING // share), IDLE_SECONDS
        self._process = SolverProcess(limit_seconds=SECONDS, first=loaded)
        self._of: Counter[int] = Counter()
        """Project -> its questions in the line."""
        self._heavy: dict[int, float] = {}
        """Project -> until when its questions are asked elsewhere (monotonic)."""

    async def ask(self, question: OfProject, gone: Callable[[], Awaitable[bool]]) -> bytes:
        """As `Asked.answer`; refused where one project asks too much at once."""
        project = question.project
        if question.size <= SMALL_BYTES and time.monotonic() >= self._heavy.get(project, 0.0):
            if self._of[project] >= self._most // 2:
                raise Overloaded("too many calls wait to be judged", "ask again in a moment", retry_after=1)
            self._of[project] += 1
            try:
                return await self.answer(question, gone)
            except (JudgeFailed, TooMuchMemory):
                self._heavy[project] = time.monotonic() + HEAVY_SECONDS
            finally:
                self._of[project] -= 1
        return await self._others.answer(question, gone)

    def _until(self) -> float:
        return time.monotonic() + PATIENCE

    def _answered(self, turn: Turn) -> bytes:
        try:
            return self._process.ask(within, MIB, turn.question)
        except TooMuchMemory:
            self._process.close()  # a module may be half loaded
            raise


def loaded() -> None:
    """Everything is loaded once this can be called."""
