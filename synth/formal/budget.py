"""How much work a question may cost.

What we evaluate ourselves is counted in steps, so that the same evidence has the same answer on every
machine; a step is about a microsecond where this was calibrated (2 cores). Z3 and whole runs go by CPU time.
"""

from __future__ import annotations

import math
from time import thread_time
from typing import NoReturn

STEPS_PER_SECOND = 1_000_000
LOOK_EVERY = 4_096
"""Steps between two looks at the clock."""


class GaveUp(Exception):
    """The work went beyond its budget; the message says after how long."""


class Budget:
    """What one question may still cost."""

    __slots__ = (
        "_deadline",
        "_limit",
        "_look_at",
        "_run_seconds",
        "_seconds",
        "_spent",
        "_z3_used",
        "z3_seconds",
    )

    def __init__(
        self,
        seconds: float = math.inf,
        z3_seconds: float = math.inf,
        *,
        least_steps: float = 0,
        deadline: float = math.inf,
        run_seconds: float = math.inf,
    ) -> None:
        """`least_steps` are free whatever `seconds` say: what looks at every call once is never too much.

        `deadline` (CPU time of this thread) is that of a run which may take `run_seconds`.
        """
        self._seconds, self.z3_seconds, self._z3_used = seconds, z3_seconds, 0.0
        self._limit = max(seconds * STEPS_PER_SECOND, least_steps)
        self._deadline, self._run_seconds = deadline, run_seconds
        self._spent: float = 0
        self._look_at: float = LOOK_EVERY

    def spend(self, steps: float = 1) -> None:
        """Count work that is about to be done; GaveUp where it is too much."""
        self._spent += steps
        if self._spent > self._limit:
            self.exhaust()
        if self._spent >= self._look_at:
            self._look_at = self._spent + LOOK_EVERY
            self.look()

    def exhaust(self) -> NoReturn:
        """GaveUp, because the same work was too much before."""
        raise GaveUp(f"Gave up after {self._seconds:g} s")

    def look(self) -> None:
        """GaveUp where the time of the whole run is over."""
        if thread_time() > self._deadline:
            raise GaveUp(f"Gave up: the run took {self._run_seconds:g} s")

    @property
    def z3_ms(self) -> int | None:
        """How long Z3 may still be asked; None = as long as it needs."""
        left = min(self.z3_seconds - self._z3_used, self._deadline - thread_time())
        return None if math.isinf(left) else max(0, math.ceil(left * 1e3))

    @property
    def z3_spent(self) -> float:
        """Seconds for which Z3 was asked."""
        return self._z3_used

    def spend_z3(self, seconds: float) -> None:
        """Count CPU time for which Z3 was asked."""
        self._z3_used += seconds
