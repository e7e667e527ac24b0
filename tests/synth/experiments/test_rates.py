from __future__ import annotations

import pytest

from synth.experiments.rates import Rate, fisher_test, sign_test


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
