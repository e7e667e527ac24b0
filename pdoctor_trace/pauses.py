"""Runs that wait for a person or a timer, kept so that the part which goes on is the same run.

A framework that pauses gives control back to the host, which may come again in a minute, in a month or
never, in this process or in another. What identifies the pause is a token that the part which goes on
knows, too (a thread, a session). Only the newest pauses are kept: one that is no longer known here is gone
on with as in another process, and the collector joins the two parts by the token.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any, NamedTuple

from . import otel, semconv
from .harmless import guarded
from .wire import Pairs, SpanName

APPROVAL, INPUT, TIMER, OTHER = "approval", "input", "timer", "other"
UNANSWERED = "unanswered"
"""No pause that a framework tells of: a loop ended with calls that nobody told of again."""
MOST = 1_024
"""Runs kept at a time."""


class Pause(NamedTuple):
    """What a run waits for."""

    reason: str
    token: str | None
    """None = nothing says how it could go on."""
    here: str | None = None
    """What it is known by in this process, where whoever goes on with it knows the token too late."""

    @property
    def key(self) -> str | None:
        """By what this process keeps it."""
        return self.here or self.token


def attributes(pause: Pause | None, resumed: str | None) -> Pairs:
    """What a part of a run waits for, and from what it went on."""
    reason, token = (None, None) if pause is None else pause[:2]
    unanswered = reason == UNANSWERED
    return (
        semconv.RUN_STATE,
        None if reason is None else UNANSWERED if unanswered else "paused",
        semconv.RUN_PAUSE_REASON,
        None if unanswered else reason,
        semconv.RUN_TOKEN,
        token,
        semconv.RUN_RESUMED,
        resumed,
    )


class Part(NamedTuple):
    """What a paused run leaves behind for the part that goes on."""

    state: Any
    """The `RunState`."""
    span_id: int
    sdk: Any
    """Its span in the host's provider, without what stood on it; None where there is none."""
    query: str | None
    offered: tuple[Any, Any, Any]
    """The run's tools, their schemas, and its pseudo tools."""

    def sdk_above(self) -> Any:
        """The span above the part that goes on, unless the host has one open."""
        return None if otel.ambient().trace_id else self.sdk

    def after(self, trace_id: int) -> tuple[Any, int]:
        """State and parent span id of the part that goes on, with the trace of its own SDK span or 0."""
        around = otel.ambient()
        state = self.state.next_part(around.trace_id or trace_id or self.state.trace_id)
        if around.trace_id:
            return state, around.span_id
        return state, self.span_id if state.trace_id == self.state.trace_id else 0

    def link(self, state: Any, sdk: Any) -> SpanName | None:
        """What the part that goes on links to, where it has another trace; in the host's provider, too."""
        if state.trace_id == self.state.trace_id:
            return None
        if sdk is not None and self.sdk is not None:
            guarded(_link, sdk, self.sdk)
        return self.state.trace_id, self.span_id


def _link(span: Any, to: Any) -> None:
    span.add_link(to.get_span_context())


class Pauses:
    """Token -> part of a run that waits; any thread may keep and take."""

    def __init__(self) -> None:
        self.forget_all()

    def keep(self, token: str, part: Part) -> None:
        with self._lock:
            self._parts[token] = part
            self._parts.move_to_end(token)
            if len(self._parts) > MOST:
                self._parts.popitem(last=False)

    def take(self, token: str) -> Part | None:
        """Whoever comes first goes on with it; later ones find nothing."""
        with self._lock:
            return self._parts.pop(token, None)

    def of_token(self, token: str) -> str | None:
        """The oldest key that was made of this token."""
        with self._lock:
            return next((key for key in self._parts if key.startswith(f"{token}#")), None)

    def __contains__(self, token: str) -> bool:
        return token in self._parts

    def forget_all(self) -> None:
        """In a forked child: paused runs are the parent's, and the lock may be held by another thread."""
        self._lock = threading.Lock()
        self._parts: OrderedDict[str, Part] = OrderedDict()


PAUSED = Pauses()


def forget_pause(token: str) -> None:
    """Nobody goes on with the run that waits for this token, if there is one."""
    PAUSED.take(token)


def is_paused(token: str) -> bool:
    """Whether a run waits here that goes on with this token."""
    return token in PAUSED


def key_with(token: str, mark: object) -> str:
    """By what a pause is kept here of several that may have one token; `mark` means nothing elsewhere."""
    return f"{token}#{mark}"


def key_here(token: str, mark: object) -> str:
    """By what the pause is kept here, if it is: that of the mark, else the oldest of its token."""
    key = key_with(token, mark)
    if key in PAUSED:
        return key
    return PAUSED.of_token(token) or token
