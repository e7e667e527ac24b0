"""Policies as pictures, and what held in a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from synth.errors import BadInput
from synth.formal.diagram import Listed, rows_of, svg_of
from synth.observed import Run
from synth.policies.evidence import Evidence
from synth.policies.kinds.behaviour import Behaviour
from synth.policies.kinds.contract import ContractRule
from synth.policies.model import Policy, PolicySet


@dataclass(frozen=True, slots=True)
class Diagram:
    """A behaviour specification as a picture and as a table."""

    svg: str
    rows: tuple[Listed, ...]


def diagram_of(policy: Policy) -> Diagram | None:
    """That of its behaviour specification; None where it has none, or one that is too large to be read."""
    if not isinstance(policy.rule, Behaviour):
        return None
    try:
        return Diagram(svg_of(policy.rule.monitor), tuple(rows_of(policy.rule.monitor)))
    except BadInput:
        return None


MOST_HELD = 200
"""Calls of a run whose facts are told."""


@dataclass(frozen=True, slots=True)
class Held:
    """What held when a call began (None: at the end), and how that differs from the call before."""

    call: int | None
    facts: tuple[str, ...]
    came: tuple[str, ...]
    gone: tuple[str, ...]


def facts_held(found: PolicySet, policy: str, run: Run) -> Iterator[Held]:
    """The facts of a contract over a run; none of other rules, of conversations and of open orders."""
    rule = next((one.rule for one in found.policies if one.id == policy), None)
    if not isinstance(rule, ContractRule) or found.scope != "run":
        return
    before: frozenset[tuple[str, ...]] | None = None
    for call, facts in rule.held(Evidence(run, found.timezone, found.aliases))[:MOST_HELD]:
        came, gone = (frozenset(), frozenset()) if before is None else (facts - before, before - facts)
        yield Held(call, *(tuple(sorted(map(" ".join, some))) for some in (facts, came, gone)))
        before = facts
