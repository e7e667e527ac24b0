"""Values that may stand in a result by chance: provenance that looks anywhere for short ones or numbers.

A rule cannot tell what values its argument will have, the runs of a project can.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from synth.formal.partly import Unknown
from synth.observed.run import Run
from synth.policies.kinds.provenance import Provenance
from synth.policies.kinds.sources import form, values_at
from synth.policies.model import Policy, PolicySet

SHORT = 3
"""Characters; a longer text that is no number seldom stands anywhere by chance."""


class ByChance:
    """Looks through runs for such values, one for each policy without `in:`."""

    def __init__(self, policies: PolicySet) -> None:
        self._asked = {
            policy.id: (policy, policy.rule)
            for policy in policies.policies
            if isinstance(policy.rule, Provenance) and not policy.rule.inside
        }
        self.found: dict[str, str] = {}
        """Policy id -> what was seen, in words."""

    @property
    def is_done(self) -> bool:
        """Is there nothing more to look for?"""
        return len(self.found) == len(self._asked)

    def watching(self, runs: Iterable[Run]) -> Iterator[Run]:
        """The same runs, each looked at as it passes."""
        for run in runs:
            self._look(run)
            yield run

    def _look(self, run: Run) -> None:
        for policy, rule in self._asked.values():
            if policy.id not in self.found and (value := _first_weak(rule, run)) is not None:
                self.found[policy.id] = f"{'.'.join(rule.argument)} = {value!r:.40}"

    def advice(self, policy: Policy) -> str | None:
        """What to tell the author of a policy."""
        if policy.id not in self.found:
            return None
        return (
            f"{self.found[policy.id]} was seen: such a value may stand somewhere in a result by chance; "
            "`in:` can say where it must stand."
        )


def _first_weak(rule: Provenance, run: Run) -> Any:
    for call in run.calls:
        if any(call.tool in tools for tools in rule.what):
            for value in values_at(call.known_arguments, rule.argument):
                if not isinstance(value, Unknown) and _is_weak(value):
                    return value
    return None


def _is_weak(value: Any) -> bool:
    kind = form(value)
    if isinstance(value, str) and len(value) <= SHORT:
        return True
    return isinstance(kind, tuple) and kind[0] == "number"
