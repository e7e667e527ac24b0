"""How long a verdict is waited for, and when a run that did not test its agent is made again at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from synth.agents import is_external
from synth.agents.model import EXEC
from synth.client import Backlog
from synth.experiments.trial import Result

LONGEST_PAUSE = 60.0
"""Seconds that `Retry-After` may ask for."""
IDLE_LOOKS = 3
"""So many looks without progress, and a collector has stopped judging."""


class Patience:
    """A time limit that goes on while the collector works off what waits there for longer than this run."""

    def __init__(
        self,
        limit: float,
        backlog: Callable[[], Backlog],
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`limit` in seconds; `say` is told why it takes longer."""
        self._limit, self._backlog, self._say, self._clock = limit, backlog, say, clock
        self._began = self._looked = clock()
        self._before: Backlog | None = None
        self._idle = 0
        self.why = ""
        """It is over, in words."""

    @property
    def is_over(self) -> bool:
        """Looks at the collector each time that the limit has passed."""
        now = self._clock()
        if now - self._looked < self._limit:
            return False
        self._looked = now
        return self._has_ended(now - self._began, self._backlog())

    def _has_ended(self, waited: float, found: Backlog) -> bool:
        self._idle = self._idle + 1 if found.stands_where(self._before) else 0
        self._before = found
        if found.lag + self._limit < waited:
            self.why = f"no verdict within {waited:.0f} s; {found} at the collector"
        elif self._idle == IDLE_LOOKS:
            self.why = (
                f"no verdict within {waited:.0f} s; {found} at the collector, which judges none of them"
            )
        else:
            self._say(f"waiting for verdicts: {found} at the collector")
        return bool(self.why)


def may_pass(result: Result) -> bool:
    """Whether what went wrong may be over soon: no connection, too many requests, a server's failure."""
    trouble = result.trouble
    if trouble is None or result.status == "timeout":
        return False
    if trouble.kind == "unreachable":
        return is_external(result.agent) and not result.agent.startswith(EXEC)
    passing = trouble.status is None or trouble.status == 429 or trouble.status >= 500
    return trouble.kind == "endpoint" and passing


def pause_after(answer: Mapping[str, Any], usual: float) -> float:
    """Seconds until the next try: as the server wishes, within reason, and never less than usual."""
    return max(usual, min(answer.get("retry_after") or 0.0, LONGEST_PAUSE))
