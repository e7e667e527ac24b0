"""Runs that make judging hard: many calls whose order nobody saw, that overlap, or that never ended."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from types import FrameType
from typing import Any

from synth.observed.run import Run, ToolCall

SECOND = 10**9
MORNING = 8 * 3600 * SECOND
TOOLS = ("a", "b", "c")
ACTIONS = "actions: {A: a, B: b, C: c}\n"


def made(k: int, start: tuple[int, int], end: tuple[int, int] | None, **fields: Any) -> ToolCall:
    """The k-th call; without an end it is unfinished."""
    fields.setdefault("result", None if end is None else {"id": k})
    tool, arguments = TOOLS[k % 3], {"id": k, "amount": 2}
    return ToolCall(f"call-{k}", tool, arguments, start=start, end=end, finished=end is not None, **fields)


def one_message(n: int) -> Run:
    """Calls of one model message of a bare loop: all between its answer and the next request."""
    bounds = (MORNING, MORNING + 10 * SECOND)
    return Run("one message", tuple(made(k, bounds, bounds, step=0) for k in range(n)))


def staircase(n: int) -> Run:
    """Calls whose bounds begin one after the other and reach over half of the run."""
    every = [(MORNING + k * SECOND, MORNING + (k + n // 2) * SECOND) for k in range(n)]
    return Run("staircase", tuple(made(k, bounds, bounds, step=k) for k, bounds in enumerate(every)))


def unfinished(n: int) -> Run:
    """Calls that began one after the other and never ended."""
    starts = [MORNING + k * SECOND for k in range(n)]
    return Run("unfinished", tuple(made(k, (at, at), None) for k, at in enumerate(starts)))


def parallel(n: int) -> Run:
    """Calls that began one after the other and all ended long after the last had begun."""
    spans = [(MORNING + k * SECOND, MORNING + (k + 10**6) * SECOND) for k in range(n)]
    return Run("parallel", tuple(made(k, (lo, lo), (hi, hi)) for k, (lo, hi) in enumerate(spans)))


def exact(n: int) -> Run:
    """Calls one after the other, of which everything is known."""
    starts = [MORNING + k * SECOND for k in range(n)]
    return Run(
        "exact", tuple(made(k, (at, at), (at + SECOND // 2,) * 2, step=k) for k, at in enumerate(starts))
    )


def two_clocks(n: int) -> Run:
    """Calls of two machines within the time by which their clocks may differ."""
    calls = (
        made(k, (MORNING + k,) * 2, (MORNING + k + 1,) * 2, extra={"clock": str(k % 2)}) for k in range(n)
    )
    return Run("two clocks", tuple(calls))


def work(run: Callable[[], object]) -> int:
    """How many Python instructions something takes: a measure that no other program disturbs."""
    count = 0

    def each(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return each

    before = sys.gettrace()
    sys.settrace(each)
    try:
        run()
    finally:
        sys.settrace(before)
    return count


def big_results(n: int, size: int = 65_536) -> Run:
    """Calls with results of so many characters, no two of which are alike."""
    calls = (
        replace(one, result=f"{k} " * (size // (len(str(k)) + 1))) for k, one in enumerate(exact(n).calls)
    )
    return Run("big results", tuple(calls))
