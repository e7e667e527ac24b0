"""The tracer, if `pdoctor run` installed it into this process: found, never imported."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any


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


def traced(tools: list[Callable[..., Any]]) -> list[Callable[..., Any]]:
    """The same functions, each call of which is recorded."""
    wrap = _member("wrap_tools")
    return tools if wrap is None else list(wrap(tools))


def _member(name: str) -> Any:
    return getattr(sys.modules.get("pdoctor_trace"), name, None)
