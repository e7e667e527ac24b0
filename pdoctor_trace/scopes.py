"""`run(...)` and `case(...)`: the host says itself where a run begins and ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from . import raw_loops, runtime
from .harmless import guarded
from .runs import USER, OpenRun
from .wrappers import enter_frame, leave


@contextmanager
def run(
    query: str | None = None,
    agent: str | None = None,
    *,
    case_id: str | None = None,
    conversation: str | None = None,
) -> Iterator[None]:
    """Everything inside is one agent run: raw loops, tools and frameworks share its id.

    Inside another run it is a nested agent. Works in `async` code as well. Not needed with frameworks
    or raw SDK loops, whose runs are recognised by themselves.
    """
    opened = guarded(_opened, query, agent, case_id, conversation) if runtime.recording() else None
    if opened is None:
        yield
        return
    token = enter_frame(opened)
    try:
        yield
    except BaseException as error:
        leave(token)
        guarded(_closed, opened, error)
        raise
    leave(token)
    guarded(_closed, opened, None)


@contextmanager
def case(case_id: str) -> Iterator[None]:
    """Everything inside is the agent's attempt at one test case; the verdict is about that case."""
    with run(case_id=case_id):
        yield


def _opened(query: str | None, agent: str | None, case_id: str | None, conversation: str | None) -> OpenRun:
    return OpenRun(USER, query=query, agent=agent, case_id=case_id, conversation=conversation)


def _closed(opened: OpenRun, error: BaseException | None) -> None:
    if opened.root:
        raw_loops.end(state=opened.state)
    opened.close(error)
