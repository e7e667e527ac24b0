"""One run, as far as candidates for rules need it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, TypeVar

from synth.observed.run import Run
from synth.policies.evidence import Evidence

MOST_SEARCHED = 2_000
"""Runs in which rules on three tools or on arguments are looked for; all runs must keep what is found."""

T = TypeVar("T")


class Seen:
    """One run, as far as candidates need it."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.evidence = Evidence(run)
        self.attempts: dict[str, list[int]] = {}
        self.successes: dict[str, list[int]] = {}
        self.failures: dict[str, list[int]] = {}
        for i in self.evidence.order:
            if run.calls[i].executed:
                self.attempts.setdefault(run.calls[i].tool, []).append(i)
                if run.calls[i].succeeded:
                    self.successes.setdefault(run.calls[i].tool, []).append(i)
                elif run.calls[i].finished and run.calls[i].error is not None:
                    self.failures.setdefault(run.calls[i].tool, []).append(i)
        self.total = sum(map(len, self.attempts.values()))

    def rank(self, call: int) -> int:
        return self.evidence.rank[call]

    def others(self, tool: str) -> list[int]:
        """Attempts of every other tool."""
        return [i for name, calls in self.attempts.items() if name != tool for i in calls]

    def starts(self, tool: str) -> list[int] | None:
        """When the attempts at a tool began, in wall-clock ns, in order; None if one has no time."""
        found = [start[0] for i in self.attempts[tool] if (start := self.run.calls[i].start) is not None]
        return sorted(found) if len(found) == len(self.attempts[tool]) else None

    @cached_property
    def all_starts(self) -> list[int]:
        """Of all attempts, as far as they have times."""
        calls = (self.run.calls[i] for attempts in self.attempts.values() for i in attempts)
        return [call.start[0] for call in calls if call.start is not None]

    def argument(self, call: int, field: str) -> Any:
        """What a call was given; None where it is not known, or not there."""
        made = self.run.calls[call]
        return made.arguments.get(field) if isinstance(made.arguments, dict) and not made.partly else None


def some(of: Sequence[T], most: int) -> Sequence[T]:
    """At most so many, evenly spread."""
    return of if len(of) <= most else [of[k * len(of) // most] for k in range(most)]
