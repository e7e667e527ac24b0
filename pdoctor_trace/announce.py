"""Runs that last longer than a moment are announced, so that one that is killed is not unheard of.

The span of a run is written when the run ends. A program that dies in its first tool call would leave
nothing at all: no query, no tools, no sign that an agent was at work. So the exporter's thread looks
now and then which runs are still going on, and tells of each once; and when the program is ended, once more
of those that wait for a model just then. The announcement is a span below the
run's own, so nobody takes it for the end of the run, and says neither how many calls there were nor that
anything has ended. The host's threads only put a run into a dictionary and take it out again.
"""

from __future__ import annotations

from typing import Protocol


class Lasting(Protocol):
    """What is asked of a run here."""

    span_id: int
    start_ns: int

    @property
    def waits(self) -> bool:
        """Whether a model has been asked and has not answered."""

    def announcement(self, now_ns: int) -> bytes:
        """A span that says that the run goes on, and of what it is."""

    def announce_in_sdk(self, now_ns: int) -> None:
        """Make the same span where the run's own is in a TracerProvider."""


MOST = 1_024
"""Runs watched at a time; more are not announced."""
_open: dict[int, Lasting] = {}
_told: dict[int, Lasting] = {}
"""Those that were announced and go on."""


def watch(run: Lasting) -> None:
    """A root run has begun."""
    if len(_open) < MOST:
        _open[run.span_id] = run


def forget(run: Lasting) -> None:
    """It has ended, and its own span says everything."""
    _open.pop(run.span_id, None)
    _told.pop(run.span_id, None)


def forget_all() -> None:
    """In a forked child: open runs are the parent's to announce."""
    _open.clear()
    _told.clear()


def late(now_ns: int, after: float) -> list[Lasting]:
    """Runs that began more than `after` seconds ago; each is given once, to be told of."""
    latest = now_ns - int(after * 1e9)
    return [run for run in _open.copy().values() if run.start_ns <= latest and _move(run)]


def ending(now_ns: int) -> list[Lasting]:
    """Runs to tell of while the program ends: those not told of yet, and those that wait for a model."""
    waiting = [run for run in _told.copy().values() if run.waits]
    return [*waiting, *late(now_ns, 0)]


def due(now_ns: int, after: float) -> list[bytes]:
    """Announcements, encoded, of what is `late`."""
    return [run.announcement(now_ns) for run in late(now_ns, after)]


def last_words(now_ns: int) -> list[bytes]:
    """Announcements, encoded, of what is `ending`."""
    return [run.announcement(now_ns) for run in ending(now_ns)]


def _move(run: Lasting) -> bool:
    """Whether the run still was one to be told of."""
    if _open.pop(run.span_id, None) is None:
        return False
    if len(_told) < MOST:
        _told[run.span_id] = run
    return True
