from __future__ import annotations

import random
from math import comb

import pytest

from synth.experiments.rates import Rate, fisher_greater, fisher_test, sign_test


def test_the_wilson_interval_agrees_with_published_values() -> None:
    low, high = Rate(8, 10).interval
    assert (round(low, 4), round(high, 4)) == (0.4902, 0.9433)
    assert Rate(0, 20).interval[0] == 0.0
    assert Rate(20, 20).interval[1] == 1.0


def test_nothing_tried_means_nothing_known() -> None:
    assert Rate(0, 0).value is None
    assert Rate(0, 0).interval == (0.0, 1.0)


def test_more_trials_narrow_the_interval() -> None:
    widths = [high - low for low, high in (Rate(n // 2, n).interval for n in (10, 100, 1000))]
    assert widths == sorted(widths, reverse=True)


def test_the_sign_test_agrees_with_the_binomial_distribution() -> None:
    assert sign_test(0, 0) == 1.0
    assert sign_test(5, 0) == pytest.approx(2 / 32)
    assert sign_test(1, 9) == pytest.approx(2 * 11 / 1024)
    assert sign_test(4, 4) == 1.0


def test_the_exact_test_agrees_with_fisher_s_tea_tasting() -> None:
    assert fisher_test(Rate(3, 4), Rate(1, 4)) == pytest.approx(0.4857, abs=1e-4)
    assert fisher_test(Rate(8, 10), Rate(1, 10)) == pytest.approx(0.0055, abs=1e-4)
    assert fisher_test(Rate(0, 0), Rate(1, 4)) == 1.0


def by_counting(one: Rate, other: Rate) -> tuple[float, float]:
    """Both tests as they are defined, over whole numbers."""
    hits, total = one.hits + other.hits, one.trials + other.trials
    ways = {
        k: comb(one.trials, k) * comb(other.trials, hits - k)
        for k in range(max(0, hits - other.trials), min(hits, one.trials) + 1)
    }
    least = ways[one.hits]
    rare = sum(way for way in ways.values() if way <= least)
    return rare / comb(total, hits), sum(w for k, w in ways.items() if k >= one.hits) / comb(total, hits)


@pytest.mark.parametrize("size", [1, 4, 30, 400])
def test_fisher_s_test_agrees_with_counting_all_ways(size: int) -> None:
    dice = random.Random(size)
    for _ in range(100):
        first, second = dice.randint(1, size), dice.randint(1, size)
        one, other = Rate(dice.randint(0, first), first), Rate(dice.randint(0, second), second)
        both, above = by_counting(one, other)
        assert fisher_test(one, other) == pytest.approx(both, rel=1e-6)
        assert fisher_greater(one, other) == pytest.approx(above, rel=1e-6)


def test_the_tests_of_ten_thousands_of_trials_have_answers() -> None:
    """Their ways are numbers of thousands of digits: counting them took minutes."""
    assert 0.3 < fisher_test(Rate(1_000, 10_000), Rate(1_030, 10_000)) < 0.6
    assert fisher_test(Rate(1_000, 10_000), Rate(1_000, 10_000)) == 1.0
    assert fisher_test(Rate(9_000, 10_000), Rate(1_000, 10_000)) < 1e-300
    assert fisher_greater(Rate(0, 10_000), Rate(10_000, 10_000)) == 1.0
    assert 0.4 < sign_test(5_000, 5_080) < 0.5
