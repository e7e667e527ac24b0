"""Runs of a conversation that hold only what its policies need: they are judged exactly as whole ones."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import orjson
import pytest

from synth.observed.run import Run, run_from_json
from synth.policies import (
    Part,
    PolicyResult,
    PolicySet,
    Rules,
    judge_policies,
    judge_turn,
    load_policies,
    needs_of,
    reduced,
    telling,
    without_values,
)
from synth.policies.kinds import KINDS
from tests.support.gapped_runs import ACTIONS, RULES, blurred, complete_run, without

OFF = Rules(z3="off")


def file_of(kind: str) -> PolicySet:
    said = [text if text.startswith(("{", "(")) else None for text in RULES[kind]]
    lines = (
        f"  - {{id: P{i}, {f'{kind}: {field}' if field else f'rule: {text!r}'}}}"
        for i, (text, field) in enumerate(zip(RULES[kind], said, strict=True))
    )
    return load_policies(f"scope: session\n{ACTIONS}policies:\n" + "\n".join(lines))


def judge(policies: PolicySet, run: Run, part: Part | None) -> tuple[PolicyResult, ...]:
    return judge_policies(policies, run, rules=OFF, part=part)


def conversation(r: random.Random) -> list[Run]:
    """A run cut into up to four; some lack calls, some instants are bounds, all have values and texts."""
    whole = complete_run(r)
    whole = blurred(whole, r) if r.random() < 0.3 else whole
    cuts = sorted(r.randint(0, len(whole.calls)) for _ in range(r.randint(0, 3)))
    turns = []
    for k, (start, end) in enumerate(zip([0, *cuts], [*cuts, len(whole.calls)], strict=True)):
        calls = tuple(
            replace(call, id=f"call {k}", error=call.error and "no!") for call in whole.calls[start:end]
        )
        turn = replace(whole, id=f"turn {k}", query=f"query {k}", agent="a", calls=calls, labels={"k": k})
        lost = r.sample(range(len(calls)), min(len(calls), r.choice((0, 0, 0, 1))))
        turns.append(without(turn, lost))
    return turns


def stored(run: Run) -> Run:
    """As it comes back from a store."""
    return run_from_json(orjson.loads(orjson.dumps(run.to_json())))


def told(policies: PolicySet, runs: Sequence[Run], at: int, *, goes_on: bool) -> list[object]:
    return [
        (result.to_json(), result.awaits, result.until)
        for result in judge_turn(judge, policies, runs, at, goes_on=goes_on)
    ]


def test_every_kind_is_tried() -> None:
    assert {kind.kind for kind in KINDS} == {*RULES}


@pytest.mark.parametrize("kind", RULES)
def test_reduced_runs_are_judged_as_whole_ones(kind: str) -> None:
    r = random.Random(f"reduced {kind}")
    policies = file_of(kind)
    needs = needs_of([policies])
    seen: Counter[str] = Counter()
    for _ in range(120):
        turns = conversation(r)
        at = r.randrange(len(turns))
        small = [run if k == at else stored(reduced(run, needs)) for k, run in enumerate(turns)]
        for goes_on in (True, False):
            expected = told(policies, turns, at, goes_on=goes_on)
            assert told(policies, small, at, goes_on=goes_on) == expected
            seen.update(said["verdict"] for said, _, _ in expected)  # type: ignore[misc, index]
    assert {"ok", "violated", "undecided"} <= set(seen)


@pytest.mark.parametrize("kind", RULES)
def test_calls_that_no_policy_speaks_of_tell_nothing(kind: str) -> None:
    r = random.Random(f"telling {kind}")
    policies = file_of(kind)
    needs = needs_of([policies])
    if needs.spoken is None or any("look" in tools for tools in needs.spoken):
        return  # calls of every tool may matter
    for _ in range(120):
        turns = conversation(r)
        at, other = r.randrange(len(turns)), r.randrange(len(turns))
        changed = list(turns)
        calls = tuple(call for call in turns[other].calls if call.tool != "look" or r.random() < 0.5)
        if other == at or turns[other].gaps or len(calls) == len(turns[other].calls):
            continue
        changed[other] = replace(turns[other], calls=calls)
        assert telling(reduced(turns[other], needs), needs) == telling(reduced(changed[other], needs), needs)
        before, after = (
            [(result.verdict, result.violations) for result in judge_turn(judge, policies, runs, at)]
            for runs in (turns, changed)
        )
        assert before == after


RARELY = ("adjacency", "next_call", "overlap")
"""Kinds in whose runs a value that is lost seldom changes the verdict."""


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.heavy] * (kind in RARELY)) for kind in RULES]
)
def test_where_values_are_not_kept_what_needs_them_is_open(kind: str) -> None:
    r = random.Random(f"absent {kind}")
    policies = file_of(kind)
    needs = needs_of([policies])
    lost = 0
    read = bool(needs.arguments or needs.results)
    for _ in range((4000 if kind in RARELY else 400) if read else 20):
        turns = conversation(r)
        at = r.choice((0, len(turns) - 1))
        bare = [
            run if k == at else stored(without_values(reduced(run, needs))) for k, run in enumerate(turns)
        ]
        whole = [said for said, _, _ in told(policies, turns, at, goes_on=False)]  # type: ignore[misc]
        left = [said for said, _, _ in told(policies, bare, at, goes_on=False)]  # type: ignore[misc]
        for one, other in zip(whole, left, strict=True):
            if other["verdict"] != one["verdict"]:
                assert other["verdict"] == "undecided", (one, other, turns, at)
                lost += "not kept" in other["explanation"] or "known" in other["explanation"]
    assert bool(lost) is read
