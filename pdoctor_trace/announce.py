"""Runs that last longer than a moment are announced, so that one that is killed is not unheard of.

The span of a run is written when the run ends. A program that dies in its first tool call would leave
nothing at all: no query, no tools, no sign that an agent was at work. So the exporter's thread looks
now and then which runs are still going on, and tells of each once. The announcement is a span below the
run's own, so nobody takes it for the end of the run, and says neither how many calls there were nor that
anything has ended. The host's threads only put a run into a dictionary and take it out again.
"""

from __future__ import annotations

from typing import Protocol


class Lasting(Protocol):
    """What is asked of a run here."""

    span_id: int
    start_ns: int

    def announcement(self, now_ns: int) -> bytes:
        """A span that says that the run goes on, and of what it is."""


MOST = 1_024
"""Runs watched at a time; more are not announced."""
_open: dict[int, Lasting] = {}


def watch(run: Lasting) -> None:
    """A root run has begun."""
    if len(_open) < MOST:
        _open[run.span_id] = run


def forget(run: Lasting) -> None:
    """It has ended, and its own span says everything."""
    _open.pop(run.span_id, None)


def forget_all() -> None:
    """In a forked child: open runs are the parent's to announce."""
    _open.clear()


def due(now_ns: int, after: float) -> list[bytes]:
    """Announcements, encoded, of runs that began more than `after` seconds ago; each is told of once."""
    latest = now_ns - int(after * 1e9)
    late = [run for run in _open.copy().values() if run.start_ns <= latest]
    return [run.announcement(now_ns) for run in late if _open.pop(run.span_id, None) is not None]
