"""What judging one run by its policies may cost: each policy has a budget of its own, cheap kinds come first.

So a policy that costs too much loses its own answer and no other one. A process that has to be stopped all
the same says at which policy it was; the next one passes over that policy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from time import thread_time

from synth.formal.budget import Budget
from synth.judge.rules import Rules
from synth.policies.evidence import Evidence

STEPS_PER_CALL = 40
"""Steps that a policy has for each call of a run, however long it is."""
REPAIRS = "(repairs)"
"""Stands for the search for plans that would have worked, in place of the id of a policy."""
REPAIR_SECONDS = 1.0
Z3_SHARE = 0.5
"""Of the time of a run: what is decided without Z3 must have its turn as well."""


class RunBudget:
    """What all policies of one run may cost together, in however many files they stand."""

    def __init__(
        self,
        rules: Rules,
        *,
        skip: Collection[str] = (),
        until: str | None = None,
        at: Callable[[str], None] | None = None,
    ) -> None:
        """`skip`: ids of policies that are not judged, because a judge was stopped at them.

        From the policy `until` on none is judged any more; `at` is told the id of each one that is.
        """
        self._rules, self._skip, self._until, self._at = rules, frozenset(skip), until, at
        self._over = False
        self._deadline: float | None = None
        """CPU time of this thread; counted from the first policy on."""
        self._z3_left = rules.run_seconds * Z3_SHARE

    def anew(self) -> RunBudget:
        """The same, with nothing spent."""
        return RunBudget(self._rules, skip=self._skip, until=self._until, at=self._at)

    def skips(self, name: str) -> bool:
        """Is this policy, the next one, to be passed over?"""
        self._over = self._over or name == self._until
        return self._over or name in self._skip

    def begin(self, name: str, seen: Evidence, seconds: float | None = None) -> None:
        """Judge the policy of this name in a budget of its own; GaveUp where the run has none left.

        `end` has to follow.
        """
        if self._at is not None:
            self._at(name)
        if self._deadline is None:
            self._deadline = thread_time() + self._rules.run_seconds
        seen.budget = Budget(
            self._rules.policy_seconds if seconds is None else seconds,
            min(self._rules.policy_z3_seconds, max(0.0, self._z3_left)),
            least_steps=STEPS_PER_CALL * len(seen.calls),
            deadline=self._deadline,
            run_seconds=self._rules.run_seconds,
        )
        seen.budget.look()

    def end(self, seen: Evidence) -> None:
        """What was begun is done, or given up."""
        self._z3_left -= seen.budget.z3_spent
