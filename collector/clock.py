"""What time it is, for everything that is decided by it.

A machine's clock is set: by hand, by NTP after a start, by a host that moves a virtual machine. Runs are
forgotten, leases end and runs fall due by this one instead, which goes on as it began.
"""

from __future__ import annotations

import time
from collections.abc import Callable


def passed() -> float:
    """Seconds since some instant, equal in all processes of a machine; sleep counts where the system says."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class Clock:
    """Unix seconds as they were when it was made, and what has passed since."""

    def __init__(
        self,
        offset: float | None = None,
        *,
        wall: Callable[[], float] = time.time,
        passed: Callable[[], float] = passed,
    ) -> None:
        """`offset` of another one, for a process that shall agree with it."""
        self._wall, self.passed = wall, passed
        self.offset = wall() - passed() if offset is None else offset

    def __call__(self) -> float:
        return self.passed() + self.offset

    @property
    def jump(self) -> float:
        """Seconds by which the machine's clock was set forward (less than 0: back) since this was made."""
        return self._wall() - self()
