"""Values that were cut, hashed or left out: the answer is the one on the whole values, or none."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from synth.judge import judge
from synth.judge.rules import Rules as CaseRules
from synth.observed.run import Run
from synth.policies import Rules, load_policies
from synth.policies.evidence import Evidence
from synth.policies.kinds.kind import PolicyKind, answer
from tests.support.partly_known_runs import (
    ACTIONS,
    RULES,
    complete_run,
    losses,
    some_arguments,
    some_result,
    unmarked,
    with_loss,
    with_losses,
)
from tests.support.random_runs import random_day

OFF = Rules(z3="off")
OPEN = ("undecided", "unsupported")


def rules_of(kind: str) -> list[PolicyKind]:
    lines = (
        f"  - {{id: P{i}, {f'{kind}: {text}' if text.startswith('{') else f'rule: {text!r}'}}}"
        for i, text in enumerate(RULES[kind])
    )
    return [policy.rule for policy in load_policies(f"{ACTIONS}policies:\n" + "\n".join(lines)).policies]


def verdict(rule: PolicyKind, run: Run) -> str:
    return answer(rule, Evidence(run), OFF).verdict


@pytest.mark.parametrize("kind", RULES)
def test_with_values_lost_the_verdict_is_that_on_the_whole_values_or_none(kind: str) -> None:
    r = random.Random(f"partly {kind}")
    rules = rules_of(kind)
    decided = 0
    for _ in range(350):
        whole = complete_run(r)
        rest = with_losses(whole, r)
        for rule in rules:
            said = verdict(rule, rest)
            assert said in OPEN or said == verdict(rule, whole), (rule, whole, rest)
            decided += said not in OPEN
    assert decided > 100


@pytest.mark.parametrize(
    ("kind", "runs", "least"),
    [
        ("precedence", 1200, 2),
        ("response", 1500, 2),
        ("guard", 100, 15),
        ("provenance", 300, 10),
        ("contract", 100, 10),
    ],
)
def test_where_the_loss_is_not_told_the_property_fails(kind: str, runs: int, least: int) -> None:
    """The property can fail: without its mark, a value that was cut is taken for the whole."""
    r = random.Random(5)
    wrong = 0
    rules = rules_of(kind)
    for _ in range(runs):
        whole = complete_run(r)
        rest = unmarked(with_losses(whole, r))
        for rule in rules:
            said = verdict(rule, rest)
            wrong += said not in OPEN and said != verdict(rule, whole)
    assert wrong >= least


def decided(kind: str, runs: int) -> tuple[int, int]:
    """(runs whose verdict no filling of the one value that was lost changes, those that were decided)."""
    r = random.Random(f"useful {kind}")
    rules = rules_of(kind)
    decidable = done = 0
    for _ in range(runs):
        whole = complete_run(r)
        at, name, way = r.randrange(len(whole.calls)), r.choice(("arguments", "result")), r.choice(losses(r))
        rest = with_loss(whole.calls[at], name, way)
        if not rest.partly:
            continue
        worlds = [whole]
        for _ in range(150):
            value = some_arguments(r) if name == "arguments" else some_result(r)
            other = replace(whole.calls[at], **{name: value})  # type: ignore[arg-type]
            if with_loss(other, name, way) == rest:
                worlds.append(replaced(whole, at, other))
        for rule in rules:
            found = {verdict(rule, world) for world in worlds}
            if len(found) == 1 and not found & {*OPEN}:
                decidable += 1
                done += verdict(rule, replaced(whole, at, rest)) in found
    return decidable, done


def replaced(run: Run, at: int, call: object) -> Run:
    return replace(run, calls=(*run.calls[:at], call, *run.calls[at + 1 :]))  # type: ignore[arg-type]


@pytest.mark.heavy
def test_what_no_lost_value_can_change_is_decided() -> None:
    shares = {}
    for kind in RULES:
        decidable, done = decided(kind, 40)
        assert decidable > 30, kind
        shares[kind] = round(done / decidable, 2)
    assert min(shares.values()) >= 0.85, shares


def test_a_timed_case_with_values_lost_is_judged_as_with_the_whole_values_or_undecided() -> None:
    r = random.Random(8)
    rules = CaseRules(z3="off")
    outcomes: Counter[str] = Counter()
    wrong = 0
    for _ in range(1500):
        case, whole = random_day(r)
        rest = with_losses(whole, r)
        truth, said = judge(case, whole, rules=rules).outcome, judge(case, rest, rules=rules).outcome
        assert said in ("undecided", truth), (case, whole, rest)
        outcomes[said] += 1
        wrong += judge(case, unmarked(rest), rules=rules).outcome not in ("undecided", truth)
    assert min(outcomes["pass"], outcomes["fail"], outcomes["undecided"], wrong) > 50, (outcomes, wrong)
