"""How many spans a second each project may send: an allowance that fills up, and that all workers draw on."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from collector.errors import Overloaded

BURST_SECONDS = 10.0
"""So much time's spans may come at once after a pause."""
LONGEST_WAIT = 60
"""Seconds until a sender that is refused comes back."""


class OverQuota(Overloaded):
    """The project has sent more than it may."""

    code = "over_quota"
    status = 429


@dataclass(slots=True)
class Allowance:
    left: float
    """Spans; below 0 where the last request had more than there was."""
    since: float
    """When that was so (monotonic)."""


class Quota:
    """On the event loop. What other workers have taken counts as soon as they tell (`elsewhere`)."""

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        """`rate` is in spans a second, of each project; 0 = none is refused."""
        self.rate, self._clock = rate, clock
        self._of: dict[str, Allowance] = {}
        self._others: Mapping[str, int] | None = None

    def look(self, project: str) -> None:
        """Raises OverQuota where the project has nothing left: whatever it sends, its size is not asked."""
        if self.rate and (left := self._left(project).left) <= 0:
            wait = min(LONGEST_WAIT, max(1, math.ceil(-left / self.rate)))
            said = f"the project {project!r} sends more than {self.rate:g} spans a second"
            raise OverQuota(said, "send again later, or have --max-spans-per-second raised", retry_after=wait)

    def took(self, project: str, spans: int) -> None:
        """So many more are taken (fewer, where they could not be stored)."""
        if self.rate:
            self._left(project).left -= spans

    def elsewhere(self, spans: Mapping[str, int]) -> None:
        """What the other workers have taken of each project since they began."""
        before, self._others = self._others, spans
        if before is not None:  # else it was before this worker began
            for project, count in spans.items():
                self.took(project, max(0, count - before.get(project, 0)))

    def _left(self, project: str) -> Allowance:
        now, most = self._clock(), self.rate * BURST_SECONDS
        found = self._of.get(project)
        if found is None:
            found = self._of[project] = Allowance(most, now)
        found.left, found.since = min(most, found.left + (now - found.since) * self.rate), now
        return found
