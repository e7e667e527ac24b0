"""Calls that nobody saw: the answer on the rest is the answer on the whole run, or none."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import pytest

from synth.observed.run import Run
from synth.policies import (
    Part,
    PolicyResult,
    PolicySet,
    Rules,
    join_runs,
    judge_policies,
    judge_turn,
    load_policies,
)
from synth.policies.evidence import Evidence
from synth.policies.kinds import KINDS
from synth.policies.kinds.kind import PolicyKind, answer
from tests.support.gapped_runs import (
    RULES,
    blurred,
    complete_run,
    policy_file,
    ran_only,
    unanswered,
    without,
    worlds,
)

OFF = Rules(z3="off")
OPEN = ("undecided", "unsupported")


def rules_of(kind: str) -> list[PolicyKind]:
    return [policy.rule for policy in load_policies(policy_file(kind)).policies]


def verdict(rule: PolicyKind, run: Run) -> str:
    return answer(rule, Evidence(run), OFF).verdict


def runs_with_calls(tries: int, r: random.Random) -> Iterator[Run]:
    """So many complete runs, without those of no call."""
    return (run for _ in range(tries) if (run := complete_run(r)).calls)


def some_gone(run: Run, r: random.Random) -> list[int]:
    return sorted(r.sample(range(len(run.calls)), r.randint(1, min(3, len(run.calls)))))


def test_every_kind_is_tried() -> None:
    assert {kind.kind for kind in KINDS} == {*RULES}


@pytest.mark.parametrize("kind", RULES)
def test_with_calls_missing_the_verdict_is_that_on_the_whole_run_or_none(kind: str) -> None:
    r = random.Random(f"unseen {kind}")
    rules = rules_of(kind)
    for whole in runs_with_calls(500, r):
        rest = without(whole, some_gone(whole, r))
        for rule in rules:
            said = verdict(rule, rest)
            assert said in OPEN or said == verdict(rule, whole), (rule, whole, rest)


@pytest.mark.parametrize("kind", RULES)
def test_also_where_times_are_known_only_within_bounds(kind: str) -> None:
    r = random.Random(f"bounded {kind}")
    rules = rules_of(kind)
    decided = 0
    for _ in range(300):
        whole = blurred(complete_run(r), r)
        if not whole.calls:
            continue
        rest = without(whole, some_gone(whole, r))
        for rule in rules:
            said, known = verdict(rule, rest), verdict(rule, whole)
            assert {said, known} & {*OPEN} or said == known, (rule, whole, rest)
            decided += said not in OPEN
    assert decided > 50


@pytest.mark.parametrize("kind", RULES)
def test_also_where_one_run_of_a_conversation_lacks_calls(kind: str) -> None:
    r = random.Random(f"conversation {kind}")
    rules = rules_of(kind)
    for whole in runs_with_calls(300, r):
        cut = r.randint(0, len(whole.calls))
        turns = [replace(whole, calls=part) for part in (whole.calls[:cut], whole.calls[cut:])]
        if r.random() < 0.3:
            silent = r.randrange(2)
            turns[silent] = replace(turns[silent], tools=None)
        gone = [r.sample(range(len(turn.calls)), r.randint(0, len(turn.calls))) for turn in turns]
        rest = [without(turn, lost) for turn, lost in zip(turns, gone, strict=True)]
        for rule in rules:
            said = verdict(rule, join_runs(rest))
            assert said in OPEN or said == verdict(rule, join_runs(turns)), (rule, turns, rest)


@pytest.mark.parametrize("kind", RULES)
def test_a_call_that_may_have_run_leaves_the_verdict_or_takes_it_away(kind: str) -> None:
    r = random.Random(f"unknown {kind}")
    rules = rules_of(kind)
    for whole in runs_with_calls(300, r):
        gone = some_gone(whole, r)
        never = ran_only(whole, lambda i, gone=gone: i not in gone)  # type: ignore[misc]
        for truth in (whole, never):
            asked = unanswered(truth, gone, r)
            for rule in rules:
                said = verdict(rule, asked)
                assert said in OPEN or said == verdict(rule, truth), (rule, truth, asked)


def test_taken_for_calls_that_never_ran_they_make_verdicts_other_ones() -> None:
    r = random.Random(6)
    wrong: Counter[str] = Counter()
    for whole in runs_with_calls(200, r):
        asked = unanswered(whole, some_gone(whole, r))
        rest = ran_only(asked, lambda i, asked=asked: bool(asked.calls[i].executed))  # type: ignore[misc]
        for kind in RULES:
            for rule in rules_of(kind)[:1]:
                said = verdict(rule, rest)
                wrong[kind] += said not in OPEN and said != verdict(rule, whole)
    assert {kind for kind, times in wrong.items() if times} == {*RULES} - {"turn"}  # it asks for requests


def by_turn(policies: PolicySet, turns: list[Run]) -> list[tuple[PolicyResult, ...]]:
    def judge(file: PolicySet, run: Run, part: Part | None) -> tuple[PolicyResult, ...]:
        return judge_policies(file, run, rules=OFF, part=part)

    return [judge_turn(judge, policies, turns, at) for at in range(len(turns))]


@pytest.mark.parametrize("kind", RULES)
def test_also_which_run_of_a_conversation_broke_it(kind: str) -> None:
    """Where other runs lack calls as well, `ok` and `not_applicable` are one: this run did not break it."""
    r = random.Random(f"turns {kind}")
    policies = load_policies(f"scope: session\n{policy_file(kind)}")
    for _ in range(100 if kind in ("behaviour", "contract") else 15):
        whole = complete_run(r)
        cuts = [0, *sorted(r.randint(0, len(whole.calls)) for _ in range(2)), len(whole.calls)]
        turns = [replace(whole, id=f"{a}", calls=whole.calls[a:b]) for a, b in pairwise(cuts)]
        gone = [r.sample(range(n), r.randint(0, min(2, n))) for n in (len(turn.calls) for turn in turns)]
        rest = [without(turn, lost) for turn, lost in zip(turns, gone, strict=True)]
        for left, known in zip(by_turn(policies, rest), by_turn(policies, turns), strict=True):
            for said, true in zip(left, known, strict=True):
                agree = (said.verdict == "violated") is (true.verdict == "violated")
                assert said.verdict in OPEN or agree, (said, true, turns, gone)


def test_where_the_hole_is_not_told_the_property_fails() -> None:
    """The property can fail: without its mark, a missing call is taken for one that was not made."""
    r = random.Random(5)
    wrong: Counter[str] = Counter()
    for whole in runs_with_calls(200, r):
        rest = replace(without(whole, some_gone(whole, r)), problems=(), unseen=())
        for kind in RULES:
            for rule in rules_of(kind)[:1]:
                said = verdict(rule, rest)
                wrong[kind] += said not in OPEN and said != verdict(rule, whole)
    assert {kind for kind, times in wrong.items() if times} == {*RULES}


def decided(kind: str, runs: int, seed: str) -> tuple[int, int]:
    """(runs that any filling of the holes leaves as they are, those of them that were decided)."""
    r = random.Random(seed)
    decidable = done = 0
    for _ in range(runs):
        whole = complete_run(r)
        if not whole.calls:
            continue
        rest = without(whole, some_gone(whole, r)[:2])
        possible = list(worlds(rest, r, 80))
        for rule in rules_of(kind):
            found = {verdict(rule, world) for world in possible}
            if len(found) == 1 and not found & {*OPEN}:
                decidable += 1
                done += verdict(rule, rest) in found
    return decidable, done


@pytest.mark.heavy
def test_what_no_unseen_call_can_change_is_decided() -> None:
    shares = {}
    for kind in RULES:
        decidable, done = decided(kind, 60, f"useful {kind}")
        assert decidable > 10, kind
        shares[kind] = done / decidable
    assert min(shares.values()) >= 0.5, shares
    assert sum(shares.values()) / len(shares) >= 0.8, shares
