"""The guard on recorded runs that were changed at random: it refuses first what the verdict blames first."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from synth.judge import Rules
from synth.observed.run import Run, ToolCall
from synth.policies import judge_policies
from tests.real_data.test_guard_on_real_data import POLICIES, REFUSES, recorded, refusals
from tests.support.soak import seeded, tries

STEP = "assistant_step"


def again(calls: list[ToolCall], at: int, r: random.Random) -> None:
    """A call is tried again, in a message of its own; it takes the place of the next."""
    if at + 1 < len(calls):
        calls[at + 1] = replace(calls[at], extra=calls[at + 1].extra)


def swapped(calls: list[ToolCall], at: int, r: random.Random) -> None:
    other = r.randrange(len(calls))
    one, two = calls[at], calls[other]
    calls[at], calls[other] = replace(two, extra=one.extra), replace(one, extra=two.extra)


def renamed(calls: list[ToolCall], at: int, r: random.Random) -> None:
    calls[at] = replace(calls[at], tool=r.choice(calls).tool)


def failed(calls: list[ToolCall], at: int, r: random.Random) -> None:
    calls[at] = replace(calls[at], error="boom", result=None)


def other_arguments(calls: list[ToolCall], at: int, r: random.Random) -> None:
    """An argument has the value of another call, or another number."""
    said: dict[str, Any] = dict(calls[at].arguments or {})
    for name in sorted(said)[:1] if r.random() < 0.5 else r.sample(sorted(said), min(1, len(said))):
        known = [call.arguments[name] for call in calls if name in (call.arguments or {})]
        said[name] = said[name] + r.choice((-1, 1, 5)) if isinstance(said[name], int) else r.choice(known)
    calls[at] = replace(calls[at], arguments=said)


def in_one_message(calls: list[ToolCall], at: int, r: random.Random) -> None:
    step = calls[max(0, at - 1)].extra[STEP]
    calls[at] = replace(calls[at], extra={**calls[at].extra, STEP: step})


CHANGES: tuple[Callable[[list[ToolCall], int, random.Random], None], ...] = (
    again, swapped, renamed, failed, other_arguments, in_one_message,
)  # fmt: skip


def changed(run: Run, r: random.Random) -> Run:
    calls = list(run.calls)
    for _ in range(r.choice((1, 1, 2, 3)) if calls else 0):
        r.choice(CHANGES)(calls, r.randrange(len(calls)), r)
    return replace(run, calls=tuple(calls))


@pytest.mark.heavy
def test_the_first_refused_call_of_a_changed_run_is_the_first_that_breaks_the_rule() -> None:
    seen: Counter[str] = Counter()
    with seeded() as r:
        for _ in range(tries(2_500)):
            run = changed(r.choice(recorded()), r)
            found = {
                one.policy: one for one in judge_policies(POLICIES, run, rules=Rules(z3="off", repair=False))
            }
            for policy in POLICIES.policies:
                if policy.id in REFUSES:
                    alone = replace(POLICIES, policies=(policy,))
                    refused = [position for position, _ in refusals(alone, run)]
                    assert refused[:1] == list(found[policy.id].violations[:1]), (policy.id, run.calls)
                    seen[found[policy.id].verdict] += 1
    assert seen["violated"]
    assert seen["ok"]
