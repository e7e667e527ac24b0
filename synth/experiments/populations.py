"""Whether two populations of runs differ: rates and numbers, with intervals and the right test.

Where cases are equal (each case was run in both), pairs are compared; else the runs as they are. Of a case
that was run more often in one of them, as many of its newest runs count as the other has: neither has an
advantage. The outcome is tested at half of `ALPHA`; all rules, tools and metrics share the other half (Holm's
correction), so that of two populations without any difference at most `ALPHA` show one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from math import comb, erf, isfinite, sqrt
from statistics import fmean, stdev
from typing import Any

from synth.experiments.rates import Z95, Rate, fisher_test, sign_test
from synth.frozen import quick

ALPHA = 0.05
POWER = 0.8
EXACT = 12
"""Numbers of both populations together up to which a rank test is exact."""
MOST_WAYS = 20_000
NAMED = 20
"""Cases that are named; the rest is counted."""


@quick
@dataclass(frozen=True, slots=True)
class Member:
    """One run of a population."""

    run: str
    outcome: str | None
    case: str | None = None
    rules: Mapping[str, bool] = field(default_factory=dict)
    """Rule that applied -> was it kept?"""
    tools: frozenset[str] = frozenset()
    numbers: Mapping[str, float] = field(default_factory=dict)


Population = Sequence[Member]
"""Newest first."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing in which two populations may differ."""

    kind: str
    """`outcome`, `rule`, `tool` or `metric`."""
    name: str
    a: Mapping[str, Any]
    b: Mapping[str, Any]
    test: str
    p: float
    adjusted: float = 1.0
    """The chance of an effect as large as this anywhere in the comparison, where there is none."""
    note: str | None = None

    @property
    def differs(self) -> bool:
        return self.adjusted < ALPHA

    def to_json(self) -> dict[str, Any]:
        said: dict[str, Any] = {
            "kind": self.kind,
            "name": self.name,
            "a": dict(self.a),
            "b": dict(self.b),
            "test": self.test,
        }
        said |= {"p": self.p, "adjusted": self.adjusted, "differs": self.differs}
        return said if self.note is None else {**said, "note": self.note}


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is known of the difference of two populations."""

    runs: tuple[int, int]
    pairs: int
    """Cases that were run in both; 0 = the runs are compared as they are."""
    outcomes: tuple[Mapping[str, int], Mapping[str, int]]
    differences: tuple[Difference, ...]
    newly_failing: tuple[str, ...]
    newly_passing: tuple[str, ...]
    smallest: float | None
    """The smallest change of the rate of failures that this many runs show with a chance of `POWER`."""

    def to_json(self) -> dict[str, Any]:
        return {
            "runs": list(self.runs),
            "pairs": self.pairs,
            "alpha": ALPHA,
            "outcomes": [dict(one) for one in self.outcomes],
            "differences": [one.to_json() for one in self.differences],
            "newly_failing": list(self.newly_failing[:NAMED]),
            "newly_passing": list(self.newly_passing[:NAMED]),
            "newly_failing_count": len(self.newly_failing),
            "newly_passing_count": len(self.newly_passing),
            "smallest_change": self.smallest,
            "power": POWER,
        }


Counted = Mapping[tuple[str, str], tuple[Rate, Rate]]
"""(`rule` or `tool`, its name) -> the share of each population."""


def compare(
    a: Population, b: Population, highest: Mapping[str, float] | None = None, counted: Counted | None = None
) -> Comparison:
    """The differences of two populations, the outcome first, then what differs most surely.

    `highest` has the upper ends of those numbers that have one; all begin at 0. `counted` has the shares of
    rules and tools where the members do not tell them, which they must where there are pairs (`matched`).
    """
    pairs = matched(a, b)
    failing = _shares("outcome", "failed", a, b, pairs, _failed)
    others = [
        *(_unpaired(*what, *rates) for what, rates in sorted((counted or {}).items())),
        *(_shares("rule", name, a, b, pairs, _breaks(name)) for name in _names(a, b, _rules)),
        *(_shares("tool", name, a, b, pairs, _calls(name)) for name in _names(a, b, _tools)),
        *(_numbers(name, a, b, pairs, (highest or {}).get(name)) for name in _names(a, b, _measures)),
    ]
    first = _adjusted(failing, min(1.0, 2 * failing.p))
    found = [first, *sorted(holm(others), key=lambda one: (one.adjusted, one.p, one.kind, one.name))]
    worse, better = changed_cases(pairs)
    return Comparison(
        (len(a), len(b)), len(pairs), (_counted(a), _counted(b)), tuple(found), worse, better,
        None if pairs else smallest_change(_rate(a, _failed), _rate(b, _failed)),
    )  # fmt: skip


def _adjusted(one: Difference, value: float) -> Difference:
    return Difference(one.kind, one.name, one.a, one.b, one.test, one.p, value, one.note)


def holm(differences: Sequence[Difference]) -> list[Difference]:
    """Each with its adjusted p-value: together they have half of `ALPHA`."""
    ordered = sorted(differences, key=lambda one: one.p)
    found: list[Difference] = []
    least = 0.0
    for place, one in enumerate(ordered):
        least = max(least, min(1.0, 2 * (len(ordered) - place) * one.p))
        found.append(_adjusted(one, least))
    return found


# ---------------------------------------------------------------- what is asked of a run

Question = Callable[[Member], bool | None]
"""None: the run says nothing about it."""


def _failed(run: Member) -> bool | None:
    return None if run.outcome not in ("pass", "fail") else run.outcome == "fail"


def _breaks(rule: str) -> Question:
    def asked(run: Member) -> bool | None:
        return None if rule not in run.rules else not run.rules[rule]

    return asked


def _calls(tool: str) -> Question:
    return lambda run: tool in run.tools


def _rules(run: Member) -> Iterable[str]:
    return run.rules


def _tools(run: Member) -> Iterable[str]:
    return run.tools


def _measures(run: Member) -> Iterable[str]:
    return run.numbers


def _names(a: Population, b: Population, of: Callable[[Member], Iterable[str]]) -> list[str]:
    return sorted({name for run in chain(a, b) for name in of(run)})


def _counted(population: Population) -> dict[str, int]:
    found: dict[str, int] = {}
    for run in population:
        outcome = run.outcome or "unbound"
        found[outcome] = found.get(outcome, 0) + 1
    return found


# ---------------------------------------------------------------- pairs

Pairs = Mapping[str, tuple[Population, Population]]
"""Case -> equally many runs of it in both populations."""


def matched(a: Population, b: Population) -> Pairs:
    """The cases that both ran, where at least half of the runs of each are of such cases; else none."""
    first, second = _by_case(a), _by_case(b)
    pairs = {}
    for case in first.keys() & second.keys():
        count = min(len(first[case]), len(second[case]))
        pairs[case] = (first[case][:count], second[case][:count])
    if 2 * sum(len(first[case]) for case in pairs) < len(a):
        return {}
    if 2 * sum(len(second[case]) for case in pairs) < len(b):
        return {}
    return dict(sorted(pairs.items()))


def _by_case(population: Population) -> dict[str, list[Member]]:
    found: dict[str, list[Member]] = {}
    for run in population:
        if run.case is not None:
            found.setdefault(run.case, []).append(run)
    return found


def changed_cases(pairs: Pairs) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The cases whose runs all passed and now fail, any of them, and the reverse."""
    worse, better = [], []
    for case, (before, after) in pairs.items():
        first, second = [*map(_failed, before)], [*map(_failed, after)]
        if not any(first) and False in first and any(second):
            worse.append(case)
        if any(first) and not any(second) and False in second:
            better.append(case)
    return tuple(worse), tuple(better)


