"""What guards decided before the calls of a run, by rule: for counts and for searches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from synth.observed import Run

REFUSED, ASKED, WARNED, OBSERVED, DOUBT = DECISIONS = ("refused", "asked", "warned", "observed", "doubt")
"""What is told of a rule: the call did not run; a person was asked about it, whatever came of that; it ran
with a warning; it ran and would have broken the rule; whether it keeps the rule could not be told."""
LISTED, LONGEST = 200, 200
"""Pairs of one run, and characters of the name of a rule: a sender may write what it wants."""
_SAID = {"refused": REFUSED, "warn": WARNED, "observe": OBSERVED, "doubt": DOUBT}


def decisions_of(run: Run) -> tuple[tuple[str, str], ...]:
    """(rule, what was decided) of the run's calls, each pair once."""
    return tuple(dict.fromkeys(_pairs(run)))[:LISTED]


def _pairs(run: Run) -> Iterator[tuple[str, str]]:
    for call in run.calls:
        told = call.extra.get("guard")
        if isinstance(told, Mapping):
            yield from ((rule[:LONGEST], what) for what in _decided(told) for rule in _rules(told))


def _decided(told: Mapping[str, object]) -> Iterator[str]:
    decision = told.get("decision")
    if isinstance(decision, str) and decision in _SAID:
        yield _SAID[decision]
    if decision == "approved" or (decision == "refused" and told.get("mode") == "ask"):
        yield ASKED


def _rules(told: Mapping[str, object]) -> Iterator[str]:
    rules = told.get("rules")
    return (one for one in rules if isinstance(one, str)) if isinstance(rules, list) else iter(())
