"""Is the agent worse than it was? The paired test, its power, and runs of the same case."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from synth.experiments.gate import (
    Gate,
    at_k,
    cases_needed,
    gates,
    power,
    smallest_drop,
    worse_by_chance,
)
from synth.experiments.trial import Result
from tests.support.bench_results import result, untested
from tests.support.soak import soaks, tell, tries


def runs(passed: dict[str, str], **more: str) -> list[Result]:
    """`{"c1": "pf"}`: two runs of case c1, the first passes, the second fails; `u` is undecided."""
    outcome = {"p": "pass", "f": "fail", "u": "undecided"}
    return [
        replace(result(outcome[letter], key=f"{case}|{n}", **more), case_id=case)  # type: ignore[arg-type]
        for case, letters in passed.items()
        for n, letter in enumerate(letters)
    ]


def cases(passes: int, fails: int) -> dict[str, str]:
    return {f"c{n}": "p" if n < passes else "f" for n in range(passes + fails)}


def test_the_same_cases_are_paired() -> None:
    before, after = runs(cases(20, 0)), runs(cases(12, 8))
    (gate,) = gates(before, after)
    assert (gate.cases, gate.better, gate.worse, gate.failed) == (20, 0, 8, True)
    assert gate.p_value == pytest.approx(1 / 256)
    assert gate.drop == pytest.approx(0.4)
    assert gates(before, after, max_drop=0.4)[0].failed is False
    assert gates(before, after, alpha=0.003)[0].failed is False


def test_a_change_that_chance_explains_and_a_better_agent_pass() -> None:
    assert [g.failed for g in gates(runs(cases(20, 0)), runs(cases(16, 4)))] == [False]
    assert [g.failed for g in gates(runs(cases(5, 15)), runs(cases(20, 0)))] == [False]


def test_only_what_both_decided_is_compared() -> None:
    before = [*runs({"a": "p", "b": "p", "c": "u", "d": "p"}), untested("x")]
    after = [*runs({"a": "f", "b": "u", "c": "f", "e": "f"}), untested("x")]
    (gate,) = gates(before, after)
    assert (gate.cases, gate.worse) == (1, 1)
    assert gates(runs({"a": "p"}), runs({"b": "p"})) == ()
    assert gates(runs({"a": "p"}, agent="one"), runs({"a": "p"}, agent="two")) == ()


def test_a_tuned_model_stands_beside_the_one_it_was_made_of() -> None:
    before, after = runs(cases(12, 8), model="base"), runs(cases(20, 0), model="tuned")
    (gate,) = gates(before, after)
    assert (gate.model, gate.model_before, gate.better, gate.failed) == ("tuned", "base", 8, False)
    assert "on tuned (before: base): 60.0% before, 100.0% after" in gate.text
    assert gates([*before, *runs(cases(1, 1), model="third")], after) == ()
    assert gates(before, [*after, *runs(cases(1, 1), model="third")]) == ()
    both = gates([*before, *runs(cases(20, 0), model="tuned")], after)
    assert [(one.model, one.model_before) for one in both] == [("tuned", "tuned")]
    assert "before:" not in both[0].text


def test_runs_of_a_case_are_one_pair() -> None:
    (gate,) = gates(runs({"a": "ppff", "b": "pppp"}), runs({"a": "ffff", "b": "ppp"}))
    assert (gate.better, gate.worse, gate.before, gate.after) == (0, 1, 0.75, 0.5)


def test_the_text_says_what_the_cases_could_show() -> None:
    (gate,) = gates(runs(cases(100, 0)), runs(cases(99, 1)))
    assert (
        "100.0% before, 99.0% after on 100 shared cases (1 worse, 0 better, p = 0.500): not shown"
        in gate.text
    )
    assert "These cases show a drop of 7 points 4 times in 5; 5 points would take" in gate.text
    tiny = gates(runs(cases(3, 0)), runs(cases(3, 0)))[0]
    assert "no drop at all" in tiny.text
    assert gate.to_json()["smallest_drop"] == gate.smallest_drop == smallest_drop(100, 0.0)


def test_an_agent_that_got_better_is_no_more_sensitive_than_one_that_stayed() -> None:
    (gained,) = gates(runs(cases(30, 70)), runs(cases(98, 2)))
    (same,) = gates(runs(cases(98, 2)), runs(cases(98, 2)))
    assert (gained.better, gained.worse, gained.by_chance) == (68, 0, 0)
    assert gained.smallest_drop == same.smallest_drop == 0.07
    assert power(100, 0.01, 0.68) == power(100, 0.01, 0.495)
    assert gained.text.partition(":\n")[0].count("better (by chance: p = 0.000)") == 1
    assert "not shown to be worse" in same.text


def test_power_is_that_of_the_exact_test() -> None:
    assert worse_by_chance(0, 5) == 1 / 32
    assert worse_by_chance(0, 0) == 1
    assert power(4, 1.0) == 0  # four of four worse is chance at 5 %
    assert power(5, 1.0) == pytest.approx(1)
    assert power(10, 0.5) == pytest.approx(1 - sum(n / 1024 for n in (1, 10, 45, 120, 210)))
    assert power(300, 0.1, 0.1) == pytest.approx(power(301, 0.1, 0.1), abs=0.03)
    assert power(cases_needed(0.05, 0.1), 0.05, 0.1) == pytest.approx(0.8, abs=0.03)


def simulated(rng: Random, before: float, after: float, count: int = 100) -> Gate:
    old, new = (
        {f"c{n}": "p" if rng.random() < rate else "f" for n in range(count)} for rate in (before, after)
    )
    return gates(runs(old), runs(new))[0]


@pytest.mark.parametrize("rate", [0.6, 0.9])
def test_pairs_of_campaigns_without_a_change_fail_at_most_as_often_as_alpha(rate: float) -> None:
    rng, pairs = Random(3), tries(1_000)
    failed = sum(simulated(rng, rate, rate).failed for _ in range(pairs))
    tell(f"gate, nothing changed at {rate}", Counter(pairs=pairs, failed=failed))
    assert failed <= 0.05 * pairs


@pytest.mark.parametrize("rate", [0.7, 0.9])
def test_a_drop_of_20_points_on_100_cases_is_found_as_often_as_printed(rate: float) -> None:
    rng, pairs = Random(4), tries(1_000)
    found = [simulated(rng, rate, rate - 0.2) for _ in range(pairs)]
    printed = sum(power(gate.cases, 0.2, gate.by_chance) for gate in found)
    failed = sum(gate.failed for gate in found)
    tell(f"gate, from {rate} down 20 points", Counter(pairs=pairs, failed=failed, printed=round(printed)))
    assert failed == pytest.approx(printed, abs=(0.05 if soaks() else 0.15) * pairs)


def test_runs_of_the_same_case_give_pass_hat_k_and_pass_at_k() -> None:
    found = {one.k: one for one in at_k(runs({"a": "ppf", "b": "ppp", "c": "fff"}))}
    assert sorted(found) == [1, 2, 3]
    assert (found[1].every, found[1].some) == (pytest.approx(5 / 9), pytest.approx(5 / 9))
    assert (found[2].every, found[2].some) == (pytest.approx((1 / 3 + 1) / 3), pytest.approx(2 / 3))
    assert (found[3].every, found[3].some) == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    low, high = found[3].intervals[0]
    assert 0 < low < 1 / 3 < high < 1
    assert at_k(runs({"a": "p", "b": "f"})) == ()
    assert [one.cases for one in at_k(runs({"a": "pp", "b": "pu"}))] == [2, 1]
