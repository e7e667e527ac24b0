"""Orders of calls that the evidence leaves open: the answer is that of every order, or none."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from synth.formal.contract_orders import OpenOrders
from synth.formal.contracts import Simulation
from synth.observed.run import Interval, Run, ToolCall
from synth.policies import Rules, load_policies
from synth.policies.evidence import Evidence
from synth.policies.kinds.contract import ContractRule
from synth.policies.kinds.duty import Judged
from synth.policies.kinds.kind import PolicyKind, answer
from tests.support.gapped_runs import RULES, SECOND, TOOLS

OFF = Rules(z3="off")
WORLDS = 60
MORE = {
    "contract": (
        "{on_violation: apply, tools: {pay: {requires: [p, not q], clears: p}, verify: {provides: p},"
        " refund: {requires: p, provides: [p, q], clears: q}}}",
        "{on_violation: skip, tools: {pay: {requires: 'at {id}', clears: 'at *', provides: 'at {amount}'},"
        " verify: {provides: 'at {id}'}, refund: {requires: ['at *', 'not at !1'], clears: 'at {id}'}}}",
        "{initial: [at 1], goal: [at 2], tools: {pay: {requires: 'at {id}', clears: 'at *',"
        " provides: 'at {amount}'}, refund: {clears: 'at 2'}}}",
        "{initial: [p], on_violation: skip, tools: {pay: {requires: p, clears: p, provides: p},"
        " refund: {requires: not q, provides: q}, verify: {requires: p, check: args.amount < 3, clears: q}}}",
    ),
    "behaviour": (
        "(until (or pay verify refund look) verify)",
        "(until (or verify look) (until (or pay refund look) (or pay refund verify)))",
        "(or (until (or pay verify) pay) (until (or refund look verify) verify))",
    ),
}  # fmt: skip


def rules_of(kind: str) -> list[PolicyKind]:
    every = (*RULES[kind], *MORE.get(kind, ()))
    lines = "\n".join(f"  - {{id: P{i}, {kind}: {text}}}" for i, text in enumerate(every))
    return [policy.rule for policy in load_policies(f"policies:\n{lines}").policies]


def blurred(r: random.Random, at: int) -> Interval:
    widths = r.choice(((0, 0), (0, 0), (1, 1), (0, 3), (2, 0)))
    return at - widths[0] * SECOND, at + widths[1] * SECOND


def bounded_run(r: random.Random) -> Run:
    """A few calls, the instants of some of them within bounds."""
    calls: list[ToolCall] = []
    at = 8 * 3600 * SECOND
    for _ in range(r.randint(1, 5)):
        at += r.choice((0, 1, 1, 2, 5)) * SECOND
        end = at + r.choice((0, 1, 1, 3, 6)) * SECOND
        bounds = blurred(r, at), blurred(r, end)
        calls.append(
            ToolCall(
                None,
                r.choice(TOOLS[:3]) if r.random() < 0.9 else "look",
                {"id": r.randint(1, 2), "amount": r.randint(1, 3)},
                error="no" if r.random() < 0.1 else None,
                start=bounds[0],
                end=(bounds[1][0], max(bounds[1][1], bounds[0][1])),
            )
        )
    return Run("r", tuple(calls))


def instant(r: random.Random, lo: int, hi: int) -> Interval:
    """One instant within bounds, rarely one of their edges: equal readings are ordered by sequence."""
    inside = r.choice((lo + 1, hi - 1, r.randint(lo, hi), r.randint(lo, hi))) if hi - lo > 2 else lo
    return inside, inside


def worlds(run: Run, r: random.Random, number: int = WORLDS) -> Iterator[Run]:
    """Runs with exact instants that the bounds allow; a call never seen to end succeeds late, or fails."""
    for _ in range(number):
        calls = []
        for call in run.calls:
            assert call.start is not None
            start = instant(r, *call.start)
            if call.end is None:
                far = 10**6 * SECOND
                ended = {"end": (start[0] + far,) * 2, "finished": True, "error": r.choice((None, "no"))}
                calls.append(replace(call, start=start, **ended))  # type: ignore[arg-type]
            else:
                calls.append(
                    replace(call, start=start, end=instant(r, max(call.end[0], start[0]), call.end[1]))
                )
        yield replace(run, calls=tuple(calls))


def judged(rule: PolicyKind, run: Run) -> Judged:
    return answer(rule, Evidence(run), OFF)


def tally(kind: str, runs: list[Run], r: random.Random, rules: list[PolicyKind]) -> tuple[int, int, int]:
    """(answers on which all worlds agree, those of them that were given, those on which worlds differ)."""
    agreed = decided = differed = 0
    for run in runs:
        possible = list(worlds(run, r))
        for rule in rules:
            said, found = judged(rule, run), [judged(rule, world) for world in possible]
            verdicts = {one.verdict for one in found}
            if len(verdicts) > 1:
                differed += 1
                assert said.verdict == "undecided", (rule, run, verdicts)
                continue
            agreed += 1
            decided += said.verdict in verdicts
            assert said.verdict in ("undecided", *verdicts), (rule, run, said)
            if kind == "contract" and rule.contract.on_violation != "stop":  # type: ignore[attr-defined]
                assert all({*said.violations} <= {*one.violations} for one in found), (rule, run, said)
    return agreed, decided, differed


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["contract", "behaviour"])
def test_the_answer_is_that_of_every_order_that_the_bounds_allow(kind: str) -> None:
    r = random.Random(f"orders {kind}")
    rules = rules_of(kind)
    agreed, decided, differed = tally(kind, [bounded_run(r) for _ in range(150)], r, rules)
    assert differed > 50
    assert decided / agreed >= 0.8, (decided, agreed)


@pytest.mark.heavy
def test_calls_that_were_never_seen_to_end_may_have_cleared_what_they_clear() -> None:
    r = random.Random("hanging")
    rules = [rule for rule in rules_of("contract") if rule.goal is None]  # type: ignore[attr-defined]
    runs = []
    for _ in range(120):
        run = bounded_run(r)
        hanging = r.sample(range(len(run.calls)), r.randint(1, min(2, len(run.calls))))
        calls = [
            replace(call, end=None, finished=False, error=None) if i in hanging else call
            for i, call in enumerate(run.calls)
        ]
        runs.append(replace(run, calls=tuple(calls)))
    agreed, decided, differed = tally("contract", runs, r, rules)
    assert differed > 20
    assert decided / agreed >= 0.8, (decided, agreed)


def test_exact_instants_leave_nothing_open_and_both_ways_to_follow_them_agree() -> None:
    r = random.Random("exact")
    for rule in rules_of("contract"):
        assert isinstance(rule, ContractRule)
        for _ in range(100):
            seen = Evidence(next(worlds(bounded_run(r), r, 1)))
            assert rule.judge(seen, OFF).verdict != "undecided"
            actions = list(rule._actions(seen))
            terms = rule.contract, rule._situation(seen)
            exact = Simulation(*terms).run(actions, seen.times)  # type: ignore[arg-type]
            assert OpenOrders(*terms).run(actions, seen.times) == replace(exact, notes=())
