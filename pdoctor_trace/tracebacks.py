"""The tracer's own frames out of an exception's traceback, for frameworks that show it to the model.

A wrapper written in Python is a line of every traceback that passes it. Where a framework writes the text of
one into the conversation, and of so many frames at most, that would change what the model reads.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

_OURS = str(Path(__file__).parent)


def without_our_frames(error: BaseException) -> None:
    """Leave in the exception's traceback, and in those of what it came from, the host's frames only."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        one.__traceback__ = _host_part(one.__traceback__)
        waiting += [one.__cause__, one.__context__]


def _host_part(step: TracebackType | None) -> TracebackType | None:
    steps = []
    while step is not None:
        if not step.tb_frame.f_code.co_filename.startswith(_OURS):
            steps.append(step)
        step = step.tb_next
    host: TracebackType | None = None
    for one in reversed(steps):
        host = TracebackType(host, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return host
