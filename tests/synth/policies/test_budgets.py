"""Every policy has a budget of its own: what is certain stays, whatever the next policy costs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from synth.observed.run import Run
from synth.policies import PolicyResult, PolicySet, Rules, RunBudget, judge_policies, load_policies
from tests.support.hostile_runs import (
    ACTIONS,
    MORNING,
    SECOND,
    big_results,
    exact,
    one_message,
    parallel,
    staircase,
    two_clocks,
    unfinished,
    work,
)

OFF = Rules(z3="off")
SENTENCES = (
    "C must happen before B.",
    "C must happen before B with the same id.",
    "A must be followed by B.",
    "A must be followed by B within 2 seconds.",
    "B must never happen after A.",
    "A must happen immediately before B.",
    "B must start within 2 seconds after A.",
    "B must start within 2 seconds before A.",
    "B must start within 2 seconds of A.",
    "B must start at least 2 seconds after A.",
    "A must not overlap B.",
    "A must not overlap each other.",
    "A must happen after 09:00.",
    "A must happen at most twice.",
    "B must never happen.",
    "C must happen at least 3 times before B.",
    "C must happen at least 3 times before B with different id.",
    "C must happen at least 3 times before B with the same amount.",
    "C must happen at most 3 times before B with the same amount.",
    "If A fails 3 times, B must never happen.",
    "B must not happen more often than A.",
    "B must not happen more often than A with the same amount.",
    "A must happen as often as B with the same amount.",
    "A must fail at most 2 times within 1 hour with the same amount.",
    "A must happen at most 2 times in a row.",
    "A must fail at most 2 times in a row with the same amount.",
    "A must happen with at most 2 different id.",
    "A must happen with at most 2 different id with the same amount.",
    "A must take at most 2 seconds.",
    "The amount of B must be at most the amount of A.",
    "The id of B must differ from that of A with the same amount.",
    "The id of B must be more than that of B with the same amount.",
    "The first call must be A.",
    "The last call must be A.",
)


def policies(*sentences: str) -> PolicySet:
    lines = "".join(f"  - {{id: P{k}, rule: {said!r}}}\n" for k, said in enumerate(sentences))
    return load_policies(f"{ACTIONS}policies:\n{lines}")


def only(sentence: str, run: Run, rules: Rules) -> PolicyResult:
    (result,) = judge_policies(policies(sentence), run, rules=rules)
    return result


@pytest.mark.parametrize("sentence", SENTENCES)
@pytest.mark.parametrize("shape", [exact, one_message, staircase, unfinished, parallel])
def test_twice_the_calls_are_hardly_more_than_twice_the_work(shape, sentence):
    """Growth of n log n would be 2.26 here."""
    found = policies(sentence)
    once, twice = (work(partial(judge_policies, found, shape(n), rules=OFF)) for n in (210, 420))
    assert twice / once < 2.1


def test_the_measure_tells_quadratic_work():
    def pairs(n: int) -> None:
        for i in range(n):
            for j in range(n):
                _ = i < j

    assert work(partial(pairs, 100)) / work(partial(pairs, 50)) > 3.5


def test_a_policy_that_costs_too_much_is_undecided_and_no_other_one():
    found = policies("C must happen before B.", "B must never happen.", "A must not overlap B.")
    small = Rules(z3="off", policy_seconds=0.001)
    order, never, overlap = judge_policies(found, two_clocks(900), rules=small)
    assert (order.verdict, order.explanation) == ("undecided", "Gave up after 0.001 s.")
    assert (never.verdict, len(never.violations)) == ("violated", 300)
    assert overlap.policy == "P2"
    assert only("C must happen before B.", two_clocks(900), OFF).verdict == "undecided"


@pytest.mark.parametrize("limit", ["after", "before", "of"])
def test_near_calls_of_two_clocks_are_paid_for(limit):
    sentence = f"B must start within 2 seconds {limit} A."
    result = only(sentence, two_clocks(900), Rules(z3="off", policy_seconds=0.001))
    assert result.explanation == "Gave up after 0.001 s."


def test_what_was_broken_before_a_policy_gave_up_stays():
    an_hour_before = (MORNING - 3600 * SECOND,) * 2
    alone = replace(unfinished(2).calls[1], start=an_hour_before, extra={"clock": "0"})
    run = Run("r", (alone, *two_clocks(900).calls))
    result = only("C must happen before B.", run, Rules(z3="off", policy_seconds=0.001))
    assert (result.verdict, result.violations) == ("violated", (0,))


def test_what_looks_at_every_call_once_is_never_too_much():
    assert only("B must never happen.", unfinished(600), Rules(policy_seconds=0)).verdict == "violated"
    order = only("C must happen before B.", unfinished(600), Rules(z3="off", policy_seconds=0))
    assert (order.verdict, len(order.violations)) == ("violated", 200)


def test_when_the_time_of_a_run_is_over_the_rest_is_undecided():
    found = policies("C must happen before B.", "B must never happen.")
    for result in judge_policies(found, unfinished(9), rules=Rules(run_seconds=0)):
        assert (result.verdict, result.explanation) == ("undecided", "Gave up: the run took 0 s.")


def test_cheap_kinds_come_first_and_results_in_the_order_of_the_file():
    begun: list[str] = []
    found = policies("A must be followed by B.", "C must happen before B.", "B must never happen.")
    results = judge_policies(found, unfinished(9), budget=RunBudget(Rules(), at=begun.append))
    assert begun == ["P2", "P1", "P0", "(repairs)"]
    assert [result.policy for result in results] == ["P0", "P1", "P2"]


def test_a_policy_at_which_a_judge_was_stopped_is_passed_over():
    found = policies("C must happen before B.", "B must never happen.")
    order, never = judge_policies(found, unfinished(9), budget=RunBudget(Rules(), skip=["P0"]))
    assert (order.verdict, never.verdict) == ("undecided", "violated")
    assert "had to be stopped while it was at this policy" in order.explanation


# ---------------------------------------------------------------- what the reason says


def test_both_is_only_said_where_both_were_shown():
    shown = only("A must be followed by B.", one_message(6), Rules())
    assert "allow both (kept: " in shown.explanation
    unasked = only("A must be followed by B.", one_message(6), OFF)
    assert unasked.explanation == "The recorded times of call 0 do not decide it alone, and Z3 was not asked."
    many = only("A must be followed by B.", one_message(900), Rules())
    assert many.explanation == unasked.explanation


def test_z3_has_so_long_for_all_questions_of_a_policy_and_says_when_it_gave_up():
    rules = Rules(policy_z3_seconds=0.02)
    result = only("B must start at least 2 seconds after A.", staircase(90), rules)
    assert result.explanation.endswith("do not decide it alone, and Z3 gave up after 0.02 s.")


def test_policies_share_half_of_the_time_of_a_run_for_z3():
    found = policies(*["B must start at least 2 seconds after A."] * 3)
    rules = Rules(run_seconds=60)
    budget = RunBudget(rules)
    budget._z3_left = 0.02
    first, *others = judge_policies(found, staircase(90), rules=rules, budget=budget)
    assert first.explanation.endswith("Z3 gave up after 0.02 s.")
    assert {other.explanation for other in others} == {
        "The recorded times of call 1 do not decide it alone, and Z3 was not asked."
    }


# ---------------------------------------------------------------- kinds that look at results and facts

FIELDS = {
    "guard of one call": 'guard: {calls: [A], check: "args.amount > 1"}',
    "guard of the last": "guard: {calls: [A], check: \"last('b') == null || true\"}",
    "guard by value": "guard: {calls: [A], check: \"last('b', 'id', args.id) == null || true\"}",
    "provenance": "provenance: {calls: [A], argument: id, from: [B]}",
    "contract": "contract: {on_violation: apply, tools: {a: {provides: p}, b: {requires: p}}}",
    "behaviour": "behaviour: (until (next a b c) (next a b c))",
}


def of_field(field: str) -> PolicySet:
    return load_policies(f"{ACTIONS}policies:\n  - {{id: P, {field}}}\n")


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("shape", [exact, parallel, unfinished])
def test_twice_the_exact_calls_are_hardly_more_than_twice_the_work(shape, name):
    if (shape, name) == (parallel, "provenance"):
        pytest.skip("it goes through the results that came too late")
    found = of_field(FIELDS[name])
    judge_policies(found, shape(9), rules=OFF)
    once, twice = (work(partial(judge_policies, found, shape(n), rules=OFF)) for n in (210, 420))
    assert twice / once < 2.6


def test_a_specification_of_many_unordered_calls_costs_hardly_more_than_their_number():
    found = of_field(FIELDS["behaviour"])
    once, twice = (work(partial(judge_policies, found, one_message(n), rules=OFF)) for n in (210, 420))
    assert twice / once < 2.6


def one(field: str, run: Run, rules: Rules) -> PolicyResult:
    (result,) = judge_policies(of_field(field), run, rules=rules)
    return result


SMALL = Rules(z3="off", policy_seconds=0.01)


def test_a_guard_that_gave_up_keeps_what_it_found_and_says_so():
    field = "guard: {calls: [A], check: \"earlier('b').size() < 3\"}"
    result = one(field, exact(1500), SMALL)
    assert result.verdict == "violated"
    assert result.violations[0] == 9
    assert len(result.violations) < 497
    assert result.explanation.endswith("is false. Gave up after 0.01 s on other calls.")
    assert len(one(field, exact(1200), OFF).violations) == 397
    kept = "guard: {calls: [A], check: \"earlier('b').size() < 900\"}"
    assert one(kept, exact(1500), SMALL).explanation == "Gave up after 0.01 s."


def test_results_that_are_too_big_to_be_read_leave_a_rule_undecided():
    field = FIELDS["provenance"]
    both = load_policies(f"{ACTIONS}policies:\n  - {{id: P, {field}}}\n  - {{id: Q, {field}}}\n")
    run = big_results(90)
    for result in judge_policies(both, run, rules=SMALL):
        assert (result.verdict, result.explanation) == ("undecided", "Gave up after 0.01 s.")
    assert {result.verdict for result in judge_policies(both, big_results(9), rules=OFF)} == {"violated"}


def test_what_was_too_much_to_read_is_not_read_again_for_the_next_rule():
    lines = [f"  - {{id: P{k}, {FIELDS['provenance']}}}\n" for k in range(4)]
    run = big_results(90)
    files = [load_policies(f"{ACTIONS}policies:\n{''.join(lines[:n])}") for n in (1, 4)]
    once, more = (work(partial(judge_policies, file, run, rules=SMALL)) for file in files)
    assert more < 2 * once


def test_big_results_that_are_handed_to_a_condition_count():
    field = "guard: {calls: [A], check: \"earlier('b').size() < 999\"}"
    assert one(field, big_results(120), SMALL).explanation == "Gave up after 0.01 s."
    assert one(field, big_results(120, 100), SMALL).verdict == "ok"


def test_provenance_keeps_what_it_found():
    calls = (replace(call, arguments={"id": 1}, result={"id": 1}) for call in parallel(900).calls)
    result = one(FIELDS["provenance"], Run("r", tuple(calls)), SMALL)
    assert result.verdict == "violated"
    assert result.explanation.endswith("Gave up after 0.01 s on other calls.")


def test_a_contract_keeps_what_it_found():
    field = "contract: {on_violation: apply, tools: {a: {provides: 'at {id}'}, b: {requires: 'at *'}, "
    field += "c: {requires: never}}}"
    result = one(field, exact(900), SMALL)
    assert result.verdict == "violated"
    assert result.violations[0] == 2
    assert len(result.violations) < 300
    open_ = one(FIELDS["contract"], one_message(2400), SMALL)
    assert (open_.verdict, open_.explanation) == ("undecided", "Gave up after 0.01 s.")


def test_orders_that_are_too_many_are_given_up():
    result = one("behaviour: (until (or a b c) b)", one_message(90), SMALL)
    assert (result.verdict, result.explanation) == ("undecided", "Gave up after 0.01 s.")


@pytest.mark.parametrize(("calls", "verdict"), [(exact, "violated"), (parallel, "ok")])
def test_a_look_up_finds_what_ended_and_not_what_still_runs(calls, verdict):
    field = "guard: {calls: [A], check: \"last('b') == null\"}"
    result = one(field, calls(9), OFF)
    assert (result.verdict, result.violations) == (verdict, (3, 6) if verdict == "violated" else ())
