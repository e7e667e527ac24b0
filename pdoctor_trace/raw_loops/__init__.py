"""Loops that users write themselves on a model provider's SDK.

Nothing is loaded until such an SDK is: before that there are no conversations to ask about.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pdoctor_trace.elsewhere import HERE

if TYPE_CHECKING:
    from pdoctor_trace.run_state import RunState
    from pdoctor_trace.wrappers import Visit


class _NoTracker:
    """Stands for the tracker until there is one: nothing waits, and nothing is open."""

    waits = False

    def waits_for(self, call_id: Any, tool: str) -> bool:
        return False

    def begin_elsewhere(self, tool: str, given: Any) -> bool:
        return False

    def end(self, *, state: RunState | None = None) -> None:
        pass

    def end_here(self) -> None:
        pass

    def clear(self) -> None:
        pass


_tracker: Any = _NoTracker()


def follow(tracker: Any) -> None:
    """From now on this tracker (see `tracker.py`) is asked."""
    global _tracker
    _tracker = tracker


def in_use() -> bool:
    """Whether any call of any raw loop waits for its answer."""
    waits: bool = _tracker.waits
    return waits


def claim(call_id: Any, tool: str, arguments: Any, read: Any = None, *, way: bool = False) -> Visit | None:
    """A visit for a running tool that some raw loop's model asked for; None where none did.

    `read` makes a `Reading` of what the tool's function gives; `way`: it is only the way to a tool.
    """
    visit: Visit | None = None
    if _tracker.waits:
        visit = _tracker.visit(call_id, tool, arguments, read, way)
    return visit


def waits_for(call_id: Any, tool: str) -> bool:
    """Whether some raw loop's model asked for this very call."""
    return bool(_tracker.waits_for(call_id, tool))


def begin_elsewhere(tool: str, given: list[Any]) -> bool:
    """Whether some raw loop's model asked for all these calls of a tool, which another process is to make."""
    return bool(_tracker.begin_elsewhere(tool, given))


def end(*, state: RunState | None = None) -> None:
    """End the conversations of one run, or all of them."""
    _tracker.end(state=state)


def end_here() -> None:
    """End the conversations of the calling thread or task."""
    _tracker.end_here()


def forget_everything() -> None:
    """In a forked child: open conversations are the parent's."""
    _tracker.clear()
    HERE.clear()