# ---------------------------------------------------------------- shares


def _rate(population: Population, asked: Question) -> Rate:
    answers = [answer for run in population if (answer := asked(run)) is not None]
    return Rate(sum(answers), len(answers))


def _rate_json(rate: Rate) -> dict[str, Any]:
    return {"hits": rate.hits, "trials": rate.trials, "rate": rate.value, "interval": list(rate.interval)}


def _shares(kind: str, name: str, a: Population, b: Population, pairs: Pairs, asked: Question) -> Difference:
    first, second = _rate(a, asked), _rate(b, asked)
    if not pairs:
        return _unpaired(kind, name, first, second)
    more = less = 0
    for before, after in pairs.values():
        known = [
            (one, other)
            for one, other in zip(map(asked, before), map(asked, after), strict=True)
            if one is not None and other is not None
        ]
        change = sum(other for _, other in known) - sum(one for one, _ in known)
        more, less = more + (change > 0), less + (change < 0)
    p = sign_test(more, less)
    return Difference(kind, name, _rate_json(first), _rate_json(second), "sign test of pairs", p)


def _unpaired(kind: str, name: str, a: Rate, b: Rate) -> Difference:
    return Difference(kind, name, _rate_json(a), _rate_json(b), "Fisher's exact test", fisher_test(a, b))


