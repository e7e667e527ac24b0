"""Tools of LangChain that were through when they were cancelled: a stream that is left as a tool ends.

`BaseTool.run` and `arun` tell the callbacks of the end before they return, and a host that stops reading
there cancels them. What the tool gave stands in their frame: that of a coroutine is in the exception's
traceback, that of a plain function on the stack of the thread it runs in.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from pdoctor_trace.adapter import Call

_TOOLS = "langchain_core.tools.base"


def given_before(error: BaseException, call: Call) -> tuple[Any, ...] | None:
    """What the tool of a cancelled call gave, if it was through."""
    for frame in (*_raised_in(error), *_running()):
        if frame.f_code.co_name in ("run", "arun") and frame.f_globals.get("__name__") == _TOOLS:
            found = frame.f_locals
            if found.get("tool_call_id") == call.call_id and found["self"].name == call.tool:
                return (found["output"],) if "output" in found else None
    return None


def _raised_in(error: BaseException) -> Iterator[FrameType]:
    step = error.__traceback__
    while step is not None:
        yield step.tb_frame
        step = step.tb_next


def _running() -> Iterator[FrameType]:
    for innermost in sys._current_frames().values():
        frame: FrameType | None = innermost
        while frame is not None:
            yield frame
            frame = frame.f_back
