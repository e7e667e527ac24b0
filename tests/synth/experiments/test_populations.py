"""Whether two populations of runs differ: the tests, what they find, and how often they are wrong."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import product

import pytest

from synth.experiments.populations import (
    ALPHA,
    POWER,
    Member,
    Population,
    changed_cases,
    compare,
    drifts,
    fisher_power,
    matched,
    mean_json,
    rank_sum_test,
    smallest_change,
    student,
)
from synth.experiments.rates import Rate, fisher_test

Draw = Callable[..., list[Member]]


def runs(*outcomes: str, case: str | None = None, **more: object) -> list[Member]:
    return [Member(f"r{k}", one, case, **more) for k, one in enumerate(outcomes)]  # type: ignore[arg-type]


def test_rates_of_separate_runs_are_told_apart_by_fishers_test() -> None:
    a, b = runs(*["pass"] * 18, "fail", "fail"), runs(*["pass"] * 6, *["fail"] * 14, "error", "open")
    found = compare(a, b)
    failed = found.differences[0]
    assert (found.runs, found.pairs, failed.kind, failed.test) == (
        (20, 22),
        0,
        "outcome",
        "Fisher's exact test",
    )
    assert (failed.a["hits"], failed.a["trials"], failed.b["hits"], failed.b["trials"]) == (2, 20, 14, 20)
    assert failed.p == fisher_test(Rate(2, 20), Rate(14, 20))
    assert (failed.adjusted, failed.differs) == (2 * failed.p, True)
    assert found.outcomes[1] == {"pass": 6, "fail": 14, "error": 1, "open": 1}


def test_equal_cases_are_compared_as_pairs() -> None:
    a = [Member(f"a{k}", "pass", f"case{k}") for k in range(12)]
    b = [Member(f"b{k}", "fail" if k < 8 else "pass", f"case{k}") for k in range(12)]
    found = compare(a, b)
    assert (found.pairs, found.differences[0].test, found.smallest) == (12, "sign test of pairs", None)
    assert found.differences[0].p == 2 / 2**8
    assert found.newly_failing == tuple(sorted(f"case{k}" for k in range(8)))
    assert compare(b, a).newly_passing == found.newly_failing


def test_of_a_case_that_ran_more_often_as_many_newest_runs_count() -> None:
    a, b = runs("fail", "pass", "pass", case="c"), runs("pass", case="c")
    [(first, second)] = matched(a, b).values()
    assert ([run.outcome for run in first], [run.outcome for run in second]) == (["fail"], ["pass"])
    assert changed_cases(matched(a, b)) == ((), ("c",))


def test_where_few_runs_are_of_equal_cases_all_runs_are_compared() -> None:
    a = [*runs("pass", case="c"), *runs("fail", "fail", "pass")]
    assert compare(a, a).pairs == 0
    assert compare(a, a).differences[0].a["trials"] == 4


def test_rules_tools_and_numbers_are_compared_and_share_the_chance_of_an_error() -> None:
    def population(broken: int, tool: str, number: float) -> Population:
        return [
            Member(
                str(k),
                "pass",
                None,
                {"A1": k >= broken, "A2": True},
                frozenset({tool}),
                {"calls": number + k % 3},
            )
            for k in range(40)
        ]

    found = compare(population(2, "search", 3), population(30, "browse", 9))
    by_name = {one.name: one for one in found.differences}
    assert [one.name for one in found.differences if one.differs][:4] == ["browse", "search", "calls", "A1"]
    assert (by_name["A1"].a["hits"], by_name["A1"].b["hits"], by_name["A2"].differs) == (2, 30, False)
    assert by_name["calls"].a["mean"] == pytest.approx(3.975)
    assert by_name["A1"].adjusted >= 2 * by_name["A1"].p
    assert found.to_json()["differences"][0]["name"] == "failed"


def test_a_rule_that_did_not_apply_says_nothing() -> None:
    a = [Member("1", "pass", None, {"A1": True}), Member("2", "pass")]
    [rule] = [one for one in compare(a, a).differences if one.kind == "rule"]
    assert rule.a["trials"] == 1


def test_shares_that_were_counted_beforehand_are_compared_as_those_of_the_runs() -> None:
    a = runs("pass", "fail", "pass", rules={"A1": True}, tools=frozenset(("pay",)))
    b = runs("fail", "fail", rules={"A1": False}, tools=frozenset(("mail",)))
    counted = {
        ("rule", "A1"): (Rate(0, 3), Rate(2, 2)), ("tool", "pay"): (Rate(3, 3), Rate(0, 2)),
        ("tool", "mail"): (Rate(0, 3), Rate(2, 2)),
    }  # fmt: skip
    bare = compare(runs("pass", "fail", "pass"), runs("fail", "fail"), None, counted)
    assert bare.to_json() == compare(a, b).to_json()


def test_populations_without_runs_do_not_differ() -> None:
    found = compare([], runs("pass"))
    assert (found.differences[0].p, found.smallest, found.to_json()["runs"]) == (1.0, None, [0, 1])


# Of R's wilcox.test and by counting all ways to deal the numbers out.
def test_the_rank_sum_test_is_exact_for_few_and_near_for_many() -> None:
    assert rank_sum_test([1, 2, 3], [4, 5, 6]) == pytest.approx(0.1)
    assert rank_sum_test([1, 2, 3, 4], [5, 6, 7, 8]) == pytest.approx(2 / 70)
    assert rank_sum_test([1, 1, 1], [1, 1, 1]) == 1.0
    assert rank_sum_test([], [1.0]) == 1.0
    assert rank_sum_test([2.0] * 20, [2.0] * 20) == 1.0
    few, many = list(range(6)), [x + 2.5 for x in range(6)]
    exact = (
        sum(
            abs(2 * sum(a > b for a, b in product(x, y)) - 36)
            >= abs(2 * sum(a > b for a, b in product(few, many)) - 36)
            for x, y in _dealt([*few, *many], 6)
        )
        / 924
    )
    assert rank_sum_test(few, many) == pytest.approx(exact)
    # U = 392 of 800 expected, with 28 ties, standard deviation 103.9
    far = rank_sum_test([*map(float, range(40))], [x + 12.0 for x in range(40)])
    assert far == pytest.approx(8.8e-5, rel=0.02)
    # rank sum 1420 of 1620 expected, standard deviation 87.15 with the ties (103.9 without)
    tied = rank_sum_test([0.0] * 20 + [1.0] * 20, [0.0] * 10 + [1.0] * 30)
    assert tied == pytest.approx(0.0221, abs=2e-4)


def _dealt(values: list[float], n: int) -> list[tuple[list[float], list[float]]]:
    from itertools import combinations

    return [
        ([values[i] for i in chosen], [values[i] for i in range(len(values)) if i not in chosen])
        for chosen in combinations(range(len(values)), n)
    ]


def test_the_interval_of_a_mean_ends_where_such_numbers_do() -> None:
    low, high = mean_json([1.0, 900.0])["interval"]
    assert low == 0.0
    assert high > 900
    assert mean_json([0.1, 0.9], 1.0)["interval"] == [0.0, 1.0]
    found = compare(
        [Member(f"a{n}", "pass", numbers={"share": n, "calls": 5 + n}) for n in (0, 1)],
        [Member("b", "pass", numbers={"share": 1.0, "calls": 9})],
        {"share": 1.0},
    )
    by_name = {one.name: one for one in found.differences}
    assert by_name["share"].a["interval"] == [0.0, 1.0]
    low, high = by_name["calls"].a["interval"]
    assert low == 0.0
    assert high > 10


def test_the_interval_of_a_mean_is_students() -> None:
    assert mean_json([]) == {"runs": 0, "mean": None, "interval": None}
    assert mean_json([4.0])["interval"] is None
    low, high = mean_json([4.0, 5.0, 6.0])["interval"]
    assert (low, high) == pytest.approx((5 - 2.4842, 5 + 2.4842), abs=1e-3)
    assert [round(student(n), 3) for n in (1, 10, 11, 30, 1000)] == [12.706, 2.228, 2.201, 2.042, 1.962]


def test_a_week_is_compared_with_all_weeks_before() -> None:
    counted = {
        ("A1", "1.4", "2026-11-02"): Rate(2, 100),
        ("A1", "1.4", "2026-11-09"): Rate(3, 100),
        ("A1", "1.5", "2026-11-16"): Rate(40, 100),
        ("A2", None, "2026-11-16"): Rate(5, 5),
    }
    found = {(one.rule, one.week): one for one in drifts(counted)}
    assert [one.to_json()["changed"] for one in found.values()] == [False, False, True, False]
    last = found["A1", "2026-11-16"]
    assert (last.version, last.before, last.p) == (
        "1.5",
        Rate(5, 200),
        fisher_test(Rate(40, 100), Rate(5, 200)),
    )
    assert last.adjusted == 2 * last.p
    assert found["A2", "2026-11-16"].before.trials == 0


# ---------------------------------------------------------------- how often they are wrong


def bare(chance: random.Random, rate: float, count: int, *, paired: bool) -> list[Member]:
    """Runs of which only the outcome is known."""
    return [Member(str(k), "fail" if chance.random() < rate else "pass") for k in range(count)]


def drawn(chance: random.Random, rate: float, count: int, *, paired: bool) -> list[Member]:
    """Runs of a version that fails at a rate, with rules, tools and numbers that know nothing of it."""
    return [
        Member(
            str(k),
            "fail" if chance.random() < rate else "pass",
            f"case{k}" if paired else None,
            {"A1": chance.random() < 0.9, "A2": chance.random() < 0.5},
            frozenset(tool for tool in ("search", "pay") if chance.random() < 0.6),
            {"calls": chance.gauss(5, 2), "tokens": chance.expovariate(0.01)},
        )
        for k in range(count)
    ]


def alarms(
    pairs: int, a: float, b: float, count: int, seed: int, *, paired: bool, draw: Draw = drawn
) -> tuple[int, int]:
    """(comparisons that show anything, those that show the outcome) of so many."""
    chance, anything, outcome = random.Random(seed), 0, 0
    for _ in range(pairs):
        first, second = draw(chance, a, count, paired=paired), draw(chance, b, count, paired=paired)
        found = compare(first, second).differences
        anything += any(one.differs for one in found)
        outcome += found[0].differs
    return anything, outcome


@pytest.mark.parametrize("paired", [False, True], ids=["separate", "paired"])
def test_equal_versions_rarely_show_a_difference(paired: bool) -> None:
    anything, _ = alarms(150, 0.3, 0.3, 40, 11, paired=paired)
    assert anything <= 14  # of 150 at 0.05 each: more come in one of 200 tests


@pytest.mark.heavy
@pytest.mark.parametrize(("rate", "paired"), [(0.3, False), (0.5, True)], ids=["separate", "paired"])
def test_of_a_thousand_pairs_of_equal_versions_at_most_alpha_show_one(rate: float, paired: bool) -> None:
    anything, _ = alarms(1000, rate, rate, 40, 5, paired=paired)
    assert anything <= 1000 * ALPHA + 3 * (1000 * ALPHA * (1 - ALPHA)) ** 0.5


def at_printed_power(pairs: int, base: float, count: int, seed: int) -> float:
    """The share of pairs that show the smallest change, at half each way around a rate, as it is printed."""
    change = smallest_change(Rate(round(base * count), count), Rate(round(base * count), count))
    assert change is not None
    _, outcome = alarms(pairs, base, base + change, count, seed, paired=False, draw=bare)
    return outcome / pairs


def test_the_smallest_change_is_found_as_often_as_is_said() -> None:
    assert at_printed_power(100, 0.2, 100, 7) >= POWER - 0.12  # three standard errors


@pytest.mark.heavy
@pytest.mark.parametrize(("base", "count"), [(0.1, 100), (0.3, 60), (0.5, 200)])
def test_a_thousand_pairs_of_different_versions_have_the_printed_power(base: float, count: int) -> None:
    power = at_printed_power(1000, base, count, 3)
    assert POWER - 0.04 <= power <= POWER + 0.06


def test_power_grows_with_runs_and_with_the_change() -> None:
    assert (
        fisher_power(0.1, 0.3, 50, 50) < fisher_power(0.1, 0.3, 100, 100) < fisher_power(0.1, 0.4, 100, 100)
    )
    assert smallest_change(Rate(1, 4), Rate(1, 4)) is None
    changes = [smallest_change(Rate(n // 5, n), Rate(n // 5, n)) for n in (50, 200, 1000)]
    assert changes == sorted(changes, key=lambda change: -(change or 0))
