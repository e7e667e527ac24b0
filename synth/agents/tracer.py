"""The tracer, if `pdoctor run` installed it into this process: found, never imported."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from synth.errors import SynthError

STOPPING = ("feedback", "block")
"""Modes of a guard in which a tool does not run."""


def flush(timeout: float | None = None) -> bool:
    """Send every span so far; whether the collector has them all."""
    send = _member("flush")
    return send is None or bool(send(timeout))


def announced(agent: str, query: str, conversation: str | None) -> AbstractContextManager[Any]:
    """One run around whatever the agent does, with our name for it and the query.

    Agents that no framework runs (`react`, most callables) would otherwise have no run of their own.
    """
    open_run = _member("run")
    if open_run is None:
        return nullcontext()
    run: AbstractContextManager[Any] = open_run(query=query, agent=agent, conversation=conversation)
    return run


def stated(state: Any) -> None:
    """The state of what the running tool acts on, for the span of its call."""
    tell = _member("state")
    if tell is not None:
        tell(state)


@contextmanager
def guarded(rules: Any, mode: str) -> Iterator[Callable[[], int]]:
    """A guard while a block lasts; what is given tells how many calls it has not let run."""
    set_guard = _member("guard")
    if set_guard is None:
        raise SynthError("a guard needs the tracer: the agent is started by `pdoctor run`")
    with set_guard(rules, mode=mode) as guard:
        yield lambda: int(guard.told()["decisions"].get(mode, 0)) if mode in STOPPING else 0


def traced(tools: list[Callable[..., Any]]) -> list[Callable[..., Any]]:
    """The same functions, each call of which is recorded."""
    wrap = _member("wrap_tools")
    return tools if wrap is None else list(wrap(tools))


def _member(name: str) -> Any:
    return getattr(sys.modules.get("pdoctor_trace"), name, None)
