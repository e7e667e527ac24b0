"""The guard on recorded runs: each call is proposed in turn, and what is refused counts as not run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from synth.observed.run import Run, read_runs
from synth.policies import PolicySet, load_policies
from synth.policies.online import Prefix

HERE = Path(__file__).parent
POLICIES = load_policies(HERE / "tau_airline.yaml")
REFUSES = [policy.id for policy in POLICIES.policies if policy.id != "A4"]
"""A call that is alone so far may get a sibling in its message: the second one is refused, not the first."""


def refusals(policies: PolicySet, run: Run) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Position in the record and refusing rules of each call that the guard did not let run."""
    extra = {name: said for name, said in run.extra.items() if name not in ("messages", "expected")}
    prefix = Prefix(policies, tools=run.tools, query=run.query, model=run.model, extra=extra)
    messages = list(run.extra["messages"])
    for position, call in enumerate(run.calls):
        while messages and messages[0]["before_call"] <= position:
            message = messages.pop(0)
            prefix.said(message["role"], message["content"])
        decision, place = prefix.propose(call)
        if place is None:
            yield position, tuple(breach.policy.id for breach in decision.breaches)
        else:
            prefix.ended(place, call.result, call.error)


@cache
def recorded() -> list[Run]:
    return [run for name in ("runs", "mutants") for run in read_runs(HERE / "tau_airline" / f"{name}.jsonl")]


@pytest.mark.parametrize("rule", REFUSES)
def test_the_first_refused_call_is_the_first_that_breaks_the_rule(rule: str) -> None:
    alone = replace(POLICIES, policies=tuple(one for one in POLICIES.policies if one.id == rule))
    seen: Counter[str] = Counter()
    for run in recorded():
        expected = run.extra["expected"][rule]
        refused = [position for position, _ in refusals(alone, run)]
        assert refused[:1] == expected["violations"][:1], (run.id, refused, expected)
        seen[expected["verdict"]] += 1
    assert seen["violated"] or rule == "A13", "none of the kept runs breaks that one"


def test_a_second_call_of_a_message_is_refused() -> None:
    alone = replace(POLICIES, policies=tuple(one for one in POLICIES.policies if one.id == "A4"))
    for run in recorded():
        steps = [call.extra["assistant_step"] for call in run.calls]
        second = [i for i, step in enumerate(steps) if step in steps[:i] or run.calls[i].with_text]
        assert [position for position, _ in refusals(alone, run)][:1] == second[:1], run.id


def test_runs_without_a_violation_lose_no_call() -> None:
    right = 0
    for run in recorded():
        first = min(
            (at for one in run.extra["expected"].values() for at in one["violations"][:1]), default=None
        )
        refused = [position for position, _ in refusals(POLICIES, run)]
        if first is None:
            right += 1
            assert refused == [], run.id
        elif not run.extra["expected"]["A4"]["violations"]:
            assert refused[0] == first, (run.id, refused, first)
    assert right >= 1
