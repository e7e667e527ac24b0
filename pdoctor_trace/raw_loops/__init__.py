"""Loops that users write themselves on a model provider's SDK.

Nothing is loaded until such an SDK is: before that there are no conversations to ask about.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pdoctor_trace.runs import RunState
    from pdoctor_trace.span import Visit

_TRACKER = "pdoctor_trace.raw_loops.tracker"


def in_use() -> bool:
    """Whether any call of any raw loop waits for its answer."""
    tracker = sys.modules.get(_TRACKER)
    return tracker is not None and tracker.TRACKER.waits


def claim(call_id: Any, tool: str, arguments: Any) -> Visit | None:
    """A visit for a running tool that some raw loop's model asked for; None where none did."""
    tracker = sys.modules.get(_TRACKER)
    visit: Visit | None = None if tracker is None else tracker.visit(call_id, tool, arguments)
    return visit


def waits_for(call_id: Any, tool: str) -> bool:
    """Whether some raw loop's model asked for this very call."""
    tracker = sys.modules.get(_TRACKER)
    return tracker is not None and bool(tracker.TRACKER.waits_for(call_id, tool))


def end(*, state: RunState | None = None) -> None:
    """End the conversations of one run, or all of them."""
    tracker = sys.modules.get(_TRACKER)
    if tracker is not None:
        tracker.TRACKER.end(state=state)


def end_here() -> None:
    """End the conversations of the calling thread or task."""
    tracker = sys.modules.get(_TRACKER)
    if tracker is not None:
        tracker.TRACKER.end(where=tracker.ambient())


def forget_everything() -> None:
    """In a forked child: open conversations are the parent's."""
    tracker = sys.modules.get(_TRACKER)
    if tracker is not None:
        tracker.TRACKER.forget_everything()
