"""What all spans of one root run share: ids, numbers of steps and turns, what a pause left."""

from __future__ import annotations

from collections import deque
from operator import length_hint
from typing import Any

from . import runtime, semconv
from .same_call import Request
from .wire import as_dict, run_bytes

_NUMBERS = range(1 << 62)
MAX_STARTED = 64


class RunState:
    """What all spans of one root run share."""

    __slots__ = (
        "_turns",
        "case_id",
        "content",
        "encoded",
        "ended",
        "left",
        "run_id",
        "seen_starting",
        "started",
        "steps",
        "trace_id",
        "waiting",
        "withdrawn",
        "wrapped_at",
    )

    def __init__(self, trace_id: int, run_id: str, case_id: str | None = None) -> None:
        self.trace_id, self.run_id, self.case_id = trace_id, run_id, case_id
        self.content = runtime.ACTIVE.capture.pairs
        own = (semconv.RUN_ID, run_id, semconv.CASE_ID, case_id)
        self.encoded = run_bytes(trace_id, (*own, *self.content) if self.content else own)
        """What every span of the run has in common, encoded."""
        self.steps = iter(_NUMBERS)
        """Step numbers to take with `next`, which threads can do at once without a lock."""
        self._turns = iter(_NUMBERS)
        self.ended = False
        self.left: list[Request] = []
        """What models asked for before the run was paused; whatever part of it goes on may take it up."""
        self.waiting: tuple[int, ...] = ()
        """Span ids of calls in which an agent is paused."""
        self.started: deque[tuple[str | None, str, bytes | None]] = deque(maxlen=MAX_STARTED)
        """(id, tool, arguments) of the newest calls that were asked for and have begun."""
        self.seen_starting: set[str] = set()
        """Tools that were seen when they started."""
        self.wrapped_at: set[int] = set()
        """Where tools that started had been wrapped (see `recorded`)."""
        self.withdrawn: list[Any] = []
        """Calls that a pause broke off: they begin anew when the run goes on."""

    def next_part(self, trace_id: int) -> RunState:
        """That of the part which goes on with this run, maybe in another trace: numbers go on."""
        part = RunState(trace_id, self.run_id, self.case_id)
        part.steps, part._turns, part.left = self.steps, self._turns, self.left
        part.started, part.seen_starting = self.started, self.seen_starting
        part.wrapped_at = self.wrapped_at
        return part

    def not_started(self, request: Request) -> None:
        """A call that had begun waits again."""
        begun = request.call_id, request.tool, request.arguments
        if begun in self.started:
            self.started.remove(begun)

    def give_back(self, step: int) -> bool:
        """Hand the number out again, if no later one was; whether that was so."""
        if step != self.calls - 1:
            return False
        self.steps = iter(_NUMBERS[step:])
        return True

    @property
    def calls(self) -> int:
        """Step numbers handed out so far, which is the number of calls the collector must see."""
        return len(_NUMBERS) - length_hint(self.steps)

    @property
    def turns(self) -> int:
        """Turn numbers handed out so far."""
        return len(_NUMBERS) - length_hint(self._turns)

    def pairs(self) -> dict[str, Any]:
        """Attributes of every span of the run."""
        return {semconv.RUN_ID: self.run_id, semconv.CASE_ID: self.case_id, **as_dict(self.content)}

    def next_turn(self) -> int:
        return next(self._turns)
