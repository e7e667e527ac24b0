"""Specifications over states, calls that nobody saw: the answer on the rest is that on the run, or none."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from synth.observed.run import Run
from synth.policies import Rules, load_policies
from synth.policies.evidence import Evidence
from synth.policies.kinds.duty import Judged
from synth.policies.kinds.kind import PolicyKind, answer
from tests.support.gapped_runs import blurred, complete_run, ran_only, unanswered, without, worlds

STATES = '(:states (Ask (:text "Q")) (Act (:text "P")) (Seen (:text "S")) (Ans (:text "A")))'
SPECIFICATIONS = (
    "react", "pass", "direct", "rewoo", "reflexion",
    f"(define paid {STATES} (:behavior (next Ask (until Act Ans)))"
    " (:trace (request Ask) ((call pay) Act) (call) (result) (answer Ans)))",
    f"(define told {STATES} (:behavior (next (always (next Act Seen))))"
    " (:trace (request) (text) (call Act) (result Seen) (answer)))",
    f"(define batch {STATES} (:behavior (next (always (next (always Act) Seen))))"
    " (:trace (request) (text) (call Act) (results Seen) (result) (answer)))",
)  # fmt: skip
OPEN = "undecided"


def rule_of(specification: str) -> PolicyKind:
    text = f"policies:\n  - id: shape\n    behaviour: |\n      {specification}\n"
    return load_policies(text).policies[0].rule


def judged(rule: PolicyKind, run: Run) -> Judged:
    return answer(rule, Evidence(run), Rules(z3="off"))


def with_texts(run: Run, r: random.Random) -> Run:
    """Each message had a text, had none, or nobody knows."""
    said: dict[Any, bool | None] = {}
    calls = [
        replace(call, with_text=said.setdefault(call.step, r.choice((True, True, True, False, None))))
        for call in run.calls
    ]
    return replace(run, calls=tuple(calls))


def with_answer(run: Run) -> Run:
    last = {"role": "assistant", "content": "a", "before_call": len(run.calls)}
    return replace(run, extra={"messages": [{"role": "user", "content": "q", "before_call": 0}, last]})


def agrees(r: random.Random, rules: dict[str, PolicyKind], decided: Counter[str]) -> None:
    whole = with_texts(complete_run(r), r)
    whole = blurred(whole, r) if r.random() < 0.3 else whole
    if not whole.calls:
        return
    gone = sorted(r.sample(range(len(whole.calls)), r.randint(1, min(3, len(whole.calls)))))
    rest = without(whole, gone)
    if r.random() < 0.5:
        whole, rest = with_answer(whole), with_answer(rest)
    never = ran_only(whole, lambda i: i not in gone)
    pairs = [(rest, one) for one in (whole, *worlds(rest, r, 2))]
    pairs += [(unanswered(truth, gone, r), truth) for truth in (whole, never)]
    for name, rule in rules.items():
        for seen, truth in pairs:
            said, known = judged(rule, seen).verdict, judged(rule, truth).verdict
            assert OPEN in (said, known) or said == known, (name, truth, seen)
            decided[f"{name} {said}"] += said != OPEN


def decided_in(seed: str, tries: int) -> Counter[str]:
    r, rules = random.Random(seed), {one: rule_of(one) for one in SPECIFICATIONS}
    decided: Counter[str] = Counter()
    for _ in range(tries):
        agrees(r, rules, decided)
    return decided


def test_what_no_unseen_call_could_change_is_said_and_nothing_else() -> None:
    decided = decided_in("states", 25)
    assert decided["direct violated"] > 20
    assert decided["react violated"] > 3


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(2))
def test_also_of_many(seed: int) -> None:
    decided = decided_in(f"states {seed}", 200)
    verdicts = {name.rpartition(" ")[2] for name, count in decided.items() if count}
    assert verdicts >= {"ok", "violated"}
