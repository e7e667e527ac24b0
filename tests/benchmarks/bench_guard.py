"""What a guard of ten rules adds to a tool call, in a run of fifty calls; and with three limits beside them.

The limits are on minutes, tokens and cost, and a reply of a model comes before each call.

The evaluator is prepared (the file is read); `propose` and `ended` together are what is added. The clock is
the wall's, since asking for CPU time may cost more than a call, so each of the fifty calls counts with its
median over nine rounds of twenty runs: neighbours that take the processor now and then are left out. Exit
code 1 when a target is missed.

    python tests/benchmarks/bench_guard.py [--json] [--rounds N]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from time import perf_counter_ns

from synth.observed.run import ToolCall
from synth.policies import PolicySet, load_policies
from synth.policies.online import Prefix

RULES = """\
actions: {verify: verify, look: look, refund: refund, pay: pay, close: close, notify: notify, any tool: '*'}
policies:
  - {id: first, rule: Verify must happen before refund and pay.}
  - {id: same, rule: Look must happen before refund with the same order.}
  - {id: once, rule: Close must happen at most 1 time.}
  - {id: rate, rule: Refund must happen at most 60 times within 1 hour.}
  - {id: after, rule: Call any tool must never happen after close.}
  - {id: failed, rule: 'If verify fails, refund must never happen afterwards.'}
  - {id: answer, rule: Refund must be followed by notify.}
  - {id: small, guard: {calls: refund, check: args.amount <= 500}}
  - {id: known, guard: {calls: pay, check: "earlier('look').exists(c, c.args.order == args.order)"}}
  - {id: source, provenance: {calls: pay, argument: order, from: look}}
"""
LIMITED = f"""\
limits: {{minutes: 600, tokens: 1000000, cost: 100}}
prices: {{currency: EUR, gpt-4o: {{input: 2.5, output: 10}}}}
{RULES}"""
GUARDS = {"": RULES, " and three limits": LIMITED}
CALLS = 50
RUNS = 20
GOALS = {"median": 50.0, "p99": 500.0}
"""Microseconds."""


def calls() -> list[ToolCall]:
    """Verified first; then orders are looked up, refunded, paid and told of."""
    found = [ToolCall(None, "verify", {"user": "u1"})]
    for k in range(CALLS - 1):
        tool = ("look", "refund", "notify", "pay")[k % 4]
        found.append(ToolCall(None, tool, {"order": f"order {k // 4}", "amount": k}, step=k, with_text=False))
    return found


def one_run(policies: PolicySet) -> list[float]:
    """Microseconds of each call."""
    prefix, spent = Prefix(policies, tools=("verify", "look", "refund", "pay", "close", "notify")), []
    for call in calls():
        prefix.used("gpt-4o", 900, 100)
        began = perf_counter_ns()
        decision, place = prefix.propose(call)
        between = perf_counter_ns()
        assert place is not None, decision
        assert not decision.doubts, decision
        result = {"order": (call.arguments or {}).get("order"), "lines": ["a", "b"], "total": 12.5}
        resumed = perf_counter_ns()
        prefix.ended(place, result)
        spent.append((between - began + perf_counter_ns() - resumed) / 1e3)
    return spent


def measured(rules: str, rounds: int) -> dict[str, float]:
    """The median of each of the calls over all runs; of those the median and the 99th percentile."""
    policies = load_policies(rules)
    one_run(policies)
    spent = [one_run(policies) for _ in range(rounds * RUNS)]
    each = sorted(statistics.median(run[k] for run in spent) for k in range(CALLS))
    return {"median": statistics.median(each), "p99": each[-1]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    figures = {what: measured(rules, given.rounds) for what, rules in GUARDS.items()}
    if given.json:
        named = {f"{name}{what}": figure[name] for what, figure in figures.items() for name in GOALS}
        print(json.dumps(named))
    else:
        for what, figure in figures.items():
            for name, goal in GOALS.items():
                told = f"added to a call, {name}: {figure[name]:.0f} us (goal {goal:.0f})"
                print(f"a guard of ten rules{what}, {told}")
    return int(any(figure[name] > goal for figure in figures.values() for name, goal in GOALS.items()))


if __name__ == "__main__":
    sys.exit(main())