def smallest_change(a: Rate, b: Rate) -> float | None:
    """The smallest rise or fall of a rate that Fisher's exact test at half of `ALPHA` finds with `POWER`.

    By the normal approximation with its correction for continuity (Fleiss); None where no change is found.
    """
    if not a.trials or not b.trials:
        return None
    base = (a.hits + b.hits) / (a.trials + b.trials)
    found = [
        change
        for direction in (1, -1)
        if (change := _bisect(base, direction, a.trials, b.trials)) is not None
    ]
    return max(found) if len(found) == 2 else next(iter(found), None)


def _bisect(base: float, direction: int, n: int, m: int) -> float | None:
    room = (1 - base) if direction > 0 else base
    if room <= 0 or fisher_power(base, base + direction * room, n, m) < POWER:
        return None
    low, high = 0.0, room
    for _ in range(40):
        middle = (low + high) / 2
        if fisher_power(base, base + direction * middle, n, m) < POWER:
            low = middle
        else:
            high = middle
    return high


def fisher_power(p: float, q: float, n: int, m: int, alpha: float = ALPHA / 2) -> float:
    """The chance that Fisher's exact test (two-sided) tells rates p of n and q of m trials apart."""
    mean = (n * p + m * q) / (n + m)
    correction = (1 / n + 1 / m) / 2
    null, own = sqrt(mean * (1 - mean) * (1 / n + 1 / m)), sqrt(p * (1 - p) / n + q * (1 - q) / m)
    ahead = abs(p - q) - correction - quantile(1 - alpha / 2) * null
    return float(ahead > 0) if not own else normal(ahead / own)


def normal(z: float) -> float:
    """The standard normal distribution."""
    return (1 + erf(z / sqrt(2))) / 2


@lru_cache(maxsize=16)
def quantile(p: float) -> float:
    """Its inverse, between 0 and 1."""
    low, high = -10.0, 10.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if normal(middle) < p else (low, middle)
    return low


# ---------------------------------------------------------------- numbers


def _numbers(
    name: str, a: Population, b: Population, pairs: Pairs, highest: float | None = None
) -> Difference:
    first, second = ([run.numbers[name] for run in runs if name in run.numbers] for runs in (a, b))
    if pairs:
        changes = []
        for before, after in pairs.values():
            known = [
                other.numbers[name] - one.numbers[name]
                for one, other in zip(before, after, strict=True)
                if name in one.numbers and name in other.numbers
            ]
            changes += [sum(known)] if known else []
        more, less = sum(c > 0 for c in changes), sum(c < 0 for c in changes)
        test, p = "sign test of pairs", sign_test(more, less)
    else:
        test, p = "rank sum test", rank_sum_test(first, second)
    return Difference("metric", name, mean_json(first, highest), mean_json(second, highest), test, p)


def mean_json(values: Sequence[float], highest: float | None = None) -> dict[str, Any]:
    """The mean with its 95 % interval (Student's t), as far as there is any and such a mean can lie."""
    if not values:
        return {"runs": 0, "mean": None, "interval": None}
    mean = fmean(values)
    if len(values) < 2:
        return {"runs": 1, "mean": mean, "interval": None}
    half = student(len(values) - 1) * stdev(values) / sqrt(len(values))
    bounds = [max(0.0, mean - half), mean + half if highest is None else min(highest, mean + half)]
    return {"runs": len(values), "mean": mean, "interval": bounds if all(map(isfinite, bounds)) else None}


