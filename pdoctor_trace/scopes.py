"""`run(...)` and `case(...)`: the host says itself where a run begins and ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from . import raw_loops, runtime
from .harmless import guarded
from .machine import finish
from .runs import USER, OpenRun
from .values import NOT_KEPT
from .wrappers import enter_frame, leave


@contextmanager
def run(
    query: str | None = None,
    agent: str | None = None,
    *,
    case_id: str | None = None,
    conversation: str | None = None,
    facts: Mapping[str, Any] | None = None,
    version: str | None = None,
) -> Iterator[None]:
    """Everything inside is one agent run: raw loops, tools and frameworks share its id.

    `version` is the agent's; that of the program is `PDOCTOR_VERSION`, or `service.version` of OpenTelemetry.

    `facts` are what policies may ask of the run beside its calls, by name (`{"customer": {"tier": "gold"}}`
    for `run.customer.tier`); they are sent in content mode `full` only.

    Inside another run it is a nested agent. Works in `async` code as well. Not needed with frameworks
    or raw SDK loops, whose runs are recognised by themselves.
    """
    opened = (
        guarded(_opened, query, agent, case_id, conversation, facts, version) if runtime.recording() else None
    )
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


def _opened(
    query: str | None,
    agent: str | None,
    case_id: str | None,
    conversation: str | None,
    facts: Mapping[str, Any] | None,
    version: str | None,
) -> OpenRun:
    opened = OpenRun(USER, query=query, agent=agent, case_id=case_id, conversation=conversation)
    opened.version = version if type(version) is str and version else None
    if facts:
        opened.facts = guarded(runtime.ACTIVE.capture.facts, facts) or NOT_KEPT
    return opened


def _closed(opened: OpenRun, error: BaseException | None) -> None:
    if opened.root:
        raw_loops.end(state=opened.state)
    if error is not None:
        opened.pause = None
    finish(opened, opened.source, unseen=True, ended=False)
    opened.close(error)