FEW_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)


def student(freedom: int) -> float:
    """The 97.5 % quantile of Student's t; from 11 degrees of freedom on by its expansion."""
    if freedom <= len(FEW_T):
        return FEW_T[freedom - 1]
    z = Z95
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3


def rank_sum_test(first: Sequence[float], second: Sequence[float]) -> float:
    """Two-sided p-value that numbers of one are larger than of the other by chance (Wilcoxon, Mann, Whitney).

    Exact over all ways to deal out few numbers, else by the normal approximation with corrections for ties
    and for continuity.
    """
    n, m = len(first), len(second)
    if not n or not m:
        return 1.0
    ranks, ties = _ranks([*first, *second])
    observed, expected = sum(ranks[:n]), n * (n + m + 1) / 2
    if n + m <= EXACT and comb(n + m, n) <= MOST_WAYS:
        return _exact(ranks, n, abs(observed - expected), expected)
    spread = n * m / 12 * ((n + m + 1) - ties / ((n + m) * (n + m - 1)))
    if spread <= 0:
        return 1.0
    away = max(0.0, abs(observed - expected) - 0.5) / sqrt(spread)
    return float(min(1.0, 2 * (1 - normal(away))))


def _exact(ranks: Sequence[float], n: int, away: float, expected: float) -> float:
    from itertools import combinations

    sums = [sum(chosen) for chosen in combinations(ranks, n)]
    return sum(abs(one - expected) >= away - 1e-9 for one in sums) / len(sums)


def _ranks(values: Sequence[float]) -> tuple[list[float], float]:
    """The rank of each (equal ones share theirs), and the sum of t^3 - t over t equal ones."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks, ties, at = [0.0] * len(values), 0.0, 0
    while at < len(order):
        end = at
        while end < len(order) and values[order[end]] == values[order[at]]:
            end += 1
        for place in range(at, end):
            ranks[order[place]] = (at + 1 + end) / 2
        ties += (end - at) ** 3 - (end - at)
        at = end
    return ranks, ties


# ---------------------------------------------------------------- drift


@dataclass(frozen=True, slots=True)
class Drift:
    """A rule in one week and version against the weeks before."""

    rule: str
    version: str | None
    week: str
    """The Monday it begins with, as a date."""
    rate: Rate
    """Violations of the runs that it applied to."""
    before: Rate
    p: float
    adjusted: float = 1.0

    def to_json(self) -> dict[str, Any]:
        return {
            "rule": self.rule, "version": self.version, "week": self.week,
            "violations": _rate_json(self.rate), "before": _rate_json(self.before),
            "test": "Fisher's exact test",
            "p": self.p, "adjusted": self.adjusted, "changed": self.adjusted < ALPHA,
        }  # fmt: skip


def drifts(counted: Mapping[tuple[str, str | None, str], Rate]) -> list[Drift]:
    """(rule, version, week) -> violations, each compared with all earlier weeks (Holm's correction).

    The first week of a rule has nothing to be compared with.
    """
    found = []
    for (rule, version, week), rate in sorted(
        counted.items(), key=lambda one: (one[0][0], one[0][2], one[0][1] or "")
    ):
        earlier = [other for (name, _, at), other in counted.items() if name == rule and at < week]
        before = Rate(sum(one.hits for one in earlier), sum(one.trials for one in earlier))
        found.append(Drift(rule, version, week, rate, before, fisher_test(rate, before)))
    tested = sorted((one for one in found if one.before.trials), key=lambda one: one.p)
    least, adjusted = 0.0, {}
    for place, one in enumerate(tested):
        least = max(least, min(1.0, (len(tested) - place) * one.p))
        adjusted[id(one)] = least
    return [Drift(d.rule, d.version, d.week, d.rate, d.before, d.p, adjusted.get(id(d), 1.0)) for d in found]
